//! A body is clicked on, and a place of the camera's path is set.

use gravitile::app::panel::Tab;

use super::display::is_there;
use super::person::{Person, SKY};

#[test]
fn a_body_has_a_card_until_escape() {
    if !is_there() {
        return;
    }
    let person = Person::opens(&["view", "plummer", "-n", "500", "--paused"], Tab::File);
    person.waits_until_sky(false);
    let before = person.sees();
    // The middle of the cluster, where some body is near.
    let middle = egui::pos2(0.5 * SKY[2] as f32, 320.0);
    person.clicks(middle, "button Left Released");
    person.eventually("a card", || person.shows_card().then_some(()));
    // The facts have been found, and nothing moves: then nothing is drawn.
    person.waits_until_sky(false);
    let corner = [10, 10, 160, 120];
    assert!(person.sees().changes(&before, corner) > 300, "no card is to be seen");
    person.presses("Escape", "Named(Escape)");
    person.eventually("the card to go", || (!person.shows_card()).then_some(()));
    person.waits_until_sky(false);
    assert_eq!(person.sees().changes(&before, SKY), 0, "something stays of it");
}

#[test]
fn a_place_of_the_cameras_path_is_set_and_taken_back() {
    if !is_there() {
        return;
    }
    let person = Person::opens(&["view", "plummer", "-n", "500", "--paused"], Tab::File);
    person.waits_until_sky(false);
    person.presses("k", "Character(\"k\")");
    let said = |text: &str| person.has_said(text).then_some(());
    person.eventually("a place", || said("says place 1 of the camera's path, at t = 0"));
    person.waits_until_sky(false);
    person.does(&["key", "ctrl+z"]);
    person.eventually("it to be taken back", || said("does Undo"));
    person.presses("k", "Character(\"k\")");
    // Otherwise it would be the second.
    assert!(!person.has_said("says place 2"));
    person.eventually("another", || person.has_said("says place 1").then_some(()));
}
