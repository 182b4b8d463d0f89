//! Effects of commands on a running simulation.

use gravitile::forces::direct::gpu::{Dispatch, KernelRequest};
use gravitile::forces::tree::{Rebuild, TreeConfig};
use gravitile::forces::{Budget, Method};
use gravitile::integrate::blocks::BlockSettings;
use gravitile::live::{Command, Tempo};
use gravitile::sim::{EngineKind, Settings};

use super::watcher::{Watcher, bits, distance};
use super::{ENGINES, plummer, settings, shape};

/// A device simulation with an unfinished step: with this many bodies a frame does only part of a
/// step.
fn unfinished_step() -> Watcher {
    let mut watcher = Watcher::new(plummer(3000), settings(EngineKind::Gpu)).ready();
    watcher.steps(2);
    watcher.budget = Budget { dispatch_secs: 2e-3, submission_secs: 4e-3 };
    watcher.apply(Command::Step(1));
    let work = watcher.frame();
    assert!(work.interactions > 0 && work.steps == 0, "a frame should do a part of it: {work:?}");
    watcher
}

#[test]
fn kernel_change_in_mid_step_keeps_state() {
    let mut changed = unfinished_step();
    changed.apply(Command::Kernel(shape(32, 3)));
    changed.until("the step", |w| w.live.status().steps == 3);
    changed.steps(2);

    // The force of the third step is the first that the new kernel computes entirely.
    let mut same = Watcher::new(plummer(3000), settings(EngineKind::Gpu)).ready();
    same.steps(2);
    same.apply(Command::Kernel(shape(32, 3)));
    same.steps(3);
    let (a, b) = (changed.state(), same.state());
    assert_eq!((a.time, a.steps), (b.time, b.steps));
    assert!(bits(&a) == bits(&b), "off by {:e}", distance(&a, &b));
    assert_eq!(changed.live.config().unwrap().p, 32);
}

#[test]
fn invalid_command_is_refused_and_changes_nothing() {
    for engine in ENGINES {
        let mut watcher = Watcher::new(plummer(300), settings(engine)).ready();
        let before = (watcher.live.settings().clone(), bits(&watcher.state()));
        let huge = KernelRequest { p: Some(4096), q: Some(16), ..KernelRequest::default() };
        for command in [
            Command::Kernel(huge),
            Command::Softening(-1.0),
            Command::Softening(f64::NAN),
            Command::Dt(0.0),
            Command::Dt(f64::INFINITY),
            Command::Factor(0.0),
        ] {
            assert!(watcher.live.apply(command.clone()).is_err(), "{command:?}");
        }
        assert!((watcher.live.settings().clone(), bits(&watcher.state())) == before);
        watcher.steps(2);
    }
}

#[test]
fn softening_change_takes_effect_at_once() {
    for engine in ENGINES {
        let mut changed = Watcher::new(plummer(500), settings(engine)).ready();
        let before = changed.report();
        // A report of the state before and one after arrive unrequested, so that the change in
        // energy is not attributed to the steps.
        changed.reports.clear();
        changed.apply(Command::Softening(0.5));
        changed.until("a report", |w| w.reports.iter().any(|r| r.softening == 0.5));
        let mut found: Vec<_> = changed.reports.iter().map(|r| (r.steps, r.softening)).collect();
        found.dedup();
        assert_eq!(found[..2], [(0, 0.05), (0, 0.5)], "{engine:?}");
        let after = changed.reports.iter().find(|r| r.softening == 0.5).unwrap().clone();
        assert_eq!((before.softening, after.softening), (0.05, 0.5), "{engine:?}");
        assert_eq!(before.diagnostics.kinetic, after.diagnostics.kinetic);
        assert!(after.diagnostics.potential > 0.95 * before.diagnostics.potential);
        // Accelerations change too, and later states equal those of a run that began with this
        // softening.
        let other = gravitile::sim::Settings { softening: 0.5, ..settings(engine) };
        let mut fresh = Watcher::new(plummer(500), other).ready();
        assert!(bits(&changed.state()) == bits(&fresh.state()), "{engine:?}");
        changed.steps(3);
        fresh.steps(3);
        assert!(bits(&changed.state()) == bits(&fresh.state()), "{engine:?}");
    }
}

/// By each kind of kernel; to and from a softening of 0, which needs another kernel.
#[test]
fn softening_change_gives_bits_of_fresh_simulation() {
    let direct = settings(EngineKind::Gpu);
    let tree = Settings { method: Some(Method::Tree), ..direct.clone() };
    let seldom = TreeConfig { rebuild: Rebuild::Every(4), ..tree.tree };
    let one_workgroup =
        KernelRequest { r: Some(4), dispatch: Dispatch::OneWorkgroup, ..shape(128, 1) };
    for begun in [
        Settings { kernel: shape(32, 3), ..direct.clone() },
        Settings { kernel: one_workgroup, ..direct },
        Settings { tree: seldom, ..tree.clone() },
        tree,
    ] {
        for [before, after] in [[0.05, 0.5], [0.05, 0.0], [0.0, 0.05]] {
            let softened = |softening| {
                Watcher::new(plummer(500), Settings { softening, ..begun.clone() }).ready()
            };
            let (mut changed, mut fresh) = (softened(before), softened(after));
            changed.apply(Command::Softening(after));
            let description = changed.live.describe_engine();
            assert!(bits(&changed.state()) == bits(&fresh.state()), "{description}, {after}");
            changed.steps(6);
            fresh.steps(6);
            assert!(bits(&changed.state()) == bits(&fresh.state()), "{description}, {after}");
        }
    }
}

#[test]
fn reversing_time_returns_to_start() {
    for (engine, tolerance) in [(EngineKind::Gpu, 2e-4), (EngineKind::Cpu, 1e-5)] {
        let mut watcher = Watcher::new(plummer(500), settings(engine)).ready();
        let start = watcher.state();
        watcher.steps(30);
        let far = watcher.state();
        assert!((far.time - 0.3).abs() < 1e-12 && distance(&start, &far) > 0.05);
        watcher.apply(Command::Reverse);
        assert!(watcher.live.dt() < 0.0);
        watcher.steps(30);
        let back = watcher.state();
        assert!(back.time.abs() < 1e-12, "{engine:?}: t = {}", back.time);
        assert_eq!(back.steps, 60, "steps count on");
        assert!(distance(&start, &back) < tolerance, "{engine:?}: {:e}", distance(&start, &back));
    }
}

#[test]
fn time_is_right_when_dt_changes_in_mid_step() {
    // The step in progress goes forwards by 0.01, whatever follows.
    let mut reversed = unfinished_step();
    reversed.apply(Command::Reverse);
    reversed.until("the step", |w| w.live.status().steps == 3);
    assert!((reversed.state().time - 0.03).abs() < 1e-12, "{}", reversed.state().time);
    reversed.steps(3);
    let back = reversed.state();
    assert!(back.time.abs() < 1e-12, "t = {}", back.time);
    let start = Watcher::new(plummer(3000), settings(EngineKind::Gpu)).ready().state();
    assert!(distance(&start, &back) < 1e-4, "{:e}", distance(&start, &back));

    let mut longer = unfinished_step();
    longer.apply(Command::Dt(0.02));
    longer.until("the step", |w| w.live.status().steps == 3);
    longer.steps(1);
    assert!((longer.state().time - 0.05).abs() < 1e-12, "{}", longer.state().time);
}

#[test]
fn single_step_is_one_step_after_running() {
    for engine in ENGINES {
        let mut watcher = Watcher::new(plummer(500), settings(engine)).ready();
        watcher.budget = Budget::INTERACTIVE;
        watcher.apply(Command::Tempo(Tempo::Fastest));
        watcher.apply(Command::Pause(false));
        watcher.until("some steps", |w| w.live.status().steps > 5);
        watcher.apply(Command::Pause(true));
        // The step in progress may finish; then nothing moves.
        let settled = watcher.state().steps;
        for _ in 0..20 {
            watcher.frame();
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(watcher.live.status().steps, settled, "{engine:?} should stand still");
        for k in 1..=3 {
            watcher.apply(Command::Step(1));
            watcher.until("a step", |w| w.live.status().steps == settled + k);
            for _ in 0..10 {
                watcher.frame();
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            assert_eq!(watcher.live.status().steps, settled + k, "{engine:?}");
        }
    }
}

#[test]
fn resuming_from_state_keeps_time() {
    for engine in ENGINES {
        let mut first = Watcher::new(plummer(300), settings(EngineKind::Gpu)).ready();
        first.steps(25);
        let state = first.state();
        let resumed = settings(engine).going_on_from(&state);
        let mut second = Watcher::new(state.bodies.clone(), resumed);
        let status = second.live.status();
        assert!((status.time - 0.25).abs() < 1e-12 && status.steps == 25, "{status:?}");
        second = second.ready();
        second.steps(5);
        let end = second.state();
        assert!((end.time - 0.3).abs() < 1e-12 && end.steps == 30, "t = {}", end.time);
    }
}

/// What the window does when another integrator or accuracy is selected: state and time are kept,
/// and the worker reports its steps on request.
#[test]
fn integrator_change_keeps_state_and_reports_steps() {
    let mut first = Watcher::new(plummer(200), settings(EngineKind::Gpu)).ready();
    first.steps(20);
    let state = first.state();
    assert!(first.live.blocks().is_none(), "the leapfrog has no blocks");
    let blocks = BlockSettings { eta: 0.02, eta6: 0.1, dt_max: 0.0625, on_host: false };
    let resumed = Settings {
        integrator: gravitile::integrate::find("hermite4").unwrap(),
        blocks,
        ..settings(EngineKind::Cpu).going_on_from(&state)
    };
    let mut second = Watcher::new(state.bodies.clone(), resumed).ready();
    let begun = second.state();
    assert!(distance(&state, &begun) < 1e-12 && (begun.time - 0.2).abs() < 1e-12);
    second.steps(25);
    // An earlier report may still be there.
    second.until("the individual steps", |w| w.live.blocks().is_some_and(|b| b.blocks > 4));
    let reported = second.live.blocks().unwrap().clone();
    assert_eq!(reported.steps_by_level.iter().sum::<usize>(), 200, "each body has a step");
    assert_eq!(reported.dt_max, 0.0625);
    assert!(
        reported.blocks > 4 && reported.mean_active >= 1.0 && reported.mean_active <= 200.0,
        "{reported:?}"
    );
    assert!(reported.last_active >= 1 && reported.blocks_per_time > 16.0, "{reported:?}");
    assert!((second.state().time - 0.45).abs() < 1e-12);

    // And back to leapfrog.
    let state = second.state();
    let back = settings(EngineKind::Gpu).going_on_from(&state);
    let mut third = Watcher::new(state.bodies.clone(), back).ready();
    third.steps(5);
    assert!((third.state().time - 0.5).abs() < 1e-12);
    assert!(third.live.blocks().is_none());
}
