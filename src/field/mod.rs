//! External fields: fixed analytic potentials that attract the bodies and are not attracted.
//!
//! A [`Field`] is a sum of [`Potential`]s, static in the coordinates of the bodies. [`KINDS`] lists
//! the laws with their parameters; [`PotentialLaw`] has the formulas and their sources. As text, on
//! the command line and in `run.toml`, a potential is its name and its numbers:
//!
//! ```
//! use gravitile::field::{Field, Potential};
//! use gravitile::glam::DVec3;
//!
//! let halo: Potential = "hernquist:mass=2,scale=1,x=10".parse()?;
//! let field = Field(vec![halo]);
//! assert_eq!(field.acceleration(DVec3::X * 9.0), DVec3::X * 0.5);
//! # Ok::<(), gravitile::error::Error>(())
//! ```
//!
//! All in f64 and in the caller's units. Masses attract with G = 1 here: [`Field::gravitating`]
//! multiplies another G into them. The direction of a force at the very centre of a cusp, or of an
//! unsoftened point, is undefined: it is 0 there, as between two bodies at one position.

mod jet;
mod kinds;
mod laws;

pub use kinds::{KINDS, Kind, MOST_PARAMETERS, PotentialLaw, PotentialParameter, Range, Unit};

use std::fmt;
use std::str::FromStr;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use jet::Jet;
use kinds::CENTRE;

/// One potential. As text, `NAME:PARAMETER=VALUE,..`, with x, y and z for a centre other than 0.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Potential {
    law: PotentialLaw,
    values: [f64; MOST_PARAMETERS],
    centre: [f64; 3],
}

impl Potential {
    /// Its law.
    pub fn law(&self) -> PotentialLaw {
        self.law
    }

    /// Its parameters, in the order of [`Kind::parameters`].
    pub fn values(&self) -> &[f64] {
        &self.values[..self.law.kind().parameters.len()]
    }

    /// Its centre.
    pub fn centre(&self) -> [f64; 3] {
        self.centre
    }

    /// Its parameters and the coordinates of its centre, with their values.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static PotentialParameter, f64)> {
        let own = self.law.kind().parameters.iter().zip(self.values);
        own.chain(CENTRE.iter().zip(self.centre))
    }

    /// The same potential with another `value` of the number called `name`.
    ///
    /// # Errors
    /// An unknown name; a value out of range.
    pub fn with(&self, name: &str, value: f64) -> Result<Self> {
        let others = self.numbers().map(|(number, value)| (number.name, value));
        let others = others.filter(|(other, _)| *other != name);
        self.law.kind().potential(&others.chain([(name, value)]).collect::<Vec<_>>())
    }

    /// The same potential in units that are smaller by these factors. A change of the unit of mass
    /// alone is a change of G.
    #[must_use]
    pub fn rescaled(&self, [length, time, mass]: [f64; 3]) -> Self {
        let mut scaled = *self;
        for (value, parameter) in scaled.values.iter_mut().zip(self.law.kind().parameters) {
            let (_, powers) = parameter.unit.named();
            for (by, power) in [length, time, mass].into_iter().zip(powers) {
                *value *= by.powi(power);
            }
        }
        scaled.centre = scaled.centre.map(|x| x * length);
        scaled
    }

    /// The same potential, moved by `shift`.
    #[must_use]
    pub fn shifted(&self, shift: [f64; 3]) -> Self {
        Self { centre: std::array::from_fn(|k| self.centre[k] + shift[k]), ..*self }
    }
}

impl fmt::Display for Potential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.law.kind().name)?;
        let stated = self.numbers().filter(|(number, value)| number.default != Some(*value));
        stated.enumerate().try_for_each(|(k, (number, value))| {
            let before = if k == 0 { ':' } else { ',' };
            write!(f, "{before}{}={value}", number.name)
        })
    }
}

impl FromStr for Potential {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let kind = Kind::find(name.trim())?;
        let mut read = Vec::new();
        for part in numbers.split(',').filter(|part| !part.trim().is_empty()) {
            let allowed = "NAME=VALUE with a number, such as mass=1e11";
            let wrong = || Error::value("a number of a potential", part, allowed);
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            read.push((name.trim(), value.trim().parse().map_err(|_| wrong())?));
        }
        kind.potential(&read)
    }
}

/// The sum of some potentials; none by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Field(pub Vec<Potential>);

impl Field {
    /// Whether there is no field.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The field with masses that attract with this G.
    #[must_use]
    pub fn gravitating(&self, gravitational_constant: f64) -> Self {
        Self(self.0.iter().map(|one| one.rescaled([1.0, 1.0, gravitational_constant])).collect())
    }

    /// The names of its potentials, for reports.
    pub fn names(&self) -> String {
        let names: Vec<_> = self.0.iter().map(|one| one.law.kind().name).collect();
        names.join(" + ")
    }

    /// The potential at `position`.
    pub fn potential(&self, position: DVec3) -> f64 {
        self.0.iter().map(|one| one.potential_at(offset(one, position))).sum()
    }

    /// The acceleration at `position`.
    pub fn acceleration(&self, position: DVec3) -> DVec3 {
        let of = |one: &Potential| one.acceleration_at(offset(one, position));
        self.0.iter().map(|one| DVec3::from(of(one))).sum()
    }

    /// The acceleration along a motion through `position` with `velocity` and the total
    /// `acceleration`, and its first two time derivatives, jerk and snap.
    pub fn derivatives(&self, position: DVec3, velocity: DVec3, acceleration: DVec3) -> [DVec3; 3] {
        let mut sum = [DVec3::ZERO; 3];
        for one in &self.0 {
            let offset = offset(one, position);
            let path = |k: usize| Jet([offset[k], velocity[k], 0.5 * acceleration[k]]);
            let found = one.acceleration_at(std::array::from_fn(path));
            for (order, (sum, factor)) in sum.iter_mut().zip([1.0, 1.0, 2.0]).enumerate() {
                *sum += DVec3::from(found.map(|component| component.0[order])) * factor;
            }
        }
        sum
    }
}

/// `position` relative to the centre of `potential`.
fn offset(potential: &Potential, position: DVec3) -> [f64; 3] {
    (position - DVec3::from(potential.centre)).to_array()
}

/// As text, the potentials separated by spaces.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join(" "))
    }
}

impl FromStr for Field {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        text.split_whitespace().map(str::parse).collect::<Result<_>>().map(Self)
    }
}

#[cfg(test)]
mod tests;
