//! The test of Kolmogorov and Smirnov.

/// The largest distance between the fractions of `sorted` and `below`, times sqrt(n): above 1.63
/// once in a hundred times.
pub(super) fn distance(sorted: &[f64], below: impl Fn(f64) -> f64) -> f64 {
    let n = sorted.len() as f64;
    let far = sorted.iter().enumerate().map(|(k, &x)| {
        let expected = below(x);
        (expected - k as f64 / n).abs().max((expected - (k + 1) as f64 / n).abs())
    });
    far.fold(0.0, f64::max) * n.sqrt()
}
