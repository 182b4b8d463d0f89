//! Work that is broken off leaves the bodies as they were, and can be done again to the same bits. One
//! test, for the wish to stop is the whole process's.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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
        adapter: common::wish(),
        ..Settings::default()
    };
    Simulation::new(bodies, settings).unwrap()
}

/// Does `work` again and again, each time broken off a little later, until it was once broken off in
/// the middle (seen by `inside`) and has then come to its end; gives the number of times it was stopped.
fn broken_off(sim: &mut Simulation, whole: Duration) -> usize {
    let mut stopped = 0;
    for part in [0, 1, 2, 4, 8] {
        let before = sim.moment().unwrap();
        let done = AtomicBool::new(false);
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                let begun = Instant::now();
                while begun.elapsed() < whole * part / 16 && !done.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                stop::all_work(true);
            });
            let result = sim.step(1);
            done.store(true, Ordering::SeqCst);
            result
        });
        stop::all_work(false);
        match result {
            Ok(()) => return stopped,
            Err(Error::Stopped) => stopped += 1,
            Err(error) => panic!("{error}"),
        }
        let after = sim.moment().unwrap();
        assert_eq!((after.steps, after.time), (before.steps, before.time));
        assert_eq!(after.bodies, before.bodies);
        assert_eq!(after.acceleration, before.acceleration);
    }
    stopped
}

#[test]
fn steps_broken_off_are_as_if_not_begun() {
    let long = common::gpu().adapter.class == gravitile::gpu::DeviceClass::Software;
    for (n, integrator, engine) in [
        (3000, "leapfrog", EngineKind::Reference),
        (12_000, "leapfrog", EngineKind::Cpu),
        (16_000, "leapfrog", EngineKind::Gpu),
        (500, "hermite4", EngineKind::Reference),
        (1000, "hermite6", EngineKind::Cpu),
        (256, "hermite4", EngineKind::Gpu),
    ] {
        if engine == EngineKind::Gpu && n > 1000 && !long {
            // Only steps that take long are broken off, which these are not on a real device.
            continue;
        }
        let case = format!("{integrator} on {}", engine.name());
        let mut n = n;
        let (mut other, whole) = loop {
            let mut other = sim(n, integrator, engine);
            let begun = Instant::now();
            other.step(1).unwrap();
            let whole = begun.elapsed();
            if whole > Duration::from_millis(450)
                || integrator != "leapfrog"
                || other.device().is_none()
            {
                break (other, whole);
            }
            n += n / 2;
        };
        // All blocks of a step may be one submission, which is waited for: then only the first wish comes in time.
        let least = if integrator != "leapfrog" && engine == EngineKind::Gpu { 1 } else { 2 };
        // A later step may be faster than the one that was measured, and over before it is to be broken off.
        let mut tries = (0..5).map(|_| {
            let mut disturbed = sim(n, integrator, engine);
            let stopped = broken_off(&mut disturbed, whole);
            (disturbed, stopped)
        });
        let struck = tries.find(|(_, stopped)| *stopped >= least);
        let (mut disturbed, _) = struck.unwrap_or_else(|| panic!("{case}: not stopped in a step"));
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
