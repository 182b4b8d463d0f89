//! Three bodies that follow each other along a figure of eight.

use glam::DVec3;

use crate::bodies::{Bodies, Component, Role};
use crate::error::Result;
use crate::scene::{Generator, Portion, Values};

/// The periodic solution of Chenciner & Montgomery (2000), with initial values by C. Simo: three
/// bodies of mass 1, period 6.32591398. It is stable, but exact only for softening 0.
pub(crate) static GENERATOR: Generator = Generator {
    name: "figure-eight",
    summary: "three equal bodies on one figure of eight (Chenciner & Montgomery): returns after 6.326",
    parameters: &[],
    build,
};

fn build(_values: &Values, _seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
    let position = DVec3::new(0.97000436, -0.24308753, 0.0);
    let velocity = DVec3::new(-0.93240737, -0.86473146, 0.0);
    let mut bodies = Bodies::with_capacity(3);
    bodies.components =
        ["first", "second", "third"].map(|name| Component::new(name, Role::Star)).to_vec();
    bodies.push(1.0, position, -0.5 * velocity, 0);
    bodies.push(1.0, -position, -0.5 * velocity, 1);
    bodies.push(1.0, DVec3::ZERO, velocity, 2);
    Ok(portion.of(bodies))
}
