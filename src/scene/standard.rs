//! Energies of a sphere of bodies, and the standard units of star clusters.

use rayon::prelude::*;

use super::drawing::BLOCK;
use crate::bodies::{Bodies, for_all};
use crate::math::{ExactSum, sum_of};

/// Kinetic and potential energy, the latter of the shells on which the bodies lie about the origin;
/// the graininess of n bodies changes it by about 1/n.
pub(crate) fn energies(bodies: &Bodies) -> [f64; 2] {
    let mut shells: Vec<(f64, f64)> =
        bodies.position.par_iter().zip(&bodies.mass).map(|(x, &m)| (x.length(), m)).collect();
    shells.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let twice_kinetic =
        sum_of(bodies.len(), |i| bodies.mass[i] * bodies.velocity[i].length_squared());
    [0.5 * twice_kinetic, potential_of_shells(&shells)]
}

/// The potential energy of shells (radius, mass) at ascending radii.
fn potential_of_shells(shells: &[(f64, f64)]) -> f64 {
    // The mass within each block of shells, added shell by shell as within the blocks.
    let mut within = 0.0;
    let starts: Vec<f64> = shells
        .chunks(BLOCK)
        .map(|block| {
            let start = within;
            block.iter().for_each(|(_, m)| within += m);
            start
        })
        .collect();
    let blocks = shells.par_chunks(BLOCK).zip(&starts).map(|(block, start)| {
        let mut within = *start;
        let energies = block.iter().map(|&(r, m)| {
            // Half of a body's own shell acts on it.
            let energy = -m * (within + 0.5 * m) / r;
            within += m;
            energy
        });
        energies.collect::<ExactSum>()
    });
    let add = |mut all: ExactSum, some| {
        all.add_sum(some);
        all
    };
    blocks.reduce(ExactSum::default, add).value()
}

/// Rescales positions and velocities of bodies of total mass 1 so that W = -1/2 and K = 1/4: E =
/// -1/4 and 2K/|W| = 1 (Heggie & Mathieu 1986).
pub(crate) fn to_standard_units(bodies: &mut Bodies) {
    let [kinetic, potential] = energies(bodies);
    let (length, speed) = (-2.0 * potential, (0.25 / kinetic).sqrt());
    for_all(&mut bodies.position, |x| *x *= length);
    for_all(&mut bodies.velocity, |v| *v *= speed);
}
