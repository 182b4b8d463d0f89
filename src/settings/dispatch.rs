//! How the steps of a simulation become dispatches on a device.

use serde::{Deserialize, Serialize};

/// How the steps of a simulation become dispatches on a device. Forces without steps always come
/// from the tiled or untiled kernel.
///
/// In files, where it was first a boolean, `true` is [`Dispatch::OneWorkgroup`] and `false` is
/// [`Dispatch::Auto`]; the others are names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
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
    Name(String),
}

impl TryFrom<Written> for Dispatch {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let name = match written {
            Written::OneWorkgroup(yes) => return Ok(Self::in_one_workgroup(yes)),
            Written::Name(name) => name,
        };
        let mut named = [Self::Ordinary, Self::Fused].into_iter();
        let found = named.find(|dispatch| dispatch.name() == Some(name.as_str()));
        let expected = "expected true, false, \"ordinary\" or \"fused\"";
        found.ok_or_else(|| format!("invalid value: string {name:?}, {expected}"))
    }
}

impl From<Dispatch> for Written {
    fn from(dispatch: Dispatch) -> Self {
        match dispatch.name() {
            Some(name) if dispatch != Dispatch::OneWorkgroup => Self::Name(name.to_owned()),
            other => Self::OneWorkgroup(other.is_some()),
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
        let text = |dispatch: Dispatch| serde_json::to_string(&dispatch).unwrap();
        assert_eq!(text(Dispatch::Auto), "false");
        assert_eq!(text(Dispatch::OneWorkgroup), "true");
        assert_eq!(text(Dispatch::Ordinary), "\"ordinary\"");
        for dispatch in
            [Dispatch::Auto, Dispatch::Ordinary, Dispatch::Fused, Dispatch::OneWorkgroup]
        {
            assert_eq!(serde_json::from_str::<Dispatch>(&text(dispatch)).unwrap(), dispatch);
        }
        let error = serde_json::from_str::<Dispatch>("\"joined\"").unwrap_err().to_string();
        assert!(error.contains("joined") && error.contains("or \"fused\""), "{error}");
    }
}
