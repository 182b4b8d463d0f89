//! A cube of random positions.

use glam::DVec3;

use super::drawn;
use crate::bodies::Bodies;
use crate::error::Result;
use crate::scene::{Generator, Parameter, Portion, Values};

/// Positions uniform in the cube from -1 to 1, velocities normal. M = 1. The potential energy of a
/// uniform cube of side L is W = -0.941156 G M^2 / L (the six-fold integral of 1/r, evaluated
/// numerically).
pub(crate) static GENERATOR: Generator = Generator {
    name: "uniform-cube",
    summary: "random positions in a cube: the plainest load for timing, and a box that collapses into a ball",
    parameters: &[
        Parameter::n(16_384, 2),
        Parameter::real("virial_ratio", 0.0, [0.0, 4.0])
            .help("2K/|W|: 0 collapses, 1 stays about as large, above 2 flies apart"),
    ],
    build,
};

const SIDE: f64 = 2.0;

fn build(values: &Values, seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
    // K = 3/2 sigma^2 for M = 1.
    let sigma = (values.real("virial_ratio") * 0.941_156 / SIDE / 3.0).sqrt();
    drawn(values, seed, portion, |stream| {
        let position = DVec3::new(stream.symmetric(), stream.symmetric(), stream.symmetric());
        let velocity = DVec3::new(stream.normal(), stream.normal(), stream.normal());
        (position, velocity * sigma)
    })
}
