//! A window on several devices.

use gravitile::app::panel::Tab;

use super::display::{Display, is_there};
use super::person::{Person, SKY, command};

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
