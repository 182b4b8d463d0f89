//! A sphere at rest, which collapses.

use glam::DVec3;

use super::drawn;
use crate::bodies::Bodies;
use crate::error::Result;
use crate::scene::{Generator, Parameter, Portion, Values};

/// A uniform sphere of M = R = 1 at rest. If it were smooth, it would collapse to a point at t =
/// pi/2 sqrt(R^3 / (2 G M)) = 1.11; the graininess of n bodies makes it bounce (Aarseth, Lin &
/// Papaloizou 1988).
pub(crate) static GENERATOR: Generator = Generator {
    name: "cold-sphere",
    summary: "a uniform sphere at rest, mass and radius 1: collapses at t = 1.11, bounces and settles",
    parameters: &[Parameter::n(16_384, 2)],
    build,
};

fn build(values: &Values, seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
    drawn(values, seed, portion, |stream| (stream.in_ball(), DVec3::ZERO))
}
