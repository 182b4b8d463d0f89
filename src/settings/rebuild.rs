//! How often the tree is rebuilt.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, Result};

/// How often the tree is rebuilt while bodies move. As text, a number of steps from 1 up, or `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rebuild {
    /// At steps whose number is divisible by this, at least 1.
    Every(u64),
    /// As often as is fastest by the clock. Only the window offers it, since no two runs then have the same bits.
    Auto,
}

impl Rebuild {
    /// At every step.
    pub const EACH_STEP: Self = Self::Every(1);

    /// Whether a tree may serve more than one step.
    pub fn keeps(&self) -> bool {
        *self != Self::EACH_STEP
    }
}

impl Default for Rebuild {
    fn default() -> Self {
        Self::EACH_STEP
    }
}

impl fmt::Display for Rebuild {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(steps) => steps.fmt(f),
            Self::Auto => f.write_str("auto"),
        }
    }
}

impl FromStr for Rebuild {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let allowed = "1 (at each step), a larger number of steps, or auto (in the window)";
        text.parse().map(Self::Every).map_err(|_| Error::value("rebuild", text, allowed))
    }
}

/// The form in files: a number or a word.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u64),
    Word(String),
}

impl Serialize for Rebuild {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Every(steps) => Written::Number(*steps),
            Self::Auto => Written::Word(self.to_string()),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Rebuild {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Number(steps) => Ok(Self::Every(steps)),
            Written::Word(word) => word.parse().map_err(serde::de::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_number_or_auto_in_texts_and_files() {
        #[derive(PartialEq, Debug, Serialize, Deserialize)]
        struct File {
            rebuild: Rebuild,
        }
        for (rebuild, text) in [(Rebuild::Every(4), "4"), (Rebuild::Auto, "auto")] {
            assert_eq!(text.parse::<Rebuild>().unwrap(), rebuild);
            assert_eq!(rebuild.to_string(), text);
            let file = toml::to_string(&File { rebuild }).unwrap();
            assert_eq!(toml::from_str::<File>(&file).unwrap(), File { rebuild });
        }
        assert_eq!(toml::to_string(&File { rebuild: Rebuild::Every(4) }).unwrap(), "rebuild = 4\n");
        for wrong in ["often", "-1", "1.5", ""] {
            let text = wrong.parse::<Rebuild>().unwrap_err().to_string();
            assert!(text.contains("a larger number of steps, or auto"), "{text}");
        }
    }
}
