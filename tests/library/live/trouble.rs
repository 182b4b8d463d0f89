//! Large steps, automatic reports, and lost devices.

use std::time::Duration;

use gravitile::forces::Budget;
use gravitile::gpu::Gpu;
use gravitile::integrate::blocks::BlockSettings;
use gravitile::live::{Command, Tempo, Tracking};
use gravitile::sim::{EngineKind, Settings};

use super::watcher::Watcher;
use super::{ENGINES, common, plummer, settings};

#[test]
fn large_step_is_spread_over_frames() {
    let mut watcher = Watcher::new(plummer(12_000), settings(EngineKind::Gpu));
    watcher.budget = Budget { dispatch_secs: 4e-3, submission_secs: 8e-3 };
    let mut most = 0;
    let all = 12_000 * 12_000;
    watcher.apply(Command::Step(1));
    while watcher.live.status().steps == 0 {
        let work = watcher.frame();
        common::gpu().wait().unwrap();
        most = most.max(work.interactions);
        assert!(watcher.frames < 10_000);
    }
    // Counted, not timed: a frame records a small part of the N^2 interactions of a step.
    assert!(most > 0 && most < all / 10, "a frame recorded {most} of {all}");
    assert!(watcher.frames > 20, "{} frames", watcher.frames);
    assert_eq!(watcher.live.status().steps, 1);
}

#[test]
fn hermite_runs_live_and_forwards_only() {
    let hermite = |engine| Settings {
        integrator: gravitile::integrate::find("hermite4").unwrap(),
        blocks: BlockSettings { dt_max: 0.0625, ..BlockSettings::default() },
        ..settings(engine)
    };
    for engine in ENGINES {
        // A separate device: each block waits for the device, and must not queue behind frames of
        // other tests.
        let gpu = Gpu::open_blocking(&common::adapter_request()).unwrap();
        let mut watcher = Watcher::on(&gpu, plummer(64), hermite(engine)).ready();
        let refused = watcher.live.apply(Command::Reverse).unwrap_err().to_string();
        assert!(refused.contains("forwards only with hermite4"), "{refused}");
        watcher.apply(Command::Step(3));
        watcher.until("three steps", |w| w.live.status().steps == 3);
        assert!((watcher.live.status().time - 0.03).abs() < 1e-12);
    }
}

#[test]
fn reports_arrive_unrequested_and_energy_is_conserved() {
    for engine in ENGINES {
        let mut watcher = Watcher::new(plummer(500), settings(engine)).ready();
        watcher.until("the first report", |w| !w.reports.is_empty());
        let first = watcher.reports[0].clone();
        assert_eq!((first.time, first.steps), (0.0, 0), "{engine:?}");
        watcher.budget = Budget::INTERACTIVE;
        watcher.apply(Command::Tempo(Tempo::Fastest));
        watcher.apply(Command::Pause(false));
        watcher.until("a second report", |w| w.reports.len() >= 2);
        let last = watcher.reports.last().unwrap();
        assert!(last.steps > 0);
        assert!((last.time - last.steps as f64 * 0.01).abs() < 1e-9);
        let error = last.diagnostics.energy_error(&first.diagnostics);
        assert!(error.abs() < 1e-2, "{engine:?}: {error:e}");
    }
}

#[test]
fn tracked_positions_match_bodies() {
    for engine in ENGINES {
        let mut watcher = Watcher::new(plummer(300), settings(engine)).ready();
        let bodies = watcher.state().bodies.clone();
        for (what, indices) in [(Tracking::All, 0..300), (Tracking::Body(17), 17..18)] {
            watcher.live.track(what);
            let mut found = None;
            // A host engine reports only new states, a device any state.
            watcher.apply(Command::Step(1));
            for _ in 0..60_000 {
                watcher.frame();
                if let Some(positions) = watcher.live.tracked().filter(|p| p.len() == indices.len())
                {
                    found = Some(positions);
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            let found = found.unwrap_or_else(|| panic!("{engine:?} should tell of {what:?}"));
            for (position, index) in found.iter().zip(indices) {
                let expected = bodies.position[index];
                let tracked = position.truncate();
                assert!(
                    tracked.distance(expected) < 0.2,
                    "body {index}: {tracked} is not near {expected}"
                );
            }
        }
    }
}

#[test]
fn resting_simulation_does_no_steps_until_resumed() {
    for engine in ENGINES {
        let mut watcher = Watcher::new(plummer(300), settings(engine)).ready();
        watcher.live.rest();
        watcher.apply(Command::Pause(false));
        watcher.apply(Command::Tempo(Tempo::Fastest));
        for _ in 0..20 {
            watcher.frame();
        }
        assert_eq!(watcher.live.status().steps, 0, "{engine:?}");
        watcher.budget = Budget::INTERACTIVE;
        watcher.live.go_on();
        watcher.until("steps", |w| w.live.status().steps > 0);
    }
}

#[test]
fn device_loss_is_reported_and_another_takes_over() {
    let gpu = Gpu::open_blocking(&common::adapter_request()).unwrap();
    let mut watcher = Watcher::on(&gpu, plummer(300), settings(EngineKind::Gpu)).ready();
    watcher.steps(3);
    let last = watcher.state();
    gpu.device.destroy();
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    let recorded = watcher.live.record(&mut encoder, 0.016, Budget::INTERACTIVE);
    let loss = (0..5000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(2));
        gpu.poll().err()
    });
    assert!(recorded.is_err() || loss.is_some(), "nobody would notice");
    if let Some(error) = loss {
        assert!(error.to_string().contains("lost"), "{error}");
    }
    // Another device continues from the last state read back.
    let resumed = settings(EngineKind::Gpu).going_on_from(&last);
    let other_gpu = Gpu::open_blocking(&common::adapter_request()).unwrap();
    let mut second = Watcher::on(&other_gpu, last.bodies.clone(), resumed).ready();
    second.steps(2);
    assert_eq!(second.state().steps, 5);
}
