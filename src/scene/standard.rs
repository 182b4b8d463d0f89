//! Energies of a sphere of bodies, and the standard units of star clusters.

use rayon::prelude::*;

use super::Portion;
use super::drawing::BLOCK;
use crate::bodies::{Bodies, for_all};
use crate::error::Result;
use crate::math::{ExactSum, all_sums_of};

/// Shells that are sorted at once.
const AT_ONCE: f64 = (1 << 24) as f64;

/// Radii by which the shells are divided.
const SAMPLES: usize = 4096;

/// Kinetic and potential energy of the bodies of all processes, the latter of the shells on which
/// they lie about the origin; the graininess of n bodies changes it by about 1/n.
///
/// # Errors
/// Another process is gone.
pub(crate) fn energies(bodies: &Bodies, portion: &Portion<'_>) -> Result<[f64; 2]> {
    let all = portion.all();
    let n = bodies.len();
    let [twice_kinetic, total] =
        all_sums_of(all, n, |i| [bodies.mass[i] * bodies.velocity[i].length_squared(), 1.0])?;
    let radius = |i: usize| bodies.position[i].length();
    let sample = (0..n).step_by(n.div_ceil(SAMPLES).max(1)).map(radius);
    let mut sample = all.gather(&sample.collect::<Vec<_>>())?;
    sample.sort_unstable_by(f64::total_cmp);
    let pieces = (total / AT_ONCE).ceil().max(1.0) as usize;
    let ends = sample.chunks(sample.len().div_ceil(pieces).max(1)).skip(1).map(|piece| piece[0]);
    let ends: Vec<f64> = ends.chain([f64::INFINITY]).collect();
    let (mut begin, mut within) = (f64::NEG_INFINITY, 0.0);
    let mut potential = ExactSum::default();
    for end in ends {
        let own = (0..n).into_par_iter().map(|i| [radius(i), bodies.mass[i]]);
        let own: Vec<[f64; 2]> = own.filter(|[r, _]| begin <= *r && *r < end).collect();
        let mut shells = all.gather(bytemuck::cast_slice(&own))?;
        let (shells, _) = shells.as_chunks_mut::<2>();
        shells.par_sort_unstable_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
        potential.add_sum(potential_of_shells(shells, &mut within));
        begin = end;
    }
    Ok([0.5 * twice_kinetic, potential.value()])
}

/// The potential energy of shells (radius, mass) at ascending radii, around the mass `within`, to
/// which their masses are added.
fn potential_of_shells(shells: &[[f64; 2]], within: &mut f64) -> ExactSum {
    // The mass within each block of shells, added shell by shell as within the blocks.
    let starts: Vec<f64> = shells
        .chunks(BLOCK)
        .map(|block| {
            let start = *within;
            block.iter().for_each(|[_, m]| *within += m);
            start
        })
        .collect();
    let blocks = shells.par_chunks(BLOCK).zip(&starts).map(|(block, start)| {
        let mut within = *start;
        let energies = block.iter().map(|&[r, m]| {
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
    blocks.reduce(ExactSum::default, add)
}

/// Rescales positions and velocities of bodies of total mass 1 so that W = -1/2 and K = 1/4: E =
/// -1/4 and 2K/|W| = 1 (Heggie & Mathieu 1986).
///
/// # Errors
/// Another process is gone.
pub(crate) fn to_standard_units(bodies: &mut Bodies, portion: &Portion<'_>) -> Result<()> {
    let [kinetic, potential] = energies(bodies, portion)?;
    let (length, speed) = (-2.0 * potential, (0.25 / kinetic).sqrt());
    for_all(&mut bodies.position, |x| *x *= length);
    for_all(&mut bodies.velocity, |v| *v *= speed);
    Ok(())
}
