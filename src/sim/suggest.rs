//! Suggested softening, time step and duration for bodies that come without them.

use glam::DVec3;
use rayon::prelude::*;

use crate::bodies::Bodies;
use crate::diagnostics::{density_centre, lagrangian_radii, neighbour_distance};
use crate::field::Field;
use crate::scene::RunHints;

/// The rank of the neighbour whose distance is the softening.
const NEIGHBOUR: usize = 8;
/// A body with at least this fraction of the total mass dominates: the others orbit it.
pub(super) const DOMINANT: f64 = 0.1;
/// The maximum number of steps of a suggested run: the first encounter of two distant clusters may
/// be too far in the future.
const MOST_STEPS: f64 = 100_000.0;

/// Suggests a softening, a time step and a duration for `bodies`.
///
/// The softening is the distance to the eighth neighbour, in the denser quarter of the bodies: for
/// a Plummer sphere that is what Athanassoula et al. (2000) found best. In a step the fastest tenth
/// of the bodies crosses a quarter of the softening, at its present speed or, if the bodies are
/// cold, at the speed of their collapse. A circular orbit turns by at most a 30th of a radian per
/// step at the half-mass radius, and by a 20th around eight neighbours, which matters if clusters
/// are far apart, or around a body that dominates. The duration is four revolutions at the
/// half-mass radius, in 100,000 steps at most. The radius is measured from the density centre, so
/// that escaped bodies have no effect. Without extent or mass: the defaults of [`RunHints`].
pub fn suggest(bodies: &Bodies, gravitational_constant: f64) -> RunHints {
    let mass = bodies.total_mass() * gravitational_constant;
    let (radius, share) = smooth_radius(bodies);
    let inside = (1.0 - 0.5 * share) * mass;
    let spacing = neighbour_distance(&bodies.position, NEIGHBOUR, 0.25);
    if !(mass > 0.0 && radius > 0.0 && spacing > 0.0) {
        return RunHints::default();
    }
    let softening = two_digits(spacing.min(radius));
    let per_radian = |radius: f64, inside: f64| (radius.powi(3) / inside).sqrt();
    let whole = per_radian(radius, inside);
    let near = mass * NEIGHBOUR.min(bodies.len()) as f64 / bodies.len() as f64;
    let close = per_radian(spacing, near + (1.0 - share) * mass);
    let fast = fast_speed(bodies);
    // Bodies slower than a circular orbit fall, and reach twice its speed at the centre.
    let falling = 2.0 * ((inside / radius).sqrt() - fast);
    let crossing = 0.25 * softening / fast.max(falling);
    let dt = two_digits(crossing.min(whole / 30.0).min(close / 20.0));
    let steps = (4.0 * std::f64::consts::TAU * whole / dt).min(MOST_STEPS).round();
    RunHints { softening, dt, until: steps * dt }
}

/// The longest step for bodies in an external field, whose masses are gravitating ones: an
/// oscillation of angular frequency omega turns by at most a 30th of a radian, where omega^2 is the
/// largest column of the field's tidal tensor at a body and one body in ten may turn faster. `None`
/// without a field, or in a uniform one.
pub fn longest_step_in(field: &Field, bodies: &Bodies) -> Option<f64> {
    if field.is_empty() {
        return None;
    }
    let frequency = |at: &DVec3| {
        let column = |along: DVec3| field.derivatives(*at, along, DVec3::ZERO)[1].length();
        DVec3::AXES.map(column).into_iter().fold(0.0, f64::max).sqrt()
    };
    let fast = upper_tenth(bodies.position.par_iter().map(frequency).collect());
    Some(two_digits(1.0 / (30.0 * fast))).filter(|_| fast > 0.0 && fast.is_finite())
}

/// The speed, relative to the centre of mass, that one body in ten exceeds.
fn fast_speed(bodies: &Bodies) -> f64 {
    let (_, drift) = bodies.centre_of_mass();
    upper_tenth(bodies.velocity.par_iter().map(|v| (*v - drift).length()).collect())
}

/// The value that one in ten exceeds; 0 if there are none.
fn upper_tenth(mut values: Vec<f64>) -> f64 {
    values.par_sort_unstable_by(f64::total_cmp);
    values.get(values.len() * 9 / 10).copied().unwrap_or(0.0)
}

/// The half-mass radius of all bodies but those that dominate, and their fraction of the whole
/// mass. With the dominant ones it would be the distance of these from a neighbour.
fn smooth_radius(bodies: &Bodies) -> (f64, f64) {
    let total = bodies.total_mass();
    let is_light = |&i: &usize| bodies.mass[i] < DOMINANT * total;
    let light: Vec<usize> = (0..bodies.len()).filter(is_light).collect();
    if light.len() <= bodies.len() / 2 || light.len() == bodies.len() {
        return (half_mass_radius(bodies), 1.0);
    }
    let radius = lagrangian_radii(bodies, &light, density_centre(bodies, &light), &[0.5])[0];
    (radius, light.iter().map(|&i| bodies.mass[i]).sum::<f64>() / total)
}

pub(super) fn half_mass_radius(bodies: &Bodies) -> f64 {
    let all: Vec<usize> = (0..bodies.len()).collect();
    lagrangian_radii(bodies, &all, density_centre(bodies, &all), &[0.5])[0]
}

/// `value` rounded down to two digits, so that a user can read and repeat it.
pub(super) fn two_digits(value: f64) -> f64 {
    // Bodies so close or so slow that a number has left the range of f64.
    if !(value.is_normal() && value > 0.0) {
        return value;
    }
    let power = 10f64.powi(value.log10().floor() as i32 - 1);
    let digits = (value / power).floor();
    format!("{digits}e{}", power.log10().round() as i32).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
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
    fn one_heavy_body_does_not_shrink_softening_and_step() {
        let cluster = |heavy: f64| {
            let mut bodies = Bodies::with_capacity(2000);
            bodies.push(heavy, DVec3::ZERO, DVec3::ZERO, 0);
            for i in 1..2000 {
                let r = f64::from(i) / 2000.0 + 0.1;
                let speed = ((heavy + r) / r).sqrt();
                let x = on_a_sphere(i);
                let across = x.cross(DVec3::Z).normalize();
                bodies.push(1.0 / 2000.0, x * r, across * speed, 0);
            }
            suggest(&bodies, 1.0)
        };
        let (none, star) = (cluster(0.0), cluster(100.0));
        assert_eq!(star.softening, none.softening);
        // A 20th of a radian around the heavy body, at the distance of the softening.
        let turn = (star.softening.powi(3) / 100.0).sqrt() / 20.0;
        assert!((0.8..1.2).contains(&(star.dt / turn)), "{none:?} {star:?}");
    }

    #[test]
    fn numbers_that_left_the_range_are_not_rounded() {
        assert_eq!((two_digits(0.0), two_digits(f64::INFINITY)), (0.0, f64::INFINITY));
        assert_eq!((two_digits(0.129), two_digits(5e-324)), (0.12, 5e-324));
    }

    #[test]
    fn neither_an_escaper_nor_a_distant_cluster_lengthens_steps() {
        let ball =
            |at: DVec3| (0..1000).map(move |i| at + on_a_sphere(i) * (f64::from(i) / 1000.0));
        let suggested = |positions: Vec<DVec3>| {
            let mut bodies = Bodies::with_capacity(positions.len());
            positions.iter().for_each(|x| bodies.push(1e-3, *x, DVec3::ZERO, 0));
            suggest(&bodies, 1.0)
        };
        let alone = suggested(ball(DVec3::ZERO).collect());
        let far = DVec3::new(1e6, 0.0, 0.0);
        for distant in [vec![far], ball(far).collect()] {
            let both = suggested(ball(DVec3::ZERO).chain(distant).collect());
            assert!((both.dt / alone.dt - 1.0).abs() < 0.3, "{both:?} for {alone:?}");
            assert!(both.until <= MOST_STEPS * both.dt);
        }
    }

    /// Closed forms: a point mass has the tidal tensor M / r^3 diag(-2, 1, 1).
    #[test]
    fn steps_in_a_field_follow_its_tides() {
        let mut bodies = Bodies::with_capacity(100);
        (0..100).for_each(|i| bodies.push(1.0, on_a_sphere(i) * 2.0, DVec3::ZERO, 0));
        let step = |text: &str| longest_step_in(&text.parse().unwrap(), &bodies);
        assert_eq!(step("tidal:xx=9,yy=-4"), Some(two_digits(1.0 / 90.0)));
        let column = 2.0 * 50.0 / 8.0;
        let (found, expected) = (step("point:mass=50").unwrap(), 1.0 / (30.0 * f64::sqrt(column)));
        // The axes are not those of the tensor: a column is at least 1 / 2 of its largest value.
        assert!((0.99 * expected..1.42 * expected).contains(&found), "{found}, {expected}");
        assert_eq!((step(""), step("tidal:xx=0")), (None, None));
    }

    fn on_a_sphere(i: u32) -> DVec3 {
        let (z, angle) = ((f64::from(i) * 0.618_034).fract() * 2.0 - 1.0, f64::from(i) * 2.4);
        let across = (1.0 - z * z).sqrt();
        DVec3::new(across * angle.cos(), across * angle.sin(), z)
    }

    #[test]
    fn cold_bodies_get_shorter_steps() {
        let suggested = |speed: f64| {
            let mut bodies = Bodies::with_capacity(1000);
            for i in 0..1000 {
                let x = on_a_sphere(i) * (f64::from(i) / 1000.0);
                bodies.push(1e-3, x, on_a_sphere(i + 7) * speed, 0);
            }
            suggest(&bodies, 1.0)
        };
        let (cold, warm, hot) = (suggested(0.0), suggested(0.9), suggested(10.0));
        assert_eq!(cold.softening, warm.softening);
        assert!(cold.dt < warm.dt && hot.dt < 0.2 * warm.dt, "{cold:?}, {warm:?}, {hot:?}");
    }

    #[test]
    fn two_digits_rounds_down_to_short_numbers() {
        assert_eq!(two_digits(0.012_345), 0.012);
        assert_eq!(two_digits(98_765.0), 98_000.0);
    }
}
