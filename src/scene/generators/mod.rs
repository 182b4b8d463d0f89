//! One file per generator; each is listed once more in [`super::GENERATORS`].

use glam::DVec3;

use super::drawing::Streams;
use super::rng::Stream;
use super::{Portion, Values};
use crate::bodies::{Bodies, for_all};
use crate::error::Result;

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
/// that `draw` makes of the numbers of a stream, recentred.
fn drawn(
    values: &Values,
    seed: u64,
    portion: &Portion<'_>,
    draw: impl Fn(&mut Stream) -> (DVec3, DVec3) + Sync,
) -> Result<Bodies> {
    let n = values.count("n");
    let rows = portion.rows(n);
    let mut bodies = Bodies::zeroed(rows.len());
    for_all(&mut bodies.mass, |mass| *mass = 1.0 / n as f64);
    let motions = (&mut bodies.position[..], &mut bodies.velocity[..]);
    Streams::new(seed, 0).fill_motions(rows.start, motions, |_, stream| [draw(stream)]);
    portion.recentre(&mut bodies)?;
    Ok(bodies)
}
