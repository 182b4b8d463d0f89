//! How the steps of a simulation become dispatches on a device.

use serde::{Deserialize, Serialize};

/// How the steps of a simulation become dispatches on a device. Forces without steps always come
/// from the tiled or untiled kernel.
///
/// In files, where it was first a boolean, `true` is [`Dispatch::OneWorkgroup`] and `false` is
/// [`Dispatch::Auto`]; the others are names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
#[non_exhaustive]
pub enum Dispatch {
    /// Fused if possible, otherwise ordinary; both give the same bits.
    #[default]
    Auto,
    /// Forces and integrator are separate kernels.
    Ordinary,
    /// The force kernel ends with the integrator: one dispatch per step.
    Fused,
    /// At most p * r bodies, which fit one workgroup, take many steps per dispatch; forces are
    /// summed in a different order.
    OneWorkgroup,
}

/// The forms in files.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected true, false, \"ordinary\" or \"fused\"")]
enum Written {
    OneWorkgroup(bool),
    Named(Named),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Named {
    Ordinary,
    Fused,
}

impl From<Written> for Dispatch {
    fn from(written: Written) -> Self {
        match written {
            Written::OneWorkgroup(yes) => Self::in_one_workgroup(yes),
            Written::Named(Named::Ordinary) => Self::Ordinary,
            Written::Named(Named::Fused) => Self::Fused,
        }
    }
}

impl From<Dispatch> for Written {
    fn from(dispatch: Dispatch) -> Self {
        match dispatch {
            Dispatch::Auto => Self::OneWorkgroup(false),
            Dispatch::OneWorkgroup => Self::OneWorkgroup(true),
            Dispatch::Ordinary => Self::Named(Named::Ordinary),
            Dispatch::Fused => Self::Named(Named::Fused),
        }
    }
}

impl Dispatch {
    /// One workgroup if `yes`, otherwise automatic.
    pub fn in_one_workgroup(yes: bool) -> Self {
        if yes { Self::OneWorkgroup } else { Self::Auto }
    }

    /// Whether the choice is left to the program.
    pub fn is_auto(&self) -> bool {
        *self == Self::Auto
    }

    /// Its name; [`Dispatch::Auto`] has none.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Auto => None,
            Self::Ordinary => Some("ordinary"),
            Self::Fused => Some("fused"),
            Self::OneWorkgroup => Some("one-workgroup"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_their_yes_and_no_and_every_way_comes_back() {
        let text = |way: Dispatch| serde_json::to_string(&way).unwrap();
        assert_eq!(text(Dispatch::Auto), "false");
        assert_eq!(text(Dispatch::OneWorkgroup), "true");
        assert_eq!(text(Dispatch::Ordinary), "\"ordinary\"");
        for way in [Dispatch::Auto, Dispatch::Ordinary, Dispatch::Fused, Dispatch::OneWorkgroup] {
            assert_eq!(serde_json::from_str::<Dispatch>(&text(way)).unwrap(), way);
        }
        let error = serde_json::from_str::<Dispatch>("\"joined\"").unwrap_err().to_string();
        assert!(error.contains("joined") && error.contains("or \"fused\""), "{error}");
    }
}
