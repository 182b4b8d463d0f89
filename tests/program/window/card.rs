//! The card of a clicked body, and keyframes of the camera's path.

use gravitile_app::panel::Tab;

use super::display::can_run_window_tests;
use super::person::{SKY, Session};

#[test]
fn clicked_body_shows_a_card_until_escape() {
    if !can_run_window_tests() {
        return;
    }
    let session = Session::open(&["view", "plummer", "-n", "500", "--paused"], Tab::File);
    session.wait_until_idle();
    let before = session.screenshot();
    // The middle of the cluster always has a body nearby.
    let middle = egui::pos2(0.5 * SKY[2] as f32, 320.0);
    session.click(middle, "button Left Released");
    session.wait_for("a card", || session.shows_card().then_some(()));
    // Idle: the facts have been computed, and nothing needs to be drawn.
    session.wait_until_idle();
    let corner = [10, 10, 160, 120];
    assert!(session.screenshot().count_changed(&before, corner) > 300, "no card is to be seen");
    session.press_key("Escape", "Named(Escape)");
    session.wait_for("the card to go", || (!session.shows_card()).then_some(()));
    session.wait_until_idle();
    assert_eq!(session.screenshot().count_changed(&before, SKY), 0, "something stays of it");
}

#[test]
fn camera_path_keyframe_is_set_and_undone() {
    if !can_run_window_tests() {
        return;
    }
    let session = Session::open(&["view", "plummer", "-n", "500", "--paused"], Tab::File);
    session.wait_until_idle();
    session.press_key("k", "Character(\"k\")");
    let logged = |text: &str| session.has_logged(text).then_some(());
    session.wait_for("a place", || logged("says place 1 of the camera's path, at t = 0"));
    session.wait_until_idle();
    session.xdotool(&["key", "ctrl+z"]);
    session.wait_for("it to be taken back", || logged("does Undo"));
    session.press_key("k", "Character(\"k\")");
    // Without the undo this would be place 2.
    assert!(!session.has_logged("says place 2"));
    session.wait_for("another", || session.has_logged("says place 1").then_some(()));
}
