//! The isotropic distribution function of a spherical density in any spherical potential.
//!
//! Eddington's inversion (1916; Binney & Tremaine 2008, equation 4.46a):
//!     f(E) = 1 / (sqrt(8) pi^2) d/dE integral_0^E (d rho / d psi) d psi / sqrt(E - psi).
//! A population drawn from it is stationary, unlike one with local Gaussian velocities: those have
//! the right pressure but the wrong shape, so radii drift.

use std::f64::consts::PI;

use super::monopole::Monopole;
use super::spheroid::{Profile, interpolate, place};

/// Number of equal groups into which the bodies at one radius are divided by speed.
const QUANTILES: usize = 256;
/// Number of steps of the integral over speeds.
const STEPS: usize = 512;

/// f(E) on the grid of radii, at E = psi(r), and the speeds that follow from it.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    psi: Vec<f64>,
    f: Vec<f64>,
    /// At each radius, the values of v / v_escape below which 0, 1, ... of [`QUANTILES`] groups of
    /// the bodies are.
    speed: Vec<[f64; QUANTILES + 1]>,
}

impl Distribution {
    /// The distribution of `profile` in the potential `total` (of all components together).
    pub fn new(profile: &Profile, total: &Monopole) -> Self {
        let nodes = total.psi.len();
        let by_psi: Vec<f64> =
            profile.slope.iter().zip(&total.slope).map(|(rho, psi)| rho / psi).collect();
        let mut f = vec![0.0; nodes];
        // From the outermost radius, where psi is least, inwards. d rho / d psi is linear in psi
        // between nodes, so each piece of the integral is exact.
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
        let mut distribution = Self { psi: total.psi.clone(), f, speed: Vec::new() };
        distribution.speed = (0..nodes).map(|k| distribution.quantiles(k)).collect();
        distribution
    }

    /// Inverts the number of bodies below each speed at node `k`, whose density is
    /// u^2 f(psi (1 - u^2)) with u = v / v_escape.
    fn quantiles(&self, k: usize) -> [f64; QUANTILES + 1] {
        let speed = |step: usize| step as f64 / STEPS as f64;
        let density = |step: usize| {
            let u = speed(step);
            u * u * self.at(self.psi[k] * (1.0 - u * u))
        };
        let mut below = Vec::with_capacity(STEPS + 1);
        below.push(0.0);
        for step in 1..=STEPS {
            below.push(below[step - 1] + 0.5 * (density(step - 1) + density(step)));
        }
        let total = below[STEPS];
        let mut step = 1;
        std::array::from_fn(|part| {
            let target = total * part as f64 / QUANTILES as f64;
            while step < STEPS && below[step] < target {
                step += 1;
            }
            let piece = below[step] - below[step - 1];
            // In the far tail f may vanish altogether; such bodies are put at rest.
            let t = if piece > 0.0 { ((target - below[step - 1]) / piece).min(1.0) } else { 0.0 };
            if total > 0.0 { speed(step - 1) + t * (speed(step) - speed(step - 1)) } else { 0.0 }
        })
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

    /// The speed below which the fraction `fraction` < 1 of the bodies at radius `r` move.
    pub fn speed(&self, radii: &[f64], r: f64, fraction: f64) -> f64 {
        let (above, t) = place(radii, r);
        let part = fraction * QUANTILES as f64;
        let low = (part.floor() as usize).min(QUANTILES - 1);
        let at = |node: usize| {
            let (slower, faster) = (self.speed[node][low], self.speed[node][low + 1]);
            slower + (part - low as f64) * (faster - slower)
        };
        let psi = interpolate(radii, &self.psi, r);
        (at(above - 1) + t * (at(above) - at(above - 1))) * (2.0 * psi).sqrt()
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
        let bracket = 3.0 * libm::asin(q)
            + q * root * (1.0 - 2.0 * q * q) * (8.0 * q.powi(4) - 8.0 * q * q - 3.0);
        bracket / (8.0 * 2.0_f64.sqrt() * PI.powi(3) * p.powf(2.5))
    }

    #[test]
    fn distribution_function_matches_hernquist() {
        let radii = radial_grid(1e-4, 1e4, 900);
        let profile = Profile::new(
            &Spheroid { mass: 1.0, scale: 1.0, core: 0.0, cutoff: f64::INFINITY },
            &radii,
        );
        let total = Monopole::new(&radii, &profile.enclosed, 0.0);
        let made = Distribution::new(&profile, &total);
        for energy in [0.05, 0.1, 0.3, 0.5, 0.7, 0.9] {
            let ratio = made.at(energy) / hernquist(energy);
            assert!((ratio - 1.0).abs() < 0.01, "f({energy}) is off by the factor {ratio}");
        }
    }

    #[test]
    fn speed_dispersion_satisfies_jeans_equation() {
        // Jeans: rho sigma^2 = integral of rho |d psi / d r| outwards.
        let radii = radial_grid(1e-3, 50.0, 500);
        let sphere = Spheroid { mass: 1.0, scale: 1.0, core: 0.1, cutoff: 8.0 };
        let profile = Profile::new(&sphere, &radii);
        let total = Monopole::new(&radii, &profile.enclosed, 0.1);
        let made = Distribution::new(&profile, &total);
        let mut pressure = 0.0;
        for k in (150..radii.len() - 1).rev() {
            let force = |k: usize| -profile.density[k] * total.slope[k];
            pressure += 0.5 * (force(k) + force(k + 1)) * (radii[k + 1] - radii[k]);
            if k % 50 == 0 && k < 400 {
                let draws = 2000;
                let squares = (0..draws)
                    .map(|i| made.speed(&radii, radii[k], (f64::from(i) + 0.5) / f64::from(draws)))
                    .map(|speed| speed * speed);
                let made = squares.sum::<f64>() / f64::from(draws) / 3.0;
                let expected = pressure / profile.density[k];
                assert!(
                    (made / expected - 1.0).abs() < 0.01,
                    "{made} for {expected} at {}",
                    radii[k]
                );
            }
        }
        assert_eq!(made.speed(&radii, 1e-6, 0.0), 0.0);
        assert!(made.speed(&radii, 60.0, 0.999) < 0.3, "bound far outside");
    }
}
