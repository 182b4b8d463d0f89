//! What one unit of length, mass and time is worth outside. Inside, G = 1.

/// What one unit is worth outside: `factor` times `name`, 3.5 kpc say.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// How many of the named units one N-body unit is.
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
    /// Reads `3.5 kpc`, or `kpc` for a factor of 1. `None` where the factor is not finite and
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

    /// A unit from any text: what cannot be read as a factor and a name is a name, of a factor of 1.
    pub fn of(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|| Self { factor: 1.0, name: text.trim().to_owned() })
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

/// Names and worth of the units of a scene or snapshot, for display and for converting a snapshot
/// whose own gravitational constant is not 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Units {
    /// Name of the length unit, `kpc` say; empty for N-body units.
    pub length: String,
    /// Name of the mass unit.
    pub mass: String,
    /// Name of the time unit.
    pub time: String,
    /// The gravitational constant in the numbers as they stand (1 in N-body units).
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
}
