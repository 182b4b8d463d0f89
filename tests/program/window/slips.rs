//! Accidental input is harmless or can be undone, and an idle window draws nothing.

use egui_kittest::kittest::Queryable;
use gravitile::gpu::DeviceClass;
use gravitile_app::panel::Tab;

use super::display::can_run_window_tests;
use super::person::{SIZE, SKY, Session, place};
use super::world::World;

#[test]
fn wheel_and_drag_over_the_panel_leave_the_camera_alone() {
    if !can_run_window_tests() {
        return;
    }
    let session = Session::open(&["view", "plummer", "-n", "500", "--paused"], Tab::File);
    session.wait_until_idle();
    let before = session.screenshot();
    // Below the last row of the tab, where the panel is empty.
    let empty = egui::pos2(SIZE[0] as f32 - 150.0, SIZE[1] as f32 - 40.0);
    session.scroll(empty, 3);
    session.drag(empty, empty - egui::vec2(60.0, 80.0), "button Left Released");
    session.wait_until_idle();
    assert_eq!(session.screenshot().count_changed(&before, SKY), 0, "the camera has moved");
    // Over the picture the same wheel moves the camera.
    session.scroll(egui::pos2(120.0, 300.0), 3);
    session.wait_until_idle();
    assert!(
        session.screenshot().count_changed(&before, SKY) > 100,
        "the wheel does nothing any more"
    );
}

#[test]
fn idle_window_draws_no_frames() {
    if !can_run_window_tests() {
        return;
    }
    let session = Session::open(&["view", "plummer", "-n", "500", "--engine", "cpu"], Tab::Numbers);
    session.wait_for_motion();
    session.press_key("space", "Named(Space)");
    session.wait_until_idle();
    let drawn = session.frame_count();
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert_eq!(session.frame_count(), drawn, "frames of a picture in which nothing moves");
    // An event wakes it, and then it is idle again.
    session.press_key("c", "Character(\"c\")");
    session.wait_until_idle();
    assert!(session.frame_count() > drawn);

    // Off the screen the run continues, and every frame reports that it was hidden.
    session.press_key("space", "Named(Space)");
    session.wait_for_motion();
    session.move_window(3000, 3000);
    session.wait_for("nothing to be drawn", || session.is_hidden().then_some(()));
    let step = session.step();
    session.wait_for("steps", || (session.step() > step && session.is_hidden()).then_some(()));
    session.move_window(0, 0);
    session.wait_for_motion();
}

#[test]
fn effects_too_slow_for_a_software_adapter_are_left_out() {
    if !can_run_window_tests() {
        return;
    }
    if World::on(Tab::View).gpu.adapter.class != DeviceClass::Software {
        return;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores > 4 {
        let why = format!("software on {cores} cores may be fast enough for everything");
        return super::skip::skipped("what a slow adapter leaves out of the window", &why);
    }
    let args = "view galaxy-collision -n 20k --streaks 3 --engine cpu --method tree";
    let args: Vec<&str> = args.split_whitespace().collect();
    let session = Session::open(&args, Tab::Numbers);
    session.wait_for_motion();
    session.wait_for("streaks to go", || session.has_left_out("streaks").then_some(()));
    // They stay left out: they cost several times the available time.
    session.wait_for("frames", || (session.frame_count() > 150).then_some(()));
    assert!(!session.has_logged("shows everything"), "{}", session.log_tail());
    session.press_key("Escape", "Named(Escape)");
    session.press_key("Return", "Named(Enter)");
    assert_eq!(session.wait_for_exit().code(), Some(0), "{}", session.log_tail());
}

#[test]
fn scene_change_can_be_undone_and_escape_asks_before_quitting() {
    if !can_run_window_tests() {
        return;
    }
    let session = Session::open(&["view", "plummer", "-n", "300", "--engine", "cpu"], Tab::File);
    session.wait_for_motion();
    session.press_key("space", "Named(Space)");
    session.wait_until_idle();
    let before = session.save_snapshot();
    // An accidental number key loads another scene.
    session.press_key("6", "Character(\"6\")");
    session
        .wait_for("another scene", || (session.title() == "gravitile: disk-galaxy").then_some(()));
    session.press_key("ctrl+z", "Character(\"z\")");
    session.wait_for("the first one", || (session.title() == "gravitile: plummer").then_some(()));
    let after = session.save_snapshot();
    assert_eq!((after.time, &after.bodies.position), (before.time, &before.bodies.position));
    // The run continues from the restored state.
    session.press_key("space", "Named(Space)");
    session.wait_for("steps", || Some(session.save_snapshot()).filter(|s| s.time > before.time));
    session.press_key("shift+ctrl+z", "Character(\"Z\")");
    session.wait_for("the other", || (session.title() == "gravitile: disk-galaxy").then_some(()));

    // Escape asks whether to quit; a second one answers no.
    for _ in 0..2 {
        session.press_key("Escape", "Named(Escape)");
    }
    session.press_key("c", "Character(\"c\")");
    session.wait_for("life", || session.has_logged("says coloured by speed").then_some(()));
    session.press_key("Escape", "Named(Escape)");
    session.press_key("Return", "Named(Enter)");
    assert_eq!(session.wait_for_exit().code(), Some(0), "{}", session.log_tail());
}

#[test]
fn first_frame_shows_all_bodies_next_to_the_panel() {
    if !can_run_window_tests() {
        return;
    }
    let row = |folder: &std::path::Path| {
        let text = "x,y,z,vx,vy,vz,mass\n-4,0,0,0,0,0,1\n0,0,0,0,0,0,1\n4,0,0,0,0,0,1\n";
        std::fs::write(folder.join("row.csv"), text).unwrap();
    };
    for input in ["figure-eight", "row.csv"] {
        let args = ["view", input, "--paused", "--engine", "cpu", "--sky", "0"];
        let session = Session::open_with(&args, Tab::Scene, row);
        session.wait_until_idle();
        let picture = session.screenshot();
        let third = SKY[2] / 3;
        for k in 0..3 {
            let region = [k * third, SKY[1], (k + 1) * third, SKY[3]];
            assert!(
                picture.count_bright(region) > 8,
                "{input}: no body in part {k} of the free picture"
            );
        }
    }
}

#[test]
fn click_on_the_time_bar_can_be_undone() {
    if !can_run_window_tests() {
        return;
    }
    // Without effects that a slow adapter leaves out: the notice would appear below the bar.
    let plain = ["--bloom", "0", "--local-exposure", "0", "--sky", "0"];
    let view = ["view", "plummer", "-n", "300", "--engine", "cpu"];
    let session = Session::open(&[&view[..], &plain].concat(), Tab::Scene);
    session.wait_for_motion();
    session.press_key("Tab", "Named(Tab)");
    session.press_key("m", "Character(\"m\")");
    session
        .wait_for("the bookmark", || session.has_logged("says a bookmark at t = ").then_some(()));
    let marked = session.step();
    session.wait_for("steps", || (session.step() > marked + 50).then_some(()));
    // The bar begins to the right of the last button before it.
    let bar = place(World::on(Tab::Scene), |harness| {
        harness.state_mut().panel.open = false;
        harness.run();
        let last = harness.get_all_by_label("⚑").next().unwrap().rect();
        egui::pos2(last.right() + 14.0, last.center().y)
    });
    session.click(bar, "does GoTo(");
    let rewound = session.wait_for("the state of then", || {
        let step = session.step();
        (session.is_paused() && !session.is_building() && step < marked).then_some(step)
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(session.step(), rewound, "it runs on from there");
    // Undo restores the state before the click, running.
    session.press_key("ctrl+z", "Character(\"z\")");
    session.wait_for("where it was", || (session.step() > marked).then_some(()));
    session.wait_for("going on", || (!session.is_paused()).then_some(()));
    assert!(!session.has_logged("says nothing to undo"), "{}", session.log_tail());
}

#[test]
fn film_survives_sigterm_and_its_frames_differ() {
    if !can_run_window_tests() {
        return;
    }
    let session = Session::open(&["view", "plummer", "-n", "300", "--engine", "cpu"], Tab::File);
    session.wait_for_motion();
    let record = place(World::on(Tab::File), |h| h.get_by_label("Record").rect().center());
    session.click(record, "does Record");
    session.open_tab(Tab::Scene);
    session.wait_for("pictures", || (session.frames_recorded() >= 12).then_some(()));
    session.terminate();
    assert_eq!(session.wait_for_exit().code(), Some(130), "{}", session.log_tail());
    let film = std::fs::read(session.folder().join("film.webp")).expect("the film so far");
    let pictures = chunks(&film[12..], b"ANMF");
    assert!(pictures.len() >= 12, "{}", pictures.len());
    for (k, pair) in pictures.windows(2).enumerate() {
        // The first 16 bytes hold position, size and duration.
        assert_ne!(pair[0][16..], pair[1][16..], "picture {} is the one before", k + 1);
    }
}

/// With steps so short that the processor is always behind, the first frame shows the current
/// state.
#[test]
fn film_starts_even_if_steps_lag_behind() {
    if !can_run_window_tests() {
        return;
    }
    let opening = ["view", "plummer", "-n", "2000", "--engine", "cpu", "--dt", "1e-6"];
    let session = Session::open(&opening, Tab::File);
    session.wait_for_motion();
    let record = place(World::on(Tab::File), |h| h.get_by_label("Record").rect().center());
    session.click(record, "does Record");
    session.wait_for("a picture", || (session.frames_recorded() >= 1).then_some(()));
    session.terminate();
    assert_eq!(session.wait_for_exit().code(), Some(130), "{}", session.log_tail());
    assert!(session.folder().join("film.webp").is_file());
}

/// At its end a scene pauses: the run is neither discarded nor continued without a request.
#[test]
fn run_pauses_at_the_end_of_a_scene_and_continues_on_request() {
    if !can_run_window_tests() {
        return;
    }
    let scene = "title = \"Short\"\nabout = \"Thirty steps\"\n[[part]]\nname = \"stars\"\ngenerator = \"plummer\"\n\
                 parameters = { n = 500 }\n[run]\nsoftening = 0.05\ndt = 0.01\nuntil = 0.3\n[view]\nextent = 3.0\n";
    let opening = ["view", "short.toml", "--engine", "cpu"];
    let session = Session::open_with(&opening, Tab::Scene, |folder| {
        std::fs::write(folder.join("short.toml"), scene).unwrap();
    });
    session.press_key("x", "Character(\"x\")");
    session.wait_until_idle();
    assert_eq!(session.step(), 30);
    session.press_key("space", "Named(Space)");
    session.wait_for("steps beyond it", || (session.step() > 60).then_some(()));
    session.press_key("r", "Character(\"r\")");
    session.wait_for("the beginning", || (session.step() < 30).then_some(()));
    session.wait_until_idle();
    assert_eq!(session.step(), 30, "it ends again");
    // A restart after the automatic stop plays as well: the user has not paused it.
    session.press_key("r", "Character(\"r\")");
    session.wait_for("the beginning again", || (session.step() < 30).then_some(()));
    session.wait_for("the end again", || (session.step() == 30 && session.is_idle()).then_some(()));
}

/// The contents of all chunks of that name in a RIFF file; `bytes` starts after its header.
fn chunks<'a>(mut bytes: &'a [u8], name: &[u8; 4]) -> Vec<&'a [u8]> {
    let mut found = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(8) {
        let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let (content, rest) = rest.split_at(length);
        if &head[..4] == name {
            found.push(content);
        }
        bytes = &rest[(length % 2).min(rest.len())..];
    }
    found
}

#[test]
fn destroyed_window_ends_the_program_with_one_line() {
    if !can_run_window_tests() {
        return;
    }
    let session = Session::open(&["view", "plummer", "-n", "500", "--engine", "cpu"], Tab::Numbers);
    session.wait_for_motion();
    // XDestroyWindow; the connection stays open.
    session.xdotool(&["windowclose", &session.window()]);
    assert_eq!(session.wait_for_exit().code(), Some(2));
    let stderr = session.log_tail();
    assert!(stderr.contains("the window was lost"), "{stderr}");
    assert!(!stderr.contains("panicked") && !stderr.contains("RUST_BACKTRACE"), "{stderr}");
}

#[test]
fn too_long_time_steps_are_reported_once() {
    if !can_run_window_tests() {
        return;
    }
    let args = ["view", "plummer", "-n", "200", "--engine", "cpu", "--eps", "0.01", "--dt", "2"];
    let session = Session::open(&args, Tab::Numbers);
    let words = "the energy is off by more than 5 %";
    let warning = session.wait_for("a warning", || session.last_message(words));
    assert!(warning.contains("shorten the time step"), "{warning}");
    // The scene ends at t = 10.
    session.wait_for("the end", || (session.step() == 5).then_some(()));
    session.wait_until_idle();
    assert_eq!(session.log_tail().matches(words).count(), 1);
}
