//! Velocities of bulge and halo in the field of a disk.
//!
//! A disk pulls harder along its axis than across it. A sphere with equal dispersions in all
//! directions would be flattened and spread sideways within a crossing time. So the velocities
//! along the axis are raised and those across it lowered until, averaged over spheres, the pressure
//! in each direction balances the weight in that direction (the Jeans equations axis by axis, whose
//! integral is the tensor virial theorem, Binney & Tremaine 2008, equation 4.241). The sum over the
//! three axes, and with it the kinetic energy, remains that of Eddington's distribution.

use super::disk::Disk;
use super::monopole::Monopole;
use super::spheroid::{Profile, interpolate, radial_grid};

/// Number of radii at which the disk's field is averaged over a sphere.
const SPHERES: usize = 32;
/// Number of latitudes on each sphere, of equal area.
const LATITUDES: usize = 8;

/// The axial fraction of a disk's attraction, the mean of `z a_z` over a sphere divided by that of
/// `x . a`, at each of `radii`; 1/3 for a spherical field.
pub(crate) fn axial_share(disk: &Disk, softening: f64, radii: &[f64]) -> Vec<f64> {
    let nodes = radial_grid(0.05 * disk.scale, 10.0 * disk.scale, SPHERES);
    let shares: Vec<f64> = nodes
        .iter()
        .map(|&r| {
            let (mut axial, mut radial) = (0.0, 0.0);
            for latitude in 0..LATITUDES {
                let sine = (latitude as f64 + 0.5) / LATITUDES as f64;
                let (height, across) = (r * sine, r * (1.0 - sine * sine).sqrt());
                let (inward, down) = disk.pull(across, height, softening);
                axial += height * down;
                radial += across * inward;
            }
            axial / (axial + radial)
        })
        .collect();
    radii.iter().map(|&r| interpolate(&nodes, &shares, r)).collect()
}

/// Factor on the squared velocities along the axis at each of `radii`, for the sphere `profile` in
/// the field of `disk`, whose axial fraction is given, and of `spheres`. Across the axis the factor
/// is (3 - factor) / 2.
pub(crate) fn axial_factor(
    radii: &[f64],
    profile: &Profile,
    disk: &Monopole,
    share: &[f64],
    spheres: &Monopole,
) -> Vec<f64> {
    let mut factor = vec![1.0; radii.len()];
    let (mut axial, mut all) = (0.0, 0.0);
    for k in (0..radii.len() - 1).rev() {
        let weight = profile.density[k] * (radii[k + 1] - radii[k]);
        axial += weight * (3.0 * share[k] * disk.slope[k] + spheres.slope[k]);
        all += weight * (disk.slope[k] + spheres.slope[k]);
        // Both are negative; far outside they vanish.
        if all < 0.0 {
            factor[k] = (axial / all).clamp(0.3, 2.0);
        }
    }
    factor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thin_disk_pulls_along_its_axis_and_a_far_one_like_a_point() {
        let disk = Disk { mass: 1.0, scale: 1.0, height: 0.1, toomre_q: 1.5 };
        let share = axial_share(&disk, 0.05, &[0.3, 1.0, 10.0]);
        assert!(share[0] > 0.6 && share[0] < 1.0, "{share:?}");
        assert!(share[1] < share[0] && share[1] > 0.4, "{share:?}");
        assert!((share[2] - 1.0 / 3.0).abs() < 0.03, "{share:?}");
    }
}
