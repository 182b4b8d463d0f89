//! How many devices share the steps.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How many devices to use at once. As text, a number from 1 up, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DeviceCount {
    /// This many, at least 1.
    These(u32),
    /// All of one kind, if that is faster than one.
    Auto,
}

impl DeviceCount {
    /// The default.
    pub const ONE: Self = Self::These(1);
    /// More than any machine has.
    const MOST: u32 = 256;

    /// As many as there are names, at least one.
    pub fn of_names(names: usize) -> Self {
        Self::These(names.clamp(1, Self::MOST as usize) as u32)
    }

    /// Whether it is one device on any machine.
    pub fn is_one(&self) -> bool {
        *self == Self::ONE
    }
}

impl Default for DeviceCount {
    fn default() -> Self {
        Self::ONE
    }
}

impl fmt::Display for DeviceCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::These(count) => count.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for DeviceCount {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let count = text.parse().ok().filter(|count| (1..=Self::MOST).contains(count));
        let allowed = format!("auto or a number from 1 to {}", Self::MOST);
        count.map(Self::These).ok_or_else(|| Error::value("--devices", text, allowed))
    }
}

impl TryFrom<String> for DeviceCount {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<DeviceCount> for String {
    fn from(count: DeviceCount) -> Self {
        count.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_numbers_from_one_on_or_auto() {
        assert_eq!("auto".parse::<DeviceCount>().unwrap(), DeviceCount::Auto);
        assert_eq!("2".parse::<DeviceCount>().unwrap(), DeviceCount::These(2));
        for wrong in ["0", "-1", "two", "", "257"] {
            let text = wrong.parse::<DeviceCount>().unwrap_err().to_string();
            assert!(text.contains("auto or a number from 1 to 256"), "{text}");
        }
        assert_eq!([0, 1, 3].map(DeviceCount::of_names), [1, 1, 3].map(DeviceCount::These));
        assert!(DeviceCount::default().is_one());
    }
}
