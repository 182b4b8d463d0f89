//! Checks large inputs and outputs for NaN and infinity.

use glam::DVec3;

/// Whether all are finite: without branches, in independent sums that vectorise.
pub fn all_finite(numbers: &[f64]) -> bool {
    // x times 0 is 0, unless x is infinite or NaN.
    let (rows, rest) = numbers.as_chunks::<16>();
    let mut sums = [0.0; 16];
    for row in rows {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum += x * 0.0;
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|x| x * 0.0).sum::<f64>() == 0.0
}

/// [`all_finite`] for all components.
pub fn all_vectors_finite(vectors: &[DVec3]) -> bool {
    all_finite(bytemuck::cast_slice(vectors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_none_is_seen_wherever_it_is() {
        for n in [0, 1, 15, 16, 17, 100] {
            let mut numbers = vec![-1e308; n];
            assert!(all_finite(&numbers));
            for k in 0..n {
                for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    numbers[k] = odd;
                    assert!(!all_finite(&numbers), "{odd} at {k} of {n}");
                }
                numbers[k] = 1e308;
            }
        }
        assert!(!all_vectors_finite(&[DVec3::ZERO, DVec3::new(0.0, f64::NAN, 1.0)]));
    }
}
