//! Statistics of timing samples (median, spread, and whether the machine was steady) and of errors
//! of forces.

use glam::DVec3;

use crate::error::Result;
use crate::forces::direct::Reference;
use crate::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources};

/// Values by key, in the order in which keys first appear.
pub fn grouped<K: PartialEq, V>(rows: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in rows {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Order statistics of a set of samples, all in the samples' unit (seconds for times).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of samples, at least 1.
    pub count: usize,
    /// Smallest.
    pub min: f64,
    /// Lower quartile.
    pub lower: f64,
    /// Median.
    pub median: f64,
    /// Upper quartile.
    pub upper: f64,
    /// Largest.
    pub max: f64,
}

impl Summary {
    /// The summary of `samples`; `None` if there are none, or if one is not finite.
    pub fn of(samples: &[f64]) -> Option<Self> {
        if samples.is_empty() || samples.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            count: sorted.len(),
            min: sorted[0],
            lower: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            upper: quantile(&sorted, 0.75),
            max: sorted[sorted.len() - 1],
        })
    }

    /// Interquartile range relative to the median: 0 if all samples are equal.
    pub fn spread(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.upper - self.lower) / self.median.abs() }
    }
}

/// The quantile `at` (0 to 1) of `sorted`, with linear interpolation.
fn quantile(sorted: &[f64], at: f64) -> f64 {
    let position = at * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// Whether the machine behaved the same from the first sample to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Steadiness {
    /// Median of the last third divided by that of the first, minus 1: positive if it became
    /// slower. 0 with fewer than [`Steadiness::FEWEST`] samples.
    pub drift: f64,
    /// [`Summary::spread`] after removing the drift.
    pub noise: f64,
}

impl Steadiness {
    /// The fewest samples in which a drift can be detected.
    pub const FEWEST: usize = 6;
    /// The smallest drift that is reported.
    const DRIFT: f64 = 0.05;
    /// The smallest noise that is reported.
    const NOISE: f64 = 0.10;

    /// The steadiness of a sequence of samples in the order they were taken.
    pub fn of(samples: &[f64]) -> Self {
        let Some(all) = Summary::of(samples) else { return Self::default() };
        if samples.len() < Self::FEWEST || all.median <= 0.0 {
            return Self { drift: 0.0, noise: all.spread() };
        }
        let third = samples.len() / 3;
        let median = |part: &[f64]| Summary::of(part).map_or(all.median, |s| s.median);
        let (first, last) = (median(&samples[..third]), median(&samples[samples.len() - third..]));
        // What remains after subtracting a straight line through the two thirds.
        let slope = (last - first) / (samples.len() - third) as f64;
        let middle = (samples.len() - 1) as f64 / 2.0;
        let level: Vec<f64> =
            samples.iter().enumerate().map(|(i, x)| x - slope * (i as f64 - middle)).collect();
        let noise = Summary::of(&level).map_or(0.0, |s| s.spread());
        Self { drift: last / first - 1.0, noise }
    }

    /// The steadiness while several candidates were sampled in turn: `sets[c][round]`. Each sample
    /// counts relative to its candidate's median, and each round by its own median.
    pub fn of_rounds(sets: &[Vec<f64>]) -> Self {
        let rounds = sets.iter().map(Vec::len).max().unwrap_or(0);
        let medians: Vec<f64> =
            sets.iter().map(|set| Summary::of(set).map_or(0.0, |s| s.median)).collect();
        let of_round = |round: usize| {
            let relative: Vec<f64> = sets
                .iter()
                .zip(&medians)
                .filter(|(_, median)| **median > 0.0)
                .filter_map(|(set, median)| set.get(round).map(|sample| sample / median))
                .collect();
            Summary::of(&relative).map(|s| s.median)
        };
        Self::of(&(0..rounds).filter_map(of_round).collect::<Vec<_>>())
    }

    /// A remark on unsteadiness; `None` if all is well.
    pub fn remark(&self) -> Option<String> {
        // A drift within the noise does not count.
        if self.drift.abs() > Self::DRIFT.max(self.noise) {
            let (how, percent) =
                (if self.drift > 0.0 { "rose" } else { "fell" }, 100.0 * self.drift.abs());
            return Some(format!(
                "times {how} by {percent:.0} % while measuring: clocks drift, or the machine is shared"
            ));
        }
        (self.noise > Self::NOISE).then(|| {
            format!(
                "samples spread over {:.0} % of their median: the machine is shared or busy",
                100.0 * self.noise
            )
        })
    }
}

// Errors of forces relative to the reference.

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

/// Some of the bodies, evenly spaced by index, with their forces by all of them: what the forces of
/// a faster method are compared with.
#[derive(Clone, Debug)]
pub struct SampledForces {
    /// Indices of these bodies, ascending.
    pub index: Vec<u32>,
    /// Their forces, in this order.
    pub forces: Forces,
}

impl SampledForces {
    /// The forces by `engine` on at most `count` >= 1 of the bodies that are the sources.
    ///
    /// # Errors
    ///
    /// Those of [`ForceEngine::evaluate`].
    pub fn new(
        engine: &mut dyn ForceEngine,
        sources: &Sources,
        count: usize,
        softening: f64,
        outputs: &Outputs,
    ) -> Result<Self> {
        let n = sources.position.len();
        let index: Vec<u32> = (0..n as u32).step_by((n / count).max(1)).take(count).collect();
        let mut sampled = Self { index, forces: Forces::default() };
        let at = sampled.of(sources.position);
        let sinks = Sinks::new(&at, Identity::Each(&sampled.index));
        engine.evaluate_from(sources, &sinks, softening, outputs, &mut sampled.forces)?;
        Ok(sampled)
    }

    /// The values of these bodies, out of those of all.
    pub fn of<T: Copy>(&self, all: &[T]) -> Vec<T> {
        self.index.iter().map(|&i| all[i as usize]).collect()
    }
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

// The distribution of errors among many forces.

/// Relative errors |a - a_ref| / |a_ref| in ascending order. If the reference force is 0 the error
/// is infinite, unless the force is 0 too.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorDistribution {
    sorted: Vec<f64>,
}

impl ErrorDistribution {
    /// The errors of accelerations. Slices of different lengths count as all wrong.
    pub fn of(found: &[DVec3], reference: &[DVec3]) -> Self {
        if found.len() != reference.len() {
            return Self { sorted: vec![f64::INFINITY] };
        }
        let error = |(a, b): (&DVec3, &DVec3)| {
            let off = (*a - *b).length();
            let error = if off == 0.0 { 0.0 } else { off / b.length() };
            if error.is_nan() { f64::INFINITY } else { error }
        };
        let mut sorted: Vec<f64> = found.iter().zip(reference).map(error).collect();
        sorted.sort_by(f64::total_cmp);
        Self { sorted }
    }

    /// The error that this fraction of all, 0 to 1, does not exceed; 0 if there are none.
    pub fn quantile(&self, part: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        let at = (part * self.sorted.len() as f64).ceil() as usize;
        self.sorted.get(at.saturating_sub(1).min(last)).copied().unwrap_or(0.0)
    }

    /// The median error.
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The largest error.
    pub fn worst(&self) -> f64 {
        self.quantile(1.0)
    }

    /// Root of the mean square.
    pub fn rms(&self) -> f64 {
        let squares: f64 = self.sorted.iter().map(|error| error * error).sum();
        (squares / self.sorted.len().max(1) as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_known_samples_has_expected_quartiles() {
        let summary = Summary::of(&[5.0, 1.0, 3.0, 2.0, 4.0]).unwrap();
        assert_eq!((summary.min, summary.lower, summary.median), (1.0, 2.0, 3.0));
        assert_eq!((summary.upper, summary.max, summary.count), (4.0, 5.0, 5));
        assert!((summary.spread() - 2.0 / 3.0).abs() < 1e-15);
        // One outlier does not move the median.
        assert_eq!(Summary::of(&[1.0, 1.0, 1.0, 1.0, 1e9]).unwrap().median, 1.0);
        assert_eq!(Summary::of(&[7.0]).unwrap().spread(), 0.0);
        assert_eq!(Summary::of(&[1.0, 2.0]).unwrap().median, 1.5);
        assert!(Summary::of(&[]).is_none() && Summary::of(&[1.0, f64::NAN]).is_none());
    }

    #[test]
    fn drift_is_detected_without_false_positives() {
        let steady: Vec<f64> = (0..12).map(|i| 1.0 + 0.01 * f64::from(i % 3)).collect();
        assert_eq!(Steadiness::of(&steady).remark(), None);
        let slower: Vec<f64> = (0..12).map(|i| 1.0 + 0.02 * f64::from(i)).collect();
        let found = Steadiness::of(&slower);
        assert!((0.1..0.25).contains(&found.drift) && found.noise < 0.01, "{found:?}");
        assert!(found.remark().unwrap().contains("rose by"));
        let faster: Vec<f64> = slower.iter().rev().copied().collect();
        assert!(Steadiness::of(&faster).remark().unwrap().contains("fell by"));
        let busy = [1.0, 1.4, 1.0, 1.5, 1.1, 1.3, 1.0, 1.4, 1.1];
        assert!(Steadiness::of(&busy).remark().unwrap().contains("shared or busy"));
        // Too few samples to tell.
        assert_eq!(Steadiness::of(&[1.0, 2.0]).drift, 0.0);
    }

    #[test]
    fn rounds_of_unequal_candidates_show_the_same_drift() {
        let round = |i: usize| 1.0 + 0.02 * i as f64;
        let sets: Vec<Vec<f64>> =
            [1e-6, 1.0, 50.0].map(|scale| (0..12).map(|i| scale * round(i)).collect()).to_vec();
        assert!(Steadiness::of_rounds(&sets).drift > 0.1);
        assert_eq!(Steadiness::of_rounds(&[]), Steadiness::default());
        assert_eq!(Steadiness::of_rounds(&[vec![]]), Steadiness::default());
    }
}

#[cfg(test)]
mod accuracy_tests {
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

#[cfg(test)]
mod distribution_tests {
    use super::*;

    #[test]
    fn errors_are_sorted() {
        let right = vec![DVec3::X; 100];
        let mut found = right.clone();
        for (i, found) in found.iter_mut().enumerate() {
            found.y = (100 - i) as f64 / 100.0;
        }
        let errors = ErrorDistribution::of(&found, &right);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(near(errors.median(), 0.5) && near(errors.quantile(0.99), 0.99));
        assert!(near(errors.worst(), 1.0) && near(errors.quantile(0.0), 0.01));
        assert!((errors.rms() - (1.0f64 / 3.0).sqrt()).abs() < 0.01);
        found[3].x = f64::NAN;
        assert_eq!(ErrorDistribution::of(&found, &right).worst(), f64::INFINITY);
        assert_eq!(ErrorDistribution::of(&found[1..], &right).median(), f64::INFINITY);
        let none = [DVec3::ZERO];
        assert_eq!(ErrorDistribution::of(&none, &none).rms(), 0.0);
        assert_eq!(ErrorDistribution::of(&[DVec3::X], &none).worst(), f64::INFINITY);
        assert_eq!(ErrorDistribution::of(&[], &[]).worst(), 0.0);
    }
}
