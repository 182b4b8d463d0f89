//! Small slips that must not cost anything, and a window that rests when nothing happens.

use gravitile::app::panel::Tab;

use super::display::is_there;
use super::person::{Person, SIZE, SKY};

#[test]
fn the_panel_keeps_wheel_and_drag_to_itself() {
    if !is_there() {
        return;
    }
    let person = Person::opens(&["view", "plummer", "-n", "500", "--paused"], Tab::File);
    person.waits_until_sky(false);
    let before = person.sees();
    // Below the last row of the tab, where nothing but the panel is.
    let empty = egui::pos2(SIZE[0] as f32 - 150.0, SIZE[1] as f32 - 40.0);
    person.turns_wheel(empty, 3);
    person.drags(empty, empty - egui::vec2(60.0, 80.0), "button Left Released");
    person.waits_until_sky(false);
    assert_eq!(person.sees().changes(&before, SKY), 0, "the camera has moved");
    // Beside it the same wheel moves the camera.
    person.turns_wheel(egui::pos2(120.0, 300.0), 3);
    person.waits_until_sky(false);
    assert!(person.sees().changes(&before, SKY) > 100, "the wheel does nothing any more");
}

#[test]
fn a_window_in_which_nothing_moves_draws_nothing() {
    if !is_there() {
        return;
    }
    let person = Person::opens(&["view", "plummer", "-n", "500", "--engine", "cpu"], Tab::Numbers);
    person.waits_until_sky(true);
    person.presses("space", "Named(Space)");
    person.waits_until_sky(false);
    let drawn = person.frames();
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert_eq!(person.frames(), drawn, "frames of a picture in which nothing moves");
    // What happens is answered, and then it rests again.
    person.presses("c", "Character(\"c\")");
    person.waits_until_sky(false);
    assert!(person.frames() > drawn);

    // Beside the screen it goes on, and says of no frame that it was shown.
    person.presses("space", "Named(Space)");
    person.waits_until_sky(true);
    person.moves_window(3000, 3000);
    person.eventually("nothing to be drawn", || person.is_hidden().then_some(()));
    let step = person.step();
    person.eventually("steps", || (person.step() > step && person.is_hidden()).then_some(()));
    person.moves_window(0, 0);
    person.waits_until_sky(true);
}
