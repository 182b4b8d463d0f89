//! A window that computes on several devices.

use egui_kittest::kittest::Queryable;
use gravitile::gpu::DeviceCount;
use gravitile::snapshot::Snapshot;
use gravitile_app::panel::Tab;

use super::display::{Display, can_run_window_tests};
use super::person::{SIZE, SKY, Session, command, place};
use super::world::World;

/// Arguments of a window that computes on two devices: one adapter, opened twice.
pub const TWO_DEVICES: [&str; 8] =
    ["view", "plummer", "-n", "300", "--engine", "gpu", "--adapter", "0,0"];

#[test]
fn window_computes_on_two_devices_and_draws_on_one() {
    if !can_run_window_tests() {
        return;
    }
    let session = Session::open(&TWO_DEVICES, Tab::File);
    session.wait_for_motion();
    session.press_key("space", "Named(Space)");
    session.wait_until_idle();
    assert!(session.screenshot().count_bright(SKY) > 20);
    let saved = session.save_snapshot();
    assert!(saved.time > 0.0);
    let engine = &saved.attributes["engine"];
    assert!(engine.contains(" + "), "both are named: {engine}");
}

/// The panel of a window whose only adapter was named twice.
fn panel(computing: usize) -> World {
    let mut world = World::on(Tab::Kernel);
    let gpu = super::world::full();
    world.adapters = vec![gpu.adapter.in_words(); 2];
    world.settings.devices = DeviceCount::of_names(computing);
    world.engine_reason = "asked for".to_owned();
    world.engine_text = [gpu.adapter.in_words(), gpu.adapter.in_words()][..computing].join(" + ");
    world
}

#[test]
fn changing_the_device_count_while_running_changes_no_bit() {
    if !can_run_window_tests() {
        return;
    }
    let session = Session::open(&TWO_DEVICES, Tab::Kernel);
    session.wait_for_motion();
    for (name, now, next) in [("1 device", 2, 1), ("2 devices", 1, 2), ("1 device", 2, 1)] {
        let at = place(panel(now), |h| h.get_by_label(name).rect().center());
        session.click(at, &format!("does Devices(These({next}))"));
        session.wait_for("the change", || (!session.is_building()).then_some(()));
        let step = session.step();
        session.wait_for("steps", || (session.step() > step + 3).then_some(()));
    }
    session.press_key("space", "Named(Space)");
    session.wait_until_idle();
    session.open_tab(Tab::File);
    let saved = session.save_snapshot();
    let engine = &saved.attributes["engine"];
    assert!(!engine.contains(" + "), "one alone: {engine}");
    for adapters in ["0,0", "0"] {
        assert_equals_command_line_run(&session, &saved, adapters);
    }
}

/// Asserts that the same steps by `gravitile run` give the bits of the window's snapshot.
pub fn assert_equals_command_line_run(session: &Session, saved: &Snapshot, adapters: &str) {
    let (steps, dt) = (&saved.attributes["step"], &saved.attributes["dt"]);
    let out = session.folder().join(format!("run on {adapters}"));
    let mut run = command(&session.folder());
    run.args(["run", "plummer", "-n", "300", "--engine", "gpu", "--adapter", adapters]);
    run.args(["--every", &saved.time.to_string(), "--out"]).arg(&out);
    run.args(["--dt", dt, "--until", &saved.time.to_string()]);
    let output = run.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let other = gravitile::snapshot::read(out.join(format!("step_{steps:0>10}.gvt"))).unwrap();
    assert!(saved.bodies == other.bodies, "{adapters}");
}

#[test]
fn rewinding_on_the_time_bar_continues_on_all_devices() {
    if !can_run_window_tests() {
        return;
    }
    // A thousand steps to the end.
    let session = Session::open(&[&TWO_DEVICES[..], &["--dt", "0.01"]].concat(), Tab::File);
    session.wait_for_motion();
    session.wait_for("states to go back to, and a tenth of the bar", || {
        let is_stored = session.last_frame_line().contains(" restorable");
        (is_stored && session.step() > 100).then_some(())
    });
    session.press_key("space", "Named(Space)");
    session.wait_until_idle();
    let before = session.step();
    // The start of the time bar, found by its colour.
    let begin = session.screenshot().first([0, SKY[3], SKY[2], SIZE[1]], [86, 180, 233]);
    let early = begin.expect("the bar") + egui::vec2(0.0, 2.0);
    for _ in 0..2 {
        session.click(early, "does GoTo(");
        session.wait_for("the state", || session.is_idle().then_some(()));
        let rewound = session.step();
        assert!(rewound < before, "{rewound} is not before {before}");
        session.press_key("space", "Named(Space)");
        session.wait_for("steps", || (session.step() > rewound + 3).then_some(()));
    }
    session.press_key("space", "Named(Space)");
    session.wait_until_idle();
    let saved = session.save_snapshot();
    assert!(saved.attributes["engine"].contains(" + "), "{:?}", saved.attributes);
    assert_equals_command_line_run(&session, &saved, "0");
}

#[test]
fn unavailable_device_counts_are_refused() {
    if !can_run_window_tests() {
        return;
    }
    let (folder, display) = (tempfile::tempdir().unwrap(), Display::open());
    for (args, sentence) in [
        (&["--devices", "200"][..], "--devices is 200, but must be at most"),
        (&["--devices", "2", "--engine", "cpu"], "with the engine cpu"),
    ] {
        let mut view = command(folder.path());
        view.args(["view", "plummer", "-n", "100"]).args(args).env("DISPLAY", &display.name);
        let output = view.output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(sentence), "{args:?}: {error}");
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
    }
}
