//! Automatic cameras: the directed camera, and the one that follows bodies that move together.

use gravitile::scene::Scene;
use gravitile_app::panel::Tab;

use super::display::can_run_window_tests;
use super::person::{SKY, Session};

#[test]
fn camera_directs_until_moved_by_hand_and_undo_restores_it() {
    if !can_run_window_tests() {
        return;
    }
    let args = ["view", "galaxy-collision", "-n", "600", "--engine", "cpu", "--extent", "150"];
    let session = Session::open(&[&args[..], &["--sky", "0", "--paused"]].concat(), Tab::Scene);
    // At the pointer's initial position the panel may show a tooltip over the picture.
    session.xdotool(&["mousemove", "20", "480"]);
    session.wait_until_idle();
    let directs = || session.last_frame_line().contains(" directs");
    let third = SKY[2] / 3;
    let sides = [[0, SKY[1], third, SKY[3]], [2 * third, SKY[1], SKY[2], SKY[3]]];
    let bright = || sides.map(|side| session.screenshot().count_bright(side));
    session
        .wait_for("both galaxies as specks in the middle", || (bright() == [0, 0]).then_some(()));
    session.press_key("d", "Character(\"d\")");
    session.wait_for("the camera to direct", || directs().then_some(()));
    session.wait_for("a galaxy on either side", || {
        bright().iter().all(|count| *count > 20).then_some(())
    });
    // With the bodies paused the camera also comes to rest, and drawing stops.
    session.wait_for("rest", || session.is_idle().then_some(()));
    let (from, to) = (egui::pos2(200.0, 200.0), egui::pos2(260.0, 230.0));
    session.drag(from, to, "says the camera is yours");
    session.wait_for("nobody to direct", || (!directs()).then_some(()));
    session.xdotool(&["key", "ctrl+z"]);
    session.wait_for("that to be taken back", || directs().then_some(()));
}

#[test]
fn camera_follows_a_snapshot_that_moves_as_a_whole() {
    if !can_run_window_tests() {
        return;
    }
    let write_moving_bodies = |folder: &std::path::Path| {
        let mut scene = Scene::builtin("plummer").unwrap();
        scene.set_n(300).unwrap();
        let bodies = scene.build().unwrap();
        let mut text = "x,y,z,vx,vy,vz,mass\n".to_owned();
        for ((x, v), mass) in bodies.position.iter().zip(&bodies.velocity).zip(&bodies.mass) {
            // At this speed they would leave the picture within a second.
            let row = [x.x, x.y, x.z, v.x + 40.0, v.y, v.z, *mass].map(|value| value.to_string());
            text += &(row.join(",") + "\n");
        }
        std::fs::write(folder.join("moving.csv"), text).unwrap();
    };
    let args = ["view", "moving.csv", "--engine", "cpu", "--sky", "0"];
    let session = Session::open_with(&args, Tab::File, write_moving_bodies);
    session.wait_for("it to be said", || {
        session.has_logged("says these bodies move together").then_some(())
    });
    let far =
        session.wait_for("some way", || Some(session.save_snapshot()).filter(|s| s.time > 1.0));
    assert!(far.bodies.centre_of_mass().0.x > 40.0);
    assert!(session.screenshot().count_bright(SKY) > 20, "nothing is left in the picture");
}

#[test]
fn camera_direction_setting_is_remembered() {
    if !can_run_window_tests() {
        return;
    }
    let settings_path = |folder: &std::path::Path| folder.join("config/gravitile/window.toml");
    let enable_direction = |folder: &std::path::Path| {
        let mut text = std::fs::read_to_string(settings_path(folder)).unwrap();
        text += "directs = true\n";
        std::fs::write(settings_path(folder), text).unwrap();
    };
    let args =
        ["view", "galaxy-collision", "-n", "600", "--engine", "cpu", "--sky", "0", "--paused"];
    let session = Session::open_with(&args, Tab::Scene, enable_direction);
    let directs = || session.last_frame_line().contains(" directs");
    session.wait_for("the camera to direct by itself", || directs().then_some(()));
    // A manual move turns automatic direction off until another scene is loaded.
    session.drag(egui::pos2(200.0, 200.0), egui::pos2(260.0, 230.0), "says the camera is yours");
    session.wait_for("nobody to direct", || (!directs()).then_some(()));
    session.press_key("2", "Character(\"2\")");
    session.wait_for("the camera to direct other bodies", || directs().then_some(()));
    session.press_key("d", "Character(\"d\")");
    session.wait_for("nobody to direct any more", || (!directs()).then_some(()));
    let folder = session.folder();
    session.press_key("q", "Character(\"q\")");
    session.press_key("q", "Character(\"q\")");
    assert_eq!(session.wait_for_exit().code(), Some(0), "{}", session.log_tail());
    let text = std::fs::read_to_string(settings_path(&folder)).unwrap();
    assert!(text.contains("directs = false"), "{text}");
}

#[test]
fn marked_moment_is_reached_from_before_and_from_after() {
    if !can_run_window_tests() {
        return;
    }
    let scene = Scene::builtin("toomre-direct").unwrap();
    let marked = scene.view.moments[0].camera.time;
    let args = ["view", "toomre-direct", "-n", "300", "--engine", "cpu", "--paused"];
    let session = Session::open(&args, Tab::File);
    session.wait_until_idle();
    let begins = session.screenshot();
    let go = || {
        session.press_key("n", "Character(\"n\")");
        session.wait_for("the moment", || {
            (session.step() > 0 && session.is_idle() && session.is_paused()).then_some(())
        });
        let time = session.save_snapshot().time;
        // A step may pass it.
        assert!(time >= marked - 1e-6 && time < marked + scene.run.dt, "{time}, not {marked}");
    };
    go();
    assert!(session.screenshot().count_changed(&begins, SKY) > 100, "another camera");
    session.press_key("space", "Named(Space)");
    let later = session.step() + 30;
    session.wait_for("later steps", || (session.step() > later).then_some(()));
    go();
    session.xdotool(&["key", "ctrl+z"]);
    session.wait_for("the later state", || (session.step() > later).then_some(()));
}
