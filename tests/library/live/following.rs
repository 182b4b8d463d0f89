//! A simulation that follows another one, as the second of two runs side by side.

use gravitile::live::Command;
use gravitile::sim::{EngineKind, Settings};

use super::watcher::{Watcher, bits};
use super::{ENGINES, plummer, settings};

const N: usize = 300;

/// Runs frames of `second` until it is where `first` is, and nothing of it moves.
fn catch_up(second: &mut Watcher, first: &Watcher) {
    second.live.follow(Some(first.live.allowed_until()));
    assert!(second.live.is_moving(), "it is paused, but behind");
    second.until("the other's time", |w| !w.live.is_moving());
    assert_eq!(second.live.status().steps, first.live.status().steps);
    assert_eq!(second.live.status().time, first.live.status().time);
}

#[test]
fn paused_run_follows_another_to_its_time_with_the_same_bits() {
    for engine in ENGINES {
        let open = || Watcher::new(plummer(N), settings(engine)).ready();
        let (mut first, mut second) = (open(), open());
        first.steps(7);
        first.frame();
        catch_up(&mut second, &first);
        assert!(bits(&first.state()) == bits(&second.state()), "{engine:?}");
        for run in [&mut first, &mut second] {
            run.apply(Command::Reverse);
        }
        first.steps(3);
        first.frame();
        catch_up(&mut second, &first);
        assert!(bits(&first.state()) == bits(&second.state()), "{engine:?}");
        // What it no longer follows does not move it.
        second.live.follow(None);
        first.steps(1);
        second.frame();
        assert!(!second.live.is_moving());
    }
}

#[test]
fn limit_does_not_hold_what_is_behind_another_run() {
    let settings = Settings { dt: 0.125, ..settings(EngineKind::Cpu) };
    let mut run = Watcher::new(plummer(N), settings).ready();
    run.live.go_until(Some(0.0));
    run.live.follow(Some(0.5));
    run.until("half a unit", |w| w.live.status().time >= 0.5);
    assert_eq!(run.live.allowed_until(), 0.5);
    run.frame();
    assert_eq!(run.live.status().steps, 4);
}
