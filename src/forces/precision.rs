//! The precision of pairs and sums: the values of `--precision`.

use crate::error::{Result, by_name};

/// A tier of precision. Not every engine has all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Precision {
    /// f32 positions and pairs.
    Single,
    /// Positions and velocities as pairs of f32 whose differences are exact to f32, interactions in
    /// f32, sums in pairs of f32: nearly as in GRAPE-6 and Sapporo. More precise with few sources
    /// ([`Precision::refines`]).
    DoubleSingle,
    /// f64 throughout.
    Double,
}

/// Relative errors of a body's forces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Error of the acceleration, relative to it or, where forces cancel, to the mean acceleration.
    pub acceleration: f64,
    /// Relative error of the jerk.
    pub jerk: f64,
}

impl Precision {
    /// All precisions with their names, coarsest first.
    pub const ALL: [(Precision, &'static str); 3] = [
        (Precision::Single, "single"),
        (Precision::DoubleSingle, "double-single"),
        (Precision::Double, "double"),
    ];

    /// Whether accelerations and jerks from this many sources are computed in pairs of f32
    /// throughout, not only summed in them: double-single with up to 4,096. Among few bodies one
    /// pair may hold so much of the energy that f32 rounding of its attraction matters; among many
    /// it does not. And few sources leave a GPU idle.
    pub fn refines(self, sources: usize) -> bool {
        self == Self::DoubleSingle && sources <= 4096
    }

    /// The part of forces from this many sources that may be noise: a few times the rms error of a
    /// body's force, from `gravitile check` and the tables of docs/direct.md. In
    /// [`Precision::Single`] near neighbours dominate, whose differences are coarse. 0 in
    /// [`Precision::Double`], whose noise no step reaches.
    pub fn noise(self, sources: usize) -> Noise {
        // The relative error of a jerk is a few times that of an acceleration.
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

    /// The precision with this name.
    ///
    /// # Errors
    /// An unknown name, with all known ones.
    pub fn from_name(name: &str) -> Result<Self> {
        by_name("precision", name, &Self::ALL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for (precision, name) in Precision::ALL {
            assert_eq!((precision.name(), Precision::from_name(name).unwrap()), (name, precision));
        }
        let text = Precision::from_name("half").unwrap_err().to_string();
        assert!(text.contains("'half'") && text.contains("double-single"), "{text}");
    }
}
