//! Film files: pictures can be read back, and no partial files are left.

use std::path::Path;

use gravitile::film::{Renderer, Shot, shoot};
use gravitile::render::film::format_of;
use gravitile::render::writing::Caption;
use gravitile::render::{Camera, CameraMotion, Film, FilmOptions, Image, PictureSize, Style};
use gravitile::scene::Scene;
use gravitile::sim::{EngineKind, Settings, Simulation};

fn options() -> FilmOptions {
    FilmOptions { size: PictureSize::new(48, 27).unwrap(), frames_per_sec: 25 }
}

/// A picture with a moving square.
fn frame(index: u32) -> Image {
    let mut image = Image::new(options().size);
    for y in 5..12 {
        for x in 3 + 2 * index..9 + 2 * index {
            let first = 4 * (y * 48 + x) as usize;
            image.rgba_mut()[first..first + 3].copy_from_slice(&[
                200,
                (30 * index % 256) as u8,
                90,
            ]);
        }
    }
    image
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn make(target: &Path, frames: u32) {
    let mut film = Film::open(target, options()).unwrap();
    (0..frames).for_each(|i| film.write(frame(i)).unwrap());
    film.finish().unwrap();
}

/// All composed frames of a PNG or animated PNG (RGB).
fn decode(path: &Path) -> Vec<Vec<u8>> {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let count = reader.info().animation_control().map_or(1, |control| control.num_frames);
    let mut shown = vec![0; 48 * 27 * 3];
    (0..count)
        .map(|_| {
            let mut part = vec![0; reader.output_buffer_size().unwrap()];
            let info = reader.next_frame(&mut part).unwrap();
            let place = reader.info().frame_control().copied();
            let (left, top) = place.map_or((0, 0), |control| (control.x_offset, control.y_offset));
            let row = 3 * info.width as usize;
            for y in 0..info.height as usize {
                let to = 3 * ((y + top as usize) * 48 + left as usize);
                shown[to..to + row].copy_from_slice(&part[y * row..(y + 1) * row]);
            }
            shown.clone()
        })
        .collect()
}

fn rgb(image: &Image) -> Vec<u8> {
    image.rgba().chunks(4).flat_map(|p| [p[0], p[1], p[2]]).collect()
}

#[test]
fn animated_png_round_trips_every_frame() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("film.apng");
    make(&target, 5);
    let pictures = decode(&target);
    assert_eq!(pictures.len(), 5);
    for (index, picture) in pictures.iter().enumerate() {
        assert!(*picture == rgb(&frame(index as u32)), "picture {index}");
    }
    assert_eq!(names_in(folder.path()), ["film.apng"]);
}

#[test]
fn folder_gets_numbered_frames_and_keeps_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("frames/");
    make(&target, 4);
    std::fs::write(target.join("notes.txt"), "mine").unwrap();
    make(&target, 2);
    assert_eq!(names_in(&target), ["frame_000000.png", "frame_000001.png", "notes.txt"]);
    assert!(decode(&target.join("frame_000001.png"))[0] == rgb(&frame(1)));
    assert_eq!(names_in(folder.path()), ["frames"]);
}

#[test]
fn png_target_takes_exactly_one_frame() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("picture.png");
    make(&target, 1);
    assert!(decode(&target)[0] == rgb(&frame(0)));
    let mut film = Film::open(&target, options()).unwrap();
    film.write(frame(1)).unwrap();
    let error = film.write(frame(2)).and_then(|()| film.finish()).unwrap_err().to_string();
    assert!(error.contains("film.webp"), "{error}");
    assert!(decode(&target)[0] == rgb(&frame(0)), "the old picture is still there");
}

#[test]
fn unfinished_films_leave_no_files() {
    for name in ["film.apng", "film.mp4", "picture.png", "frames"] {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join(name);
        if Film::open(&target, options()).is_err() {
            continue; // No ffmpeg; `video_is_written_or_refused_with_reason` covers that.
        }
        let mut film = Film::open(&target, options()).unwrap();
        film.write(frame(0)).unwrap();
        drop(film);
        assert!(names_in(folder.path()).is_empty(), "{name}: {:?}", names_in(folder.path()));
        // A film without pictures is an error and leaves nothing either.
        let error = Film::open(&target, options()).unwrap().finish().unwrap_err().to_string();
        assert!(error.contains("at least 1"), "{error}");
        assert!(names_in(folder.path()).is_empty(), "{name}");
    }
}

#[test]
fn video_is_written_or_refused_with_reason() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("film.mp4");
    match Film::open(&target, options()) {
        Ok(mut film) => {
            (0..10).for_each(|i| film.write(frame(i)).unwrap());
            film.finish().unwrap();
            // An odd height is padded; the index precedes the pictures.
            let bytes = std::fs::read(&target).unwrap();
            let place = |what: &[u8]| bytes.windows(4).position(|w| w == what);
            assert!(place(b"moov") < place(b"mdat") && place(b"moov").is_some());
        }
        Err(error) => assert!(error.to_string().contains("film.webp"), "{error}"),
    }
}

#[test]
fn invalid_targets_and_frames_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let error = |target: &Path, rate: u32| {
        let options = FilmOptions { frames_per_sec: rate, ..options() };
        Film::open(target, options).err().unwrap().to_string()
    };
    assert!(error(Path::new("film.gif"), 25).contains("film.mp4, film.apng"));
    assert!(error(&folder.path().join("film.apng"), 0).contains("1 to 240"));
    assert!(error(&folder.path().join("nowhere/film.apng"), 25).contains("nowhere"));
    assert!(error(&folder.path().join("nowhere/frames/"), 25).contains("nowhere"));
    std::fs::create_dir(folder.path().join("folder.png")).unwrap();
    assert!(error(&folder.path().join("folder.png"), 25).contains("is a folder"));
    std::fs::write(folder.path().join("file"), "").unwrap();
    assert!(error(&folder.path().join("file"), 25).contains("is a file"));
    let mut film = Film::open(&folder.path().join("film.apng"), options()).unwrap();
    let other = Image::new(PictureSize::new(5, 5).unwrap());
    assert!(film.write(other).unwrap_err().to_string().contains("48x27"));
    assert_eq!(format_of(Path::new("a.b/")).unwrap().pattern, "frames/");
    assert_eq!(format_of(Path::new("X.MP4")).unwrap().pattern, "film.mp4");
}

/// Number of lit pixels in the last of 13 frames of a scene's film.
fn lit_at_last(scene: &str, paths: bool) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("frames/");
    let scene = Scene::builtin(scene).unwrap();
    let bodies = scene.build().unwrap();
    let size = PictureSize::new(160, 90).unwrap();
    let style =
        Style { paths, sky: 0.0, bloom: 0.0, vignette: 0.0, dither: false, ..Style::default() };
    let start = Camera { distance: 6.0, ..Camera::default() };
    let settings = Settings {
        engine: EngineKind::Reference,
        softening: scene.run.softening,
        dt: scene.run.dt,
        ..Settings::default()
    };
    let mut sim = Simulation::new(bodies, settings).unwrap();
    let shot = Shot {
        frames: 13,
        frames_per_sec: 30,
        steps_before: 0,
        steps_per_frame: 50,
        size,
        motion: CameraMotion { start, ..CameraMotion::default() },
        style,
        renderer: Renderer::Cpu,
        caption: Caption::default(),
        paths_fade_in: 100.0,
    };
    let film = Film::open(&out, FilmOptions { size, frames_per_sec: 30 }).unwrap();
    assert_eq!(shoot(&mut sim, &shot, film, &mut |_| true).unwrap(), 13);
    let last = std::fs::File::open(out.join(names_in(&out).pop().unwrap())).unwrap();
    let mut reader = png::Decoder::new(std::io::BufReader::new(last)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let step = info.color_type.samples();
    pixels.chunks_exact(step).filter(|pixel| pixel[..3].iter().any(|&byte| byte > 60)).count()
}

#[test]
fn films_of_few_bodies_draw_their_paths() {
    let (plain, lined) = (lit_at_last("two-body", false), lit_at_last("two-body", true));
    assert!(plain > 0 && lined > plain + 60, "{plain} without lines, {lined} with them");
}
