//! Quantiles of many values without sorting them all.

use std::ops::Range;

use rayon::prelude::*;

use super::{AllReduce, all_largest_of};
use crate::error::Result;

/// Values are counted in classes by their upper 14 bits: sign, exponent and 2 bits of the mantissa;
/// then those of one class by the next 14 bits, and so on to the last of 64.
const BITS: u32 = 14;
/// Number of values that one core counts at a time.
const RANGE: usize = 1 << 16;

/// For each of `fractions` (0 to 1) the value at which that part of the weight of all is reached,
/// in the order of [`f64::total_cmp`]. `of(k)` is the value and the weight (>= 0) of the k-th of
/// this process's `n`. The largest value if rounding leaves a part unreached; 0 if there are none.
///
/// Weights are added as multiples of 2^-62 of the largest one, so that sums do not depend on who
/// has which values.
///
/// # Errors
/// As of [`AllReduce`].
pub fn weighted_quantiles(
    all: &dyn AllReduce,
    n: usize,
    of: impl Fn(usize) -> (f64, f64) + Sync,
    fractions: &[f64],
) -> Result<Vec<f64>> {
    let largest = all_largest_of(all, n, |k| of(k).1)?;
    // A power of 2, so products with it are exact. Each weight counts as 2^-62 more, so that a
    // value of weight 0 differs from no value.
    let exponent = (largest.to_bits() >> 52).max(62);
    let scale = f64::from_bits((2046 + 62 - exponent).min(2046) << 52);
    let keyed = |k: usize| {
        let (value, weight) = of(k);
        (key(value), (weight * scale) as i128 + 1)
    };
    let level = 64 - BITS;
    let mut first = weights_of(n, keyed, level..64);
    all.integers(&mut first)?;
    let total: i128 = first.iter().sum();
    let mut quantile = |fraction: &f64| {
        if total == 0 {
            return Ok(0.0);
        }
        // Rounding must not push the last fraction past the last value.
        let mut remaining = ((fraction * total as f64 * (1.0 - 1e-14)) as i128).clamp(1, total);
        let (mut found, mut level) = (class_of(&first, &mut remaining), level);
        let members = (0..n).into_par_iter().map(keyed).filter(|(key, _)| key >> level == found);
        let mut members: Vec<(u64, i128)> = members.collect();
        while level > 0 {
            let next = level.saturating_sub(BITS);
            let mut classes = weights_of(members.len(), |k| members[k], next..level);
            all.integers(&mut classes)?;
            found = found << (level - next) | class_of(&classes, &mut remaining);
            level = next;
            members.retain(|(key, _)| key >> level == found);
        }
        Ok(value(found))
    };
    fractions.iter().map(&mut quantile).collect()
}

/// The weight of `count` keys by these bits.
fn weights_of(
    count: usize,
    of: impl Fn(usize) -> (u64, i128) + Sync,
    bits: Range<u32>,
) -> Vec<i128> {
    let classes = 1 << bits.len();
    let add_range = |mut weights: Vec<i128>, first: usize| {
        for k in first..(first + RANGE).min(count) {
            let (key, weight) = of(k);
            weights[(key >> bits.start) as usize & (classes - 1)] += weight;
        }
        weights
    };
    let none = || vec![0; classes];
    let add = |mut all: Vec<i128>, some: Vec<i128>| {
        all.iter_mut().zip(some).for_each(|(all, some)| *all += some);
        all
    };
    (0..count).into_par_iter().step_by(RANGE).fold(none, add_range).reduce(none, add)
}

/// The first class up to whose end `remaining` of the weight is reached; takes the weight before it
/// from `remaining`.
fn class_of(weights: &[i128], remaining: &mut i128) -> u64 {
    let reached = |weight: &i128| {
        let is_reached = *weight >= *remaining;
        if !is_reached {
            *remaining -= weight;
        }
        is_reached
    };
    weights.iter().position(reached).expect("no more than the total should remain") as u64
}

/// An integer in the order of [`f64::total_cmp`].
fn key(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The value of a [`key`].
fn value(key: u64) -> f64 {
    f64::from_bits(if key >> 63 == 1 { key ^ 1 << 63 } else { !key })
}

#[cfg(test)]
mod tests {
    use super::super::Alone;
    use super::*;

    /// By its definition: all values sorted.
    fn by_sorting(all: &[(f64, f64)], fractions: &[f64]) -> Vec<f64> {
        let mut all = all.to_vec();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = all.iter().map(|one| one.1).sum();
        let quantile = |fraction: &f64| {
            let mut within = 0.0;
            let reaches = |&&(_, weight): &&(f64, f64)| {
                within += weight;
                within >= fraction * total * (1.0 - 1e-14)
            };
            all.iter().find(reaches).or(all.last()).map_or(0.0, |one| one.0)
        };
        fractions.iter().map(quantile).collect()
    }

    fn quantiles(all: &[(f64, f64)], fractions: &[f64]) -> Vec<f64> {
        weighted_quantiles(&Alone, all.len(), |k| all[k], fractions).unwrap()
    }

    #[test]
    fn quantiles_are_those_of_sorted_values() {
        let value = |k: usize, wide: bool| {
            let x = (k as f64 * 0.618_034).fract();
            if wide { (40.0 * x - 20.0).exp() } else { 1.0 + 1e-3 * x }
        };
        for (n, wide) in [(1, true), (7, false), (1000, true), (40_001, false), (40_001, true)] {
            let mut all: Vec<(f64, f64)> =
                (0..n).map(|k| (value(k, wide), 0.5 + (k % 7) as f64)).collect();
            if n > 100 {
                // Equal values, zeros of either sign, negative ones, and some without weight.
                all[3].0 = all[4].0;
                all[5] = (0.0, 1.0);
                all[6] = (-0.0, 1.0);
                all[7].0 = -2.5;
                all[8].1 = 0.0;
            }
            let fractions = [1e-6, 0.1, 0.5, 0.9, 1.0];
            let found = quantiles(&all, &fractions);
            assert_eq!(found, by_sorting(&all, &fractions), "{n}, {wide}");
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            assert_eq!(pool.install(|| quantiles(&all, &fractions)), found);
        }
        assert_eq!(quantiles(&[], &[0.5, 1.0]), [0.0, 0.0]);
    }
}
