//! The table of potentials: their names and parameters.

use super::Potential;
use crate::error::{Error, Result};

/// The law of a potential. G is 1; r is the distance from the centre, R that from the z axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PotentialLaw {
    /// -M / sqrt(r^2 + eps^2)
    Point,
    /// -M / sqrt(r^2 + a^2) (Plummer 1911)
    Plummer,
    /// -M / (r + a) (Hernquist 1990, equation 5)
    Hernquist,
    /// -M ln(1 + r/a) / r, with M = 4 pi rho_0 a^3 (Navarro, Frenk and White 1996)
    Nfw,
    /// That of the density rho_0 / (1 + r^2/a^2), with V^2 = 4 pi rho_0 a^2; 0 at the centre
    Isothermal,
    /// V^2/2 ln(1 + (R^2 + z^2/q^2) / a^2) (Binney and Tremaine 2008, equation 2.71a); 0 at the
    /// centre
    Logarithmic,
    /// -M / sqrt(R^2 + (a + sqrt(z^2 + b^2))^2) (Miyamoto and Nagai 1975)
    MiyamotoNagai,
    /// -x T x / 2, with a constant symmetric T in a frame that does not turn
    Tidal,
}

/// The unit of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Length.
    Length,
    /// Mass.
    Mass,
    /// Length / time.
    Speed,
    /// None.
    Ratio,
    /// 1 / time^2
    Tide,
}

impl Unit {
    /// Its name, and its powers of length, time and mass.
    pub fn named(self) -> (&'static str, [i32; 3]) {
        match self {
            Self::Length => ("length", [1, 0, 0]),
            Self::Mass => ("mass", [0, 0, 1]),
            Self::Speed => ("speed", [1, -1, 0]),
            Self::Ratio => ("ratio", [0, 0, 0]),
            Self::Tide => ("1/time^2", [0, -2, 0]),
        }
    }
}

/// The range of a parameter; all are finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Any number.
    Any,
    /// At least 0.
    NotNegative,
    /// Above 0.
    Positive,
    /// Above this number.
    Above(f64),
}

impl Range {
    /// The range in words.
    pub fn words(self) -> String {
        match self {
            Self::Any => "a finite number".to_owned(),
            Self::NotNegative => "a number of at least 0".to_owned(),
            Self::Positive => "a number above 0".to_owned(),
            Self::Above(least) => format!("a number above {least}"),
        }
    }

    /// Whether `value` is in the range.
    pub fn holds(self, value: f64) -> bool {
        let fits = match self {
            Self::Any => true,
            Self::NotNegative => value >= 0.0,
            Self::Positive => value > 0.0,
            Self::Above(least) => value > least,
        };
        fits && value.is_finite()
    }
}

/// A parameter of a potential.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PotentialParameter {
    /// Its name in scene files and on the command line.
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// Its allowed values.
    pub range: Range,
    /// Its value if it is not given; `None`: it must be.
    pub default: Option<f64>,
}

/// A kind of potential: an entry of [`KINDS`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// Its law.
    pub law: PotentialLaw,
    /// Its name in scene files and on the command line.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: &'static [PotentialParameter],
}

/// The most parameters of a potential.
pub const MOST_PARAMETERS: usize = 6;

const fn needed(name: &'static str, unit: Unit, range: Range) -> PotentialParameter {
    PotentialParameter { name, unit, range, default: None }
}

const fn or(name: &'static str, unit: Unit, range: Range, default: f64) -> PotentialParameter {
    PotentialParameter { name, unit, range, default: Some(default) }
}

const MASS: PotentialParameter = needed("mass", Unit::Mass, Range::Positive);
const SCALE: PotentialParameter = needed("scale", Unit::Length, Range::Positive);
const SPEED: PotentialParameter = needed("speed", Unit::Speed, Range::Positive);
const CORE: PotentialParameter = needed("core", Unit::Length, Range::Positive);
/// Below sqrt(1/2) the density is negative on the z axis.
const LEAST_FLATTENING: f64 = 0.7072;

/// The coordinates of a centre, parameters of every potential.
pub(super) static CENTRE: [PotentialParameter; 3] =
    [coordinate("x"), coordinate("y"), coordinate("z")];

const fn coordinate(name: &'static str) -> PotentialParameter {
    or(name, Unit::Length, Range::Any, 0.0)
}

const fn tide(name: &'static str) -> PotentialParameter {
    or(name, Unit::Tide, Range::Any, 0.0)
}

/// Every kind of potential. Parameters of a law are in this order.
pub static KINDS: [Kind; 8] = [
    Kind {
        law: PotentialLaw::Point,
        name: "point",
        parameters: &[MASS, or("softening", Unit::Length, Range::NotNegative, 0.0)],
    },
    Kind { law: PotentialLaw::Plummer, name: "plummer", parameters: &[MASS, SCALE] },
    Kind { law: PotentialLaw::Hernquist, name: "hernquist", parameters: &[MASS, SCALE] },
    Kind { law: PotentialLaw::Nfw, name: "nfw", parameters: &[MASS, SCALE] },
    Kind { law: PotentialLaw::Isothermal, name: "isothermal", parameters: &[SPEED, CORE] },
    Kind {
        law: PotentialLaw::Logarithmic,
        name: "logarithmic",
        parameters: &[
            SPEED,
            CORE,
            or("flattening", Unit::Ratio, Range::Above(LEAST_FLATTENING), 1.0),
        ],
    },
    Kind {
        law: PotentialLaw::MiyamotoNagai,
        name: "miyamoto-nagai",
        parameters: &[
            MASS,
            needed("scale", Unit::Length, Range::NotNegative),
            needed("height", Unit::Length, Range::Positive),
        ],
    },
    Kind {
        law: PotentialLaw::Tidal,
        name: "tidal",
        parameters: &[tide("xx"), tide("yy"), tide("zz"), tide("xy"), tide("xz"), tide("yz")],
    },
];

impl PotentialLaw {
    /// Its entry of [`KINDS`].
    pub fn kind(self) -> &'static Kind {
        KINDS.iter().find(|kind| kind.law == self).unwrap_or(&KINDS[0])
    }
}

impl Kind {
    /// The kind with this name.
    ///
    /// # Errors
    /// An unknown name.
    pub fn find(name: &str) -> Result<&'static Self> {
        let found = KINDS.iter().find(|kind| kind.name == name);
        found.ok_or_else(|| Error::unknown("potential", name, KINDS.iter().map(|kind| kind.name)))
    }

    /// The potential with these parameters and centre. Each number has a name; x, y and z are the
    /// centre.
    ///
    /// # Errors
    /// A parameter that is unknown, missing, given twice or out of range.
    pub fn potential(&self, numbers: &[(&str, f64)]) -> Result<Potential> {
        let what = |name: &str| format!("'{name}' of the potential '{}'", self.name);
        for (k, (name, value)) in numbers.iter().enumerate() {
            if numbers[..k].iter().any(|(other, _)| other == name) {
                return Err(Error::value(what(name), value, "given once"));
            }
            let mut known = self.parameters.iter().chain(&CENTRE).map(|known| known.name);
            if !known.any(|known| known == *name) {
                let known = self.parameters.iter().chain(&CENTRE).map(|known| known.name);
                return Err(Error::unknown("parameter of this potential", name, known));
            }
        }
        let given = |name: &str| numbers.iter().find(|(other, _)| *other == name).map(|(_, v)| *v);
        let (mut values, mut centre) = ([0.0; MOST_PARAMETERS], [0.0; 3]);
        let own = values.iter_mut().zip(self.parameters);
        for (value, parameter) in own.chain(centre.iter_mut().zip(&CENTRE)) {
            let PotentialParameter { name, unit, range, default } = *parameter;
            let allowed = || format!("{} ({})", range.words(), unit.named().0);
            *value = given(name)
                .or(default)
                .ok_or_else(|| Error::value(what(name), "missing", allowed()))?;
            if !range.holds(*value) {
                return Err(Error::value(what(name), *value, allowed()));
            }
        }
        Ok(Potential { law: self.law, values, centre })
    }
}
