//! Cameras that move by themselves: one that directs, and one that stays with bodies that move
//! together.

use gravitile::app::panel::Tab;
use gravitile::scene::Scene;

use super::display::is_there;
use super::person::{Person, SKY};

#[test]
fn the_camera_directs_until_somebody_takes_it() {
    if !is_there() {
        return;
    }
    let args = ["view", "galaxy-collision", "-n", "600", "--engine", "cpu", "--extent", "150"];
    let person = Person::opens(&[&args[..], &["--sky", "0", "--paused"]].concat(), Tab::Scene);
    // At the display's first place for the pointer the panel may show a hint over the picture.
    person.does(&["mousemove", "20", "480"]);
    person.waits_until_sky(false);
    let directs = || person.frame().contains(" directs");
    let third = SKY[2] / 3;
    let sides = [[0, SKY[1], third, SKY[3]], [2 * third, SKY[1], SKY[2], SKY[3]]];
    let seen = || sides.map(|side| person.sees().bright(side));
    person.eventually("both galaxies as specks in the middle", || (seen() == [0, 0]).then_some(()));
    person.presses("d", "Character(\"d\")");
    person.eventually("the camera to direct", || directs().then_some(()));
    person.eventually("a galaxy on either side", || {
        seen().iter().all(|bright| *bright > 20).then_some(())
    });
    // Nothing moves: the camera comes to rest as well, and drawing stops.
    person.eventually("rest", || person.rests().then_some(()));
    let (from, to) = (egui::pos2(200.0, 200.0), egui::pos2(260.0, 230.0));
    person.drags(from, to, "says the camera is yours");
    person.eventually("nobody to direct", || (!directs()).then_some(()));
    person.does(&["key", "ctrl+z"]);
    person.eventually("that to be taken back", || directs().then_some(()));
}

#[test]
fn a_snapshot_that_moves_as_a_whole_stays_in_the_picture() {
    if !is_there() {
        return;
    }
    let moving = |folder: &std::path::Path| {
        let mut scene = Scene::builtin("plummer").unwrap();
        scene.set_n(300).unwrap();
        let bodies = scene.build().unwrap();
        let mut text = "x,y,z,vx,vy,vz,mass\n".to_owned();
        for ((x, v), mass) in bodies.position.iter().zip(&bodies.velocity).zip(&bodies.mass) {
            // They would leave the picture within a second.
            let row = [x.x, x.y, x.z, v.x + 40.0, v.y, v.z, *mass].map(|value| value.to_string());
            text += &(row.join(",") + "\n");
        }
        std::fs::write(folder.join("moving.csv"), text).unwrap();
    };
    let args = ["view", "moving.csv", "--engine", "cpu", "--sky", "0"];
    let person = Person::opens_with(&args, Tab::File, moving);
    person.eventually("it to be said", || {
        person.has_said("says these bodies move together").then_some(())
    });
    let far = person.eventually("some way", || Some(person.saves()).filter(|s| s.time > 1.0));
    assert!(far.bodies.centre_of_mass().0.x > 40.0);
    assert!(person.sees().bright(SKY) > 20, "nothing is left in the picture");
}

#[test]
fn who_wants_the_camera_to_direct_need_not_say_so_again() {
    if !is_there() {
        return;
    }
    let memory = |folder: &std::path::Path| folder.join("config/gravitile/window.toml");
    let wanted = |folder: &std::path::Path| {
        let mut text = std::fs::read_to_string(memory(folder)).unwrap();
        text += "directs = true\n";
        std::fs::write(memory(folder), text).unwrap();
    };
    let args =
        ["view", "galaxy-collision", "-n", "600", "--engine", "cpu", "--sky", "0", "--paused"];
    let person = Person::opens_with(&args, Tab::Scene, wanted);
    let directs = || person.frame().contains(" directs");
    person.eventually("the camera to direct by itself", || directs().then_some(()));
    // Moved by hand it is left alone, until other bodies come.
    person.drags(egui::pos2(200.0, 200.0), egui::pos2(260.0, 230.0), "says the camera is yours");
    person.eventually("nobody to direct", || (!directs()).then_some(()));
    person.presses("2", "Character(\"2\")");
    person.eventually("the camera to direct other bodies", || directs().then_some(()));
    person.presses("d", "Character(\"d\")");
    person.eventually("nobody to direct any more", || (!directs()).then_some(()));
    let folder = person.folder();
    person.presses("q", "Character(\"q\")");
    person.presses("q", "Character(\"q\")");
    assert_eq!(person.ended().code(), Some(0), "{}", person.said());
    let text = std::fs::read_to_string(memory(&folder)).unwrap();
    assert!(text.contains("directs = false"), "{text}");
}
