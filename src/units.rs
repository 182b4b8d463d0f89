//! Names and values of the physical units behind N-body numbers. Internally G = 1.

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
const LENGTHS: [(&[&str], f64); 8] = [
    (&["m"], 1.0),
    (&["cm"], 1e-2),
    (&["km"], 1e3),
    (&["au", "AU"], 1.495_978_707e11),
    (&["ly", "light years"], 9.460_730_472_580_8e15),
    (&["pc", "parsec"], PC),
    (&["kpc"], 1e3 * PC),
    (&["Mpc"], 1e6 * PC),
];
const TIMES: [(&[&str], f64); 6] = [
    (&["s"], 1.0),
    (&["d", "day", "days"], 86_400.0),
    (&["yr", "year", "years"], YEAR),
    (&["kyr"], 1e3 * YEAR),
    (&["Myr"], 1e6 * YEAR),
    (&["Gyr"], 1e9 * YEAR),
];
const MASSES: [(&[&str], f64); 4] = [
    (&["kg"], 1.0),
    (&["g"], 1e-3),
    (&["Mearth"], 5.972_2e24),
    (&["Msun", "solar masses", "solar mass"], 1.988_41e30),
];
const PC: f64 = 3.085_677_581_49e16;
const YEAR: f64 = 3.155_76e7;

/// The physical quantity that a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// SI unit: metres.
    Length,
    /// SI unit: kilograms.
    Mass,
    /// SI unit: seconds.
    Time,
}

impl Quantity {
    fn known(self) -> &'static [(&'static [&'static str], f64)] {
        match self {
            Self::Length => &LENGTHS,
            Self::Mass => &MASSES,
            Self::Time => &TIMES,
        }
    }

    /// The names of the convertible units, separated by commas.
    pub fn known_names(self) -> String {
        let names: Vec<&str> = self.known().iter().map(|(names, _)| names[0]).collect();
        names.join(", ")
    }
}

impl Measure {
    /// Its value in SI units, if the unit is known.
    pub fn si(&self, of: Quantity) -> Option<f64> {
        let mut known = of.known().iter();
        let (_, worth) = known.find(|(names, _)| names.contains(&self.name.as_str()))?;
        Some(self.factor * worth)
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
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    /// Name of the length unit, for example `kpc`; empty for N-body units.
    pub length: String,
    /// Name of the mass unit.
    pub mass: String,
    /// Name of the time unit.
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
    /// GADGET's usual units: kpc, 1e10 solar masses, km/s; the time unit is kpc / (km/s) = 0.978 Gyr
    /// and G = 43007.1.
    pub fn gadget() -> Self {
        Self {
            length: "kpc".into(),
            mass: "1e10 Msun".into(),
            time: "0.978 Gyr".into(),
            gravitational_constant: 43007.1,
        }
    }
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
        let is = |found: Option<f64>, wanted: f64| (found.unwrap() / wanted - 1.0).abs() < 1e-9;
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
