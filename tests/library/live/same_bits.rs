//! Bits depend only on the commands and the steps between them.

use gravitile::forces::Budget;
use gravitile::live::{Command, Tracking};
use gravitile::sim::{EngineKind, Settings, Simulation};

use super::watcher::{LARGE, Watcher, bits};
use super::{ENGINES, plummer, settings, shape};

const N: usize = 700;

/// Runs a fixed sequence of commands and steps; `between` adds activity that must not matter.
fn run_commands(mut watcher: Watcher, between: &mut dyn FnMut(&mut Watcher)) -> Vec<[u64; 9]> {
    for command in [
        Command::Dt(0.008),
        Command::Softening(0.08),
        Command::Kernel(shape(32, 3)),
        Command::Reverse,
        Command::Kernel(shape(64, 1)),
    ] {
        watcher.steps(4);
        between(&mut watcher);
        watcher.apply(command);
        between(&mut watcher);
    }
    watcher.steps(7);
    assert_eq!(watcher.live.status().steps, 27);
    bits(&watcher.state())
}

#[test]
fn bits_do_not_depend_on_budget_or_requests() {
    for engine in ENGINES {
        let open = || Watcher::new(plummer(N), settings(engine)).ready();
        let expected = run_commands(open(), &mut |_| {});

        let mut requests = |w: &mut Watcher| {
            w.apply(Command::Report);
            w.apply(Command::State);
            w.frame();
            w.live.track(Tracking::All);
        };
        assert!(
            run_commands(open(), &mut requests) == expected,
            "{engine:?}: asking changed the bits"
        );

        let mut slow = open();
        // Slices that are a fraction of a step, one per frame.
        slow.budget = Budget { dispatch_secs: 2e-4, submission_secs: 4e-4 };
        let mut idle_frames = |w: &mut Watcher| {
            (0..3).for_each(|_| {
                w.frame();
            })
        };
        assert!(
            run_commands(slow, &mut idle_frames) == expected,
            "{engine:?}: the budget changed the bits"
        );
    }
}

#[test]
fn live_run_gives_same_bits_as_headless() {
    for engine in ENGINES {
        let mut alone = Simulation::new(plummer(N), settings(engine)).unwrap();
        alone.step(20).unwrap();
        let mut watched = Watcher::new(plummer(N), settings(engine)).ready();
        watched.budget = LARGE;
        for _ in 0..4 {
            watched.steps(5);
        }
        let (state, expected) = (watched.state(), alone.state().unwrap());
        assert_eq!((state.time, state.steps), (expected.time, expected.steps));
        assert!(bits(&state) == bits(&expected), "{engine:?}");
    }
}

#[test]
fn varying_step_has_the_bits_of_a_headless_run() {
    for engine in ENGINES {
        let settings = Settings { dt: 0.1, auto_dt: Some(0.05), ..settings(engine) };
        let mut alone = Simulation::new(plummer(N), settings.clone()).unwrap();
        alone.step(6).unwrap();
        let mut watched = Watcher::new(plummer(N), settings).ready();
        watched.steps(2);
        for refused in [Command::Reverse, Command::Softening(0.0)] {
            assert!(watched.live.apply(refused).is_err());
        }
        watched.steps(4);
        assert!(bits(&watched.state()) == bits(&alone.state().unwrap()), "{engine:?}");
        watched.until("the step", |w| w.live.varying() == alone.varying());
        assert!(alone.varying().unwrap().steps() > 12);
        // Another softening has its own step.
        watched.apply(Command::Softening(0.2));
        watched.until("twice the time", |w| {
            w.live.varying().unwrap().least_time() > 1.5 * alone.varying().unwrap().least_time()
        });
    }
}

#[test]
fn free_running_and_single_steps_give_same_bits() {
    for engine in ENGINES {
        let mut free = Watcher::new(plummer(N), settings(engine)).ready();
        free.apply(Command::Tempo(gravitile::live::Tempo::Fastest));
        free.budget = Budget::INTERACTIVE;
        free.apply(Command::Pause(false));
        free.until("some steps", |w| w.live.status().steps >= 12);
        free.apply(Command::Pause(true));
        let end = free.state();

        let mut stepped = Watcher::new(plummer(N), settings(engine)).ready();
        stepped.steps(end.steps);
        assert!(bits(&stepped.state()) == bits(&end), "{engine:?} after {} steps", end.steps);
    }
}

#[test]
fn requested_state_matches_its_step() {
    // Requested while the device runs: bodies, time and steps are consistent.
    let mut free = Watcher::new(plummer(N), settings(EngineKind::Gpu)).ready();
    free.apply(Command::Tempo(gravitile::live::Tempo::Fastest));
    free.budget = Budget { dispatch_secs: 1e-3, submission_secs: 3e-3 };
    free.apply(Command::Pause(false));
    for _ in 0..3 {
        let state = free.state();
        assert!((state.time - state.steps as f64 * 0.01).abs() < 1e-12);
        let mut stepped = Watcher::new(plummer(N), settings(EngineKind::Gpu)).ready();
        stepped.steps(state.steps);
        assert!(bits(&stepped.state()) == bits(&state), "step {}", state.steps);
    }
}
