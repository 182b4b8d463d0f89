//! Few bodies whose own encounters matter: softening that suits a cluster or galaxy would destroy
//! the orbits of planets and close binaries.

use std::f64::consts::TAU;

use glam::DVec3;

use super::suggest::{DOMINANT, half_mass_radius, two_digits};
use crate::bodies::Bodies;
use crate::forces::Method;
use crate::integrate::blocks::power_of_two_below;
use crate::scene::RunHints;

/// More bodies than this are treated as a sample of a smooth density.
pub const MOST_BODIES: usize = 1000;
/// A pair is much closer than the softening if its semi-major axis is less than this fraction of
/// it.
const CLOSE: f64 = 0.25;
/// The smallest and largest duration, in shortest periods.
const REVOLUTIONS: [f64; 2] = [10.0, 1000.0];
/// Leapfrog steps per period of a circular orbit with the radius of the closest approach.
const STEPS_PER_PASSAGE: f64 = 100.0;
/// The smallest pericentre that is resolved by a suggested leapfrog step, in semi-major axes.
const LEAST_PERICENTRE: f64 = 1e-4;

/// Suggested settings for bodies without softening.
#[derive(Clone, Debug, PartialEq)]
pub struct Collisional {
    /// No softening, the step of a leapfrog, and a duration.
    pub run: RunHints,
    /// The longest individual step, a power of two.
    pub dt_max: f64,
    /// Why these settings suit the bodies, in words.
    pub why: String,
}

/// A bound pair of bodies.
struct BoundPair {
    /// Semi-major axis.
    axis: f64,
    period: f64,
    /// The period of a circle at the pericentre.
    passage: f64,
    /// G m1 m2 / 2a.
    binding: f64,
}

impl BoundPair {
    /// The orbit of bodies `i` and `j` around each other; `None` if they are not bound, or have no
    /// mass.
    fn of(bodies: &Bodies, i: usize, j: usize, g: f64) -> Option<Self> {
        let mu = g * (bodies.mass[i] + bodies.mass[j]);
        let x = bodies.position[j] - bodies.position[i];
        let v = bodies.velocity[j] - bodies.velocity[i];
        let energy = 0.5 * v.length_squared() - mu / x.length();
        let axis = -0.5 * mu / energy;
        if !(mu > 0.0 && axis > 0.0 && axis.is_finite()) {
            return None;
        }
        let eccentricity =
            (1.0 - DVec3::cross(x, v).length_squared() / (mu * axis)).max(0.0).sqrt();
        let pericentre = axis * (1.0 - eccentricity).max(LEAST_PERICENTRE);
        let period = |radius: f64| TAU * (radius.powi(3) / mu).sqrt();
        let binding = 0.5 * g * bodies.mass[i] * bodies.mass[j] / axis;
        Some(Self { axis, period: period(axis), passage: period(pericentre), binding })
    }
}

/// Whether a simulation with the requested softening and method may follow encounters: a softening
/// above 0 leaves none, and the tree has no forces for individual steps.
pub fn suits_encounters(softening: Option<f64>, method: Option<Method>) -> bool {
    softening.unwrap_or(0.0) == 0.0 && method != Some(Method::Tree)
}

/// Suggests settings for `bodies` if they are few and one of them dominates, or some are bound in
/// pairs much closer than `softening`; `None` for all others.
///
/// Such a pair must also be hard (Heggie 1975): bound by more than the mean kinetic energy of a
/// body in equilibrium, 0.2 G M m / r_h as in a Plummer sphere. Pairs that are close by chance are
/// not. The duration is the longest period around a dominant body, else four revolutions at the
/// half-mass radius, but from 10 to 1,000 of the shortest period.
pub fn collisional(bodies: &Bodies, softening: f64, g: f64) -> Option<Collisional> {
    let (n, total) = (bodies.len(), bodies.total_mass());
    if !(2..=MOST_BODIES).contains(&n) || !(g * total > 0.0) {
        return None;
    }
    let heaviest = (0..n).max_by(|&i, &j| bodies.mass[i].total_cmp(&bodies.mass[j]))?;
    let share = bodies.mass[heaviest] / total;
    let radius = half_mass_radius(bodies);
    let mean = total / n as f64;
    let hard = 0.2 * g * total * mean / radius;
    let around = (0..n).filter(|&i| i != heaviest && share >= DOMINANT);
    let around: Vec<BoundPair> =
        around.filter_map(|i| BoundPair::of(bodies, i, heaviest, g)).collect();
    let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j)));
    let pairs = pairs.filter(|&(i, j)| share < DOMINANT || (i != heaviest && j != heaviest));
    let pairs = pairs.filter_map(|(i, j)| BoundPair::of(bodies, i, j, g));
    let pairs: Vec<BoundPair> =
        pairs.filter(|pair| pair.axis < CLOSE * softening && pair.binding > hard).collect();
    if share < DOMINANT && pairs.is_empty() {
        return None;
    }
    let all = || around.iter().chain(&pairs);
    let shortest = all().map(|orbit| orbit.period).fold(f64::INFINITY, f64::min);
    let passage = all().map(|orbit| orbit.passage).fold(f64::INFINITY, f64::min);
    // Without bound bodies: the time in which they pass each other.
    let far =
        bodies.position.iter().map(|x| x.distance(bodies.position[heaviest])).fold(0.0, f64::max);
    let revolution = TAU * (far.powi(3) / (g * total)).sqrt();
    let (slow, duration) = match (share >= DOMINANT, around.is_empty()) {
        (true, false) => {
            let longest = around.iter().map(|orbit| orbit.period).fold(0.0, f64::max);
            (longest, longest)
        }
        (true, true) => (revolution, revolution),
        (false, _) => {
            let revolution = TAU * (radius.powi(3) / (0.5 * g * total)).sqrt();
            (revolution, 4.0 * revolution)
        }
    };
    let [least, most] = REVOLUTIONS;
    let until = duration.max(least * shortest.min(slow)).min(most * shortest);
    let dt = passage.min(slow) / STEPS_PER_PASSAGE;
    let is_in_range = |time: f64| (1e-200..1e200).contains(&time);
    if !(is_in_range(until) && is_in_range(dt) && until / dt < 1e12) {
        return None;
    }
    let (until, dt) = (two_digits(until), two_digits(dt));
    let dt_max = power_of_two_below((slow / 32.0).min(until / 16.0));
    let why = match share >= DOMINANT {
        true => format!("one of the {n} bodies has {:.1} % of the mass", 100.0 * share),
        false => format!("{} of the bodies are in close pairs", 2 * pairs.len()),
    };
    let run = RunHints { softening: 0.0, dt, until };
    Some(Collisional { run, dt_max, why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::suggest;

    fn suited(bodies: &Bodies, g: f64) -> Option<Collisional> {
        collisional(bodies, suggest(bodies, g).softening, g)
    }

    /// Two bodies of mass 1/2 at the apocentre of an orbit with a semi-major axis of 1.
    fn binary(eccentricity: f64) -> Bodies {
        let mut bodies = Bodies::with_capacity(2);
        let r = 1.0 + eccentricity;
        let v = ((1.0 - eccentricity) / r).sqrt();
        bodies.push(0.5, DVec3::X * 0.5 * r, DVec3::Y * 0.5 * v, 0);
        bodies.push(0.5, DVec3::X * -0.5 * r, DVec3::Y * -0.5 * v, 0);
        bodies
    }

    /// The Sun and eight planets on circles, in au, solar masses and years.
    fn planets() -> (Bodies, f64) {
        let g = TAU * TAU;
        let mut bodies = Bodies::with_capacity(9);
        bodies.push(1.0, DVec3::ZERO, DVec3::ZERO, 0);
        for (k, (a, mass)) in [
            (0.39, 1.7e-7),
            (0.72, 2.4e-6),
            (1.0, 3e-6),
            (1.52, 3.2e-7),
            (5.2, 9.5e-4),
            (9.5, 2.9e-4),
            (19.2, 4.4e-5),
            (30.1, 5.1e-5),
        ]
        .into_iter()
        .enumerate()
        {
            let (sin, cos) = (k as f64 * 1.7).sin_cos();
            let speed = (g / a).sqrt();
            bodies.push(mass, DVec3::new(cos, sin, 0.0) * a, DVec3::new(-sin, cos, 0.0) * speed, 0);
        }
        (bodies, g)
    }

    #[test]
    fn binary_runs_for_ten_periods_without_softening() {
        for eccentricity in [0.0, 0.5, 0.99] {
            let found = suited(&binary(eccentricity), 1.0).unwrap();
            assert_eq!((found.run.softening, found.run.until), (0.0, 62.0), "{eccentricity}");
            assert_eq!(found.dt_max, 0.125);
            let passage = TAU * (1.0 - eccentricity).powf(1.5) / 100.0;
            assert!((found.run.dt / passage - 1.0).abs() < 0.1, "{found:?}");
        }
    }

    #[test]
    fn planets_run_for_the_longest_period() {
        let (bodies, g) = planets();
        let found = suited(&bodies, g).unwrap();
        assert!((160.0..170.0).contains(&found.run.until), "{found:?}");
        assert!(found.dt_max >= 0.25 && found.dt_max < 16.0 && found.run.softening == 0.0);
        assert!(found.why.contains("one of the 9 bodies has 99.9 %"), "{}", found.why);
    }

    #[test]
    fn hard_binaries_in_a_cluster_are_found_but_not_chance_pairs() {
        let mut scene = crate::scene::Scene::builtin("plummer").unwrap();
        for seed in 0..20 {
            scene.seed = seed;
            scene.set_n(600).unwrap();
            let mut bodies = scene.build().unwrap();
            assert_eq!(suited(&bodies, 1.0), None, "seed {seed}");
            // Every tenth star gets a companion.
            let (a, g) = (1e-4, 1.0);
            for i in (0..600).step_by(10) {
                let (mass, x, v) = (bodies.mass[i], bodies.position[i], bodies.velocity[i]);
                let speed = (g * 2.0 * mass / a).sqrt();
                bodies.push(mass, x + DVec3::X * a, v + DVec3::Y * speed, bodies.component[i]);
            }
            let found = suited(&bodies, 1.0).unwrap();
            assert!(
                found.run.softening == 0.0 && found.why.contains("120 of the bodies"),
                "{found:?}"
            );
            let period = TAU * (a.powi(3) / (g * 2.0 * bodies.mass[0])).sqrt();
            assert!((900.0..1001.0).contains(&(found.run.until / period)), "{found:?}");
        }
    }

    #[test]
    fn nothing_is_suggested_for_many_or_massless_bodies() {
        let mut bodies = binary(0.0);
        for k in 0..MOST_BODIES {
            bodies.push(1e-9, DVec3::Z * (k + 1) as f64, DVec3::ZERO, 0);
        }
        assert_eq!(suited(&bodies, 1.0), None);
        assert_eq!(suited(&binary(0.0), 0.0), None);
        assert_eq!(suited(&Bodies::default(), 1.0), None);
        // Two bodies at one position have no orbit.
        let mut one_place = binary(0.0);
        one_place.position.fill(DVec3::ONE);
        assert_eq!(suited(&one_place, 1.0), None);
        // Two unbound bodies still need no softening.
        let mut fast = binary(0.0);
        fast.velocity.iter_mut().for_each(|v| *v *= 9.0);
        let found = suited(&fast, 1.0).unwrap();
        assert!(found.run.softening == 0.0 && found.run.until.is_normal(), "{found:?}");
    }
}
