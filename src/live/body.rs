//! Facts about one body: how it moves, whether it is bound to the others, its nearest neighbours.

use glam::DVec3;

use crate::sim::State;

/// Number of nearest bodies that are listed.
const NEIGHBOURS: usize = 3;

/// One body at one time. Numbers are in the bodies' units, energies per unit mass.
#[derive(Clone, Debug, PartialEq)]
pub struct BodyFacts {
    /// Its index, from 0.
    pub body: usize,
    /// Its id in files.
    pub id: u64,
    /// Its component's number.
    pub component: usize,
    /// Simulated time.
    pub time: f64,
    /// Mass.
    pub mass: f64,
    /// Speed relative to the centre of mass of all bodies.
    pub speed: f64,
    /// Distance from that centre.
    pub distance: f64,
    /// Kinetic energy of its motion relative to the others, per unit of its mass.
    pub kinetic: f64,
    /// Potential of the others at its position, 0 at infinity.
    pub potential: f64,
    /// The nearest other bodies, nearest first.
    pub nearest: Vec<Neighbour>,
}

/// One of the nearest bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Neighbour {
    /// Its index, from 0.
    pub body: usize,
    /// Its id in files.
    pub id: u64,
    /// Its component's number.
    pub component: usize,
    /// Its distance.
    pub distance: f64,
}

impl BodyFacts {
    /// Facts about the body with index `body`, or `None` if there is no such body. `mass` holds G m
    /// of all bodies. One pass over all bodies, in f64.
    pub fn of(state: &State, mass: &[f64], body: usize) -> Option<Self> {
        let bodies = &state.bodies;
        let (position, velocity) = (*bodies.position.get(body)?, *bodies.velocity.get(body)?);
        let softening2 = state.softening * state.softening;
        // Sums relative to the body itself lose no digits far from the origin.
        let (mut total, mut centre, mut drift) = (0.0, DVec3::ZERO, DVec3::ZERO);
        let mut potential = 0.0;
        let mut nearest: Vec<(f64, usize)> = Vec::with_capacity(NEIGHBOURS + 1);
        for (other, (&x, &m)) in bodies.position.iter().zip(mass).enumerate() {
            if other == body {
                continue;
            }
            let away = x - position;
            let square = away.length_squared();
            total += m;
            centre += away * m;
            drift += (bodies.velocity[other] - velocity) * m;
            if m != 0.0 {
                potential -= m / (square + softening2).sqrt();
            }
            let is_near =
                nearest.len() < NEIGHBOURS || nearest.last().is_some_and(|l| square < l.0);
            if is_near {
                let at = nearest.partition_point(|known| known.0 <= square);
                nearest.insert(at, (square, other));
                nearest.truncate(NEIGHBOURS);
            }
        }
        // `apart` and `moving` are relative to the centre of mass of the others. Relative to that
        // of all bodies, the body included, they are smaller by the others' fraction of the mass.
        let [apart, moving] = match total > 0.0 {
            true => [centre / total, drift / total].map(DVec3::length),
            false => [0.0, velocity.length()],
        };
        let own = mass.get(body).copied().unwrap_or(0.0);
        let part = if total + own > 0.0 { total / (total + own) } else { 1.0 };
        let neighbour = |(square, body): (f64, usize)| Neighbour {
            body,
            id: bodies.id[body],
            component: usize::from(bodies.component[body]),
            distance: square.sqrt(),
        };
        Some(Self {
            body,
            id: bodies.id[body],
            component: usize::from(bodies.component[body]),
            time: state.time,
            mass: bodies.mass[body],
            speed: moving * part,
            distance: apart * part,
            kinetic: 0.5 * part * moving * moving,
            potential,
            nearest: nearest.into_iter().map(neighbour).collect(),
        })
    }

    /// Kinetic and potential energy per unit mass.
    pub fn energy(&self) -> f64 {
        self.kinetic + self.potential
    }

    /// Whether its energy is negative: it could not escape if the others did not move.
    pub fn is_bound(&self) -> bool {
        self.energy() < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bodies::{Bodies, Component, Role};

    fn state(bodies: Bodies, softening: f64) -> State {
        let acceleration = vec![DVec3::ZERO; bodies.len()];
        State { time: 2.0, steps: 0, bodies, acceleration, softening }
    }

    /// Two bodies of mass 2 and 1 at distance 4 with the relative speed `speed`; the pair is far
    /// from the origin and drifts.
    fn pair(speed: f64) -> State {
        let mut bodies = Bodies::default();
        bodies.components.push(Component::new("stars", Role::Star));
        let (far, drift) = (DVec3::new(1e6, -3e5, 7.0), DVec3::new(0.0, 30.0, 0.0));
        bodies.push(2.0, far, drift, 0);
        bodies.push(1.0, far + DVec3::X * 4.0, drift + DVec3::Z * speed, 0);
        state(bodies, 0.0)
    }

    #[test]
    fn each_body_of_a_pair_is_bound_below_escape_speed() {
        // Kepler: v^2 = 2 (m1 + m2) / r.
        let escape = (2.0f64 * 3.0 / 4.0).sqrt();
        for (speed, bound) in [(0.99 * escape, true), (1.01 * escape, false)] {
            let state = pair(speed);
            let mass = state.bodies.gravitating_mass(1.0);
            for body in 0..2 {
                let facts = BodyFacts::of(&state, &mass, body).unwrap();
                assert_eq!(facts.is_bound(), bound, "{facts:?}");
                assert_eq!((facts.nearest.len(), facts.nearest[0].body), (1, 1 - body));
                assert!((facts.nearest[0].distance - 4.0).abs() < 1e-9);
            }
            let light = BodyFacts::of(&state, &mass, 1).unwrap();
            assert!((light.speed - speed * 2.0 / 3.0).abs() < 1e-9, "{}", light.speed);
            assert!((light.distance - 4.0 * 2.0 / 3.0).abs() < 1e-9);
            assert!((light.potential + 2.0 / 4.0).abs() < 1e-12);
            assert!((light.kinetic - 0.5 * speed * speed * 2.0 / 3.0).abs() < 1e-12);
        }
    }

    #[test]
    fn neighbours_are_sorted_by_distance_and_a_single_body_is_unbound() {
        let mut bodies = Bodies::default();
        bodies.components.push(Component::new("stars", Role::Star));
        for x in [0.0, 5.0, -1.0, 2.0, 9.0, 3.0] {
            bodies.push(1.0, DVec3::X * x, DVec3::ZERO, 0);
        }
        let state = state(bodies, 0.5);
        let facts = BodyFacts::of(&state, &[1.0; 6], 0).unwrap();
        let order: Vec<usize> = facts.nearest.iter().map(|near| near.body).collect();
        assert_eq!(order, [2, 3, 5]);
        let expected: f64 =
            [5.0, 1.0, 2.0, 9.0, 3.0].iter().map(|r: &f64| -1.0 / r.hypot(0.5)).sum();
        assert!((facts.potential - expected).abs() < 1e-12);
        assert!(BodyFacts::of(&state, &[1.0; 6], 6).is_none());
        let mut alone = Bodies::default();
        alone.components.push(Component::new("stars", Role::Star));
        alone.push(1.0, DVec3::X, DVec3::Y, 0);
        let facts = BodyFacts::of(&self::state(alone, 0.5), &[1.0], 0).unwrap();
        assert!(facts.nearest.is_empty() && !facts.is_bound() && facts.potential == 0.0);
    }
}
