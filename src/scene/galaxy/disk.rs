//! The exponential disk: where its bodies are and how they move.
//!
//! Surface density exp(-R / scale), vertical profile sech^2(z / height) (Spitzer 1942). Velocities
//! follow Hernquist (1993, section 2.2.2): a velocity ellipsoid from Toomre's Q and the epicyclic
//! approximation, and a mean rotation slowed by the asymmetric drift. The rotation curve is that of
//! all components, softened as the engines soften it.

use std::f64::consts::PI;

use glam::DVec3;

use super::ring;
use crate::scene::rng::Stream;

/// Radii of the tables, in scale lengths: up to the edge of the disk.
const EDGE: f64 = 8.0;
const NODES: usize = 161;
/// Rings that stand for the disk where a few per cent are good enough.
const RINGS: usize = 160;
/// Heights that stand for the vertical profile, of equal mass each.
const HEIGHTS: usize = 8;
/// Toomre's constant for stars: Q = sigma_R kappa / (3.36 G Sigma) (Toomre 1964).
const TOOMRE: f64 = 3.36;

/// An exponential disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Disk {
    /// Mass.
    pub mass: f64,
    /// Scale length of the surface density.
    pub scale: f64,
    /// Scale height of the sech^2 profile.
    pub height: f64,
    /// Lowest value of Toomre's Q in the disk.
    pub toomre_q: f64,
}

impl Disk {
    /// Mass within the cylinder of radius `r`, as a fraction.
    fn fraction_within(&self, r: f64) -> f64 {
        let within = |x: f64| 1.0 - (1.0 + x) * libm::exp(-x);
        within((r / self.scale).min(EDGE)) / within(EDGE)
    }

    /// The cylindrical radius within which the fraction `u` < 1 of the mass lies, by bisection.
    fn radius_of(&self, u: f64) -> f64 {
        let (mut low, mut high) = (0.0, EDGE * self.scale);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if self.fraction_within(middle) < u {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }

    /// Mass within the sphere of radius `r`.
    pub fn enclosed(&self, r: f64) -> f64 {
        let sum: f64 = quantiles(4 * HEIGHTS)
            .map(|z| z * self.height)
            .filter(|z| z.abs() < r)
            .map(|z| self.fraction_within((r * r - z * z).sqrt()))
            .sum();
        self.mass * sum / (4 * HEIGHTS) as f64
    }

    /// The pull of the disk at distance `r` from its axis and `height` above its plane: inwards, and
    /// down.
    pub fn pull(&self, r: f64, height: f64, softening: f64) -> (f64, f64) {
        let width = EDGE * self.scale / RINGS as f64;
        let (mut inward, mut down) = (0.0, 0.0);
        for k in 0..RINGS {
            let inner = k as f64 * width;
            let share = self.fraction_within(inner + width) - self.fraction_within(inner);
            let mass = self.mass * share / HEIGHTS as f64;
            for z in quantiles(HEIGHTS) {
                let above = height - z * self.height;
                let one = ring::pull(r, inner + 0.5 * width, above, softening * softening);
                inward += mass * one.0;
                down += mass * one.1;
            }
        }
        (inward, down)
    }

    /// Surface density at cylindrical radius `r`.
    pub fn surface_density(&self, r: f64) -> f64 {
        let edge = 1.0 - (1.0 + EDGE) * libm::exp(-EDGE);
        self.mass * libm::exp(-r / self.scale) / (2.0 * PI * self.scale * self.scale * edge)
    }
}

/// Heights z / height of the sech^2 profile that halve `count` equal masses.
fn quantiles(count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |k| height_at((k as f64 + 0.5) / count as f64))
}

/// z / height below which the fraction `u` of the mass lies: the inverse of (1 + tanh z) / 2.
fn height_at(u: f64) -> f64 {
    0.5 * libm::log(u / (1.0 - u))
}

/// Mean squared distances between two bodies of the disk in height, of eight equal shares of all
/// pairs: what the pull of rings needs so that both ring and body have the disk's thickness.
fn squared_separations(height: f64) -> [f64; HEIGHTS] {
    let mut all = Vec::with_capacity(HEIGHTS * HEIGHTS * 4);
    for a in quantiles(2 * HEIGHTS) {
        all.extend(quantiles(2 * HEIGHTS).map(|b| height * height * (a - b) * (a - b)));
    }
    all.sort_by(f64::total_cmp);
    let share = all.len() / HEIGHTS;
    std::array::from_fn(|k| all[k * share..(k + 1) * share].iter().sum::<f64>() / share as f64)
}

/// What moves the bodies of a disk: tables over the cylindrical radius.
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
    /// The motion of `disk` in its own field and that of spheres which pull inwards with `pull(r)`.
    pub fn new(disk: Disk, softening: f64, pull: impl Fn(f64) -> f64) -> Self {
        let step = EDGE * disk.scale / (NODES - 1) as f64;
        let separations = squared_separations(disk.height);
        let square = softening * softening;
        let radius = |k: usize| (k + 1) as f64 * step;
        let heights: Vec<f64> = quantiles(HEIGHTS).map(|z| z * disk.height).collect();
        let over_heights = |of: &dyn Fn(f64) -> f64| {
            heights.iter().map(|&z| of(z)).sum::<f64>() / HEIGHTS as f64
        };

        let mut circular_squared = Vec::with_capacity(NODES);
        let mut vertical_squared = Vec::with_capacity(NODES);
        // Rings between the nodes, two to a step, so that none meets a node.
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
            // The virial theorem in z: sigma_z^2 = <z dPhi/dz>, the disk as an infinite sheet.
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
                let slope = (circular_squared[high] - circular_squared[low])
                    / ((high - low) as f64 * step);
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

    /// Radial velocity dispersion at radius `r`: its square follows the surface density, as that of
    /// a disk of constant thickness does; flattened in the centre (Hernquist 1993, equation 2.28).
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

    /// Mean rotation at radius `r`: V_c slowed by the asymmetric drift (Binney & Tremaine 2008,
    /// equation 4.228, with an ellipsoid aligned with the cylinder).
    pub fn mean_rotation(&self, r: f64) -> f64 {
        let sigma = self.radial_dispersion(r);
        let pressure = r / self.disk.scale + r * r / (self.disk.scale * self.flattened(r));
        let drift = 1.0 - self.at(&self.axis_ratio_squared, r) - pressure;
        let circular = self.circular(r);
        (circular * circular + sigma * sigma * drift).max(0.0).sqrt()
    }

    /// Draws position and velocity of the body within whose radius the fraction `u` of the mass lies.
    pub fn draw(&self, u: f64, stream: &mut Stream) -> (DVec3, DVec3) {
        let r = self.disk.radius_of(u);
        // Within six scale heights, all but 1e-5 of the mass.
        let z = self.disk.height * height_at(stream.uniform().clamp(6e-6, 1.0 - 6e-6));
        let (cosine, sine) = stream.on_circle();
        let sigma = self.radial_dispersion(r);
        let axis_ratio = self.at(&self.axis_ratio_squared, r).sqrt();
        let radial = sigma * stream.normal();
        let azimuthal = self.mean_rotation(r) + sigma * axis_ratio * stream.normal();
        let vertical = self.at(&self.vertical_squared, r).sqrt() * stream.normal();
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
    fn the_thin_disk_rotates_as_freeman_says() {
        // Freeman 1970: V_c^2 = 4 pi Sigma_0 R_d y^2 (I0 K0 - I1 K1) has its greatest value,
        // 0.3874 G M / R_d, at 2.15 R_d.
        let motion = Motion::new(DISK, 0.0, |_| 0.0);
        let peak = motion.circular(2.15);
        assert!((peak * peak - 0.3874).abs() < 0.006, "V_c^2 = {}", peak * peak);
        assert!(motion.circular(2.15) > motion.circular(1.6));
        assert!(motion.circular(2.15) > motion.circular(2.8));
    }

    #[test]
    fn the_thin_sheet_has_spitzers_dispersion() {
        // sigma_z^2 = pi G Sigma z_0.
        let motion = Motion::new(DISK, 0.0, |_| 0.0);
        let expected = PI * DISK.surface_density(2.0) * DISK.height;
        let made = motion.at(&motion.vertical_squared, 2.0);
        assert!((made / expected - 1.0).abs() < 0.05, "{made} for {expected}");
    }

    #[test]
    fn the_lowest_q_is_the_parameter() {
        let motion = Motion::new(Disk { height: 0.1, ..DISK }, 0.05, |r| 3.0 / ((r + 3.0) * (r + 3.0)));
        let lowest = (5..50).map(|k| motion.toomre_q(f64::from(k) * 0.1)).fold(9.0, f64::min);
        assert!((lowest - 1.4).abs() < 0.01, "Q = {lowest}");
    }

    #[test]
    fn mass_within_spheres_and_cylinders() {
        assert!((DISK.fraction_within(1.678) - 0.5).abs() < 3e-3);
        assert!((DISK.enclosed(20.0) - 1.0).abs() < 1e-12);
        assert!(DISK.enclosed(0.5) < DISK.fraction_within(0.5));
    }
}
