//! Names and values of the physical units behind N-body numbers, and the G that follows from them.

mod conversion;
mod stated;

pub use conversion::Conversion;
pub use stated::StatedUnits;

use serde::{Deserialize, Serialize};

use crate::messages;

/// The physical value of one N-body unit: `factor` times the unit `name`, for example 3.5 kpc.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// How many of the named units make one N-body unit.
    pub factor: f64,
    /// The named unit; empty for plain N-body units.
    pub name: String,
}

impl Default for Measure {
    fn default() -> Self {
        Self { factor: 1.0, name: String::new() }
    }
}

impl Measure {
    /// Reads `3.5 kpc`, or `kpc` for a factor of 1. `None` if the factor is not finite and
    /// positive, or the name is missing.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let (factor, name) = match first.parse::<f64>() {
            Ok(factor) => (factor, rest.trim()),
            Err(_) => (1.0, text),
        };
        let good = factor.is_finite() && factor > 0.0 && !name.is_empty();
        good.then(|| Self { factor, name: name.to_owned() })
    }

    /// Reads any text: what [`Measure::parse`] rejects is taken as a name with factor 1.
    pub fn of(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|| Self { factor: 1.0, name: text.trim().to_owned() })
    }
}

/// The SI value of each unit, under the names that snapshots and scenes use for it.
const LENGTHS: [(&[&str], f64); 9] = [
    (&["m", "meter", "meters", "metre", "metres"], 1.0),
    (&["cm"], 1e-2),
    (&["km"], 1e3),
    (&["Rsun", "RSun"], 6.957e8),
    (&["au", "AU"], 1.495_978_707e11),
    (&["ly", "lyr", "light years"], 9.460_730_472_580_8e15),
    (&["pc", "parsec", "parsecs"], PC),
    (&["kpc"], 1e3 * PC),
    (&["Mpc"], 1e6 * PC),
];
const TIMES: [(&[&str], f64); 7] = [
    (&["s", "sec", "second", "seconds"], 1.0),
    (&["hr", "hour", "hours"], 3600.0),
    (&["d", "day", "days"], 86_400.0),
    (&["yr", "year", "years"], YEAR),
    (&["kyr"], 1e3 * YEAR),
    (&["Myr"], 1e6 * YEAR),
    (&["Gyr"], 1e9 * YEAR),
];
const MASSES: [(&[&str], f64); 4] = [
    (&["kg", "kilogram", "kilograms"], 1.0),
    (&["g", "gram", "grams"], 1e-3),
    (&["Mearth", "MEarth"], 5.972_2e24),
    (&["Msun", "MSun", "Msol", "M_sun", "solMass", "solar masses", "solar mass"], 1.988_41e30),
];
const PC: f64 = 3.085_677_581_49e16;
const YEAR: f64 = 3.155_76e7;

/// Newton's constant in m^3 / (kg s^2), CODATA 2018.
pub(crate) const NEWTON: f64 = 6.674_30e-11;

/// Gravitational constants and units count as equal within this part: files round them.
const SAME: f64 = 0.01;

/// The physical quantity that a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// SI unit: metres.
    Length,
    /// SI unit: kilograms.
    Mass,
    /// SI unit: seconds.
    Time,
    /// SI unit: metres per second. Units are those of length over those of time: `km/s`, `km s^-1`.
    Velocity,
}

impl Quantity {
    fn known(self) -> &'static [(&'static [&'static str], f64)] {
        match self {
            Self::Length => &LENGTHS,
            Self::Mass => &MASSES,
            Self::Time => &TIMES,
            Self::Velocity => &[(&["kms"], 1e3)],
        }
    }

    /// All names under which convertible units are known.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        self.known().iter().flat_map(|(names, _)| names.iter().copied())
    }

    /// The names of the convertible units, separated by commas.
    pub fn known_names(self) -> String {
        if self == Self::Velocity {
            return "a unit of length over one of time, such as km/s".to_owned();
        }
        let names: Vec<&str> = self.known().iter().map(|(names, _)| names[0]).collect();
        names.join(", ")
    }
}

impl Measure {
    /// Its value in SI units, if the unit is known.
    pub fn si(&self, of: Quantity) -> Option<f64> {
        let known = of.known();
        let exact = known.iter().find(|(names, _)| names.contains(&self.name.as_str()));
        // In other cases too (`Pc`, `MSUN`), except single letters and milliparsecs.
        let is_unique = self.name.len() > 1 && self.name != "mpc";
        let in_any_case = || {
            let is_same = |name: &&str| name.eq_ignore_ascii_case(&self.name);
            known.iter().find(|(names, _)| is_unique && names.iter().any(is_same))
        };
        match exact.or_else(in_any_case) {
            Some((_, worth)) => Some(self.factor * worth),
            None if of == Quantity::Velocity => Some(self.factor * quotient(&self.name)?),
            None => None,
        }
    }

    /// The SI value in the largest common unit of which it is at least a half, to nine digits.
    pub(crate) fn of_si(value: f64, of: Quantity) -> Self {
        let uncommon = ["cm", "ly", "g", "Rsun", "hr"];
        let common = of.known().iter().filter(|(names, _)| !uncommon.contains(&names[0]));
        let (names, worth) = common
            .clone()
            .rfind(|(_, worth)| value >= 0.5 * worth)
            .or(common.clone().next())
            .expect("there should be a common unit");
        Self { factor: messages::rounded(value / worth, 9), name: names[0].to_owned() }
    }

    /// How many of `other` it equals; `None` unless both have the same name or both are known
    /// units.
    pub fn in_units_of(&self, other: &Self, of: Quantity) -> Option<f64> {
        if self.name == other.name {
            return Some(self.factor / other.factor);
        }
        Some(self.si(of)? / other.si(of)?)
    }
}

/// The SI value of a velocity such as `km/s`, `km s^-1` or `km * s**-1`.
fn quotient(name: &str) -> Option<f64> {
    let name = name.replace("**", "^");
    let (length, time) = name.split_once('/').or_else(|| {
        let product = name.strip_suffix("^-1").or_else(|| name.strip_suffix("-1"))?;
        product.rsplit_once([' ', '*', '.'])
    })?;
    let blank = |c: char| c.is_whitespace() || c == '*';
    let [length, time] = [length, time].map(|name| Measure::of(name.trim_matches(blank)));
    Some(length.si(Quantity::Length)? / time.si(Quantity::Time)?)
}

impl std::fmt::Display for Measure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.factor == 1.0 {
            true => f.write_str(&self.name),
            false => write!(f, "{} {}", self.factor, self.name),
        }
    }
}

/// Units of a scene or snapshot, for display and for converting snapshots whose gravitational
/// constant is not 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Units {
    /// Name of the length unit, for example `kpc`; empty for N-body units.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub length: String,
    /// Name of the mass unit.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mass: String,
    /// Name of the time unit.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub time: String,
    /// The gravitational constant in these units (1 in N-body units).
    pub gravitational_constant: f64,
}

impl Default for Units {
    fn default() -> Self {
        Self {
            length: String::new(),
            mass: String::new(),
            time: String::new(),
            gravitational_constant: 1.0,
        }
    }
}

impl Units {
    /// GADGET's default units: kpc, 1e10 solar masses, km/s; the time unit is kpc / (km/s) = 0.978
    /// Gyr and G = 43007.1.
    pub fn gadget() -> Self {
        Self {
            length: "kpc".into(),
            mass: "1e10 Msun".into(),
            time: "0.977792222 Gyr".into(),
            gravitational_constant: 43007.1,
        }
    }

    /// The SI values of length, mass and time, as far as these units are known.
    pub(crate) fn si(&self) -> [Option<f64>; 3] {
        let of = |name, quantity| Measure::of(name).si(quantity);
        [
            of(&self.length, Quantity::Length),
            of(&self.mass, Quantity::Mass),
            of(&self.time, Quantity::Time),
        ]
    }

    /// Newton's constant in these units, if all three are known.
    pub fn newton(&self) -> Option<f64> {
        let [length, mass, time] = self.si();
        Some(NEWTON * mass? * time?.powi(2) / length?.powi(3))
    }

    /// Newton's constant in these units, if it is known and not [`Self::gravitational_constant`].
    pub fn contradiction(&self) -> Option<f64> {
        self.newton().filter(|newton| !same(self.gravitational_constant, *newton))
    }

    /// The same units of length and time, and the unit of mass in which G is 1, named if known.
    pub fn with_g_one(&self) -> Self {
        let mass = match (self.gravitational_constant == 1.0, self.si()) {
            (true, _) => self.mass.clone(),
            (false, [Some(length), _, Some(time)]) => {
                let mass = length.powi(3) / (NEWTON * time.powi(2));
                Measure::of_si(mass, Quantity::Mass).to_string()
            }
            (false, _) => String::new(),
        };
        Self { mass, gravitational_constant: 1.0, ..self.clone() }
    }

    /// What is measured, and the name of its unit.
    pub fn names(&self) -> [(&'static str, &str); 3] {
        [("length", &self.length), ("mass", &self.mass), ("time", &self.time)]
    }

    /// Whether no unit has a name.
    pub fn is_unnamed(&self) -> bool {
        self.names().iter().all(|(_, name)| name.is_empty())
    }
}

impl std::fmt::Display for Units {
    /// `pc, Msun, Myr, G = 0.0045`, or `G = 1` where no unit has a name.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.is_unnamed() {
            for (what, name) in self.names() {
                match name.is_empty() {
                    true => write!(f, "no unit of {what}, ")?,
                    false => write!(f, "{}, ", messages::piece(name))?,
                }
            }
        }
        write!(f, "G = {}", messages::rounded(self.gravitational_constant, 6))
    }
}

fn same(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() <= SAME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_read_and_written() {
        let read = |text: &str| Measure::parse(text).map(|m| (m.factor, m.name));
        assert_eq!(read("3.5 kpc"), Some((3.5, "kpc".into())));
        assert_eq!(read("1e10 solar masses"), Some((1e10, "solar masses".into())));
        assert_eq!(read("Gyr"), Some((1.0, "Gyr".into())));
        assert_eq!(read("light years"), Some((1.0, "light years".into())));
        for bad in ["", "3.5", "0 kpc", "-1 kpc", "inf kpc"] {
            assert_eq!(read(bad), None, "{bad}");
        }
        assert_eq!(Measure::parse("3.5  kpc").unwrap().to_string(), "3.5 kpc");
        assert_eq!(Measure::default().to_string(), "");
    }

    #[test]
    fn measures_are_converted_where_their_units_are_known() {
        let ratio = |a: &str, b: &str, of| Measure::of(a).in_units_of(&Measure::of(b), of);
        let is = |found: Option<f64>, expected: f64| (found.unwrap() / expected - 1.0).abs() < 1e-9;
        assert!(is(ratio("500 pc", "kpc", Quantity::Length), 0.5));
        assert!(is(ratio("2 AU", "km", Quantity::Length), 2.991_957_414e8));
        assert!(is(ratio("0.978 Gyr", "Myr", Quantity::Time), 978.0));
        assert!(is(ratio("1e10 Msun", "1e9 solar masses", Quantity::Mass), 10.0));
        // Two quantities in the same unknown unit can still be compared.
        assert!(is(ratio("3 cubits", "2 cubits", Quantity::Length), 1.5));
        assert_eq!(ratio("3 cubits", "kpc", Quantity::Length), None);
        assert_eq!(ratio("kpc", "Myr", Quantity::Length), None);
    }
}
