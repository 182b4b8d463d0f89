//! What a snapshot shows about itself: radii, profiles, motions and bound mass, for all bodies and
//! for each component.
//!
//! Everything is measured about the density centre of the bodies concerned and relative to its
//! velocity, so that a moved or boosted system gives the same numbers. Lengths, masses and times
//! are in the units of the bodies, velocities in those of length over time. Sums are exact:
//! equal bodies give equal bits on any number of cores.
//!
//! ```
//! use gravitile::analysis::{Shells, groups};
//! use gravitile::scene::Scene;
//!
//! let mut scene = Scene::builtin("plummer")?;
//! scene.set_n(1000)?;
//! let bodies = scene.build()?;
//! let all = &groups(&bodies, &[0.1, 0.5, 0.9], None)?[0];
//! let profile = Shells::about(&bodies, all, 10)?.profile(&bodies, None)?;
//! assert!(profile[0].density > profile[9].density);
//! # Ok::<(), gravitile::error::Error>(())
//! ```

mod bound;
mod motion;
mod rings;
mod segregation;
mod shells;

pub use bound::Bound;
pub use motion::MotionStatistics;
pub use rings::{Ring, Rings};
pub use shells::{Shell, Shells};

use glam::DVec3;

use crate::bodies::Bodies;
use crate::diagnostics::{density_centre, lagrangian_radii, least_in_sphere};
use crate::error::{Error, Result};
use crate::math::{sum_of, sum_vec_of};

/// All bodies, or those of one component.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Index into [`Bodies::components`]; `None` for all bodies.
    pub component: Option<u8>,
    /// Number of bodies, at least 1.
    pub count: usize,
    /// Their mass; 0 if none of them has any, and then each counts alike in all means here.
    pub mass: f64,
    /// Centre of mass.
    pub centre_of_mass: DVec3,
    /// Velocity of the centre of mass.
    pub velocity_of_mass: DVec3,
    /// The [`density_centre`]: that of the densest part, which tails and runaways do not move.
    pub centre: DVec3,
    /// Mean velocity of the bodies in the last sphere of [`density_centre`], a fifth of them
    /// or 100.
    pub velocity: DVec3,
    /// Radii about [`Group::centre`] that hold the requested fractions of [`Group::mass`].
    pub radii: Vec<f64>,
    /// The radius that holds half of it.
    pub half_mass_radius: f64,
    /// The median distance from [`Group::centre`] over that of the most massive tenth of the
    /// bodies, to which all belong that are as massive as its lightest: above 1 if massive bodies
    /// are more concentrated, 1 for equal masses. NaN if both distances are 0.
    pub segregation: f64,
    /// Motions about [`Group::centre`], of all bodies of the group.
    pub motion: MotionStatistics,
    /// What is bound, if potentials were given.
    pub bound: Option<Bound>,
}

/// Measures all bodies together and, if there are several components with bodies, each of them, in
/// this order. `fractions` are those of [`Group::radii`]. `potential` has one value per body, as
/// engines return it (G included, without the body itself); without it nothing is said about what
/// is bound.
///
/// # Errors
/// [`Error::Body`] for bodies that are not valid, such as a NaN among the positions;
/// [`Error::Value`] for no bodies, a fraction outside (0, 1], or a wrong number of potentials.
pub fn groups(bodies: &Bodies, fractions: &[f64], potential: Option<&[f64]>) -> Result<Vec<Group>> {
    bodies.validate()?;
    if let Some(wrong) = fractions.iter().find(|part| !(**part > 0.0 && **part <= 1.0)) {
        let allowed = "above 0 and at most 1";
        return Err(Error::value("a fraction of the mass", wrong, allowed));
    }
    let energies = potential.map(|potential| bound::energies(bodies, potential)).transpose()?;
    let mut components: Vec<Option<u8>> = (0..bodies.components.len())
        .map(|component| component as u8)
        .filter(|component| bodies.of_component(*component).next().is_some())
        .map(Some)
        .collect();
    if components.len() == 1 {
        components.clear();
    }
    components.insert(0, None);
    let measured = components.into_iter().map(|component| {
        let members = GroupMembers::of(bodies, component);
        let (position, velocity) = members.mean(|i| bodies.position[i], |i| bodies.velocity[i]);
        let centre = density_centre(bodies, &members.list);
        let drift = members.nearest(centre).mean(|i| bodies.velocity[i], |_| DVec3::ZERO).0;
        let mut all_fractions = fractions.to_vec();
        all_fractions.push(0.5);
        let mut radii = lagrangian_radii(bodies, &members.list, centre, &all_fractions);
        let half_mass_radius = radii.pop().unwrap_or(0.0);
        Group {
            component,
            count: members.list.len(),
            mass: sum_of(members.list.len(), |k| bodies.mass[members.list[k]]),
            centre_of_mass: position,
            velocity_of_mass: velocity,
            centre,
            velocity: drift,
            radii,
            half_mass_radius,
            segregation: members.segregation(centre),
            motion: members.motion(centre, drift),
            bound: energies.as_ref().map(|energies| Bound::of(&members, energies)),
        }
    });
    Ok(measured.collect())
}

/// Some of the bodies, with what each of them counts in means.
struct GroupMembers<'a> {
    bodies: &'a Bodies,
    /// Ascending indices.
    list: Vec<usize>,
    /// Whether none of them has mass.
    massless: bool,
}

impl<'a> GroupMembers<'a> {
    /// Those of a component, or all.
    fn of(bodies: &'a Bodies, component: Option<u8>) -> Self {
        let list = match component {
            Some(component) => bodies.of_component(component).collect(),
            None => (0..bodies.len()).collect(),
        };
        Self::listed(bodies, list)
    }

    fn listed(bodies: &'a Bodies, list: Vec<usize>) -> Self {
        let massless = list.iter().all(|&i| bodies.mass[i] == 0.0);
        Self { bodies, list, massless }
    }

    /// What the k-th of them counts.
    fn weight(&self, k: usize) -> f64 {
        if self.massless { 1.0 } else { self.bodies.mass[self.list[k]] }
    }

    /// Means of two vectors; 0 if there are no members.
    fn mean(
        &self,
        a: impl Fn(usize) -> DVec3 + Sync,
        b: impl Fn(usize) -> DVec3 + Sync,
    ) -> (DVec3, DVec3) {
        let n = self.list.len();
        if n == 0 {
            return (DVec3::ZERO, DVec3::ZERO);
        }
        let total = sum_of(n, |k| self.weight(k));
        let mean = |vector: &(dyn Fn(usize) -> DVec3 + Sync)| {
            // About the first, so that a system far from the origin loses no digits.
            let first = vector(self.list[0]);
            let sum = sum_vec_of(n, |k| (vector(self.list[k]) - first) * self.weight(k));
            first + sum / total
        };
        (mean(&a), mean(&b))
    }

    /// Those nearest to `centre`, as many as the last sphere of [`density_centre`] holds, and all
    /// others as near as the last of these.
    fn nearest(&self, centre: DVec3) -> Self {
        let distance = |i: usize| self.bodies.position[i].distance_squared(centre);
        let mut distances: Vec<f64> = self.list.iter().map(|&i| distance(i)).collect();
        let last = least_in_sphere(self.list.len()) - 1;
        let reach = *distances.select_nth_unstable_by(last, f64::total_cmp).1;
        let near = self.list.iter().copied().filter(|&i| distance(i) <= reach).collect();
        Self::listed(self.bodies, near)
    }
}

/// Refuses a centre or a velocity that is not finite.
fn check_finite(what: &str, vector: DVec3) -> Result<()> {
    match vector.is_finite() {
        true => Ok(()),
        false => Err(Error::value(what, vector, "finite")),
    }
}
