//! Profiles in spherical shells.

use std::f64::consts::PI;

use glam::DVec3;

use super::{Group, GroupMembers, MotionStatistics, check_finite};
use crate::bodies::Bodies;
use crate::diagnostics::lagrangian_radii;
use crate::error::{Error, Result};
use crate::math::sum_of;

/// Most shells or rings of a profile.
pub(super) const MOST: usize = 100_000;

/// Concentric shells whose radii grow by the same factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Shells {
    /// The common centre.
    pub centre: DVec3,
    /// Velocity of the centre.
    pub velocity: DVec3,
    /// Their edges, ascending, one more than shells.
    pub edges: Vec<f64>,
}

/// What one shell holds of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shell {
    /// Inner edge, which belongs to the shell.
    pub inner: f64,
    /// Outer edge, which does not, except for the last shell.
    pub outer: f64,
    /// Number of bodies.
    pub count: usize,
    /// Their mass.
    pub mass: f64,
    /// Mass over the volume between the edges.
    pub density: f64,
    /// Mass of the group within the outer edge.
    pub mass_within: f64,
    /// Motions about the centre of the shells.
    pub motion: MotionStatistics,
}

impl Shell {
    /// The geometric mean of the edges.
    pub fn radius(&self) -> f64 {
        (self.inner * self.outer).sqrt()
    }
}

impl Shells {
    /// `count` shells from radius `inner` to `outer` about a centre that moves with `velocity`.
    ///
    /// # Errors
    /// [`Error::Value`] unless 0 < `inner` < `outer`, all numbers are finite, and `count` is 1 to
    /// 100,000.
    pub fn new(
        (centre, velocity): (DVec3, DVec3),
        (inner, outer): (f64, f64),
        count: usize,
    ) -> Result<Self> {
        check_finite("the centre of the shells", centre)?;
        check_finite("the velocity of the centre", velocity)?;
        if !(1..=MOST).contains(&count) {
            return Err(Error::value("the number of shells", count, format!("1 to {MOST}")));
        }
        if !(inner > 0.0 && inner < outer && outer.is_finite()) {
            let range = format!("{inner} to {outer}");
            let allowed = "two finite numbers, the first above 0 and below the second";
            return Err(Error::value("the range of radii", range, allowed));
        }
        let part = |k: usize| k as f64 / count as f64;
        let mut edges: Vec<f64> =
            (0..=count).map(|k| inner * ((outer / inner).ln() * part(k)).exp()).collect();
        (edges[0], edges[count]) = (inner, outer);
        Ok(Self { centre, velocity, edges })
    }

    /// `count` shells about the centre of `group`: from the radius of a thousandth of its mass, or
    /// of ten bodies if that is larger, to that of 99.9 %.
    ///
    /// # Errors
    /// As [`Shells::new`]; all bodies are in one point.
    pub fn about(bodies: &Bodies, group: &Group, count: usize) -> Result<Self> {
        bodies.validate()?;
        let list = GroupMembers::of(bodies, group.component).list;
        let least = (10.0 / list.len().max(1) as f64).clamp(1e-3, 0.5);
        let radii = lagrangian_radii(bodies, &list, group.centre, &[least, 0.999]);
        let (inner, outer) = (radii[0], radii[1]);
        if outer == 0.0 {
            let allowed = "that of bodies which are not all in one point";
            return Err(Error::value("the range of radii", "0 to 0", allowed));
        }
        // Two bodies are at one radius.
        let inner = if inner < outer * (1.0 - 1e-9) { inner } else { 0.1 * outer };
        Self::new((group.centre, group.velocity), (inner.max(1e-9 * outer), outer), count)
    }

    /// What each shell holds of a component, or of all bodies.
    ///
    /// # Errors
    /// [`Error::Body`] for bodies that are not valid.
    pub fn profile(&self, bodies: &Bodies, component: Option<u8>) -> Result<Vec<Shell>> {
        bodies.validate()?;
        let members = GroupMembers::of(bodies, component);
        let radius = |i: usize| bodies.position[i].distance(self.centre);
        let (within, shells) = sorted_into(&members, &self.edges, radius);
        let mut mass_within = sum_of(within.len(), |k| bodies.mass[within[k]]);
        let shells = shells.into_iter().enumerate().map(|(k, list)| {
            let (inner, outer) = (self.edges[k], self.edges[k + 1]);
            let held = GroupMembers::listed(bodies, list);
            let mass = sum_of(held.list.len(), |k| bodies.mass[held.list[k]]);
            mass_within += mass;
            Shell {
                inner,
                outer,
                count: held.list.len(),
                mass,
                density: mass / (4.0 / 3.0 * PI * (outer.powi(3) - inner.powi(3))),
                mass_within,
                motion: held.motion(self.centre, self.velocity),
            }
        });
        Ok(shells.collect())
    }
}

/// The members before the first edge, and those between each edge and the next, in their order.
pub(super) fn sorted_into(
    members: &GroupMembers,
    edges: &[f64],
    radius: impl Fn(usize) -> f64,
) -> (Vec<usize>, Vec<Vec<usize>>) {
    let count = edges.len() - 1;
    let (mut before, mut held) = (Vec::new(), vec![Vec::new(); count]);
    for &i in &members.list {
        let r = radius(i);
        match edges.partition_point(|edge| *edge <= r) {
            0 => before.push(i),
            k if k <= count => held[k - 1].push(i),
            _ if r == edges[count] => held[count - 1].push(i),
            _ => {}
        }
    }
    (before, held)
}
