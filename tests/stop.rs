//! Work that is broken off leaves the bodies as they were, and can be done again to the same bits. One
//! test, for the request to stop is the whole process's.

use gravitile::error::Error;
use gravitile::scene::Scene;
use gravitile::sim::{EngineKind, Settings, Simulation};
use gravitile::{snapshot, stop};

mod common;

fn sim(n: usize, integrator: &str, engine: EngineKind) -> Simulation {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(n).unwrap();
    let bodies = scene.build(&|path| Ok(snapshot::read(path)?.bodies)).unwrap();
    let settings = Settings {
        softening: 0.05,
        dt: 0.01,
        integrator: gravitile::integrate::find(integrator).unwrap(),
        engine,
        adapter: common::adapter_request(),
        ..Settings::default()
    };
    Simulation::new(bodies, settings).unwrap()
}

/// A step that engines look through to its end, and the number of looks.
fn step_and_count(sim: &mut Simulation) -> u64 {
    const MANY: u64 = 1 << 40;
    stop::all_work_after(MANY);
    let result = sim.step(1);
    let looks = MANY - stop::looks_left();
    stop::all_work(false);
    result.unwrap();
    looks
}

/// Breaks the first step off at one look after another, ever later in the work, and finds the bodies as
/// they were each time. Gives the number of times it was broken off; a step that came to its end, since
/// pieces are cut by the clock and this one had fewer, ends the row.
fn broken_off(sim: &mut Simulation, looks: u64) -> usize {
    let places = [0, 1, 2, looks / 4, looks / 2, looks - 1];
    for (stopped, place) in places.into_iter().filter(|place| *place < looks).enumerate() {
        let before = sim.moment().unwrap();
        stop::all_work_after(place);
        let result = sim.step(1);
        stop::all_work(false);
        match result {
            Ok(()) => return stopped,
            Err(Error::Stopped) => {}
            Err(error) => panic!("{error}"),
        }
        let after = sim.moment().unwrap();
        assert_eq!((after.steps, after.time), (before.steps, before.time));
        assert_eq!(after.bodies, before.bodies);
        assert_eq!(after.acceleration, before.acceleration);
    }
    places.len()
}

#[test]
fn steps_broken_off_are_as_if_not_begun() {
    for (n, integrator, engine) in [
        (3000, "leapfrog", EngineKind::Reference),
        (12_000, "leapfrog", EngineKind::Cpu),
        (16_000, "leapfrog", EngineKind::Gpu),
        (500, "hermite4", EngineKind::Reference),
        (1000, "hermite6", EngineKind::Cpu),
        (256, "hermite4", EngineKind::Gpu),
    ] {
        let case = format!("{integrator} on {}", engine.name());
        let mut other = sim(n, integrator, engine);
        let looks = step_and_count(&mut other);
        assert!(looks > 0, "{case}: nobody looks whether to stop");
        let mut disturbed = sim(n, integrator, engine);
        assert!(broken_off(&mut disturbed, looks) > 0, "{case}: not stopped");
        if disturbed.steps() == 0 {
            disturbed.step(1).unwrap();
        }
        disturbed.step(1).unwrap();
        other.step(1).unwrap();
        let (a, b) = (disturbed.moment().unwrap(), other.moment().unwrap());
        assert_eq!((a.steps, a.time), (b.steps, b.time), "{case}");
        assert_eq!(a.bodies, b.bodies, "{case}");

        stop::all_work(true);
        let diagnostics = disturbed.diagnostics();
        stop::all_work(false);
        assert!(matches!(diagnostics, Err(Error::Stopped)), "{case}");
        disturbed.diagnostics().unwrap();
    }
}
