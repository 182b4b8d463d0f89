//! Conserved quantities and structure of a set of bodies, in f64 with compensated sums.

use glam::DVec3;

use crate::bodies::{Bodies, Component, Role};
use crate::math::{sum, sum_vec};

/// The fractions of a component's mass whose Lagrangian radii are told.
pub const FRACTIONS: [f64; 3] = [0.1, 0.5, 0.9];

/// What one look at the bodies tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostics {
    /// K = sum of m v^2 / 2.
    pub kinetic: f64,
    /// W = sum of m phi / 2, each pair once, without self terms.
    pub potential: f64,
    /// Sum of m v.
    pub momentum: DVec3,
    /// Sum of m x cross v, about the origin.
    pub angular_momentum: DVec3,
    /// Position of the centre of mass.
    pub centre: DVec3,
    /// One entry per component that has bodies, in their order.
    pub components: Vec<ComponentStructure>,
}

/// How a component is spread about its own centre of mass.
#[derive(Clone, Debug, PartialEq)]
pub struct ComponentStructure {
    /// The component's name.
    pub name: String,
    /// The part it plays.
    pub role: Role,
    /// Its mass.
    pub mass: f64,
    /// Its centre of mass.
    pub centre: DVec3,
    /// (fraction of the mass, radius of the sphere about `centre` that holds it).
    pub lagrangian_radii: Vec<(f64, f64)>,
}

impl Diagnostics {
    /// E = K + W.
    pub fn total(&self) -> f64 {
        self.kinetic + self.potential
    }

    /// 2K / |W|: 1 in equilibrium (Plummer-softened bodies: nearly).
    pub fn virial_ratio(&self) -> f64 {
        2.0 * self.kinetic / self.potential.abs()
    }

    /// Relative change of the total energy since `before`.
    pub fn energy_error(&self, before: &Self) -> f64 {
        relative_error(self.total(), before.total())
    }
}

/// |value - reference| / |reference|; the plain difference where the reference is 0.
pub fn relative_error(value: f64, reference: f64) -> f64 {
    let difference = (value - reference).abs();
    if reference == 0.0 { difference } else { difference / reference.abs() }
}

/// Looks at `bodies`, whose potentials per mass are `potential` (G included, same length).
pub fn diagnose(bodies: &Bodies, potential: &[f64]) -> Diagnostics {
    let n = bodies.len();
    let (m, x, v) = (&bodies.mass, &bodies.position, &bodies.velocity);
    Diagnostics {
        kinetic: sum((0..n).map(|i| 0.5 * m[i] * v[i].length_squared())),
        potential: sum((0..n).map(|i| 0.5 * m[i] * potential[i])),
        momentum: sum_vec((0..n).map(|i| v[i] * m[i])),
        angular_momentum: sum_vec((0..n).map(|i| x[i].cross(v[i]) * m[i])),
        centre: bodies.centre_of_mass().0,
        components: (0..bodies.components.len())
            .filter_map(|component| structure(bodies, component as u8))
            .collect(),
    }
}

/// The structure of one component, or `None` if it has no bodies or no mass.
fn structure(bodies: &Bodies, component: u8) -> Option<ComponentStructure> {
    let members: Vec<usize> = bodies.of_component(component).collect();
    let mass = sum(members.iter().map(|&i| bodies.mass[i]));
    if !(mass > 0.0) {
        return None;
    }
    let centre = sum_vec(members.iter().map(|&i| bodies.position[i] * bodies.mass[i])) / mass;
    let radii = lagrangian_radii(bodies, &members, centre, &FRACTIONS);
    let Component { name, role } = &bodies.components[component as usize];
    Some(ComponentStructure {
        name: name.clone(),
        role: *role,
        mass,
        centre,
        lagrangian_radii: FRACTIONS.into_iter().zip(radii).collect(),
    })
}

/// Radii about `centre` that hold the given fractions (0 to 1) of the mass of `members`.
pub fn lagrangian_radii(
    bodies: &Bodies,
    members: &[usize],
    centre: DVec3,
    fractions: &[f64],
) -> Vec<f64> {
    let mut by_radius: Vec<(f64, f64)> =
        members.iter().map(|&i| ((bodies.position[i] - centre).length(), bodies.mass[i])).collect();
    by_radius.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let total = sum(by_radius.iter().map(|(_, mass)| *mass));
    let radius = |fraction: f64| {
        let mut inside = 0.0;
        for (radius, mass) in &by_radius {
            inside += mass;
            if inside >= fraction * total {
                return *radius;
            }
        }
        by_radius.last().map_or(0.0, |(radius, _)| *radius)
    };
    fractions.iter().map(|&fraction| radius(fraction)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two bodies of mass 1 and 3 on a circle about their centre of mass, separation 1, G = 1.
    fn binary() -> (Bodies, Vec<f64>) {
        let mut bodies = Bodies::with_capacity(2);
        bodies.push(1.0, DVec3::X * 0.75, DVec3::Y * 1.5, 0);
        bodies.push(3.0, DVec3::X * -0.25, DVec3::Y * -0.5, 0);
        (bodies, vec![-3.0, -1.0])
    }

    #[test]
    fn a_circular_binary_by_hand() {
        let (bodies, potential) = binary();
        let d = diagnose(&bodies, &potential);
        // W = -m1 m2 / r = -3; K = 1/2 (1.5^2 + 3 * 0.5^2) = 1.5; virial ratio 1.
        assert_eq!((d.kinetic, d.potential, d.total(), d.virial_ratio()), (1.5, -3.0, -1.5, 1.0));
        assert_eq!((d.momentum, d.centre), (DVec3::ZERO, DVec3::ZERO));
        assert_eq!(d.angular_momentum, DVec3::Z * 1.5);
        assert_eq!(d.components[0].lagrangian_radii, [(0.1, 0.25), (0.5, 0.25), (0.9, 0.75)]);
    }

    #[test]
    fn an_energy_error_is_seen() {
        let (mut bodies, potential) = binary();
        let before = diagnose(&bodies, &potential);
        bodies.velocity[0] *= 1.1;
        let after = diagnose(&bodies, &potential);
        assert!(after.energy_error(&before) > 0.1);
        assert_eq!(before.energy_error(&before), 0.0);
    }
}
