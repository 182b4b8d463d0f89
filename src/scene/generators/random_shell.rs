//! A spinning shell.

use glam::DVec3;

use super::drawn;
use crate::bodies::Bodies;
use crate::error::Result;
use crate::scene::{Generator, Parameter, Portion, Values};

/// A thick shell of M = 1 that rotates as a solid body about the z axis, like the `shell`
/// configuration of NVIDIA's nbody sample: radii from 2.5 to 4, here scaled to 0.625 to 1, and
/// velocities perpendicular to the radius, proportional to the distance from the axis.
pub(crate) static GENERATOR: Generator = Generator {
    name: "random-shell",
    summary: "a thick spherical shell that turns like a solid body: falls in at the poles, spreads at the equator",
    parameters: &[
        Parameter::n(16_384, 2),
        Parameter::real("inner_radius", 0.625, [0.0, 0.99])
            .help("inner radius of the shell; the outer one is 1"),
        Parameter::real("spin", 0.7, [-3.0, 3.0])
            .help("speed at the outer equator, in units of the circular velocity there"),
    ],
    build,
};

fn build(values: &Values, seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
    let inner = values.real("inner_radius");
    let axis = DVec3::Z * values.real("spin");
    drawn(values, seed, portion, |stream| {
        let r = inner + (1.0 - inner) * stream.uniform();
        let position = stream.direction() * r;
        (position, axis.cross(position))
    })
}
