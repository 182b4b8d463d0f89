//! Checked values of a scene file, with errors that name the line.

use std::ops::Range;
use std::path::Path;

use glam::DVec3;
use toml::Spanned;

use crate::error::{Error, Result, nearest};
use crate::units::{Measure, Quantity};

/// The range of a number.
#[derive(Clone, Copy)]
pub(super) enum Allowed {
    Any,
    NotNegative,
    Positive,
    /// From 0 to 1.
    Strength,
}

/// The text being read; turns positions into lines.
pub(super) struct Origin<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Origin<'_> {
    /// An error about the text at `span`, with its line.
    pub fn error(&self, span: Range<usize>, problem: impl std::fmt::Display) -> Error {
        Error::line(self.path, self.text, span.start, problem)
    }

    /// The number of `key`, or `default` if it is missing.
    pub fn number(
        &self,
        key: &str,
        value: &Option<Spanned<f64>>,
        default: f64,
        allowed: Allowed,
    ) -> Result<f64> {
        Ok(self.optional(key, value, allowed)?.unwrap_or(default))
    }

    /// The number of `key`, if present.
    pub fn optional(
        &self,
        key: &str,
        value: &Option<Spanned<f64>>,
        allowed: Allowed,
    ) -> Result<Option<f64>> {
        let Some(spanned) = value else { return Ok(None) };
        let value = *spanned.get_ref();
        let (good, words) = match allowed {
            Allowed::Any => (true, "a finite number"),
            Allowed::NotNegative => (value >= 0.0, "a number of at least 0"),
            Allowed::Positive => (value > 0.0, "a number above 0"),
            Allowed::Strength => ((0.0..=1.0).contains(&value), "a number from 0 to 1"),
        };
        match good && value.is_finite() {
            true => Ok(Some(value)),
            false => {
                Err(self.error(spanned.span(), Error::value(format!("'{key}'"), value, words)))
            }
        }
    }

    /// The vector of `key`, or zero if it is missing.
    pub fn vector(&self, key: &str, value: &Option<Spanned<[f64; 3]>>) -> Result<DVec3> {
        let Some(spanned) = value else { return Ok(DVec3::ZERO) };
        let vector = DVec3::from_array(*spanned.get_ref());
        match vector.is_finite() {
            true => Ok(vector),
            false => {
                let problem = Error::value(format!("'{key}'"), vector, "three finite numbers");
                Err(self.error(spanned.span(), problem))
            }
        }
    }

    /// The unit of `key`, which measures `of`, or a plain N-body unit if it is missing. Names of
    /// unknown units are shown with numbers, unless they look like a misspelt one that is known.
    pub fn measure(
        &self,
        key: &str,
        value: &Option<Spanned<String>>,
        of: Quantity,
    ) -> Result<Measure> {
        let Some(spanned) = value else { return Ok(Measure::default()) };
        let measure = Measure::parse(spanned.get_ref()).ok_or_else(|| {
            let problem = Error::value(
                format!("the unit '{key}'"),
                format!("\"{}\"", spanned.get_ref()),
                "a name with or without a positive factor, \"3.5 kpc\" say",
            );
            self.error(spanned.span(), problem)
        })?;
        let known = of.names().collect::<Vec<_>>().join(", ");
        match measure.si(of).is_none() && nearest(&measure.name, &known).is_some() {
            true => {
                let problem = Error::Unknown { kind: "unit", name: measure.name, known };
                Err(self.error(spanned.span(), problem))
            }
            false => Ok(measure),
        }
    }
}
