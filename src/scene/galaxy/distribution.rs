//! The isotropic distribution function of a spherical density in any spherical potential.
//!
//! Eddington's inversion (1916; Binney & Tremaine 2008, equation 4.46a):
//!     f(E) = 1 / (sqrt(8) pi^2) d/dE integral_0^E (d rho / d psi) d psi / sqrt(E - psi).
//! A population drawn from it stays as it is, unlike one with local Gaussian velocities: those
//! have the right pressure but the wrong shape, and their radii drift.

use std::f64::consts::PI;

use super::monopole::Monopole;
use super::spheroid::Profile;
use crate::scene::rng::Stream;

/// f(E) on the grid of radii, at E = psi(r), and what drawing from it needs.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    psi: Vec<f64>,
    f: Vec<f64>,
    /// Upper bound of u^2 f(psi (1 - u^2)) at each radius, u = v / v_escape.
    bound: Vec<f64>,
}

impl Distribution {
    /// The distribution of `profile` in the potential `total` (of all components together).
    pub fn new(profile: &Profile, total: &Monopole) -> Self {
        let nodes = total.psi.len();
        let by_psi: Vec<f64> =
            profile.slope.iter().zip(&total.slope).map(|(rho, psi)| rho / psi).collect();
        let mut f = vec![0.0; nodes];
        // From the outermost radius, where psi is least, inwards. d rho / d psi is linear in psi
        // between nodes, so that each piece of the integral is exact.
        for (k, value) in f.iter_mut().enumerate() {
            let energy = total.psi[k];
            let mut integral = by_psi[nodes - 1] / energy.sqrt();
            for j in k + 1..nodes {
                let (low, high) = (total.psi[j], total.psi[j - 1]);
                let curvature = (by_psi[j - 1] - by_psi[j]) / (high - low);
                let roots = (energy - low).max(0.0).sqrt() - (energy - high).max(0.0).sqrt();
                integral += 2.0 * curvature * roots;
            }
            *value = (integral / (8.0_f64.sqrt() * PI * PI)).max(0.0);
        }
        let mut distribution = Self { psi: total.psi.clone(), f, bound: Vec::new() };
        distribution.bound = (0..nodes).map(|k| distribution.greatest(k)).collect();
        distribution
    }

    /// The greatest value of u^2 f at node `k`, sought on a grid that is finest at small u.
    fn greatest(&self, k: usize) -> f64 {
        const STEPS: usize = 100;
        let density = |step: usize| {
            let root = step as f64 / STEPS as f64;
            let u = root * root;
            u * u * self.at(self.psi[k] * (1.0 - u * u))
        };
        (1..STEPS).map(density).fold(0.0, f64::max)
    }

    /// f at the relative energy `energy`, linear between nodes.
    fn at(&self, energy: f64) -> f64 {
        let last = self.psi.len() - 1;
        if energy <= self.psi[last] {
            return 0.0;
        }
        let outer = self.psi.partition_point(|&psi| psi > energy);
        if outer == 0 {
            return self.f[0];
        }
        let t = (energy - self.psi[outer]) / (self.psi[outer - 1] - self.psi[outer]);
        self.f[outer] + t * (self.f[outer - 1] - self.f[outer])
    }

    /// A speed at radius `r` on the grid `radii`, by rejection.
    pub fn draw_speed(&self, radii: &[f64], r: f64, stream: &mut Stream) -> f64 {
        let last = radii.len() - 1;
        let above = radii.partition_point(|&node| node <= r).clamp(1, last);
        let t = ((r - radii[above - 1]) / (radii[above] - radii[above - 1])).clamp(0.0, 1.0);
        let psi = self.psi[above - 1] + t * (self.psi[above] - self.psi[above - 1]);
        // The bound is that of grids in r and u: leave room for what lies between their nodes.
        let bound = 1.2 * self.bound[above - 1].max(self.bound[above]);
        // In the far tail f may vanish altogether: such a body starts at rest.
        const TRIES: usize = 10_000;
        for _ in 0..TRIES {
            let u = stream.uniform();
            if stream.uniform() * bound < u * u * self.at(psi * (1.0 - u * u)) {
                return u * (2.0 * psi).sqrt();
            }
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::spheroid::{Spheroid, radial_grid};
    use super::*;

    /// Hernquist 1990, equation 17, for M = a = 1.
    fn hernquist(energy: f64) -> f64 {
        let q = energy.sqrt();
        let p = 1.0 - q * q;
        let root = p.sqrt();
        let bracket = 3.0 * libm::asin(q) + q * root * (1.0 - 2.0 * q * q) * (8.0 * q.powi(4) - 8.0 * q * q - 3.0);
        bracket / (8.0 * 2.0_f64.sqrt() * PI.powi(3) * p.powf(2.5))
    }

    #[test]
    fn hernquists_distribution_comes_out() {
        let radii = radial_grid(1e-4, 1e4, 900);
        let profile =
            Profile::new(&Spheroid { mass: 1.0, scale: 1.0, core: 0.0, cutoff: f64::INFINITY }, &radii);
        let total = Monopole::new(&radii, &profile.enclosed, 0.0);
        let made = Distribution::new(&profile, &total);
        for energy in [0.05, 0.1, 0.3, 0.5, 0.7, 0.9] {
            let ratio = made.at(energy) / hernquist(energy);
            assert!((ratio - 1.0).abs() < 0.01, "f({energy}) is off by the factor {ratio}");
        }
    }

    #[test]
    fn no_speed_exceeds_that_of_escape() {
        let radii = radial_grid(1e-3, 50.0, 300);
        let profile = Profile::new(&Spheroid { mass: 1.0, scale: 1.0, core: 0.0, cutoff: 8.0 }, &radii);
        let total = Monopole::new(&radii, &profile.enclosed, 0.1);
        let made = Distribution::new(&profile, &total);
        let mut stream = Stream::new(3, 0);
        for r in [1e-5, 0.01, 1.0, 10.0, 30.0] {
            let speed = made.draw_speed(&radii, r, &mut stream);
            assert!((0.0..=(2.0 * total.psi[0]).sqrt()).contains(&speed), "{speed} at {r}");
        }
    }
}
