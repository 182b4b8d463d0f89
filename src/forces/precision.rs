//! How precisely pairs and sums are computed: the tiers of `--precision`.

use crate::error::{Error, Result};

/// A tier of precision. Which tiers there are depends on the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Precision {
    /// f32 positions and pairs.
    Single,
    /// Positions and velocities as pairs of f32 with differences exact to f32, interactions in f32, sums in
    /// pairs of f32: what GRAPE-6 and Sapporo computed with, nearly. Better with few sources
    /// ([`Precision::refines`]).
    DoubleSingle,
    /// f64 throughout.
    Double,
}

/// Relative errors of a body's forces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Of its acceleration, or of the mean acceleration where forces cancel.
    pub acceleration: f64,
    /// Of its jerk.
    pub jerk: f64,
}

impl Precision {
    /// All tiers with their names, the coarsest first.
    pub const ALL: [(Precision, &'static str); 3] = [
        (Precision::Single, "single"),
        (Precision::DoubleSingle, "double-single"),
        (Precision::Double, "double"),
    ];

    /// Whether accelerations and jerks by so many sources are pairs of f32 throughout, not only their sums:
    /// double-single with up to 4,096. One pair of few bodies holds so much of their energy that what f32
    /// rounds in its attraction shows; of many it does not. And few sources leave a GPU idle.
    pub fn refines(self, sources: usize) -> bool {
        self == Self::DoubleSingle && sources <= 4096
    }

    /// What of forces by so many sources may be noise: some times the rms error of a body's force, from
    /// `gravitile check` and the tables of docs/direct.md. In [`Precision::Single`] near neighbours count, whose
    /// differences are coarse. Nothing in [`Precision::Double`], with which no step comes that far.
    pub fn noise(self, sources: usize) -> Noise {
        // A jerk's relative error is some times that of an acceleration.
        let of = |acceleration| Noise { acceleration, jerk: 4.0 * acceleration };
        match self {
            Self::Single => of(3e-5),
            Self::DoubleSingle if self.refines(sources) => of(1e-13),
            Self::DoubleSingle => of(1.5e-7),
            Self::Double => of(0.0),
        }
    }

    /// The name on the command line and in files.
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The tier of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map(|(precision, _)| *precision).ok_or_else(|| Error::Unknown {
            kind: "precision",
            name: name.to_owned(),
            known: Self::ALL.map(|(_, name)| name).join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for (precision, name) in Precision::ALL {
            assert_eq!((precision.name(), Precision::from_name(name).unwrap()), (name, precision));
        }
        let text = Precision::from_name("half").unwrap_err().to_string();
        assert!(text.contains("'half'") && text.contains("double-single"), "{text}");
    }
}
