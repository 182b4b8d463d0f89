//! Several devices in an interactive simulation: same bits as with one, whatever is requested in
//! between.

use std::sync::Arc;

use gravitile::bodies::Bodies;
use gravitile::forces::Method;
use gravitile::gpu::Gpu;
use gravitile::live::{Command, Live, Tempo};
use gravitile::sim::{Choice, EngineKind, Settings, Share, Simulation};

use super::watcher::{Watcher, bits};
use super::{common, plummer, settings, shape};

const N: usize = 700;

/// A separate device: other tests keep the shared one busy.
fn device() -> Arc<Gpu> {
    Gpu::open_blocking(&common::adapter_request()).unwrap()
}

/// A simulation displayed on the first device, with bodies on all.
fn on(devices: &[Arc<Gpu>], settings: Settings) -> Watcher {
    with(devices, settings, plummer(N))
}

fn with(devices: &[Arc<Gpu>], settings: Settings, bodies: Bodies) -> Watcher {
    let method = settings.method.unwrap_or(Method::Direct);
    let choice = Choice::of(EngineKind::Gpu, method, "asked for", Some(devices[0].clone()));
    let choice = Choice { others: devices[1..].to_vec(), ..choice };
    Watcher::chosen(&devices[0], choice, bodies, settings).ready()
}

#[test]
fn changes_on_two_devices_give_same_bits_as_one() {
    let devices = [device(), device()];
    let story = |devices: &[Arc<Gpu>]| {
        let mut watcher = on(devices, settings(EngineKind::Gpu));
        for command in [Command::Dt(0.008), Command::Softening(0.08), Command::Reverse] {
            watcher.steps(4);
            watcher.apply(command);
            watcher.apply(Command::Report);
        }
        watcher.steps(7);
        (bits(&watcher.state()), watcher.live.describe_engine())
    };
    let (of_one, _) = story(&devices[..1]);
    let (of_two, description) = story(&devices);
    assert!(of_two == of_one, "{description}");
    assert_eq!(
        description.matches(&devices[0].adapter.name).count(),
        2,
        "both are named: {description}"
    );
}

#[test]
fn change_in_distant_moving_frame_keeps_positions() {
    let devices = [device(), device()];
    let (place, motion) = (glam::DVec3::new(1e6, -2e6, 3e5), glam::DVec3::new(100.0, 0.0, -40.0));
    let mut away = plummer(N);
    away.position.iter_mut().for_each(|x| *x += place);
    away.velocity.iter_mut().for_each(|v| *v += motion);
    let story = |devices: &[Arc<Gpu>], bodies| {
        let mut watcher = with(devices, settings(EngineKind::Gpu), bodies);
        watcher.steps(4);
        watcher.apply(Command::Dt(0.008));
        watcher.steps(4);
        watcher.apply(Command::Softening(0.08));
        watcher.steps(4);
        watcher.state()
    };
    let (near, far) = (story(&devices[..1], plummer(N)), story(&devices, away));
    assert_eq!(near.time, far.time);
    let far_time = far.time;
    for (near, far) in near.bodies.position.iter().zip(&far.bodies.position) {
        let off = (*far - place - motion * far_time) - *near;
        assert!(off.length() < 1e-5, "{off}");
    }
}

#[test]
fn kernel_change_reaches_all_devices() {
    let devices = [device(), device()];
    let mut watcher = on(&devices, settings(EngineKind::Gpu));
    watcher.steps(2);
    watcher.apply(Command::Kernel(shape(32, 3)));
    watcher.until("the kernel", |w| w.live.describe_engine().contains("p=32"));
    watcher.steps(2);
    let mut alone =
        Simulation::new(plummer(N), Settings { kernel: shape(32, 3), ..settings(EngineKind::Gpu) })
            .unwrap();
    alone.step(4).unwrap();
    let (now, then) = (watcher.state(), alone.state().unwrap());
    for (now, then) in now.bodies.position.iter().zip(&then.bodies.position) {
        assert!(now.distance(*then) < 1e-5 * then.length(), "{now} is not near {then}");
    }
}

#[test]
fn tree_and_block_steps_run_live_on_two_devices() {
    let devices = [device(), device()];
    let tree = Settings { method: Some(Method::Tree), ..settings(EngineKind::Gpu) };
    let auto = Settings { auto_dt: Some(0.03), dt: 0.0625, ..tree.clone() };
    let hermite = Settings {
        integrator: gravitile::integrate::find("hermite4").unwrap(),
        ..settings(EngineKind::Gpu)
    };
    for settings in [tree, auto, hermite] {
        let story = |devices: &[Arc<Gpu>]| {
            let mut watcher = on(devices, settings.clone());
            watcher.steps(3);
            watcher.apply(Command::Softening(0.09));
            watcher.steps(2);
            bits(&watcher.state())
        };
        assert!(story(&devices) == story(&devices[..1]), "{settings:?}");
    }
}

#[test]
fn steps_continue_during_frames_and_stop_at_end_time() {
    let devices = [device(), device()];
    let mut watcher = on(&devices, settings(EngineKind::Gpu));
    let until = 0.4;
    Live::go_until(&mut watcher.live, Some(until));
    watcher.apply(Command::Tempo(Tempo::Fastest));
    watcher.apply(Command::Pause(false));
    watcher.until("the time", |w| w.live.status().steps >= 40 && w.live.is_drawn_whole());
    assert_eq!(watcher.live.status().steps, 40);
    assert!(!watcher.retained.is_empty(), "states to go on from came meanwhile");
}

#[test]
fn lost_device_is_reported_and_last_state_resumes() {
    let devices = [device(), device()];
    let mut watcher = on(&devices, settings(EngineKind::Gpu));
    watcher.steps(3);
    let last = watcher.state();
    devices[1].device.destroy();
    watcher.apply(Command::Step(1));
    watcher.until_failure();
    assert!(watcher.failures[0].contains("lost"), "{:?}", watcher.failures);
    assert!(watcher.live.status().steps == 3 && !watcher.live.is_moving());
    let resumed = settings(EngineKind::Gpu).going_on_from(&last);
    let mut second = Watcher::on(&device(), last.bodies.clone(), resumed).ready();
    second.steps(2);
    assert_eq!(second.state().steps, 5);
}

#[test]
fn range_and_exchange_time_of_each_device_are_reported() {
    let devices = [device(), device()];
    let tree = Settings { method: Some(Method::Tree), ..settings(EngineKind::Gpu) };
    let hermite = Settings {
        integrator: gravitile::integrate::find("hermite4").unwrap(),
        ..settings(EngineKind::Gpu)
    };
    for (settings, are) in
        [(settings(EngineKind::Gpu), "bodies"), (tree, "domains"), (hermite, "blocks")]
    {
        let mut watcher = on(&devices, settings.clone());
        watcher.until("what they do", |w| w.live.parts().len() == 2);
        assert!(watcher.live.parts().iter().all(|part| part.exchanging.is_none()), "{are}");
        watcher.apply(Command::Tempo(Tempo::Fastest));
        watcher.apply(Command::Pause(false));
        watcher.until("shares of the time", |w| w.live.parts()[1].exchanging.is_some());
        let mut end = 0;
        for part in watcher.live.parts() {
            assert!(part.device.starts_with(&devices[0].adapter.name), "{part:?}");
            assert!((0.0..=1.0).contains(&part.exchanging.unwrap()), "{part:?}");
            match (&part.share, are) {
                (Share::Bodies(range), "bodies") => {
                    assert!(range.start == end && !range.is_empty(), "{part:?}");
                    end = range.end;
                }
                (Share::Domain(bodies), "domains") => end += *bodies as usize,
                (Share::Blocks, "blocks") => end = N,
                _ => panic!("{are}: {part:?}"),
            }
        }
        assert_eq!(end, N, "{are}");
        let alone = on(&devices[..1], settings);
        assert!(alone.live.parts().is_empty(), "one alone has no part");
    }
}

/// What the window does when another number of devices is selected.
#[test]
fn changing_device_count_gives_same_bits() {
    let devices = [device(), device()];
    let mut alone = on(&devices[..1], settings(EngineKind::Gpu));
    alone.steps(12);
    let mut watcher = on(&devices[..1], settings(EngineKind::Gpu));
    for count in [2, 1, 2] {
        watcher.steps(3);
        let last = watcher.state();
        let resumed = watcher.live.settings().going_on_from(&last);
        watcher = with(&devices[..count], resumed, last.bodies.clone());
        let are_several = watcher.live.describe_engine().contains(" + ");
        assert_eq!(are_several, count == 2, "{}", watcher.live.describe_engine());
    }
    watcher.steps(3);
    assert!(bits(&watcher.state()) == bits(&alone.state()));
}
