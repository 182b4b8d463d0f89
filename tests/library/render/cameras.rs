//! The framing of scenes: the camera keeps the light in the picture from start to end.

use std::path::{Path, PathBuf};

use gravitile::bodies::{Bodies, Role};
use gravitile::input::Input;
use gravitile::render::{Camera, CameraMotion, Director, PictureSize, Style};
use gravitile::scene::{Moment, Scene};
use gravitile::settings::{EngineRequest, InputRequest, LookRequest, MethodRequest, StepRequest};
use gravitile::sim::{Settings, Simulation};
use rayon::prelude::*;

/// Number of times of a film that are checked.
const SAMPLES: u64 = 21;
/// Length of a scene's film in seconds: 300 pictures, 30 per second.
const FILM_SECS: f64 = 10.0;

/// The fraction of the light that is in the picture.
fn framed_fraction(bodies: &Bodies, camera: &Camera, size: PictureSize) -> f64 {
    let drawn = |&i: &usize| bodies.components[usize::from(bodies.component[i])].role != Role::Halo;
    let all: Vec<usize> = (0..bodies.len()).filter(drawn).collect();
    let is_inside = |&&i: &&usize| {
        camera.pixel_of(bodies.position[i], size).is_some_and(|(at, _)| {
            at.x >= 0.0
                && at.y >= 0.0
                && at.x <= f64::from(size.width())
                && at.y <= f64::from(size.height())
        })
    };
    all.iter().filter(is_inside).count() as f64 / all.len() as f64
}

/// Simulates the film of a scene file with `n` bodies and calls `each` with seconds of film, bodies
/// and camera at [`SAMPLES`] times.
pub fn for_each_sample(
    file: &Path,
    n: usize,
    style: &Style,
    size: PictureSize,
    mut each: impl FnMut(f64, &Bodies, &Camera),
) {
    for_each_sample_in(file, n, style, [size], |secs, bodies, [camera]| each(secs, bodies, camera));
}

/// The bodies of a scene file, `n` if their number is a parameter, and how the host steps them.
fn opened(file: &Path, n: usize) -> (Input, Settings) {
    let mut input = InputRequest { input: file.display().to_string(), ..Default::default() };
    if input.scene().unwrap().and_then(|scene| scene.n()) > Some(3) {
        input.n = Some(n);
    }
    let mut loaded = input.load(None).unwrap();
    let engine = EngineRequest {
        by: MethodRequest { engine: "cpu".to_owned(), ..Default::default() },
        ..Default::default()
    };
    let settings = StepRequest::default().settings(&mut loaded, &engine).unwrap();
    (loaded, settings)
}

/// [`for_each_sample`] with a camera for each of several sizes.
fn for_each_sample_in<const SIZES: usize>(
    file: &Path,
    n: usize,
    style: &Style,
    sizes: [PictureSize; SIZES],
    mut each: impl FnMut(f64, &Bodies, &[Camera; SIZES]),
) {
    let (loaded, mut settings) = opened(file, n);
    let bodies = loaded.snapshot.bodies;
    let (view, duration) = (loaded.view.as_ref(), loaded.run.until);
    let motion = |size| LookRequest::default().motion(&bodies, view, style, size, duration);
    let motions = sizes.map(|size| motion(size).unwrap());
    let interval = loaded.run.until / (SAMPLES - 1) as f64;
    // Positions to a hundredth of the picture need no small steps, except with three bodies.
    let coarser = if bodies.len() > 3 { 8.0 } else { 1.0 };
    let steps = (interval / (coarser * settings.dt)).ceil().max(1.0) as u64;
    settings.dt = interval / steps as f64;
    let mut directors = [Director::default(); SIZES];
    let mut sim = Simulation::new(bodies, settings).unwrap();
    for sample in 0..SAMPLES {
        if sample > 0 {
            sim.step(steps).unwrap();
        }
        let bodies = sim.bodies().unwrap();
        let secs = FILM_SECS * sample as f64 / (SAMPLES - 1) as f64;
        let times = (secs, sim.time());
        let cameras = std::array::from_fn(|k| {
            directors[k].camera(&motions[k], times, &bodies, style, sizes[k]).unwrap()
        });
        each(secs, &bodies, &cameras);
    }
}

/// The file of a built-in scene.
pub fn file_of(scene: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("assets/scenes/{scene}.toml"))
}

/// The fraction of the light in the picture at each sample of a scene's film, the least of three
/// aspect ratios.
fn film(file: &Path) -> Vec<f64> {
    let sizes = [[1280, 720], [960, 720], [720, 1280]]
        .map(|[width, height]| PictureSize::new(width, height).unwrap());
    let mut fractions = Vec::new();
    for_each_sample_in(file, 2000, &Style::default(), sizes, |_, bodies, cameras| {
        let in_each = cameras.iter().zip(sizes);
        let parts = in_each.map(|(camera, size)| framed_fraction(bodies, camera, size));
        fractions.push(parts.fold(1.0, f64::min));
    });
    fractions
}

#[test]
fn built_in_scenes_stay_in_the_picture() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("assets/scenes");
    let only = std::env::var("GRAVITILE_SCENE").unwrap_or_default();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.to_string_lossy().contains(&only));
    files.sort();
    assert!(!files.is_empty());
    let films: Vec<Vec<f64>> = files.par_iter().map(|file| film(file)).collect();
    let mut lost = String::new();
    for (file, parts) in files.iter().zip(films) {
        let least = parts.iter().copied().fold(1.0, f64::min);
        let name = file.file_stem().unwrap().to_string_lossy();
        println!("{name}: {least:.3} {parts:.2?}");
        if least < 0.99 {
            lost += &format!("{name}: {parts:.2?}\n");
        }
    }
    assert!(lost.is_empty(), "less than 99 % of the light in the picture:\n{lost}");
}

/// The fraction of the light that each marked moment of a scene has in a picture of 16 by 9.
fn moments(file: &Path) -> Vec<f64> {
    let (size, style) = (PictureSize::new(1280, 720).unwrap(), Style::default());
    let (loaded, settings) = opened(file, 2000);
    let view = loaded.view.unwrap();
    let bodies = loaded.snapshot.bodies;
    let motion = LookRequest::default().motion(&bodies, Some(&view), &style, size, 1.0).unwrap();
    let coarser = if bodies.len() > 3 { 8.0 } else { 1.0 };
    let part = |moment: &Moment| {
        let time = moment.camera.time;
        let steps = (time / (coarser * settings.dt)).ceil().max(1.0);
        let settings = Settings { dt: time / steps, ..settings.clone() };
        let mut sim = Simulation::new(bodies.clone(), settings).unwrap();
        sim.step(steps as u64).unwrap();
        let motion = CameraMotion { path: vec![moment.camera], ..motion.clone() };
        let bodies = sim.bodies().unwrap();
        let times = (0.0, sim.time());
        let camera = Director::default().camera(&motion, times, &bodies, &style, size).unwrap();
        framed_fraction(&bodies, &camera, size)
    };
    view.moments.iter().map(part).collect()
}

#[test]
fn marked_moments_have_their_light_in_the_picture() {
    let files: Vec<PathBuf> = Scene::names().map(file_of).collect();
    let parts: Vec<Vec<f64>> = files.par_iter().map(|file| moments(file)).collect();
    let mut lost = String::new();
    for (file, parts) in files.iter().zip(parts) {
        let name = file.file_stem().unwrap().to_string_lossy();
        println!("{name}: {parts:.3?}");
        // Those of Toomre and Toomre look at the bridge or the tail alone.
        let least = if name.starts_with("toomre-") { 0.6 } else { 0.97 };
        if parts.iter().any(|part| *part < least) {
            lost += &format!("{name}: {parts:.3?}\n");
        }
    }
    assert!(lost.is_empty(), "less than 97 % of the light in the picture:\n{lost}");
}
