//! Cancelled work leaves the bodies unchanged, and repeating it gives the same bits. All in one
//! test, as a stop request applies to the whole process.

use crate::common;

use std::sync::Arc;

use gravitile::error::Error;
use gravitile::forces::Method;
use gravitile::forces::tree::{Opening, TreeConfig};
use gravitile::gpu::Gpu;
use gravitile::scene::Scene;
use gravitile::sim::{Choice, EngineKind, Settings, Simulation};
use gravitile::{snapshot, stop};

/// Stands for leapfrog with a step that varies.
const VARYING: &str = "varying";

/// A Plummer sphere on an engine; `on` holds method and number of devices.
fn sim(n: usize, integrator: &str, engine: EngineKind, on: (Method, usize)) -> Simulation {
    let mut scene = Scene::builtin("plummer").unwrap();
    scene.set_n(n).unwrap();
    let bodies = scene.build_with(&|path| Ok(snapshot::read(path)?.bodies)).unwrap();
    // A step that varies is taken in shorter ones, four or eight at first.
    let (auto_dt, integrator) = match integrator {
        VARYING => (Some(0.01), "leapfrog"),
        name => (None, name),
    };
    let settings = Settings {
        softening: 0.05,
        dt: 0.01,
        auto_dt,
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
    Simulation::builder(bodies, settings).choice(Choice { others: open, ..choice }).build().unwrap()
}

/// Completes a step and returns the number of times that engines polled for a stop request.
fn step_counting_polls(sim: &mut Simulation) -> u64 {
    const MANY: u64 = 1 << 40;
    stop::all_work_after(MANY);
    let result = sim.step(1);
    let polls = MANY - stop::looks_left();
    stop::all_work(false);
    result.unwrap();
    polls
}

/// Cancels the first step at a series of ever later polls, and asserts each time that the bodies
/// are unchanged. Returns the number of cancellations. The series ends early if the step completes:
/// work is cut up by the clock, so a step may have fewer polls than counted.
fn assert_cancellable(sim: &mut Simulation, polls: u64) -> usize {
    let poll_numbers = [0, 1, 2, polls / 4, polls / 2, polls - 1];
    for (stopped, poll) in poll_numbers.into_iter().filter(|poll| *poll < polls).enumerate() {
        let before = sim.state().unwrap();
        stop::all_work_after(poll);
        let result = sim.step(1);
        stop::all_work(false);
        match result {
            Ok(()) => return stopped,
            Err(Error::Stopped) => {}
            Err(error) => panic!("{error}"),
        }
        let after = sim.state().unwrap();
        assert_eq!((after.steps, after.time), (before.steps, before.time));
        assert_eq!(after.bodies, before.bodies);
        assert_eq!(after.acceleration, before.acceleration);
    }
    poll_numbers.len()
}

#[test]
fn cancelled_steps_leave_the_state_unchanged() {
    let _alone = crate::alone();
    let one_device = (Method::Direct, 1);
    for (n, integrator, engine, on) in [
        (3000, "leapfrog", EngineKind::Reference, one_device),
        (12_000, "leapfrog", EngineKind::Cpu, one_device),
        (16_000, "leapfrog", EngineKind::Gpu, one_device),
        (16_000, "leapfrog", EngineKind::Gpu, (Method::Direct, 2)),
        (16_000, "leapfrog", EngineKind::Gpu, (Method::Tree, 2)),
        (1000, VARYING, EngineKind::Reference, one_device),
        (2000, VARYING, EngineKind::Gpu, one_device),
        (2000, VARYING, EngineKind::Gpu, (Method::Direct, 2)),
        (2000, VARYING, EngineKind::Gpu, (Method::Tree, 2)),
        (500, "hermite4", EngineKind::Reference, one_device),
        (1000, "hermite6", EngineKind::Cpu, one_device),
        (256, "hermite4", EngineKind::Gpu, one_device),
        (256, "hermite4", EngineKind::Gpu, (Method::Direct, 2)),
    ] {
        let case = format!("{integrator} on {} {on:?}", engine.name());
        let mut other = sim(n, integrator, engine, on);
        let polls = step_counting_polls(&mut other);
        assert!(polls > 0, "{case}: nobody looks whether to stop");
        let mut disturbed = sim(n, integrator, engine, on);
        assert!(assert_cancellable(&mut disturbed, polls) > 0, "{case}: not stopped");
        if disturbed.steps() == 0 {
            disturbed.step(1).unwrap();
        }
        disturbed.step(1).unwrap();
        other.step(1).unwrap();
        let (a, b) = (disturbed.state().unwrap(), other.state().unwrap());
        assert_eq!((a.steps, a.time), (b.steps, b.time), "{case}");
        assert_eq!(a.bodies, b.bodies, "{case}");

        stop::all_work(true);
        let diagnostics = disturbed.diagnostics();
        stop::all_work(false);
        assert!(matches!(diagnostics, Err(Error::Stopped)), "{case}");
        disturbed.diagnostics().unwrap();
    }
    unexpectedly_long_walks_are_polled_often();
}

/// A tree of very high accuracy: its walks take a hundred times as long as typical ones, which is
/// known only after they are done.
fn unexpectedly_long_walks_are_polled_often() {
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
    let mut sim = Simulation::builder(bodies, settings)
        .choice(Choice { others: open, ..choice })
        .build()
        .unwrap();
    let start = std::time::Instant::now();
    // Each of the two devices polls.
    let polls = step_counting_polls(&mut sim) / 2;
    let secs = start.elapsed().as_secs_f64();
    assert!(polls > 0 && secs / (polls as f64) < 1.0, "{polls} looks in {secs} seconds");
}
