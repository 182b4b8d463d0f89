//! Small slips must not cost anything, and a window rests when nothing happens.

use egui_kittest::kittest::Queryable;
use gravitile::app::panel::Tab;
use gravitile::gpu::DeviceClass;

use super::display::is_there;
use super::person::{Person, SIZE, SKY, place};
use super::world::World;

#[test]
fn the_panel_keeps_wheel_and_drag_to_itself() {
    if !is_there() {
        return;
    }
    let person = Person::opens(&["view", "plummer", "-n", "500", "--paused"], Tab::File);
    person.waits_until_sky(false);
    let before = person.sees();
    // Below the last row of the tab, where the panel is empty.
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
    // It responds to events, and then rests again.
    person.presses("c", "Character(\"c\")");
    person.waits_until_sky(false);
    assert!(person.frames() > drawn);

    // Off the screen the run goes on, and every frame reports that it was hidden.
    person.presses("space", "Named(Space)");
    person.waits_until_sky(true);
    person.moves_window(3000, 3000);
    person.eventually("nothing to be drawn", || person.is_hidden().then_some(()));
    let step = person.step();
    person.eventually("steps", || (person.step() > step && person.is_hidden()).then_some(()));
    person.moves_window(0, 0);
    person.waits_until_sky(true);
}

#[test]
fn what_software_cannot_draw_in_time_is_left_out_of_the_window() {
    if !is_there() {
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
    let person = Person::opens(&args, Tab::Numbers);
    person.waits_until_sky(true);
    let said = "shows left out in motion (over 20 ms here): streaks";
    person.eventually("streaks to go", || person.has_said(said).then_some(()));
    // They stay away: they cost several times the available time.
    person.eventually("frames", || (person.frames() > 150).then_some(()));
    assert!(!person.has_said("shows everything"), "{}", person.said());
    person.presses("Escape", "Named(Escape)");
    person.presses("Return", "Named(Enter)");
    assert_eq!(person.ended().code(), Some(0), "{}", person.said());
}

#[test]
fn escape_closes_and_asks_and_other_bodies_can_be_taken_back() {
    if !is_there() {
        return;
    }
    let person = Person::opens(&["view", "plummer", "-n", "300", "--engine", "cpu"], Tab::File);
    person.waits_until_sky(true);
    person.presses("space", "Named(Space)");
    person.waits_until_sky(false);
    let before = person.saves();
    // A slip on the row of numbers.
    person.presses("6", "Character(\"6\")");
    person
        .eventually("another scene", || (person.title() == "gravitile: disk-galaxy").then_some(()));
    person.presses("ctrl+z", "Character(\"z\")");
    person.eventually("the first one", || (person.title() == "gravitile: plummer").then_some(()));
    let after = person.saves();
    assert_eq!((after.time, &after.bodies.position), (before.time, &before.bodies.position));
    // It goes on from there.
    person.presses("space", "Named(Space)");
    person.eventually("steps", || Some(person.saves()).filter(|s| s.time > before.time));
    person.presses("shift+ctrl+z", "Character(\"Z\")");
    person.eventually("the other", || (person.title() == "gravitile: disk-galaxy").then_some(()));

    // Escape asks; a second one answers no.
    for _ in 0..2 {
        person.presses("Escape", "Named(Escape)");
    }
    person.presses("c", "Character(\"c\")");
    person.eventually("life", || person.has_said("says coloured by speed").then_some(()));
    person.presses("Escape", "Named(Escape)");
    person.presses("Return", "Named(Enter)");
    assert_eq!(person.ended().code(), Some(0), "{}", person.said());
}

#[test]
fn the_first_picture_has_all_bodies_beside_the_panel() {
    if !is_there() {
        return;
    }
    let row = |folder: &std::path::Path| {
        let text = "x,y,z,vx,vy,vz,mass\n-4,0,0,0,0,0,1\n0,0,0,0,0,0,1\n4,0,0,0,0,0,1\n";
        std::fs::write(folder.join("row.csv"), text).unwrap();
    };
    for input in ["figure-eight", "row.csv"] {
        let args = ["view", input, "--paused", "--engine", "cpu", "--sky", "0"];
        let person = Person::opens_with(&args, Tab::Scene, row);
        person.waits_until_sky(false);
        let seen = person.sees();
        let third = SKY[2] / 3;
        for k in 0..3 {
            let part = [k * third, SKY[1], (k + 1) * third, SKY[3]];
            assert!(seen.bright(part) > 8, "{input}: no body in part {k} of the free picture");
        }
    }
}

#[test]
fn a_slip_on_the_bar_costs_nothing() {
    if !is_there() {
        return;
    }
    // No effects that a slow adapter leaves out, which it would say in the line below the bar.
    let plain = ["--bloom", "0", "--local-exposure", "0", "--sky", "0"];
    let view = ["view", "plummer", "-n", "300", "--engine", "cpu"];
    let person = Person::opens(&[&view[..], &plain].concat(), Tab::Scene);
    person.waits_until_sky(true);
    person.presses("Tab", "Named(Tab)");
    person.presses("m", "Character(\"m\")");
    person.eventually("the bookmark", || person.has_said("says a bookmark at t = ").then_some(()));
    let marked = person.step();
    person.eventually("steps", || (person.step() > marked + 50).then_some(()));
    // The bar begins to the right of the last button before it.
    let bar = place(World::on(Tab::Scene), |harness| {
        harness.state_mut().panel.open = false;
        harness.run();
        let last = harness.get_all_by_label("⚑").next().unwrap().rect();
        egui::pos2(last.right() + 14.0, last.center().y)
    });
    person.clicks(bar, "does GoTo(");
    let there = person.eventually("the state of then", || {
        let step = person.step();
        (person.has_paused() && !person.is_making() && step < marked).then_some(step)
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(person.step(), there, "it runs on from there");
    // What was before the slip comes back, and runs as it did.
    person.presses("ctrl+z", "Character(\"z\")");
    person.eventually("where it was", || (person.step() > marked).then_some(()));
    person.eventually("going on", || (!person.has_paused()).then_some(()));
    assert!(!person.has_said("says nothing to undo"), "{}", person.said());
}

#[test]
fn a_film_is_kept_when_the_program_is_told_to_end_and_each_picture_is_another() {
    if !is_there() {
        return;
    }
    let person = Person::opens(&["view", "plummer", "-n", "300", "--engine", "cpu"], Tab::File);
    person.waits_until_sky(true);
    let record = place(World::on(Tab::File), |h| h.get_by_label("Record").rect().center());
    person.clicks(record, "does Record");
    person.goes_to(Tab::Scene);
    person.eventually("pictures", || (person.filmed() >= 12).then_some(()));
    person.is_told_to_end();
    assert_eq!(person.ended().code(), Some(130), "{}", person.said());
    let film = std::fs::read(person.folder().join("film.webp")).expect("the film so far");
    let pictures = chunks(&film[12..], b"ANMF");
    assert!(pictures.len() >= 12, "{}", pictures.len());
    for (k, pair) in pictures.windows(2).enumerate() {
        // After the place, size and duration of each.
        assert_ne!(pair[0][16..], pair[1][16..], "picture {} is the one before", k + 1);
    }
}

/// Steps so short that the processor is always behind: the first picture shows the state at that time.
#[test]
fn a_film_begins_however_far_behind_the_steps_are() {
    if !is_there() {
        return;
    }
    let opening = ["view", "plummer", "-n", "2000", "--engine", "cpu", "--dt", "1e-6"];
    let person = Person::opens(&opening, Tab::File);
    person.waits_until_sky(true);
    let record = place(World::on(Tab::File), |h| h.get_by_label("Record").rect().center());
    person.clicks(record, "does Record");
    person.eventually("a picture", || (person.filmed() >= 1).then_some(()));
    person.is_told_to_end();
    assert_eq!(person.ended().code(), Some(130), "{}", person.said());
    assert!(person.folder().join("film.webp").is_file());
}

/// A scene's end is where one says what is next; a run is not thrown away, and does not go on unseen either.
#[test]
fn time_rests_at_the_end_of_a_scene_and_goes_on_when_told() {
    if !is_there() {
        return;
    }
    let scene = "title = \"Short\"\nabout = \"Thirty steps\"\n[[part]]\nname = \"stars\"\ngenerator = \"plummer\"\n\
                 parameters = { n = 500 }\n[run]\nsoftening = 0.05\ndt = 0.01\nuntil = 0.3\n[view]\nextent = 3.0\n";
    let opening = ["view", "short.toml", "--engine", "cpu"];
    let person = Person::opens_with(&opening, Tab::Scene, |folder| {
        std::fs::write(folder.join("short.toml"), scene).unwrap();
    });
    person.presses("x", "Character(\"x\")");
    person.waits_until_sky(false);
    assert_eq!(person.step(), 30);
    person.presses("space", "Named(Space)");
    person.eventually("steps beyond it", || (person.step() > 60).then_some(()));
    person.presses("r", "Character(\"r\")");
    person.eventually("the beginning", || (person.step() < 30).then_some(()));
    person.waits_until_sky(false);
    assert_eq!(person.step(), 30, "it ends again");
    // It plays again from where it stopped, too: it stopped by itself, nobody paused it.
    person.presses("r", "Character(\"r\")");
    person.eventually("the beginning again", || (person.step() < 30).then_some(()));
    person.eventually("the end again", || (person.step() == 30 && person.rests()).then_some(()));
}

/// The contents of chunks of that name in a RIFF file, after its header.
fn chunks<'a>(mut bytes: &'a [u8], name: &[u8; 4]) -> Vec<&'a [u8]> {
    let mut found = Vec::new();
    while let Some((head, rest)) = bytes.split_at_checked(8) {
        let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let (held, rest) = rest.split_at(length);
        if &head[..4] == name {
            found.push(held);
        }
        bytes = &rest[(length % 2).min(rest.len())..];
    }
    found
}

#[test]
fn a_window_that_another_program_destroys_ends_with_one_line() {
    if !is_there() {
        return;
    }
    let person = Person::opens(&["view", "plummer", "-n", "500", "--engine", "cpu"], Tab::Numbers);
    person.waits_until_sky(true);
    // XDestroyWindow, without an end of the connection.
    person.does(&["windowclose", &person.window()]);
    assert_eq!(person.ended().code(), Some(2));
    let said = person.said();
    assert!(said.contains("the window was lost"), "{said}");
    assert!(!said.contains("panicked") && !said.contains("RUST_BACKTRACE"), "{said}");
}

#[test]
fn steps_that_are_too_long_are_reported_once() {
    if !is_there() {
        return;
    }
    let args = ["view", "plummer", "-n", "200", "--engine", "cpu", "--eps", "0.01", "--dt", "2"];
    let person = Person::opens(&args, Tab::Numbers);
    let words = "the energy is off by more than 5 %";
    let said = person.eventually("a warning", || person.sentence(words));
    assert!(said.contains("shorten the time step"), "{said}");
    // The scene ends at t = 10.
    person.eventually("the end", || (person.step() == 5).then_some(()));
    person.waits_until_sky(false);
    assert_eq!(person.said().matches(words).count(), 1);
}
