//! Hernquist's sphere in equilibrium.

use crate::bodies::{Bodies, Component, Role};
use crate::error::Result;
use crate::scene::galaxy::{Disk, Galaxy, Spheroid};
use crate::scene::{Generator, Parameter, Portion, Values};

/// Hernquist's model (1990), cut off smoothly, with the isotropic velocities of Eddington's
/// inversion in its own softened potential. M = a = 1.
pub(crate) static GENERATOR: Generator = Generator {
    name: "hernquist",
    summary: "an elliptical galaxy in equilibrium: Hernquist's sphere, mass and scale length 1",
    parameters: &[
        Parameter::n(10_000, 2),
        Parameter::scale("cutoff", 10.0, [1.0, 1000.0])
            .help("radius where the density begins to fall like a Gaussian, in scale lengths"),
        Parameter::softening(0.05),
    ],
    build,
};

fn build(values: &Values, seed: u64, portion: &Portion<'_>) -> Result<Bodies> {
    let softening = values.real("softening");
    let nothing = Spheroid { mass: 0.0, scale: 1.0, core: 0.0, cutoff: 1.0 };
    let sphere = Spheroid { mass: 1.0, scale: 1.0, core: softening, cutoff: values.real("cutoff") };
    let mut bodies = Galaxy {
        disk: (Disk { mass: 0.0, scale: 1.0, height: 0.1, toomre_q: 1.0 }, 0),
        gas: 0,
        bulge: (sphere, values.count("n")),
        halo: (nothing, 0),
        softening,
    }
    .build(seed, portion)?;
    bodies.components = vec![Component::new("stars", Role::Star)];
    portion.recentre(&mut bodies)?;
    Ok(bodies)
}
