//! How the steps of a simulation become dispatches on a device.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

/// How the steps of a simulation become dispatches on a device. Forces without steps always come from the tiled or
/// untiled kernel.
///
/// In files, where it was first a boolean, `true` is [`Dispatch::OneWorkgroup`] and `false` is [`Dispatch::Auto`]; the
/// others are names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dispatch {
    /// Fused if possible, otherwise ordinary; both give the same bits.
    #[default]
    Auto,
    /// Forces and integrator are separate kernels.
    Ordinary,
    /// The force kernel ends with the integrator: one dispatch per step.
    Fused,
    /// At most p * r bodies, which fit one workgroup, take many steps per dispatch; forces are summed in a
    /// different order.
    OneWorkgroup,
}

/// The variants that files name.
const NAMED: [(Dispatch, &str); 2] = [(Dispatch::Ordinary, "ordinary"), (Dispatch::Fused, "fused")];

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
            Self::OneWorkgroup => Some("one-workgroup"),
            other => NAMED.iter().find(|(way, _)| *way == other).map(|(_, name)| *name),
        }
    }
}

impl Serialize for Dispatch {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => into.serialize_bool(false),
            Self::OneWorkgroup => into.serialize_bool(true),
            named => into.serialize_str(named.name().unwrap_or_default()),
        }
    }
}

impl<'de> Deserialize<'de> for Dispatch {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Way;

        impl Visitor<'_> for Way {
            type Value = Dispatch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, \"ordinary\" or \"fused\"")
            }

            fn visit_bool<E: de::Error>(self, yes: bool) -> Result<Dispatch, E> {
                Ok(Dispatch::in_one_workgroup(yes))
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Dispatch, E> {
                let way = NAMED.iter().find(|(_, known)| *known == name);
                let unknown = || E::invalid_value(de::Unexpected::Str(name), &self);
                way.map(|(way, _)| *way).ok_or_else(unknown)
            }
        }

        from.deserialize_any(Way)
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
