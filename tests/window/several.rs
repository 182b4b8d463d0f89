//! A window on several devices.

use egui_kittest::kittest::Queryable;
use gravitile::app::panel::Tab;
use gravitile::gpu::DeviceCount;

use super::display::{Display, is_there};
use super::person::{Person, SKY, command, place};
use super::world::World;

#[test]
fn two_devices_move_the_bodies_and_one_draws_them() {
    if !is_there() {
        return;
    }
    let args = ["view", "plummer", "-n", "300", "--engine", "gpu", "--adapter", "0,0"];
    let person = Person::opens(&args, Tab::File);
    person.waits_until_sky(true);
    person.presses("space", "Named(Space)");
    person.waits_until_sky(false);
    assert!(person.sees().bright(SKY) > 20);
    let saved = person.saves();
    assert!(saved.time > 0.0);
    let engine = &saved.attributes["engine"];
    assert!(engine.contains(" + "), "both are named: {engine}");
}

/// The panel of a window that has named its only adapter twice.
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
fn how_many_devices_compute_is_changed_while_the_bodies_move_and_changes_no_bit() {
    if !is_there() {
        return;
    }
    let args = ["view", "plummer", "-n", "300", "--engine", "gpu", "--adapter", "0,0"];
    let person = Person::opens(&args, Tab::Kernel);
    person.waits_until_sky(true);
    for (name, now, next) in [("1 device", 2, 1), ("2 devices", 1, 2), ("1 device", 2, 1)] {
        let at = place(panel(now), |h| h.get_by_label(name).rect().center());
        person.clicks(at, &format!("does Devices(These({next}))"));
        person.eventually("the change", || (!person.is_making()).then_some(()));
        let step = person.step();
        person.eventually("steps", || (person.step() > step + 3).then_some(()));
    }
    person.presses("space", "Named(Space)");
    person.waits_until_sky(false);
    person.goes_to(Tab::File);
    let saved = person.saves();
    let engine = &saved.attributes["engine"];
    assert!(!engine.contains(" + "), "one alone: {engine}");
    // The same steps by the command line.
    let (steps, dt) = (&saved.attributes["step"], &saved.attributes["dt"]);
    let dt: f64 = dt.parse().unwrap();
    let until = (saved.time + 0.25 * dt).to_string();
    let every = saved.time.to_string();
    for (adapter, out) in [("0,0", "two"), ("0", "one")] {
        let args = ["run", "plummer", "-n", "300", "--engine", "gpu", "--adapter", adapter];
        let mut run = command(&person.folder());
        let output = run.args(args).args(["--until", &until, "--every", &every, "--out", out]);
        let output = output.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let name = format!("step_{:0>10}.gvt", steps);
        let other = gravitile::snapshot::read(person.folder().join(out).join(name)).unwrap();
        assert!(saved.bodies == other.bodies, "{out}");
    }
}

#[test]
fn devices_that_are_not_there_are_refused_where_they_were_asked_for() {
    if !is_there() {
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
