//! Composing scenes: scaling, rotating and placing bodies, and putting two groups on an orbit.

use std::path::PathBuf;

use glam::DVec3;

use super::{Generator, Orbit, Values};
use crate::bodies::{Bodies, for_all};
use crate::error::{Error, Result};
use crate::scene::MAX_BODIES;
use crate::scene::rotation::Rotation;

/// The source of a part's bodies.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A generator with its parameters.
    Generator(&'static Generator, Values),
    /// A snapshot file.
    File(PathBuf),
}

/// One part of a composed scene.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Prefix of its components' names; made from its number if missing.
    pub name: Option<String>,
    pub source: Source,
    /// Its own seed; if missing, one made from the scene's seed and its number.
    pub seed: Option<u64>,
    /// Factors on lengths and masses; velocities follow, so that an equilibrium stays one.
    pub length_scale: f64,
    pub mass_scale: f64,
    /// Degrees; see [`Rotation::new`].
    pub turn: [f64; 3],
    pub position: DVec3,
    pub velocity: DVec3,
}

impl Part {
    /// Scales and rotates the bodies about their centre of mass, then moves that to the part's
    /// position.
    pub fn place(&self, bodies: &mut Bodies) {
        bodies.recentre();
        scale(bodies, self.length_scale, self.mass_scale);
        let [spin, tilt, node] = self.turn;
        Rotation::new(spin, tilt, node).turn_bodies(bodies);
        bodies.shift(self.position, self.velocity);
    }
}

/// Scales lengths and masses; velocities scale as sqrt(mass / length), because G = 1.
pub(crate) fn scale(bodies: &mut Bodies, length: f64, mass: f64) {
    let speed = (mass / length).sqrt();
    for_all(&mut bodies.mass, |m| *m *= mass);
    for_all(&mut bodies.position, |x| *x *= length);
    for_all(&mut bodies.velocity, |v| *v *= speed);
}

/// Renames all components.
pub(crate) fn name_components(bodies: &mut Bodies, name: impl Fn(&str) -> String) {
    for component in &mut bodies.components {
        component.name = name(&component.name);
    }
}

/// Puts two groups, each with its centre of mass at rest at the origin, on `orbit` as if they were
/// point masses; their common centre of mass is at rest at the origin.
pub(crate) fn on_orbit(first: Bodies, mut second: Bodies, orbit: &Orbit) -> Result<Bodies> {
    let (position, velocity) = orbit.start(first.total_mass() + second.total_mass())?;
    second.shift(position, velocity);
    join([first, second])
}

/// All groups as one, with ids from 0 and the centre of mass at rest at the origin.
pub(crate) fn join(groups: impl IntoIterator<Item = Bodies>) -> Result<Bodies> {
    let mut all = append(groups)?;
    all.recentre();
    Ok(all)
}

/// All groups as one, where they are, with ids from 0.
pub(crate) fn append(groups: impl IntoIterator<Item = Bodies>) -> Result<Bodies> {
    let mut groups = groups.into_iter();
    let mut all = groups.next().unwrap_or_default();
    for group in groups {
        all.append(&group)?;
    }
    check_count(all.len())?;
    all.id = Bodies::numbered(all.len());
    Ok(all)
}

/// Checks that there is at least one body and at most [`MAX_BODIES`].
pub(crate) fn check_count(n: usize) -> Result<()> {
    if (1..=MAX_BODIES).contains(&n) {
        return Ok(());
    }
    let allowed = format!("a whole number from 1 to {MAX_BODIES}");
    Err(Error::value("the number of bodies", n, allowed))
}
