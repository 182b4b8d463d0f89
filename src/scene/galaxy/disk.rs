//! The exponential disk: its mass distribution and attraction. Surface density exp(-R / scale),
//! vertical profile sech^2(z / height) (Spitzer 1942).

use std::f64::consts::PI;

use super::ring;

/// Halvings of the radius of the edge in [`Disk::radius_of`].
const BISECTIONS: u32 = 40;
/// Radius of the edge in scale lengths; an unbounded disk has 0.3 % of its mass beyond it.
pub(super) const EDGE: f64 = 8.0;
/// Number of rings that replace the disk where a few per cent are accurate enough.
const RINGS: usize = 160;
/// Number of heights, of equal mass each, that replace the vertical profile.
pub(super) const HEIGHTS: usize = 8;

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
    pub fn fraction_within(&self, r: f64) -> f64 {
        let within = |x: f64| 1.0 - (1.0 + x) * libm::exp(-x);
        within((r / self.scale).min(EDGE)) / within(EDGE)
    }

    /// The cylindrical radius within which the fraction `u` < 1 of the mass lies: the middle of one
    /// of 2^40 intervals of radii, found by bisection.
    pub fn radius_of(&self, u: f64) -> f64 {
        let width = EDGE * self.scale * f64::powi(0.5, BISECTIONS as i32);
        let is_in = |interval: f64| {
            let [inner, outer] = [interval, interval + 1.0].map(|k| k * width);
            self.fraction_within(inner) < u && u <= self.fraction_within(outer)
        };
        // Newton's method needs a tenth of the exponentials. It gives the same interval where the
        // fraction grows by more than its rounding per interval, as it does outside the centre.
        if let Some(x) = radius_by_newton(u * edge_fraction()).filter(|x| *x > 0.1) {
            let interval = (x * self.scale / width).floor();
            let near = [interval, interval - 1.0, interval + 1.0];
            if let Some(found) = near.into_iter().find(|interval| is_in(*interval)) {
                return (found + 0.5) * width;
            }
        }
        self.radius_by_bisection(u)
    }

    fn radius_by_bisection(&self, u: f64) -> f64 {
        let (mut low, mut high) = (0.0, EDGE * self.scale);
        for _ in 0..BISECTIONS {
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

    /// The attraction of the disk at distance `r` from its axis and `height` above its plane: the
    /// components inwards and down.
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

/// The fraction of an unbounded disk's mass within the edge.
fn edge_fraction() -> f64 {
    1.0 - (1.0 + EDGE) * libm::exp(-EDGE)
}

/// The solution x of 1 - (1 + x) exp(-x) = `fraction` by Newton's method, if that converges.
fn radius_by_newton(fraction: f64) -> Option<f64> {
    // ln(1 + x) - x = ln(1 - fraction) is nearly linear far out. From this start 4 steps suffice.
    let target = libm::log(1.0 - fraction);
    let mut x = 1.2 * (-target) + 1.4 * (-target).sqrt();
    for _ in 0..8 {
        let step = (libm::log1p(x) - x - target) * (1.0 + x) / x;
        x += step;
        if step.abs() < 1e-9 {
            return Some(x);
        }
    }
    None
}

/// Heights z / height of the sech^2 profile that halve `count` equal masses.
pub(super) fn quantiles(count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(move |k| height_at((k as f64 + 0.5) / count as f64))
}

/// z / height below which the fraction `u` of the mass lies: the inverse of (1 + tanh z) / 2.
pub(super) fn height_at(u: f64) -> f64 {
    0.5 * libm::log(u / (1.0 - u))
}

/// Mean squared vertical distances between two bodies of the disk, for eight equal shares of all
/// pairs: with them the pull of rings accounts for the thickness at both ends.
pub(super) fn squared_separations(height: f64) -> [f64; HEIGHTS] {
    let mut all = Vec::with_capacity(HEIGHTS * HEIGHTS * 4);
    for a in quantiles(2 * HEIGHTS) {
        all.extend(quantiles(2 * HEIGHTS).map(|b| height * height * (a - b) * (a - b)));
    }
    all.sort_by(f64::total_cmp);
    let share = all.len() / HEIGHTS;
    std::array::from_fn(|k| all[k * share..(k + 1) * share].iter().sum::<f64>() / share as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: Disk = Disk { mass: 1.0, scale: 1.0, height: 0.01, toomre_q: 1.4 };

    #[test]
    fn radii_have_the_bits_of_bisection() {
        for k in 0..4000 {
            let u = (f64::from(k) + 0.5) / 4000.0;
            for u in [u, u * u * u] {
                let (radius, expected) = (DISK.radius_of(u), DISK.radius_by_bisection(u));
                assert_eq!(radius.to_bits(), expected.to_bits(), "{radius} for {expected} at {u}");
            }
        }
        let found = radius_by_newton(0.5 * edge_fraction()).unwrap();
        assert!((DISK.fraction_within(found) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn mass_within_spheres_and_cylinders() {
        assert!((DISK.fraction_within(1.678) - 0.5).abs() < 3e-3);
        assert!((DISK.enclosed(20.0) - 1.0).abs() < 1e-12);
        assert!(DISK.enclosed(0.5) < DISK.fraction_within(0.5));
    }
}
