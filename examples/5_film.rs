//! A film made in code: a small galaxy collision, without a window or the command line.
//!
//! Shows: `Shot`, camera and style, film formats.
//! Run: `cargo run --release --example 5_film`, then open the picture it names in a browser.

use gravitile::error::Result;
use gravitile::film::{Renderer, Shot, shoot};
use gravitile::render::writing::Caption;
use gravitile::render::{Camera, CameraMotion, Film, FilmOptions, Follow, PictureSize, Style};
use gravitile::scene::Scene;
use gravitile::sim::{Settings, Simulation};

fn main() -> Result<()> {
    let mut scene = Scene::builtin("galaxy-collision")?;
    scene.set_n(3000)?;
    let bodies = scene.build()?;

    let (size, style) = (PictureSize::new(320, 180)?, Style::default());
    let start = Camera::default().framing(&bodies, &style, 0.98, size);
    let settings =
        Settings { softening: scene.run.softening, dt: scene.run.dt, ..Settings::default() };
    let mut sim = Simulation::new(bodies, settings)?;
    let shot = Shot {
        frames: 24,
        frames_per_sec: 12,
        steps_before: 0,
        steps_per_frame: 25,
        size,
        motion: CameraMotion {
            start,
            orbit_rad_per_sec: 0.2,
            follow: Follow::Nothing,
            ..CameraMotion::default()
        },
        style,
        caption: Caption::default(),
        paths_fade_in: 0.0,
        renderer: Renderer::Auto,
    };
    let target = std::env::temp_dir().join("gravitile-example.apng");
    let film = Film::open(&target, FilmOptions { size, frames_per_sec: shot.frames_per_sec })?;
    let frames = shoot(&mut sim, &shot, film, &mut |_| true)?;
    println!("{frames} pictures in {}", target.display());
    Ok(())
}
