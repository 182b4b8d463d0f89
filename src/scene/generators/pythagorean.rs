//! Three bodies that fall from the corners of a right-angled triangle.

use glam::DVec3;

use crate::bodies::{Bodies, Component, Role};
use crate::error::Result;
use crate::scene::{Generator, Portion, Values};

/// Burrau's problem (1913), solved by Szebehely & Peters (1967): masses 3, 4 and 5 at rest, each
/// opposite the side of that length. After close passages, unsoftened, the lightest is ejected at t
/// = 60 and the others remain a binary. A hard test of any integrator.
pub(crate) static GENERATOR: Generator = Generator {
    name: "pythagorean",
    summary: "three bodies of mass 3, 4 and 5 fall from a right-angled triangle (Burrau): a hard test",
    parameters: &[],
    build,
};

fn build(_values: &Values, _seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
    let mut bodies = Bodies::with_capacity(3);
    bodies.components =
        ["mass 3", "mass 4", "mass 5"].map(|name| Component::new(name, Role::Star)).to_vec();
    bodies.push(3.0, DVec3::new(1.0, 3.0, 0.0), DVec3::ZERO, 0);
    bodies.push(4.0, DVec3::new(-2.0, -1.0, 0.0), DVec3::ZERO, 1);
    bodies.push(5.0, DVec3::new(1.0, -1.0, 0.0), DVec3::ZERO, 2);
    Ok(portion.of(bodies))
}
