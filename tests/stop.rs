//! Work that is broken off leaves the bodies as they were, and can be done again to the same bits. One
//! test, for the request to stop is the whole process's.

use std::sync::Arc;

use gravitile::error::Error;
use gravitile::forces::Method;
use gravitile::forces::tree::{Opening, TreeConfig};
use gravitile::gpu::Gpu;
use gravitile::scene::Scene;
use gravitile::sim::{Choice, EngineKind, Settings, Simulation};
use gravitile::{snapshot, stop};

mod common;

/// A simulation on an engine, a GPU by a method on so many devices.
fn sim(n: usize, integrator: &str, engine: EngineKind, on: (Method, usize)) -> Simulation {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(n).unwrap();
    let bodies = scene.build_with(&|path| Ok(snapshot::read(path)?.bodies)).unwrap();
    let settings = Settings {
        softening: 0.05,
        dt: 0.01,
        integrator: gravitile::integrate::find(integrator).unwrap(),
        engine,
        adapter: common::adapter_request(),
        ..Settings::default()
    };
    let (method, devices) = on;
    if devices == 1 {
        return Simulation::new(bodies, settings).unwrap();
    }
    let mut open: Vec<Arc<Gpu>> =
        (0..devices).map(|_| Gpu::open_blocking(&settings.adapter).unwrap()).collect();
    let choice = Choice::of(engine, method, "asked for", open.pop());
    let settings = Settings { method: Some(method), ..settings };
    Simulation::on(Choice { beside: open, ..choice }, bodies, settings).unwrap()
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
    let alone = (Method::Direct, 1);
    for (n, integrator, engine, on) in [
        (3000, "leapfrog", EngineKind::Reference, alone),
        (12_000, "leapfrog", EngineKind::Cpu, alone),
        (16_000, "leapfrog", EngineKind::Gpu, alone),
        (16_000, "leapfrog", EngineKind::Gpu, (Method::Direct, 2)),
        (16_000, "leapfrog", EngineKind::Gpu, (Method::Tree, 2)),
        (500, "hermite4", EngineKind::Reference, alone),
        (1000, "hermite6", EngineKind::Cpu, alone),
        (256, "hermite4", EngineKind::Gpu, alone),
        (256, "hermite4", EngineKind::Gpu, (Method::Direct, 2)),
    ] {
        let case = format!("{integrator} on {} {on:?}", engine.name());
        let mut other = sim(n, integrator, engine, on);
        let looks = step_and_count(&mut other);
        assert!(looks > 0, "{case}: nobody looks whether to stop");
        let mut disturbed = sim(n, integrator, engine, on);
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
    walks_that_nobody_foresees_are_looked_at_often();
}

/// A tree with hardly any errors: its walks take a hundred times as long as usual ones, which is known once they are done.
fn walks_that_nobody_foresees_are_looked_at_often() {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(24_000).unwrap();
    let bodies = scene.build_with(&|path| Ok(snapshot::read(path)?.bodies)).unwrap();
    let opening = Opening::Acceleration { alpha: 1e-7 };
    let settings = Settings {
        softening: 0.05,
        engine: EngineKind::Gpu,
        method: Some(Method::Tree),
        tree: TreeConfig { opening, ..TreeConfig::default() },
        ..Settings::default()
    };
    let request = common::adapter_request();
    let mut open: Vec<Arc<Gpu>> = (0..2).map(|_| Gpu::open_blocking(&request).unwrap()).collect();
    let choice = Choice::of(EngineKind::Gpu, Method::Tree, "asked for", open.pop());
    let mut sim = Simulation::on(Choice { beside: open, ..choice }, bodies, settings).unwrap();
    let begun = std::time::Instant::now();
    // Each of the two devices looks.
    let looks = step_and_count(&mut sim) / 2;
    let secs = begun.elapsed().as_secs_f64();
    assert!(looks > 0 && secs / (looks as f64) < 1.0, "{looks} looks in {secs} seconds");
}
