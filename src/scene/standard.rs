//! Energies of a sphere of bodies, and the standard units of star clusters.

use rayon::prelude::*;

use crate::bodies::Bodies;

/// Kinetic and potential energy, the latter of the shells on which the bodies lie about the origin;
/// the graininess of n bodies changes it by about 1/n.
pub(crate) fn energies(bodies: &Bodies) -> [f64; 2] {
    let mut by_radius: Vec<(f64, f64)> =
        bodies.position.par_iter().zip(&bodies.mass).map(|(x, &m)| (x.length(), m)).collect();
    by_radius.par_sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut within = 0.0;
    let potential = crate::math::sum(by_radius.iter().map(|&(r, m)| {
        // Half of the body's own shell acts on it.
        let energy = -m * (within + 0.5 * m) / r;
        within += m;
        energy
    }));
    let kinetic = 0.5
        * crate::math::sum(
            bodies.velocity.iter().zip(&bodies.mass).map(|(v, m)| m * v.length_squared()),
        );
    [kinetic, potential]
}

/// Rescales positions and velocities of bodies of total mass 1 so that W = -1/2 and K = 1/4: E =
/// -1/4 and 2K/|W| = 1 (Heggie & Mathieu 1986).
pub(crate) fn to_standard_units(bodies: &mut Bodies) {
    let [kinetic, potential] = energies(bodies);
    let (length, speed) = (-2.0 * potential, (0.25 / kinetic).sqrt());
    for x in &mut bodies.position {
        *x *= length;
    }
    for v in &mut bodies.velocity {
        *v *= speed;
    }
}
