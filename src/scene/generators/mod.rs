//! One file per generator; each is listed once more in [`super::GENERATORS`].

use glam::DVec3;

use super::Values;
use super::rng::Stream;
use crate::bodies::Bodies;

pub(super) mod cold_sphere;
pub(super) mod disk_galaxy;
pub(super) mod expanding;
pub(super) mod figure_eight;
pub(super) mod galaxy_collision;
pub(super) mod hernquist;
pub(super) mod king;
pub(super) mod plummer;
pub(super) mod pythagorean;
pub(super) mod random_shell;
pub(super) mod random_sphere;
pub(super) mod two_body;
pub(super) mod uniform_cube;

/// As many bodies as the parameter `n` says, of total mass 1, with the positions and velocities
/// that `draw` makes one after another, recentred.
fn drawn(
    values: &Values,
    seed: u64,
    mut draw: impl FnMut(&mut Stream) -> (DVec3, DVec3),
) -> Bodies {
    let n = values.count("n");
    let mut stream = Stream::new(seed, 0);
    let mut bodies = Bodies::with_capacity(n);
    for _ in 0..n {
        let (position, velocity) = draw(&mut stream);
        bodies.push(1.0 / n as f64, position, velocity, 0);
    }
    bodies.recentre();
    bodies
}
