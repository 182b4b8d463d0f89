//! Which member owns which range of the bodies.

use std::ops::Range;

/// Ranges of `n` bodies in the order of members, as long as their `weights` ask for, cut at multiples of `unit`
/// bodies. All bodies are in one of them; members may be left without.
///
/// A weight that is no positive number counts as none; where no weight is one, all members count alike.
pub fn shares(n: usize, weights: &[f64], unit: usize) -> Vec<Range<usize>> {
    let known = |weight: f64| if weight.is_finite() { weight.max(0.0) } else { 0.0 };
    let mut weights: Vec<f64> = weights.iter().map(|weight| known(*weight)).collect();
    if weights.iter().sum::<f64>() <= 0.0 {
        weights.fill(1.0);
    }
    let (total, unit) = (weights.iter().sum::<f64>(), unit.max(1));
    let (mut before, mut begin) = (0.0, 0);
    let last = weights.len().saturating_sub(1);
    let mut ranges = Vec::with_capacity(weights.len());
    for (member, weight) in weights.into_iter().enumerate() {
        before += weight;
        // Rounded up: where there are bodies at all the first member has some.
        let units = (n as f64 * before / total / unit as f64).ceil() as usize;
        let end = if member == last { n } else { units.saturating_mul(unit).clamp(begin, n) };
        ranges.push(begin..end);
        begin = end;
    }
    ranges
}

/// [`shares`] of members that count alike.
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
    fn every_body_is_in_one_share_whatever_the_numbers() {
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
        // Fewer bodies than members: some have none.
        assert_eq!(equal_shares(2, 4, 1), [0..1, 1..1, 1..2, 2..2]);
    }

    #[test]
    fn shares_go_by_weights_and_odd_weights_are_none() {
        assert_eq!(shares(1000, &[3.0, 1.0], 1), [0..750, 750..1000]);
        assert_eq!(shares(1000, &[f64::NAN, 1.0, -1.0], 1), [0..0, 0..1000, 1000..1000]);
        assert_eq!(shares(10, &[0.0, f64::INFINITY], 1), [0..5, 5..10]);
    }
}
