//! The methods of an engine, and the meaning of combinations of engine and method.

use super::kind::AUTO;
use super::{ENGINES, EngineKind, Method, Place};
use crate::error::{Error, Result};
use crate::messages::any_of;

impl EngineKind {
    /// The methods of this engine.
    pub fn methods(self) -> Vec<Method> {
        match self {
            Self::Reference => vec![Method::Reference],
            Self::Auto => methods(&[Place::Cpu, Place::Gpu]),
            kind => methods(&[kind.place()]),
        }
    }

    /// The methods to choose from with this engine, except the one that is also the name of an
    /// engine.
    pub fn methods_beside(self) -> Vec<Method> {
        let beside = |method: &Method| self == Self::Reference || *method != Method::Reference;
        self.methods().into_iter().filter(beside).collect()
    }

    /// The engine and method that result from this engine and the method `wanted` (`None`: the
    /// default). `cpu` with `reference` is the engine `reference`, and `auto` with a method that
    /// only one place has is that place.
    ///
    /// # Errors
    /// A method that the engine does not have, with those that it has.
    pub fn by(self, wanted: Option<Method>) -> Result<(Self, Method)> {
        let Some(method) = wanted else { return Ok((self, self.method())) };
        let has = self.methods();
        if !has.contains(&method) {
            let names: Vec<_> =
                std::iter::once(AUTO).chain(has.into_iter().map(Method::name)).collect();
            let allowed = format!("{} with the engine {}", any_of(&names), self.name());
            return Err(Error::value("the method", method.name(), allowed));
        }
        let is_at = |place| methods(&[place]).contains(&method);
        let kind = match (self, is_at(Place::Cpu), is_at(Place::Gpu)) {
            _ if method == Method::Reference => Self::Reference,
            (Self::Auto, true, false) => Self::Cpu,
            (Self::Auto, false, true) => Self::Gpu,
            (kind, ..) => kind,
        };
        Ok((kind, method))
    }
}

/// The methods that at least one of `places` has, in the usual order.
fn methods(places: &[Place]) -> Vec<Method> {
    let has = |method: &Method| {
        let is_listed = |place: &Place| {
            ENGINES.iter().any(|entry| (entry.place, entry.method) == (*place, *method))
        };
        places.iter().any(is_listed)
    };
    Method::ALL.iter().map(|(method, ..)| *method).filter(has).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [EngineKind; 4] =
        [EngineKind::Auto, EngineKind::Gpu, EngineKind::Cpu, EngineKind::Reference];

    #[test]
    fn engine_without_method_uses_its_default() {
        for kind in KINDS {
            assert_eq!(kind.by(None).unwrap(), (kind, kind.method()));
            assert_eq!(kind.by(Some(kind.method())).unwrap(), (kind, kind.method()));
        }
        assert_eq!(EngineKind::Cpu.methods_beside(), [Method::Direct, Method::Tree]);
        assert_eq!(EngineKind::Reference.methods_beside(), [Method::Reference]);
        let reference = Some(Method::Reference);
        for kind in [EngineKind::Auto, EngineKind::Cpu] {
            let (kind, method) = kind.by(reference).unwrap();
            assert_eq!((kind, method), (EngineKind::Reference, Method::Reference));
        }
    }

    #[test]
    fn error_for_missing_method_lists_engine_methods() {
        let refused = |kind: EngineKind, method| kind.by(Some(method)).unwrap_err().to_string();
        assert_eq!(
            refused(EngineKind::Gpu, Method::Reference),
            "the method is reference, but must be auto, direct or tree with the engine gpu"
        );
        assert_eq!(
            refused(EngineKind::Reference, Method::Direct),
            "the method is direct, but must be auto or reference with the engine reference"
        );
    }
}
