//! A sphere of random positions and velocities.

use super::drawn;
use crate::bodies::Bodies;
use crate::error::Result;
use crate::scene::{Generator, Parameter, Portion, Values};

/// Positions uniform in the sphere of radius 1, velocities uniform in a sphere too, like the
/// `random` configuration of NVIDIA's nbody sample. M = 1; since W = -3/5, a greatest speed u gives
/// 2K/|W| = u^2.
pub(crate) static GENERATOR: Generator = Generator {
    name: "random-sphere",
    summary: "random positions in a sphere and random velocities, as warm as you like",
    parameters: &[
        Parameter::n(16_384, 2),
        Parameter::real("virial_ratio", 0.5, [0.0, 4.0])
            .help("2K/|W|: 0 collapses, 1 stays about as large, above 2 flies apart"),
    ],
    build,
};

fn build(values: &Values, seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
    let greatest = values.real("virial_ratio").sqrt();
    drawn(values, seed, portion, |stream| (stream.in_ball(), stream.in_ball() * greatest))
}
