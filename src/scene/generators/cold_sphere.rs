//! A sphere at rest, which collapses.

use glam::DVec3;

use crate::bodies::Bodies;
use crate::error::Result;
use crate::scene::rng::Stream;
use crate::scene::{Generator, Parameter, Values};

/// A uniform sphere of M = R = 1 at rest. If it were smooth, it would collapse to a point at t =
/// pi/2 sqrt(R^3 / (2 G M)) = 1.11; the graininess of n bodies makes it bounce (Aarseth, Lin &
/// Papaloizou 1988).
pub(crate) static GENERATOR: Generator = Generator {
    name: "cold-sphere",
    summary: "a uniform sphere at rest, mass and radius 1: collapses at t = 1.11, bounces and settles",
    parameters: &[Parameter::n(16_384, 2)],
    build,
};

fn build(values: &Values, seed: u64) -> Result<Bodies> {
    let n = values.count("n");
    let mut stream = Stream::new(seed, 0);
    let mut bodies = Bodies::with_capacity(n);
    for _ in 0..n {
        bodies.push(1.0 / n as f64, stream.in_ball(), DVec3::ZERO, 0);
    }
    bodies.recentre();
    Ok(bodies)
}
