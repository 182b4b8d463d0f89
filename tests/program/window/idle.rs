//! The window at rest: full-quality pictures when nothing moves, latency of input, and captions on
//! saved pictures and films.

use egui_kittest::kittest::Queryable;
use gravitile::gpu::DeviceClass;
use gravitile_app::panel::Tab;

use super::display::{Picture, can_run_window_tests};
use super::log::is_frame_line;
use super::person::{SKY, Session, place};
use super::world::World;

/// Whether a software adapter draws here, too slowly for all effects. If not, reports the test as
/// skipped.
fn adapter_omits_effects() -> bool {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let is_software = World::on(Tab::View).gpu.adapter.class == DeviceClass::Software;
    if !is_software || cores > 4 {
        let why = format!("{cores} cores, software: {is_software}: fast enough for everything");
        super::skip::skipped("what a slow adapter shows at rest", &why);
    }
    is_software && cores <= 4
}

/// All lines of the program's log.
fn lines(session: &Session) -> Vec<String> {
    let log = std::fs::read_to_string(session.folder().join("stderr")).unwrap();
    log.lines().map(|line| line.trim_start_matches("gravitile: ").to_owned()).collect()
}

fn count_lines(session: &Session, line: &str) -> usize {
    lines(session).iter().filter(|logged| *logged == line).count()
}

/// Number of frames between the last line that starts with `cause` and the next that starts with
/// `effect`.
fn frames_until(session: &Session, cause: &str, effect: &str) -> usize {
    session.wait_for(effect, || {
        let lines = lines(session);
        let from = lines.iter().rposition(|line| line.starts_with(cause))?;
        let to = lines[from..].iter().position(|line| line.starts_with(effect))?;
        Some(lines[from..from + to].iter().filter(|line| is_frame_line(line)).count())
    })
}

/// The contents of the saved file with that extension; `None` while it is absent or empty.
fn saved(session: &Session, extension: &str) -> Option<Vec<u8>> {
    let names = std::fs::read_dir(session.folder()).unwrap();
    let mut paths = names.map(|entry| entry.unwrap().path());
    let path = paths.find(|path| path.extension().is_some_and(|e| e == extension))?;
    std::fs::read(path).ok().filter(|bytes| !bytes.is_empty())
}

#[test]
fn picture_at_rest_is_drawn_once_with_all_effects() {
    if !can_run_window_tests() || !adapter_omits_effects() {
        return;
    }
    let args = "view galaxy-collision -n 20k --streaks 3 --engine cpu --method tree";
    let args: Vec<&str> = args.split_whitespace().collect();
    let session = Session::open(&args, Tab::View);
    session.wait_for_motion();
    session.wait_for("streaks to go", || session.has_left_out("streaks").then_some(()));
    assert_eq!(count_lines(&session, "draws everything"), 0, "it moves");
    session.press_key("space", "Named(Space)");
    session.wait_until_idle();
    assert_eq!(count_lines(&session, "draws everything"), 1);
    let (whole, drawn) = (session.screenshot(), session.frame_count());
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert_eq!(session.frame_count(), drawn, "frames of a picture in which nothing moves");
    // Neither the panel nor a screenshot changes the picture.
    session.press_key("F12", "Named(F12)");
    session.wait_for("a picture file", || saved(&session, "png"));
    session.open_tab(Tab::File);
    session.open_tab(Tab::View);
    session.wait_until_idle();
    assert_eq!(session.screenshot().count_changed(&whole, SKY), 0);
    assert_eq!(count_lines(&session, "draws as in motion"), 0);

    // On motion the effects are left out again at once.
    session.scroll(egui::pos2(120.0, 300.0), 1);
    session.wait_for("motion", || (count_lines(&session, "draws as in motion") == 1).then_some(()));
    session.wait_until_idle();
    assert_eq!(count_lines(&session, "draws everything"), 2);
    let whole = session.screenshot();
    // With effects forced on, the picture is the one shown at rest.
    let mut world = World::on(Tab::View);
    world.left_out = Some("left out in motion (over 20 ms here): streaks".to_owned());
    let force = place(world, |harness| {
        harness.get_by_label("leave out what is too slow here").rect().center()
    });
    session.click(force, "frame on View,");
    session.wait_until_idle();
    let (forced, sky) = (session.screenshot(), (SKY[2] - SKY[0]) * (SKY[3] - SKY[1]));
    let changes = forced.count_changed(&whole, SKY);
    assert!(changes < sky / 50, "{changes} of {sky} pixels clearly differ");
    // With effects forced on, everything is drawn in motion as well.
    let before = count_lines(&session, "draws as in motion");
    session.scroll(egui::pos2(120.0, 300.0), 1);
    session.wait_until_idle();
    assert_eq!(count_lines(&session, "draws as in motion"), before);
}

/// Latency in frames, not in time: the next frame processes the input, and the one after it shows
/// the result.
#[test]
fn input_is_visible_by_the_second_frame() {
    if !can_run_window_tests() {
        return;
    }
    let session = Session::open(&["view", "plummer", "-n", "500", "--engine", "cpu"], Tab::Numbers);
    session.wait_for_motion();
    for round in 0..6 {
        // Alternately while running and while idle.
        session.press_key("space", "Named(Space)");
        if round % 2 == 0 {
            session.wait_until_idle();
        }
        let later = frames_until(&session, "key Named(Space) Pressed", "does Live(Pause(");
        assert!(later <= 1, "{later} frames before a key was answered");
        session.scroll(egui::pos2(120.0, 300.0), 1);
        let later = frames_until(&session, "wheel", "draws from elsewhere");
        assert!(later <= 1, "{later} frames before the camera moved");
    }
}

#[test]
fn captions_appear_on_saved_pictures_and_films() {
    if !can_run_window_tests() {
        return;
    }
    let write_captions_setting = |folder: &std::path::Path, captions: &str| {
        let path = folder.join("config/gravitile/window.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, format!("{text}captions = \"{captions}\"\nsky = 0.0\n")).unwrap();
    };
    let args = ["view", "figure-eight", "--engine", "cpu", "--paused"];
    let bright = |picture: &Picture| picture.count_bright([0, 0, 200, 60]);
    for (captions, least, most) in [("title,time,scale", 60, 4000), ("none", 0, 0)] {
        let session = Session::open_with(&args, Tab::Scene, |folder| {
            write_captions_setting(folder, captions)
        });
        session.wait_until_idle();
        session.press_key("F12", "Named(F12)");
        let file = session.wait_for("a picture file", || saved(&session, "png"));
        let count = bright(&Picture::decode(&file));
        assert!((least..=most).contains(&count), "captions {captions}: {count}");
        // The captions are on each frame of a film, too.
        session.open_tab(Tab::File);
        let record = place(World::on(Tab::File), |h| h.get_by_label("Record").rect().center());
        session.click(record, "does Record");
        session.press_key("space", "Named(Space)");
        session.wait_for("pictures", || (session.frames_recorded() >= 3).then_some(()));
        session.terminate();
        session.wait_for_exit();
        let film = saved(&session, "webp").expect("the film");
        let frames = webp::AnimDecoder::new(&film).decode().expect("pictures");
        for k in 0..frames.len() {
            let frame = frames.get_frame(k).unwrap();
            let samples = frame.get_image().len() / (frame.width() * frame.height()) as usize;
            let row = frame.width() as usize * samples;
            let corner =
                frame.get_image().chunks(row).take(60).flat_map(|row| &row[..200 * samples]);
            let corner: Vec<u8> = corner.copied().collect();
            let count =
                corner.chunks(samples).filter(|pixel| pixel[..3].iter().any(|c| *c > 70)).count();
            assert!((least..=most).contains(&count), "captions {captions}: {count} in the film");
        }
    }
}
