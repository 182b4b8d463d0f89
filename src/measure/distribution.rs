//! The distribution of errors among many forces.

use glam::DVec3;

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
