//! A window on several devices.

use egui_kittest::kittest::Queryable;
use gravitile::app::panel::Tab;
use gravitile::gpu::DeviceCount;
use gravitile::snapshot::Snapshot;

use super::display::{Display, is_there};
use super::person::{Person, SIZE, SKY, command, place};
use super::world::World;

/// A window whose bodies two devices move: one adapter, opened twice.
pub const TWO: [&str; 8] = ["view", "plummer", "-n", "300", "--engine", "gpu", "--adapter", "0,0"];

#[test]
fn two_devices_move_the_bodies_and_one_draws_them() {
    if !is_there() {
        return;
    }
    let person = Person::opens(&TWO, Tab::File);
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
    let person = Person::opens(&TWO, Tab::Kernel);
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
    for adapters in ["0,0", "0"] {
        is_of_the_command_line(&person, &saved, adapters);
    }
}

/// The steps that lead to what a window has saved, by the command line, come to the same bits.
pub fn is_of_the_command_line(person: &Person, saved: &Snapshot, adapters: &str) {
    let (steps, dt) = (&saved.attributes["step"], &saved.attributes["dt"]);
    let out = person.folder().join(format!("run on {adapters}"));
    let mut run = command(&person.folder());
    run.args(["run", "plummer", "-n", "300", "--engine", "gpu", "--adapter", adapters]);
    run.args(["--every", &saved.time.to_string(), "--out"]).arg(&out);
    run.args(["--dt", dt, "--until", &saved.time.to_string()]);
    let output = run.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let other = gravitile::snapshot::read(out.join(format!("step_{steps:0>10}.gvt"))).unwrap();
    assert!(saved.bodies == other.bodies, "{adapters}");
}

#[test]
fn who_goes_back_on_the_bar_goes_on_from_there_on_all_devices() {
    if !is_there() {
        return;
    }
    let person = Person::opens(&TWO, Tab::File);
    person.waits_until_sky(true);
    person.eventually("states to go back to", || (person.step() > 500).then_some(()));
    person.presses("space", "Named(Space)");
    person.waits_until_sky(false);
    let before = person.step();
    // The bar's beginning, by its colour.
    let begin = person.sees().first([0, SKY[3], SKY[2], SIZE[1]], [86, 180, 233]);
    let early = begin.expect("the bar") + egui::vec2(4.0, 2.0);
    for _ in 0..2 {
        person.clicks(early, "does GoTo(");
        person.eventually("the state", || person.rests().then_some(()));
        let there = person.step();
        assert!(there < before, "{there} is not before {before}");
        person.presses("space", "Named(Space)");
        person.eventually("steps", || (person.step() > there + 3).then_some(()));
    }
    person.presses("space", "Named(Space)");
    person.waits_until_sky(false);
    let saved = person.saves();
    assert!(saved.attributes["engine"].contains(" + "), "{:?}", saved.attributes);
    is_of_the_command_line(&person, &saved, "0");
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
