//! Something that is thrown into a run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, by_name};

/// The kind of a [`Throw`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThrownKind {
    /// A single body.
    Body,
    /// A Plummer sphere in equilibrium.
    Cluster,
    /// A disk galaxy with bulge and halo in equilibrium.
    #[default]
    Galaxy,
}

impl ThrownKind {
    /// All kinds with their names.
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Body, "body"), (Self::Cluster, "cluster"), (Self::Galaxy, "galaxy")];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The least number of bodies that it is made of.
    pub fn least(self) -> usize {
        match self {
            Self::Body => 1,
            Self::Cluster => 2,
            Self::Galaxy => 10,
        }
    }
}

/// A body, a cluster or a galaxy that is thrown into a run, in the units of the run's bodies. As
/// text KIND:NAME=VALUE,..
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Throw {
    /// What it is.
    pub kind: ThrownKind,
    /// Its number of bodies, at most [`Throw::MOST`]; 1 for a body.
    pub n: usize,
    /// The mass of all, >= 0.
    pub mass: f64,
    /// The scale length > 0 of a cluster (Plummer's) or of a galaxy's disk; unused for a body.
    pub size: f64,
    /// Inclination of a galaxy's axis from the z axis, in degrees.
    pub tilt: f64,
    /// Azimuth of the line on which its disk rises through the xy plane, in degrees.
    pub node: f64,
    /// Where its centre is when it is thrown.
    pub position: [f64; 3],
    /// The velocity of its centre then.
    pub velocity: [f64; 3],
    /// When: at the end of the first step that reaches this time.
    pub time: f64,
    /// The seed of its random numbers.
    pub seed: u64,
}

/// What is thrown into a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "options", derive(clap::Args))]
pub struct ThrowRequest {
    /// Throw something into the run, KIND:NAME=VALUE,..; may be given more than once. Kinds: body,
    /// cluster, galaxy. t is the time, in run and render that of the start; mass; n the number of
    /// bodies; size the scale length of a cluster or of a galaxy's disk; x, y, z and vx, vy, vz its
    /// place and velocity; tilt and node (degrees) turn a galaxy; seed. In the bodies' units
    #[cfg_attr(feature = "options", arg(long, value_name = "THING", help_heading = "Bodies"))]
    pub throw: Vec<Throw>,
}

impl Throw {
    /// The largest number of bodies of one.
    pub const MOST: usize = 1_000_000;

    /// Its numbers with the names that they have in the text.
    fn numbers(&self) -> [(&'static str, f64); 13] {
        let ([x, y, z], [vx, vy, vz]) = (self.position, self.velocity);
        [
            ("t", self.time),
            ("mass", self.mass),
            ("size", self.size),
            ("n", self.n as f64),
            ("seed", self.seed as f64),
            ("x", x),
            ("y", y),
            ("z", z),
            ("vx", vx),
            ("vy", vy),
            ("vz", vz),
            ("tilt", self.tilt),
            ("node", self.node),
        ]
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// One that is not finite or out of its range.
    pub fn check(&self) -> Result<()> {
        let wrong = |name: &str, value: f64, allowed: String| {
            Err(Error::value(format!("'{name}' of a thrown {}", self.kind.name()), value, allowed))
        };
        for (name, value) in self.numbers() {
            if !value.is_finite() {
                return wrong(name, value, "a finite number".to_owned());
            }
        }
        if self.mass < 0.0 {
            return wrong("mass", self.mass, "at least 0".to_owned());
        }
        if self.kind != ThrownKind::Body && self.size <= 0.0 {
            return wrong("size", self.size, "greater than 0".to_owned());
        }
        let least = self.kind.least();
        if !(least..=Self::MOST).contains(&self.n) || self.kind == ThrownKind::Body && self.n > 1 {
            let most = if self.kind == ThrownKind::Body { 1 } else { Self::MOST };
            return wrong("n", self.n as f64, format!("a whole number from {least} to {most}"));
        }
        Ok(())
    }
}

impl FromStr for Throw {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let kind = by_name("kind of throw", name.trim(), &ThrownKind::ALL)?;
        let mut throw = Self { kind, n: 1, seed: 1, ..Self::default() };
        for part in numbers.split(',').filter(|part| !part.trim().is_empty()) {
            let allowed = "NAME=VALUE with a number, such as mass=0.5";
            let wrong = || Error::value("a number of a throw", part, allowed);
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let value: f64 = value.trim().parse().map_err(|_| wrong())?;
            let whole = || {
                let is_whole = value.fract() == 0.0 && (0.0..=9e15).contains(&value);
                is_whole.then_some(value as u64).ok_or_else(wrong)
            };
            match name.trim() {
                "t" => throw.time = value,
                "mass" => throw.mass = value,
                "size" => throw.size = value,
                "n" => throw.n = whole()? as usize,
                "seed" => throw.seed = whole()?,
                "x" => throw.position[0] = value,
                "y" => throw.position[1] = value,
                "z" => throw.position[2] = value,
                "vx" => throw.velocity[0] = value,
                "vy" => throw.velocity[1] = value,
                "vz" => throw.velocity[2] = value,
                "tilt" => throw.tilt = value,
                "node" => throw.node = value,
                name => {
                    let known = throw.numbers().map(|(name, _)| name);
                    return Err(Error::unknown("number of a throw", name, known));
                }
            }
        }
        throw.check()?;
        Ok(throw)
    }
}

impl fmt::Display for Throw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self { n: 1, seed: 1, ..Self::default() };
        let parts = self.numbers().into_iter().zip(default.numbers());
        let parts = parts.filter(|(own, default)| own != default);
        let parts: Vec<String> =
            parts.map(|((name, value), _)| format!("{name}={value}")).collect();
        write!(f, "{}:{}", self.kind.name(), parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throws_survive_as_text_and_wrong_ones_are_refused() {
        let throw = Throw {
            kind: ThrownKind::Galaxy,
            n: 2000,
            mass: 0.25,
            size: 0.3,
            tilt: 60.5,
            node: -30.0,
            position: [1.5, -2e-7, 1e21],
            velocity: [0.0, 0.1 + 0.2, -1.0],
            time: 17.000000000000004,
            seed: 12345,
        };
        let text = throw.to_string();
        assert_eq!(text.parse::<Throw>().unwrap(), throw, "{text}");
        assert!(text.starts_with("galaxy:t=17.000000000000004,mass=0.25,"), "{text}");
        let body: Throw = "body:mass=2,x=1".parse().unwrap();
        assert_eq!(
            (body.n, body.position, body.to_string().as_str()),
            (1, [1.0, 0.0, 0.0], "body:mass=2,x=1")
        );
        for (wrong, words) in [
            ("comet:mass=1", "cluster"),
            ("galaxy:mass=1,n=100", "size"),
            ("galaxy:mass=1,size=1,n=3", "from 10"),
            ("body:mass=1,n=2", "from 1 to 1"),
            ("body:mass=-1", "at least 0"),
            ("body:mass=inf", "finite"),
            ("cluster:size=1,n=2.5", "n=2.5"),
            ("cluster:size=1,n=100,spin=3", "vx"),
            ("body:mass", "NAME=VALUE"),
        ] {
            let error = wrong.parse::<Throw>().unwrap_err().to_string();
            assert!(error.contains(words), "{wrong}: {error}");
        }
    }
}
