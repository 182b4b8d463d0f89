//! A film made in code: a small galaxy collision, without a window or the command line.
//!
//! Shows: `Shot`, camera and style, film formats.
//! Run: `cargo run --release --example 5_film`, then open the picture it names in a browser.

use gravitile::error::Result;
use gravitile::film::{Shot, shoot};
use gravitile::render::{Film, FilmOptions, PictureSize};
use gravitile::scene::Scene;
use gravitile::sim::{Settings, Simulation};

fn main() -> Result<()> {
    let mut scene = Scene::builtin("galaxy-collision")?;
    scene.set_n(3000)?;
    let bodies = scene.build()?;

    let size = PictureSize::new(320, 180)?;
    let mut shot = Shot::of(&bodies, size, 24);
    (shot.frames_per_sec, shot.steps_per_frame) = (12, 25);
    shot.motion.orbit_rad_per_sec = 0.2;
    let mut sim = Simulation::new(bodies, Settings::of(&scene)?)?;

    let target = std::env::temp_dir().join("gravitile-example.apng");
    let film = Film::open(&target, FilmOptions { size, frames_per_sec: shot.frames_per_sec })?;
    let frames = shoot(&mut sim, &shot, film, &mut |_| true)?;
    println!("{frames} pictures in {}", target.display());
    Ok(())
}
