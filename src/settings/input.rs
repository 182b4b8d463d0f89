//! Which bodies to start from.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::SnapshotChoice;
use crate::field::Potential;

/// What to start from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "options", derive(clap::Args), command(next_help_heading = "Bodies"))]
pub struct InputRequest {
    /// A built-in scene, a scene file (.toml) or a snapshot
    pub input: String,
    /// Number of bodies in a scene, such as 20000, 20k or 1.5M
    #[cfg_attr(feature = "options", arg(short, value_name = "N", value_parser = count))]
    pub n: Option<usize>,
    /// Seed for a scene's random numbers
    #[cfg_attr(feature = "options", arg(long))]
    pub seed: Option<u64>,
    /// Set one of the scene's parameters (see 'gravitile scenes NAME'); may be given more than once
    #[cfg_attr(feature = "options", arg(long = "set", value_name = "NAME=VALUE"))]
    pub set: Vec<Assignment>,
    /// Gravitational constant in a snapshot's units [default: what its units or its format say, or
    /// 1]
    #[cfg_attr(feature = "options", arg(long, value_name = "G"))]
    pub gravity: Option<f64>,
    /// An external potential that attracts the bodies, KIND:NAME=VALUE,..; may be given more than
    /// once, and then replaces the scene's. Kinds: point (mass, softening), plummer, hernquist and
    /// nfw (mass, scale), isothermal (speed, core), logarithmic (speed, core, flattening),
    /// miyamoto-nagai (mass, scale, height), tidal (xx, yy, zz, xy, xz, yz); x, y and z set a
    /// centre. In the units of the bodies
    #[cfg_attr(feature = "options", arg(long, value_name = "POTENTIAL"))]
    pub field: Vec<Potential>,
    /// Number a snapshot's bodies from 0, ignoring its ids, which may be negative or missing
    #[cfg_attr(feature = "options", arg(long))]
    pub renumber: bool,
    /// Which snapshot of a file that holds several: its number from 0, t=TIME for the nearest, or
    /// last [default: the first]
    #[cfg_attr(feature = "options", arg(long, value_name = "N|t=TIME|last"))]
    pub snapshot: Option<SnapshotChoice>,
    /// Take the bodies of a periodic or comoving snapshot as isolated ones in empty space
    #[cfg_attr(feature = "options", arg(long))]
    pub isolated: bool,
}

impl InputRequest {
    /// A scene or file without changes.
    pub fn named(input: impl Into<String>) -> Self {
        Self { input: input.into(), ..Self::default() }
    }
}

/// A number of bodies, at least 1: 20000, 20k, 1.5M or 1e6.
///
/// # Errors
///
/// Anything else, in words for the person who typed it.
pub fn count(text: &str) -> Result<usize, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'm' | 'M')) => (&text[..at], 1_000_000),
        _ => (text, 1),
    };
    let digits = digits.replace('_', "");
    let exact = digits.parse::<usize>().ok().and_then(|number| number.checked_mul(factor));
    let number = exact.or_else(|| whole(digits.parse::<f64>().ok()? * factor as f64));
    number.filter(|number| *number > 0).ok_or_else(|| {
        "expected a whole number of bodies from 1 on, such as 20000, 20k, 1.5M or 1e6".to_owned()
    })
}

/// The whole number that `number` is but for rounding: 1.001k is 1001.
fn whole(number: f64) -> Option<usize> {
    let rounded = number.round();
    let is_whole = (number - rounded).abs() <= 1e-12 * rounded && rounded < 2f64.powi(53);
    is_whole.then_some(rounded as usize)
}

/// A scene parameter and its value; as text NAME=VALUE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Assignment {
    /// The parameter, preceded by its part's name if there are several parts.
    pub name: String,
    /// Its value; the scene knows the range.
    pub value: f64,
}

impl FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) =
            text.split_once('=').ok_or("expected NAME=VALUE, such as mass_ratio=0.5")?;
        let number = value.trim().parse::<f64>();
        let value = number.map_err(|_| format!("'{value}' is not a number"))?;
        Ok(Self { name: name.trim().to_owned(), value })
    }
}

impl std::fmt::Display for Assignment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests are sent to a page's worker as JSON.
    #[test]
    fn numbers_survive_json_to_the_last_bit() {
        for gravity in [-0.24807142555205441, 43007.1, 4.300917270e-6, 0.1 + 0.2, f64::MIN_POSITIVE]
        {
            let request = InputRequest { gravity: Some(gravity), ..InputRequest::default() };
            let text = serde_json::to_string(&request).unwrap();
            let read: InputRequest = serde_json::from_str(&text).unwrap();
            assert_eq!(read.gravity.map(f64::to_bits), Some(gravity.to_bits()), "{text}");
        }
    }

    #[test]
    fn counts_and_assignments() {
        assert_eq!(count("20k"), Ok(20_000));
        assert_eq!(count("1M"), Ok(1_000_000));
        assert_eq!(count("1_024"), Ok(1024));
        assert_eq!((count("1e6"), count("1.5M")), (Ok(1_000_000), Ok(1_500_000)));
        assert_eq!(count("1.001k"), Ok(1001), "though 1.001 x 1000 is less in f64");
        for bad in [
            "",
            "0",
            "k",
            "-5",
            "1.5",
            "1.2345k",
            "nan",
            "inf",
            "1e99",
            "99999999999999999999",
            "9999999999999999999M",
        ] {
            assert!(count(bad).is_err(), "{bad}");
        }
        let q = Assignment { name: "q".to_owned(), value: 1.5 };
        assert_eq!("q = 1.5".parse(), Ok(q.clone()));
        assert_eq!(String::from(q), "q=1.5");
        assert!(Assignment::from_str("q").is_err() && Assignment::from_str("q=x").is_err());
    }
}
