//! How long the steps of all bodies are: a number, or chosen from their accelerations.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::values::{NumberOrWord, as_number_or_text};
use crate::error::{Error, Result};

/// The step of all bodies. As text, a number, `auto`, or `auto:` and an accuracy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "NumberOrWord<f64>", into = "NumberOrWord<f64>")]
#[non_exhaustive]
pub enum StepLength {
    /// Each step has this length.
    Fixed(f64),
    /// Each step is at most this, > 0, times the least sqrt(eps / |a|) of all bodies.
    Auto(f64),
}

/// The accuracy that `auto` stands for: on a cold collapse the energy errs as with fixed steps of
/// the same number.
const DEFAULT_ACCURACY: f64 = 0.1;

impl StepLength {
    /// The length, if it is fixed.
    pub fn fixed(self) -> Option<f64> {
        match self {
            Self::Fixed(dt) => Some(dt),
            Self::Auto(_) => None,
        }
    }

    /// The accuracy of a step that varies.
    pub fn accuracy(self) -> Option<f64> {
        match self {
            Self::Fixed(_) => None,
            Self::Auto(accuracy) => Some(accuracy),
        }
    }
}

/// Checks the accuracy of a step that varies.
///
/// # Errors
/// Not a number, infinite, or not greater than 0.
pub(crate) fn check_accuracy(accuracy: f64) -> Result<()> {
    if accuracy.is_finite() && accuracy > 0.0 {
        return Ok(());
    }
    let allowed = "finite and greater than 0, such as auto:0.1";
    Err(Error::value("the accuracy of --dt auto", accuracy, allowed))
}

impl fmt::Display for StepLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(dt) => dt.fmt(f),
            Self::Auto(accuracy) => write!(f, "auto:{accuracy}"),
        }
    }
}

impl FromStr for StepLength {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || {
            let allowed = "a number, auto, or auto:ETA with a number greater than 0";
            Error::value("--dt", text, allowed)
        };
        match text.strip_prefix("auto") {
            Some("") => Ok(Self::Auto(DEFAULT_ACCURACY)),
            Some(rest) => {
                let number = rest.strip_prefix(':').and_then(|number| number.parse().ok());
                let accuracy = number.ok_or_else(unknown)?;
                check_accuracy(accuracy)?;
                Ok(Self::Auto(accuracy))
            }
            None => text.parse().map(Self::Fixed).map_err(|_| unknown()),
        }
    }
}

as_number_or_text!(StepLength: Fixed(f64));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_or_auto_in_texts_and_files() {
        #[derive(PartialEq, Debug, Serialize, Deserialize)]
        struct File {
            dt: StepLength,
        }
        let (fixed, auto) = (StepLength::Fixed, StepLength::Auto);
        for (text, dt, file) in [
            ("0.01", fixed(0.01), "dt = 0.01\n"),
            ("-2", fixed(-2.0), "dt = -2.0\n"),
            ("auto", auto(0.1), "dt = \"auto:0.1\"\n"),
            ("auto:0.025", auto(0.025), "dt = \"auto:0.025\"\n"),
        ] {
            assert_eq!(text.parse::<StepLength>().unwrap(), dt);
            assert_eq!(dt.to_string().parse::<StepLength>().unwrap(), dt);
            assert_eq!(toml::to_string(&File { dt }).unwrap(), file);
            assert_eq!(toml::from_str::<File>(file).unwrap(), File { dt });
        }
        assert_eq!(toml::from_str::<File>("dt = 2").unwrap(), File { dt: fixed(2.0) });
        for wrong in ["auto:0", "auto:-1", "auto:nan", "auto:inf"] {
            let text = wrong.parse::<StepLength>().unwrap_err().to_string();
            assert!(text.contains("finite and greater than 0") && !text.contains('\n'), "{text}");
            assert!(toml::from_str::<File>(&format!("dt = \"{wrong}\"")).is_err());
        }
        for wrong in ["auto:x", "auto:", "auto0.1", "automatic", "", "short"] {
            let text = wrong.parse::<StepLength>().unwrap_err().to_string();
            assert!(text.contains("a number, auto, or auto:ETA"), "{text}");
        }
    }
}
