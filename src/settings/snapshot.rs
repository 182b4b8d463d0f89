//! Which snapshot of a file that holds several.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// One of the snapshots of a file that may hold several, such as NEMO's; as text `3`, `t=2.5` or
/// `last`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum SnapshotChoice {
    /// By its number in the file, from 0.
    Number(u64),
    /// The one whose time is nearest to this, which must not lie outside the times of the file.
    Time(f64),
    /// The last one.
    Last,
}

impl SnapshotChoice {
    /// The index of the chosen one among snapshots of these times, at least one. `what` names the
    /// choice in errors.
    ///
    /// # Errors
    /// [`Error::Value`] for a number or a time that they do not have.
    pub fn index(self, times: &[f64], what: &str) -> Result<usize> {
        let last = times.len().saturating_sub(1);
        match self {
            Self::Last => Ok(last),
            Self::Number(number) => {
                let found = usize::try_from(number).ok().filter(|number| *number <= last);
                found.ok_or_else(|| {
                    let allowed = match last {
                        0 => "0: there is one snapshot".to_owned(),
                        last => format!("from 0 to {last}"),
                    };
                    Error::value(what, number, allowed)
                })
            }
            Self::Time(time) => {
                let [least, most] = [f64::min, f64::max]
                    .map(|of| times.iter().copied().filter(|t| !t.is_nan()).fold(f64::NAN, of));
                // Times are typed in decimals, and files may have them in f32.
                let margin = 1e-6 * least.abs().max(most.abs());
                if !(least - margin <= time && time <= most + margin) {
                    let allowed = match times {
                        [only] => format!("{only}, the time of its only snapshot"),
                        _ => format!("a time from {least} to {most}, as its snapshots have"),
                    };
                    return Err(Error::value(what, format!("t={time}"), allowed));
                }
                let away = |k: &usize| (times[*k] - time).abs();
                let nearest = (0..times.len()).min_by(|a, b| away(a).total_cmp(&away(b)));
                Ok(nearest.unwrap_or(0))
            }
        }
    }
}

impl FromStr for SnapshotChoice {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let time = |time: &str| time.trim().parse().ok().filter(|time: &f64| time.is_finite());
        let choice = match text.trim() {
            "last" => Some(Self::Last),
            text => match text.split_once('=') {
                Some((name, value)) if name.trim() == "t" => time(value).map(Self::Time),
                _ => text.parse().ok().map(Self::Number),
            },
        };
        choice.ok_or_else(|| "expected a number from 0, a time such as t=2.5, or last".to_owned())
    }
}

impl fmt::Display for SnapshotChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Time(time) => write!(f, "t={time}"),
            Self::Last => f.write_str("last"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_and_written() {
        for (text, choice) in [
            ("0", SnapshotChoice::Number(0)),
            ("18446744073709551615", SnapshotChoice::Number(u64::MAX)),
            ("t=-2.5", SnapshotChoice::Time(-2.5)),
            ("last", SnapshotChoice::Last),
        ] {
            assert_eq!(text.parse(), Ok(choice));
            assert_eq!(choice.to_string(), text);
        }
        for bad in ["", "-1", "1.5", "t=", "t=nan", "t=inf", "time=3", "first", "2 3"] {
            assert!(bad.parse::<SnapshotChoice>().is_err(), "{bad}");
        }
    }
}
