//! Which bodies are bound.

use super::GroupMembers;
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::math::sum_of;

/// The bound bodies of a group: those with v^2 / 2 + phi < 0, where v is relative to the centre of
/// mass of all bodies and phi is the potential of all bodies. Unbound bodies still attract: they
/// are not removed to look again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Number of bodies.
    pub count: usize,
    /// Their mass.
    pub mass: f64,
}

/// The energy per mass of each body.
///
/// # Errors
/// A number of potentials other than that of bodies; a NaN among them.
pub(super) fn energies(bodies: &Bodies, potential: &[f64]) -> Result<Vec<f64>> {
    let n = bodies.len();
    if potential.len() != n {
        let what = "the number of potentials";
        return Err(Error::value(what, potential.len(), format!("{n}, one per body")));
    }
    if let Some(i) = potential.iter().position(|potential| potential.is_nan()) {
        return Err(Error::value(format!("the potential of body {i}"), "NaN", "a number"));
    }
    let all = GroupMembers::of(bodies, None);
    let (_, drift) = all.mean(|i| bodies.position[i], |i| bodies.velocity[i]);
    let kinetic = |i: usize| 0.5 * (bodies.velocity[i] - drift).length_squared();
    Ok((0..n).map(|i| kinetic(i) + potential[i]).collect())
}

impl Bound {
    pub(super) fn of(members: &GroupMembers, energies: &[f64]) -> Self {
        let list: Vec<usize> =
            members.list.iter().copied().filter(|&i| energies[i] < 0.0).collect();
        let mass = sum_of(list.len(), |k| members.bodies.mass[list[k]]);
        Self { count: list.len(), mass }
    }
}
