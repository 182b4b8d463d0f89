//! A second run next to the first one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The one setting in which a second run of the same bodies differs from the first. As text
/// SETTING=VALUE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Comparison {
    /// The Plummer softening length, >= 0, in the bodies' units.
    Softening(f64),
    /// The method of computing forces, by name.
    Method(String),
    /// The integrator, by name.
    Integrator(String),
}

impl FromStr for Comparison {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (setting, value) = text.split_once('=').unwrap_or((text, ""));
        match (setting.trim(), value.trim()) {
            (setting, "") => {
                let allowed = "SETTING=VALUE, such as softening=0 or method=direct";
                Err(Error::value("the second run", setting, allowed))
            }
            ("softening", value) => {
                let length =
                    value.parse().ok().filter(|length| (0.0..f64::INFINITY).contains(length));
                let wrong = || Error::value("the second run's softening", value, "a number >= 0");
                length.map(Self::Softening).ok_or_else(wrong)
            }
            ("method", name) => Ok(Self::Method(name.to_owned())),
            ("integrator", name) => Ok(Self::Integrator(name.to_owned())),
            (setting, _) => {
                let known = ["softening", "method", "integrator"];
                Err(Error::unknown("setting of a second run", setting, known))
            }
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Softening(length) => write!(f, "softening={length}"),
            Self::Method(name) => write!(f, "method={name}"),
            Self::Integrator(name) => write!(f, "integrator={name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_survive_as_text_and_wrong_ones_are_refused() {
        for text in ["softening=0", "softening=0.15", "method=tree", "integrator=hermite4"] {
            assert_eq!(text.parse::<Comparison>().unwrap().to_string(), text);
        }
        for (wrong, words) in [
            ("softening", "SETTING=VALUE"),
            ("softening=-1", ">= 0"),
            ("softening=nan", ">= 0"),
            ("softening=inf", ">= 0"),
            ("eps=1", "softening"),
        ] {
            let error = wrong.parse::<Comparison>().unwrap_err().to_string();
            assert!(error.contains(words), "{wrong}: {error}");
        }
    }
}
