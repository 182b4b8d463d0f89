//! Bulge and halo: the density of Hernquist (1990), cut off smoothly, on a grid of radii.

/// A sphere of density C / (x (1 + x)^3) exp(-(r/cutoff)^2) with x = sqrt(r^2 + core^2) / scale:
/// Hernquist 1990, equation 2, times a Gaussian that makes the mass finite in extent.
///
/// The core replaces a cusp that the softened force could not hold together: the cusp is colder
/// than its surroundings, so encounters would heat it and blow it up within a few rotations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spheroid {
    /// Total mass.
    pub mass: f64,
    /// Scale length a; the uncut sphere has half its mass within 2.41 a.
    pub scale: f64,
    /// Radius within which the density is flat; 0 keeps the cusp.
    pub core: f64,
    /// Radius beyond which the density falls as a Gaussian; infinite for the uncut sphere.
    pub cutoff: f64,
}

impl Spheroid {
    /// Density at radius `r`, up to the factor that [`Profile`] finds, and its derivative.
    fn shape(&self, r: f64) -> (f64, f64) {
        let square = r * r + self.core * self.core;
        let x = square.sqrt() / self.scale;
        let cut = r / self.cutoff;
        let density = libm::exp(-cut * cut) / (x * (1.0 + x) * (1.0 + x) * (1.0 + x));
        let slope = -(1.0 + 3.0 * x / (1.0 + x)) * r / square - 2.0 * cut / self.cutoff;
        (density, density * slope)
    }
}

/// Radii in geometric progression.
pub(crate) fn radial_grid(from: f64, to: f64, nodes: usize) -> Vec<f64> {
    let step = libm::log(to / from) / (nodes - 1) as f64;
    (0..nodes).map(|k| from * libm::exp(step * k as f64)).collect()
}

/// The position of `r` on the grid: between the nodes `above - 1` and `above`, and the fraction of
/// the interval.
pub(crate) fn place(radii: &[f64], r: f64) -> (usize, f64) {
    let above = radii.partition_point(|&node| node <= r).clamp(1, radii.len() - 1);
    let t = (r - radii[above - 1]) / (radii[above] - radii[above - 1]);
    (above, t.clamp(0.0, 1.0))
}

/// The value at radius `r` of a table on the grid, linear between nodes.
pub(crate) fn interpolate(radii: &[f64], table: &[f64], r: f64) -> f64 {
    let (above, t) = place(radii, r);
    table[above - 1] + t * (table[above] - table[above - 1])
}

/// A spheroid on a grid of radii.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// Mass within each radius of the grid.
    pub enclosed: Vec<f64>,
    /// Density at each radius.
    pub density: Vec<f64>,
    /// Its derivative with respect to radius.
    pub slope: Vec<f64>,
}

impl Profile {
    /// Tabulates `spheroid` on `radii`; all its mass lies within the last one.
    pub fn new(spheroid: &Spheroid, radii: &[f64]) -> Self {
        let shell = |r: f64| 4.0 * std::f64::consts::PI * r * r * spheroid.shape(r).0;
        // Within the first radius the density falls as 1/r.
        let mut enclosed = vec![0.5 * radii[0] * shell(radii[0])];
        for pair in radii.windows(2) {
            let middle = 0.5 * (pair[0] + pair[1]);
            let simpson = shell(pair[0]) + 4.0 * shell(middle) + shell(pair[1]);
            enclosed.push(enclosed[enclosed.len() - 1] + simpson * (pair[1] - pair[0]) / 6.0);
        }
        let factor = spheroid.mass / enclosed[enclosed.len() - 1];
        let slope = radii.iter().map(|&r| spheroid.shape(r).1 * factor).collect();
        Self {
            enclosed: enclosed.into_iter().map(|m| m * factor).collect(),
            density: radii.iter().map(|&r| spheroid.shape(r).0 * factor).collect(),
            slope,
        }
    }

    /// The radius that encloses the fraction `u` of the mass.
    pub fn radius_of(&self, radii: &[f64], u: f64) -> f64 {
        let last = self.enclosed.len() - 1;
        let mass = u * self.enclosed[last];
        let above = self.enclosed.partition_point(|&m| m <= mass).min(last);
        if above == 0 {
            // Density as 1/r, so mass as r^2.
            return radii[0] * (mass / self.enclosed[0]).sqrt();
        }
        let (low, high) = (self.enclosed[above - 1], self.enclosed[above]);
        let t = if high > low { (mass - low) / (high - low) } else { 0.0 };
        radii[above - 1] + t * (radii[above] - radii[above - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncut_sphere_has_hernquist_mass() {
        let radii = radial_grid(1e-4, 1e4, 800);
        let uncut = Spheroid { mass: 2.0, scale: 0.5, core: 0.0, cutoff: f64::INFINITY };
        let profile = Profile::new(&uncut, &radii);
        for (r, enclosed) in radii.iter().zip(&profile.enclosed) {
            let x = r / (r + 0.5);
            assert!((enclosed - 2.0 * x * x).abs() < 3e-4, "M({r}) = {enclosed}");
        }
    }

    #[test]
    fn radii_invert_the_mass() {
        let radii = radial_grid(1e-3, 30.0, 500);
        let profile =
            Profile::new(&Spheroid { mass: 3.0, scale: 1.0, core: 0.0, cutoff: 8.0 }, &radii);
        for k in [0, 1, 7, 250, 400] {
            let r = profile.radius_of(&radii, profile.enclosed[k] / 3.0 * (1.0 + 1e-12));
            assert!((r / radii[k] - 1.0).abs() < 1e-6, "{r} for {}", radii[k]);
        }
        let tiny = profile.radius_of(&radii, 1e-12);
        assert!(tiny > 0.0 && tiny < radii[0]);
    }
}
