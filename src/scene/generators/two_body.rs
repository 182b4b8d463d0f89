//! Two bodies on an ellipse.

use glam::DVec3;

use crate::bodies::{Bodies, Component, Role};
use crate::error::Result;
use crate::scene::{Generator, Orbit, Parameter, Portion, Values};

/// Kepler's problem: masses that add up to 1, semi-major axis 1, so the period is 2 pi. It starts
/// at the greatest distance, in the xy plane, with the second body on the negative x axis.
pub(crate) static GENERATOR: Generator = Generator {
    name: "two-body",
    summary: "two bodies on an ellipse of semi-major axis 1: returns after 2 pi",
    parameters: &[
        Parameter::real("eccentricity", 0.5, [0.0, 0.99]).help("0 is a circle"),
        Parameter::scale("mass_ratio", 1.0, [1e-6, 1.0])
            .help("mass of the second body in units of the first"),
    ],
    build,
};

fn build(values: &Values, _seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
    let eccentricity = values.real("eccentricity");
    let ratio = values.real("mass_ratio");
    let orbit =
        Orbit { eccentricity, pericentre: 1.0 - eccentricity, separation: 1.0 + eccentricity };
    let (position, velocity) = orbit.start(1.0)?;
    let (first, second) = (1.0 / (1.0 + ratio), ratio / (1.0 + ratio));
    let mut bodies = Bodies::with_capacity(2);
    bodies.components =
        vec![Component::new("first", Role::Star), Component::new("second", Role::Star)];
    bodies.push(first, DVec3::ZERO, DVec3::ZERO, 0);
    bodies.push(second, position, velocity, 1);
    bodies.recentre();
    Ok(portion.of(bodies))
}
