//! The velocities of the bodies of a disk.
//!
//! Velocities follow Hernquist (1993, section 2.2.2): a velocity ellipsoid from Toomre's Q and the
//! epicyclic approximation, and a mean rotation slowed by the asymmetric drift. The rotation curve
//! is that of all components, softened as the engines soften it.

use std::f64::consts::PI;

use glam::DVec3;

use super::disk::{Disk, EDGE, HEIGHTS, height_at, quantiles, squared_separations};
use super::ring;
use crate::scene::rng::Stream;

/// Number of radii in the tables.
const NODES: usize = 161;
/// Toomre's constant for stars: Q = sigma_R kappa / (3.36 G Sigma) (Toomre 1964).
const TOOMRE: f64 = 3.36;

/// The kinematics of a disk, in tables over the cylindrical radius.
#[derive(Clone, Debug)]
pub(crate) struct Motion {
    disk: Disk,
    /// Radius of the first table entry and distance between entries.
    step: f64,
    /// Squared circular velocity.
    circular_squared: Vec<f64>,
    /// kappa^2 / (4 Omega^2), the squared axis ratio of the velocity ellipsoid.
    axis_ratio_squared: Vec<f64>,
    /// Vertical velocity dispersion, squared.
    vertical_squared: Vec<f64>,
    /// Radial velocity dispersion at the centre, squared.
    radial_squared: f64,
}

impl Motion {
    /// The kinematics of `disk` in its own field and in that of spheres whose inward attraction is
    /// `pull(r)`.
    pub fn new(disk: Disk, softening: f64, pull: impl Fn(f64) -> f64) -> Self {
        let step = EDGE * disk.scale / (NODES - 1) as f64;
        let separations = squared_separations(disk.height);
        let square = softening * softening;
        let radius = |k: usize| (k + 1) as f64 * step;
        let heights: Vec<f64> = quantiles(HEIGHTS).map(|z| z * disk.height).collect();
        let over_heights =
            |of: &dyn Fn(f64) -> f64| heights.iter().map(|&z| of(z)).sum::<f64>() / HEIGHTS as f64;

        let mut circular_squared = Vec::with_capacity(NODES);
        let mut vertical_squared = Vec::with_capacity(NODES);
        // Two rings per step, placed between the nodes so that none falls on a node.
        let rings = 2 * (NODES - 1);
        let ring_width = 0.5 * step;
        for k in 0..NODES {
            let r = radius(k);
            let mut own = 0.0;
            for ring in 0..rings {
                let inner = ring as f64 * ring_width;
                let mass = disk.mass
                    * (disk.fraction_within(inner + ring_width) - disk.fraction_within(inner));
                let pull: f64 = separations
                    .iter()
                    .map(|dz2| ring::pull(r, inner + 0.5 * ring_width, 0.0, dz2 + square).0)
                    .sum();
                own += mass * pull / HEIGHTS as f64;
            }
            let spheres = over_heights(&|z| {
                let distance = (r * r + z * z).sqrt();
                pull(distance) * r / distance
            });
            circular_squared.push((r * (own + spheres)).max(0.0));
            // The virial theorem in z: sigma_z^2 = <z dPhi/dz>, with the disk as an infinite sheet.
            let sheet: f64 = separations.iter().map(|dz2| dz2 / (dz2 + square).sqrt()).sum();
            let sheet = PI * disk.surface_density(r) * sheet / HEIGHTS as f64;
            let spheres = over_heights(&|z| {
                let distance = (r * r + z * z).sqrt();
                z * z * pull(distance) / distance
            });
            vertical_squared.push(sheet + spheres);
        }

        // kappa^2 / (4 Omega^2) = (1 + d ln V_c / d ln R) / 2.
        let axis_ratio_squared = (0..NODES)
            .map(|k| {
                let (low, high) = (k.saturating_sub(1), (k + 1).min(NODES - 1));
                let slope =
                    (circular_squared[high] - circular_squared[low]) / ((high - low) as f64 * step);
                let by_logarithm = 0.5 * slope * radius(k) / circular_squared[k];
                (0.5 * (1.0 + by_logarithm)).clamp(0.05, 1.0)
            })
            .collect();
        let mut motion = Self {
            disk,
            step,
            circular_squared,
            axis_ratio_squared,
            vertical_squared,
            radial_squared: 1.0,
        };
        let lowest = (1..NODES)
            .map(radius)
            .filter(|r| (0.5..=5.0).contains(&(r / disk.scale)))
            .map(|r| motion.toomre_q(r))
            .fold(f64::INFINITY, f64::min);
        motion.radial_squared = (disk.toomre_q / lowest) * (disk.toomre_q / lowest);
        motion
    }

    /// A table's value at radius `r`, linear between nodes.
    fn at(&self, table: &[f64], r: f64) -> f64 {
        let place = (r / self.step - 1.0).clamp(0.0, (NODES - 1) as f64);
        let low = (place.floor() as usize).min(NODES - 2);
        let t = place - low as f64;
        table[low] + t * (table[low + 1] - table[low])
    }

    /// Circular velocity at radius `r`.
    pub fn circular(&self, r: f64) -> f64 {
        // Solid-body rotation within the first node.
        let inner = (r / self.step).min(1.0);
        inner * self.at(&self.circular_squared, r).sqrt()
    }

    /// Epicyclic frequency kappa at radius `r`.
    pub fn epicyclic(&self, r: f64) -> f64 {
        2.0 * self.circular(r) / r * self.at(&self.axis_ratio_squared, r).sqrt()
    }

    /// Radial velocity dispersion at radius `r`: its square follows the surface density, as in a
    /// disk of constant thickness, flattened in the centre (Hernquist 1993, equation 2.28).
    pub fn radial_dispersion(&self, r: f64) -> f64 {
        let flattened = self.flattened(r);
        (self.radial_squared * libm::exp(-flattened / self.disk.scale)).sqrt()
    }

    fn flattened(&self, r: f64) -> f64 {
        let core = 0.25 * self.disk.scale;
        (r * r + 2.0 * core * core).sqrt()
    }

    /// Toomre's Q at radius `r`.
    pub fn toomre_q(&self, r: f64) -> f64 {
        self.radial_dispersion(r) * self.epicyclic(r) / (TOOMRE * self.disk.surface_density(r))
    }

    /// Mean rotation at radius `r`: V_c reduced by the asymmetric drift (Binney & Tremaine 2008,
    /// equation 4.228, with an ellipsoid aligned with the cylinder).
    pub fn mean_rotation(&self, r: f64) -> f64 {
        let sigma = self.radial_dispersion(r);
        let pressure = r / self.disk.scale + r * r / (self.disk.scale * self.flattened(r));
        let drift = 1.0 - self.at(&self.axis_ratio_squared, r) - pressure;
        let circular = self.circular(r);
        (circular * circular + sigma * sigma * drift).max(0.0).sqrt()
    }

    /// Position and velocity of a body at the radius that encloses the fraction `u` of the mass;
    /// the rest is drawn.
    pub fn body(&self, u: f64, stream: &mut Stream) -> (DVec3, DVec3) {
        let r = self.disk.radius_of(u);
        // Within six scale heights, all but 1e-5 of the mass.
        let z = self.disk.height * height_at(stream.uniform().clamp(6e-6, 1.0 - 6e-6));
        let (cosine, sine) = stream.on_circle();
        let normal: [f64; 3] = std::array::from_fn(|_| stream.normal());
        let sigma = self.radial_dispersion(r);
        let axis_ratio = self.at(&self.axis_ratio_squared, r).sqrt();
        let radial = sigma * normal[0];
        let azimuthal = self.mean_rotation(r) + sigma * axis_ratio * normal[1];
        let vertical = self.at(&self.vertical_squared, r).sqrt() * normal[2];
        (
            DVec3::new(r * cosine, r * sine, z),
            DVec3::new(
                radial * cosine - azimuthal * sine,
                radial * sine + azimuthal * cosine,
                vertical,
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: Disk = Disk { mass: 1.0, scale: 1.0, height: 0.01, toomre_q: 1.4 };

    #[test]
    fn thin_disk_rotation_matches_freeman() {
        // Freeman 1970: V_c^2 = 4 pi Sigma_0 R_d y^2 (I0 K0 - I1 K1) has its maximum, 0.3874 G M /
        // R_d, at 2.15 R_d.
        let motion = Motion::new(DISK, 0.0, |_| 0.0);
        let peak = motion.circular(2.15);
        assert!((peak * peak - 0.3874).abs() < 0.006, "V_c^2 = {}", peak * peak);
        assert!(motion.circular(2.15) > motion.circular(1.6));
        assert!(motion.circular(2.15) > motion.circular(2.8));
    }

    #[test]
    fn thin_sheet_dispersion_matches_spitzer() {
        // sigma_z^2 = pi G Sigma z_0.
        let motion = Motion::new(DISK, 0.0, |_| 0.0);
        let expected = PI * DISK.surface_density(2.0) * DISK.height;
        let made = motion.at(&motion.vertical_squared, 2.0);
        assert!((made / expected - 1.0).abs() < 0.05, "{made} for {expected}");
    }

    #[test]
    fn minimum_toomre_q_equals_parameter() {
        let motion =
            Motion::new(Disk { height: 0.1, ..DISK }, 0.05, |r| 3.0 / ((r + 3.0) * (r + 3.0)));
        let lowest = (5..50).map(|k| motion.toomre_q(f64::from(k) * 0.1)).fold(9.0, f64::min);
        assert!((lowest - 1.4).abs() < 0.01, "Q = {lowest}");
    }
}
