//! Errors of forces relative to the reference.

use glam::DVec3;

use crate::error::Result;
use crate::forces::direct::Reference;
use crate::forces::{ForceEngine, Forces, Outputs, Sinks, Sources};

/// What [`Reference`] gives.
///
/// # Errors
///
/// Those of [`ForceEngine::evaluate`].
pub(super) fn reference(
    sources: &Sources,
    sinks: &Sinks,
    softening: f64,
    outputs: &Outputs,
) -> Result<Forces> {
    let mut right = Forces::default();
    Reference::default().evaluate_from(sources, sinks, softening, outputs, &mut right)?;
    Ok(right)
}

/// Maximum and root-mean-square relative error over all sinks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ErrorStats {
    /// Largest error; infinite if a value is NaN.
    pub worst: f64,
    /// Root of the mean square.
    pub rms: f64,
}

/// If the forces on a sink nearly cancel, its error is taken relative to this fraction of the rms
/// force of all sinks, because rounding errors are relative to the terms, not to their sum.
const FLOOR: f64 = 0.01;

impl ErrorStats {
    fn of(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let n = pairs.clone().count().max(1) as f64;
        let scale = (pairs.clone().map(|(_, size)| size * size).sum::<f64>() / n).sqrt();
        let (mut worst, mut squares) = (0.0f64, 0.0);
        for (difference, size) in pairs {
            let error = if difference == 0.0 { 0.0 } else { difference / size.max(FLOOR * scale) };
            let error = if error.is_nan() { f64::INFINITY } else { error };
            worst = worst.max(error);
            squares += error * error;
        }
        Self { worst, rms: (squares / n).sqrt() }
    }
}

/// Errors of accelerations, |a - a_ref| / |a_ref|. Slices of different lengths count as all wrong.
pub fn acceleration_errors(found: &[DVec3], reference: &[DVec3]) -> ErrorStats {
    if found.len() != reference.len() {
        return ErrorStats { worst: f64::INFINITY, rms: f64::INFINITY };
    }
    ErrorStats::of(found.iter().zip(reference).map(|(a, b)| ((*a - *b).length(), b.length())))
}

/// Errors of potentials, |phi - phi_ref| / |phi_ref|. Slices of different lengths count as all
/// wrong.
pub fn potential_errors(found: &[f64], reference: &[f64]) -> ErrorStats {
    if found.len() != reference.len() {
        return ErrorStats { worst: f64::INFINITY, rms: f64::INFINITY };
    }
    ErrorStats::of(found.iter().zip(reference).map(|(a, b)| ((a - b).abs(), b.abs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_statistics_detect_wrong_forces() {
        let right = [DVec3::X, DVec3::Y * 2.0];
        assert_eq!(acceleration_errors(&right, &right), ErrorStats::default());
        let off = [DVec3::X, DVec3::Y * 2.2];
        let stats = acceleration_errors(&off, &right);
        assert!((stats.worst - 0.1).abs() < 1e-12 && (stats.rms - 0.1 / 2f64.sqrt()).abs() < 1e-12);
        let nan = [DVec3::X, DVec3::splat(f64::NAN)];
        assert_eq!(acceleration_errors(&nan, &right).worst, f64::INFINITY);
        assert_eq!(acceleration_errors(&right[..1], &right).worst, f64::INFINITY);
        assert_eq!(potential_errors(&[0.0], &[-1.0]).worst, 1.0);
    }

    #[test]
    fn nonzero_force_against_zero_reference_is_infinite_error() {
        assert_eq!(acceleration_errors(&[DVec3::ZERO], &[DVec3::ZERO]).worst, 0.0);
        assert_eq!(acceleration_errors(&[DVec3::X], &[DVec3::ZERO]).worst, f64::INFINITY);
    }
}
