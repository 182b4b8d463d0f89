//! Where and how forces are computed: the names that users choose from.

use serde::{Deserialize, Serialize};

use super::Method;
use crate::error::{Result, by_name};

/// Where forces are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Placement {
    /// All cores of the processor.
    Cpu,
    /// A graphics adapter.
    Gpu,
}

/// The name that leaves the method to the program.
pub(super) const AUTO: &str = "auto";

impl Method {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(method, ..)| *method == self).map_or(AUTO, |(_, name, _)| name)
    }

    /// The method with this name; `auto` gives `None`.
    ///
    /// # Errors
    /// A name that no method has.
    pub fn from_name(name: &str) -> Result<Option<Self>> {
        let methods = Self::ALL.iter().map(|(method, name, _)| (Some(*method), *name));
        let all: Vec<_> = std::iter::once((None, AUTO)).chain(methods).collect();
        by_name("method", name, &all)
    }

    /// The name of a requested method; `auto` for `None`.
    pub fn name_of(requested: Option<Self>) -> &'static str {
        requested.map_or(AUTO, Self::name)
    }
}

/// Back end and method in one word, for `--engine`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EngineKind {
    /// A graphics adapter or the CPU, by the number of bodies ([`crate::sim::choose()`]).
    #[default]
    Auto,
    /// A graphics adapter.
    Gpu,
    /// SIMD on all cores.
    Cpu,
    /// Scalar f64 on all cores: slow but evidently correct.
    Reference,
}

const KINDS: [(EngineKind, &str); 4] = [
    (EngineKind::Auto, AUTO),
    (EngineKind::Gpu, "gpu"),
    (EngineKind::Cpu, "cpu"),
    (EngineKind::Reference, "reference"),
];

/// The names of all engines, `auto` first.
pub fn engine_names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(_, name)| *name)
}

impl EngineKind {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// The engine with this name.
    ///
    /// # Errors
    /// An unknown name, with all known ones.
    pub fn from_name(name: &str) -> Result<Self> {
        by_name("engine", name, &KINDS)
    }

    /// Where it computes; `auto`, before it is resolved, counts as the processor.
    pub fn placement(self) -> Placement {
        if self == Self::Gpu { Placement::Gpu } else { Placement::Cpu }
    }

    /// Its default method.
    pub fn method(self) -> Method {
        if self == Self::Reference { Method::Reference } else { Method::Direct }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_have_names_and_auto_is_none_of_them() {
        for (method, name, about) in Method::ALL {
            assert_eq!(Method::from_name(name).unwrap(), Some(*method));
            assert_eq!((method.name(), Method::name_of(Some(*method))), (*name, *name));
            assert!(!about.is_empty());
        }
        assert_eq!(Method::from_name(Method::name_of(None)).unwrap(), None);
        let text = Method::from_name("warp").unwrap_err().to_string();
        assert!(text.contains("no method named 'warp'"), "{text}");
        assert!(text.contains("auto, direct, ") && text.contains("reference"), "{text}");
    }
}
