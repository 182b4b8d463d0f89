//! Composing scenes: scaling, rotating and placing bodies, and putting two groups on an orbit.

use std::path::PathBuf;

use glam::DVec3;

use super::stars::Stars;
use super::{Elements, Generator, Orbit, Portion, Values};
use crate::bodies::{Bodies, Component, Role, for_all};
use crate::error::{Error, Result};
use crate::scene::MAX_BODIES;
use crate::scene::rotation::Rotation;

/// The source of a part's bodies.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A generator with its parameters, and the masses and companions of its stars.
    Generator(&'static Generator, Values, Box<Stars>),
    /// A single body of this mass.
    Body(f64),
    /// A snapshot file.
    File(PathBuf),
}

impl Source {
    /// The number of its bodies; `None` if a file decides.
    pub fn n(&self) -> Option<usize> {
        match self {
            Self::Generator(generator, values, _) => match values.get("n") {
                Some(n) => Some(n as usize),
                // Generators without `n` make two or three bodies.
                None => (generator.build)(values, 0, &Portion::WHOLE).ok().map(|made| made.len()),
            },
            Self::Body(_) => Some(1),
            Self::File(_) => None,
        }
    }
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
    /// Added to position and velocity.
    pub orbit: Option<PartOrbit>,
}

/// The orbit of a part's centre of mass.
#[derive(Clone, Debug)]
pub(crate) struct PartOrbit {
    pub elements: Elements,
    pub about: About,
}

/// What a part orbits.
#[derive(Clone, Debug)]
pub(crate) enum About {
    /// The centre of mass of all parts before it.
    All,
    /// The centre of mass of those parts before it that have one of these names.
    Named(Vec<String>),
    /// A mass that stays at the origin.
    Mass(f64),
}

impl PartOrbit {
    /// Moves `bodies` from rest at the origin to their place on the orbit. `before` has one body
    /// for each of `parts` before this one.
    pub fn place(
        &self,
        bodies: &mut Bodies,
        parts: &[Part],
        before: &Bodies,
        portion: &Portion<'_>,
    ) -> Result<()> {
        let total = portion.total_mass(bodies)?;
        let named;
        let (centre, own) = match &self.about {
            About::Mass(mass) => {
                named = single_body(*mass);
                (&named, 0.0)
            }
            About::All => (before, total),
            About::Named(names) => {
                let is_named =
                    |&k: &usize| parts[k].name.as_ref().is_some_and(|n| names.contains(n));
                named = before.selected((0..before.len()).filter(is_named));
                (&named, total)
            }
        };
        let (x, v) = self.elements.state(centre.total_mass() + own)?;
        let (position, velocity) = centre.centre_of_mass();
        bodies.shift(position + x, velocity + v);
        Ok(())
    }
}

/// One body at rest at the origin.
pub(crate) fn single_body(mass: f64) -> Bodies {
    let mut bodies = Bodies::with_capacity(1);
    bodies.components = vec![Component::new("body", Role::Star)];
    bodies.push(mass, DVec3::ZERO, DVec3::ZERO, 0);
    bodies
}

impl Part {
    /// Scales and rotates the bodies about their centre of mass, then moves that to the part's
    /// position.
    pub fn place(&self, bodies: &mut Bodies, portion: &Portion<'_>) -> Result<()> {
        portion.recentre(bodies)?;
        scale(bodies, self.length_scale, self.mass_scale);
        let [spin, tilt, node] = self.turn;
        Rotation::new(spin, tilt, node).turn_bodies(bodies);
        bodies.shift(self.position, self.velocity);
        Ok(())
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
pub(crate) fn on_orbit(
    first: Bodies,
    mut second: Bodies,
    orbit: &Orbit,
    portion: &Portion<'_>,
) -> Result<Bodies> {
    let mass = portion.total_mass(&first)? + portion.total_mass(&second)?;
    let (position, velocity) = orbit.start(mass)?;
    second.shift(position, velocity);
    join([first, second], portion)
}

/// All groups as one, with the centre of mass at rest at the origin.
pub(crate) fn join(
    groups: impl IntoIterator<Item = Bodies>,
    portion: &Portion<'_>,
) -> Result<Bodies> {
    let mut all = append(groups)?;
    portion.recentre(&mut all)?;
    Ok(all)
}

/// All groups as one, where they are.
pub(crate) fn append(groups: impl IntoIterator<Item = Bodies>) -> Result<Bodies> {
    let mut groups = groups.into_iter();
    let mut all = groups.next().unwrap_or_default();
    for group in groups {
        all.append(&group)?;
    }
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
