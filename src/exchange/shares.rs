//! Which member owns which range of the bodies.

use std::ops::Range;

/// Splits `n` bodies into contiguous ranges in the order of members, proportional to `weights` and
/// cut at multiples of `unit` bodies. Every body is in exactly one range; members may have none.
///
/// Weights that are not finite and positive count as 0; if all are 0, the ranges are equal.
pub fn shares(n: usize, weights: &[f64], unit: usize) -> Vec<Range<usize>> {
    let positive = |weight: f64| if weight.is_finite() { weight.max(0.0) } else { 0.0 };
    let mut weights: Vec<f64> = weights.iter().map(|weight| positive(*weight)).collect();
    if weights.iter().sum::<f64>() <= 0.0 {
        weights.fill(1.0);
    }
    let (total, unit) = (weights.iter().sum::<f64>(), unit.max(1));
    let (mut before, mut begin) = (0.0, 0);
    let last = weights.len().saturating_sub(1);
    let mut ranges = Vec::with_capacity(weights.len());
    for (member, weight) in weights.into_iter().enumerate() {
        before += weight;
        // Rounded up, so that the first member has bodies if there are any.
        let units = (n as f64 * before / total / unit as f64).ceil() as usize;
        let end = if member == last { n } else { units.saturating_mul(unit).clamp(begin, n) };
        ranges.push(begin..end);
        begin = end;
    }
    ranges
}

/// [`shares`] with equal weights.
pub fn equal_shares(n: usize, members: usize, unit: usize) -> Vec<Range<usize>> {
    shares(n, &vec![1.0; members], unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_whole(n: usize, ranges: &[Range<usize>]) -> bool {
        let ends = ranges.iter().map(|range| range.end);
        let begins = ranges.iter().map(|range| range.start);
        begins.eq(std::iter::once(0).chain(ends).take(ranges.len()))
            && ranges.last().is_some_and(|range| range.end == n)
    }

    #[test]
    fn every_body_is_in_one_share() {
        for n in [0, 1, 2, 7, 1000, 65_536] {
            for members in 1..9 {
                for unit in [1, 64, 1000] {
                    let ranges = equal_shares(n, members, unit);
                    assert!(ranges.len() == members && is_whole(n, &ranges), "{n} {ranges:?}");
                }
            }
        }
        assert_eq!(equal_shares(1000, 3, 1), [0..334, 334..667, 667..1000]);
        assert_eq!(equal_shares(1000, 3, 64), [0..384, 384..704, 704..1000]);
        // Fewer bodies than members: some ranges are empty.
        assert_eq!(equal_shares(2, 4, 1), [0..1, 1..1, 1..2, 2..2]);
    }

    #[test]
    fn shares_follow_weights_and_invalid_weights_count_as_zero() {
        assert_eq!(shares(1000, &[3.0, 1.0], 1), [0..750, 750..1000]);
        assert_eq!(shares(1000, &[f64::NAN, 1.0, -1.0], 1), [0..0, 0..1000, 1000..1000]);
        assert_eq!(shares(10, &[0.0, f64::INFINITY], 1), [0..5, 5..10]);
    }
}
