//! The potential of the spherically averaged galaxy, softened as the engines soften it.
//!
//! Averaged over angles, the softened potential of a body depends on radius only, and that of a
//! thin shell has a closed form. So disk, bulge and halo are all treated as shells here, and the
//! start is in equilibrium with the softened force that will act on it rather than with Newton's.

/// Potential and its derivative on a grid of radii.
#[derive(Clone, Debug)]
pub(crate) struct Monopole {
    /// Relative potential psi = -phi > 0, falling outwards.
    pub psi: Vec<f64>,
    /// d psi / d r <= 0: the force, which points inwards.
    pub slope: Vec<f64>,
}

impl Monopole {
    /// The potential of the masses `enclosed` within each of `radii`, softened by `softening`.
    pub fn new(radii: &[f64], enclosed: &[f64], softening: f64) -> Self {
        // The mass between two radii becomes a shell at their geometric mean; the innermost ball
        // becomes one too.
        let mut shells = vec![(radii[0] * 0.7, enclosed[0])];
        for k in 1..radii.len() {
            shells.push(((radii[k - 1] * radii[k]).sqrt(), enclosed[k] - enclosed[k - 1]));
        }
        let (psi, slope) = radii
            .iter()
            .map(|&r| {
                let (mut psi, mut slope) = (0.0, 0.0);
                for &(s, mass) in &shells {
                    let (p, f) = shell(r, s, softening);
                    psi += mass * p;
                    slope += mass * f;
                }
                (psi, slope)
            })
            .unzip();
        Self { psi, slope }
    }
}

/// Potential psi at radius `r` of a shell of unit mass and radius `s`, and its derivative by `r`:
/// the integral of 1 / sqrt(d^2 + eps^2) over the sphere, which is 2 / (A + B) with
/// A, B = sqrt((r +- s)^2 + eps^2).
fn shell(r: f64, s: f64, softening: f64) -> (f64, f64) {
    let square = softening * softening;
    let far = ((r + s) * (r + s) + square).sqrt();
    let near = ((r - s) * (r - s) + square).sqrt();
    let psi = 2.0 / (far + near);
    let towards = if near > 0.0 { (r - s) / near } else { 0.0 };
    (psi, -0.5 * psi * psi * ((r + s) / far + towards))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shells_without_softening_are_newtons() {
        assert_eq!(shell(3.0, 1.0, 0.0), (1.0 / 3.0, -1.0 / 9.0));
        assert_eq!(shell(0.5, 1.0, 0.0), (1.0, 0.0));
    }

    #[test]
    fn derivative_matches_finite_difference_of_potential() {
        for r in [0.01, 0.3, 1.0, 2.5] {
            let h = 1e-5;
            let (low, high) = (shell(r - h, 1.0, 0.2).0, shell(r + h, 1.0, 0.2).0);
            let slope = shell(r, 1.0, 0.2).1;
            assert!((slope - (high - low) / (2.0 * h)).abs() < 1e-8, "at {r}");
        }
        // Far away a softened shell is a softened point of its mass.
        assert!((shell(100.0, 1.0, 0.2).0 - 0.01).abs() < 1e-6);
    }
}
