//! Softening, time step and duration for bodies that come without.

use rayon::prelude::*;

use crate::bodies::Bodies;
use crate::diagnostics::neighbour_distance;
use crate::scene::RunHints;

/// A softening, step and duration that suit `bodies`.
///
/// The softening is the distance to the eighth neighbour, in the denser quarter of the bodies: for a
/// Plummer sphere that is what Athanassoula et al. (2000) found best. In a step the fastest tenth of the
/// bodies crosses a quarter of it, and a circular orbit at the half-mass radius turns by at most a 30th of
/// a radian. The duration is four revolutions there. Without extent or mass: the defaults of [`RunHints`].
pub fn suggest(bodies: &Bodies, gravitational_constant: f64) -> RunHints {
    let mass = bodies.total_mass() * gravitational_constant;
    let radius = half_mass_radius(bodies);
    let spacing = neighbour_distance(&bodies.position, 8, 0.25);
    if !(mass > 0.0 && radius > 0.0 && spacing > 0.0) {
        return RunHints::default();
    }
    let softening = two_digits(spacing.min(radius));
    let per_radian = (radius.powi(3) / (0.5 * mass)).sqrt();
    let crossing = 0.25 * softening / fast_speed(bodies);
    let dt = two_digits(crossing.min(per_radian / 30.0));
    let steps = (4.0 * std::f64::consts::TAU * per_radian / dt).round();
    RunHints { softening, dt, until: steps * dt }
}

/// The speed, relative to the centre of mass, that one body in ten exceeds.
fn fast_speed(bodies: &Bodies) -> f64 {
    let (_, drift) = bodies.centre_of_mass();
    let mut speeds: Vec<f64> = bodies.velocity.iter().map(|v| (*v - drift).length()).collect();
    speeds.par_sort_unstable_by(f64::total_cmp);
    speeds.get(speeds.len() * 9 / 10).copied().unwrap_or(0.0)
}

fn half_mass_radius(bodies: &Bodies) -> f64 {
    let (centre, _) = bodies.centre_of_mass();
    let mut by_radius: Vec<(f64, f64)> = bodies
        .position
        .iter()
        .zip(&bodies.mass)
        .map(|(position, mass)| ((*position - centre).length(), *mass))
        .collect();
    by_radius.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * bodies.total_mass();
    let mut inside = 0.0;
    for (radius, mass) in by_radius {
        inside += mass;
        if inside >= half {
            return radius;
        }
    }
    0.0
}

/// Rounded down to two digits: a number that a user can read and repeat.
fn two_digits(value: f64) -> f64 {
    let power = 10f64.powi(value.log10().floor() as i32 - 1);
    let digits = (value / power).floor();
    format!("{digits}e{}", power.log10().round() as i32).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    #[test]
    fn suggestions_scale_with_the_bodies() {
        let ring = |scale: f64, mass: f64| {
            let mut bodies = Bodies::with_capacity(1000);
            for i in 0..1000 {
                let angle = i as f64;
                let at = DVec3::new(angle.cos(), angle.sin(), 0.0) * scale;
                bodies.push(mass / 1000.0, at, DVec3::ZERO, 0);
            }
            suggest(&bodies, 1.0)
        };
        let (one, ten) = (ring(1.0, 1.0), ring(100.0, 1.0));
        assert!((ten.softening / one.softening / 100.0 - 1.0).abs() < 0.1);
        assert!((ten.dt / one.dt / 1000.0 - 1.0).abs() < 0.1);
        assert!(one.dt > 1e-3 && one.dt < 0.1 && one.softening > 0.005 && one.softening < 0.3);
        assert_eq!(suggest(&Bodies::default(), 1.0), RunHints::default());
    }

    #[test]
    fn two_digits_read_well() {
        assert_eq!(two_digits(0.012_345), 0.012);
        assert_eq!(two_digits(98_765.0), 98_000.0);
    }
}
