//! What a window shows when nothing moves, how soon it responds, and the captions on what it saves.

use egui_kittest::kittest::Queryable;
use gravitile::app::panel::Tab;
use gravitile::gpu::DeviceClass;

use super::display::{Picture, is_there};
use super::log::is_frame;
use super::person::{Person, SKY, place};
use super::world::World;

/// Whether software draws here, and too slowly for all effects; says so if not.
fn leaves_out() -> bool {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let is_software = World::on(Tab::View).gpu.adapter.class == DeviceClass::Software;
    if !is_software || cores > 4 {
        let why = format!("{cores} cores, software: {is_software}: fast enough for everything");
        super::skip::skipped("what a slow adapter shows at rest", &why);
    }
    is_software && cores <= 4
}

/// The program's lines.
fn lines(person: &Person) -> Vec<String> {
    let said = std::fs::read_to_string(person.folder().join("stderr")).unwrap();
    said.lines().map(|line| line.trim_start_matches("gravitile: ").to_owned()).collect()
}

fn times_said(person: &Person, line: &str) -> usize {
    lines(person).iter().filter(|said| *said == line).count()
}

/// How many frames were drawn between the last line that begins with `cause` and the one with `effect`.
fn frames_until(person: &Person, cause: &str, effect: &str) -> usize {
    person.eventually(effect, || {
        let lines = lines(person);
        let from = lines.iter().rposition(|line| line.starts_with(cause))?;
        let to = lines[from..].iter().position(|line| line.starts_with(effect))?;
        Some(lines[from..from + to].iter().filter(|line| is_frame(line)).count())
    })
}

/// The saved file with that ending, once it is there.
fn saved(person: &Person, ending: &str) -> Option<Vec<u8>> {
    let names = std::fs::read_dir(person.folder()).unwrap();
    let mut paths = names.map(|entry| entry.unwrap().path());
    let path = paths.find(|path| path.extension().is_some_and(|e| e == ending))?;
    std::fs::read(path).ok().filter(|bytes| !bytes.is_empty())
}

#[test]
fn where_nothing_moves_a_picture_has_everything_once() {
    if !is_there() || !leaves_out() {
        return;
    }
    let args = "view galaxy-collision -n 20k --streaks 3 --engine cpu --method tree";
    let args: Vec<&str> = args.split_whitespace().collect();
    let person = Person::opens(&args, Tab::View);
    person.waits_until_sky(true);
    let left_out = "shows left out in motion (over 20 ms here): streaks";
    person.eventually("streaks to go", || person.has_said(left_out).then_some(()));
    assert_eq!(times_said(&person, "draws everything"), 0, "it moves");
    person.presses("space", "Named(Space)");
    person.waits_until_sky(false);
    assert_eq!(times_said(&person, "draws everything"), 1);
    let (whole, drawn) = (person.sees(), person.frames());
    std::thread::sleep(std::time::Duration::from_millis(700));
    assert_eq!(person.frames(), drawn, "frames of a picture in which nothing moves");
    // Using the panel, or taking a picture, does not change it.
    person.presses("F12", "Named(F12)");
    person.eventually("a picture file", || saved(&person, "png"));
    person.goes_to(Tab::File);
    person.goes_to(Tab::View);
    person.waits_until_sky(false);
    assert_eq!(person.sees().changes(&whole, SKY), 0);
    assert_eq!(times_said(&person, "draws as in motion"), 0);

    // In motion effects are left out again, at once.
    person.turns_wheel(egui::pos2(120.0, 300.0), 1);
    person.eventually("motion", || (times_said(&person, "draws as in motion") == 1).then_some(()));
    person.waits_until_sky(false);
    assert_eq!(times_said(&person, "draws everything"), 2);
    let whole = person.sees();
    // The picture with everything is the one shown at rest.
    let mut world = World::on(Tab::View);
    world.left_out = Some(left_out["shows ".len()..].to_owned());
    let insist = place(world, |harness| {
        harness.get_by_label("leave out what is too slow here").rect().center()
    });
    person.clicks(insist, "frame on View,");
    person.waits_until_sky(false);
    let (asked, sky) = (person.sees(), (SKY[2] - SKY[0]) * (SKY[3] - SKY[1]));
    let changes = asked.changes(&whole, SKY);
    assert!(changes < sky / 50, "{changes} of {sky} pixels clearly differ");
    // On request everything is drawn in motion as well.
    let before = times_said(&person, "draws as in motion");
    person.turns_wheel(egui::pos2(120.0, 300.0), 1);
    person.waits_until_sky(false);
    assert_eq!(times_said(&person, "draws as in motion"), before);
}

/// Frames are counted, not time: the next frame takes in whatever comes, and the one after it shows the result.
#[test]
fn what_somebody_does_is_in_the_second_picture_at_the_latest() {
    if !is_there() {
        return;
    }
    let person = Person::opens(&["view", "plummer", "-n", "500", "--engine", "cpu"], Tab::Numbers);
    person.waits_until_sky(true);
    for round in 0..6 {
        // While it moves, and while it rests.
        person.presses("space", "Named(Space)");
        if round % 2 == 0 {
            person.waits_until_sky(false);
        }
        let later = frames_until(&person, "key Named(Space) Pressed", "does Live(Pause(");
        assert!(later <= 1, "{later} frames before a key was answered");
        person.turns_wheel(egui::pos2(120.0, 300.0), 1);
        let later = frames_until(&person, "wheel", "draws from elsewhere");
        assert!(later <= 1, "{later} frames before the camera moved");
    }
}

#[test]
fn captions_are_written_on_pictures_that_are_saved_and_not_in_the_window() {
    if !is_there() {
        return;
    }
    let remember = |folder: &std::path::Path, captions: &str| {
        let path = folder.join("config/gravitile/window.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, format!("{text}captions = \"{captions}\"\nsky = 0.0\n")).unwrap();
    };
    let args = ["view", "figure-eight", "--engine", "cpu", "--paused"];
    let bright = |picture: &Picture| picture.bright([0, 0, 200, 60]);
    for (captions, least, most) in [("title,time,scale", 60, 4000), ("none", 0, 0)] {
        let person = Person::opens_with(&args, Tab::Scene, |folder| remember(folder, captions));
        person.waits_until_sky(false);
        person.presses("F12", "Named(F12)");
        let file = person.eventually("a picture file", || saved(&person, "png"));
        let count = bright(&Picture::decode(&file));
        assert!((least..=most).contains(&count), "captions {captions}: {count}");
        // The same on each picture of a film.
        person.goes_to(Tab::File);
        let record = place(World::on(Tab::File), |h| h.get_by_label("Record").rect().center());
        person.clicks(record, "does Record");
        person.presses("space", "Named(Space)");
        person.eventually("pictures", || (person.filmed() >= 3).then_some(()));
        person.is_told_to_end();
        person.ended();
        let film = saved(&person, "webp").expect("the film");
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
