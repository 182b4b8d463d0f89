//! How precisely pairs and sums are computed: the tiers of `--precision`.

use crate::error::{Error, Result};

/// A tier of precision. Which tiers there are depends on the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// f32 positions and pairs.
    Single,
    /// Positions and velocities as pairs of f32 with differences exact to f32, pairs in f32, sums in
    /// pairs of f32: what GRAPE-6 and Sapporo computed with, nearly.
    DoubleSingle,
    /// f64 throughout.
    Double,
}

impl Precision {
    /// All tiers with their names, the coarsest first.
    pub const ALL: [(Precision, &'static str); 3] = [
        (Precision::Single, "single"),
        (Precision::DoubleSingle, "double-single"),
        (Precision::Double, "double"),
    ];

    /// What of a force, relative to it, may be noise: some times the rms error of a body's force, from
    /// `gravitile check` and the tables of docs/direct.md. In [`Precision::Single`] near neighbours count, whose
    /// differences are coarse. 0 for [`Precision::Double`], with which no step comes that far.
    pub fn force_error(self) -> f64 {
        match self {
            Self::Single => 3e-5,
            Self::DoubleSingle => 1.5e-7,
            Self::Double => 0.0,
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
