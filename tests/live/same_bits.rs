//! Bits depend on the commands and the steps between them, and on nothing else.

use gravitile::forces::Budget;
use gravitile::live::{Command, Tracking};
use gravitile::sim::{EngineKind, Simulation};

use super::watcher::{LARGE, Watcher, bits};
use super::{ENGINES, plummer, settings, shape};

const N: usize = 700;

/// The same commands between the same steps; `between` is what a watcher does besides.
fn story(mut watcher: Watcher, between: &mut dyn FnMut(&mut Watcher)) -> Vec<[u64; 9]> {
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
    bits(&watcher.moment())
}

#[test]
fn the_bits_do_not_depend_on_budget_reports_or_moments() {
    for engine in ENGINES {
        let open = || Watcher::new(plummer(N), settings(engine)).ready();
        let expected = story(open(), &mut |_| {});

        let mut asking = |w: &mut Watcher| {
            w.apply(Command::Report);
            w.apply(Command::Moment);
            w.frame();
            w.live.track(Tracking::All);
        };
        assert!(story(open(), &mut asking) == expected, "{engine:?}: asking changed the bits");

        let mut slow = open();
        // A piece per frame, and pieces that are a fraction of a step.
        slow.budget = Budget { dispatch_secs: 2e-4, submission_secs: 4e-4 };
        let mut resting = |w: &mut Watcher| {
            (0..3).for_each(|_| {
                w.frame();
            })
        };
        assert!(story(slow, &mut resting) == expected, "{engine:?}: the budget changed the bits");
    }
}

#[test]
fn nothing_is_different_from_a_run_without_a_watcher() {
    for engine in ENGINES {
        let mut alone = Simulation::new(plummer(N), settings(engine)).unwrap();
        alone.step(20).unwrap();
        let mut watched = Watcher::new(plummer(N), settings(engine)).ready();
        watched.budget = LARGE;
        for _ in 0..4 {
            watched.steps(5);
        }
        let (moment, expected) = (watched.moment(), alone.moment().unwrap());
        assert_eq!((moment.time, moment.steps), (expected.time, expected.steps));
        assert!(bits(&moment) == bits(&expected), "{engine:?}");
    }
}

#[test]
fn running_freely_and_step_by_step_give_the_same_bits() {
    for engine in ENGINES {
        let mut free = Watcher::new(plummer(N), settings(engine)).ready();
        free.apply(Command::Tempo(gravitile::live::Tempo::Fastest));
        free.budget = Budget::INTERACTIVE;
        free.apply(Command::Pause(false));
        free.until("some steps", |w| w.live.status().steps >= 12);
        free.apply(Command::Pause(true));
        let end = free.moment();

        let mut stepped = Watcher::new(plummer(N), settings(engine)).ready();
        stepped.steps(end.steps);
        assert!(bits(&stepped.moment()) == bits(&end), "{engine:?} after {} steps", end.steps);
    }
}

#[test]
fn a_moment_is_the_state_of_its_step() {
    // Asked for while it runs, on the device: bodies, time and steps belong together.
    let mut free = Watcher::new(plummer(N), settings(EngineKind::Gpu)).ready();
    free.apply(Command::Tempo(gravitile::live::Tempo::Fastest));
    free.budget = Budget { dispatch_secs: 1e-3, submission_secs: 3e-3 };
    free.apply(Command::Pause(false));
    for _ in 0..3 {
        let moment = free.moment();
        assert!((moment.time - moment.steps as f64 * 0.01).abs() < 1e-12);
        let mut stepped = Watcher::new(plummer(N), settings(EngineKind::Gpu)).ready();
        stepped.steps(moment.steps);
        assert!(bits(&stepped.moment()) == bits(&moment), "step {}", moment.steps);
    }
}
