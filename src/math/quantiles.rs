//! Quantiles of many values without sorting them all.

use rayon::prelude::*;

use super::CompensatedSum;

/// Many values are counted in classes by their upper 16 bits: sign, exponent and 4 bits of the
/// mantissa, so a class of positive values is at most 6 % wide. Few are sorted, as one class.
const CLASSES: usize = 1 << 16;
const FEW: usize = if cfg!(test) { 1 << 12 } else { 1 << 17 };
/// Number of values that one core counts; fixed, so that sums do not depend on the number of cores.
const RANGE: usize = 1 << 20;

/// For each of `fractions` (0 to 1) the value at which that part of the weight of all is reached, in
/// the order of [`f64::total_cmp`]. `of(k)` is the value and the weight (>= 0) of the k-th of `n`.
/// The largest value if rounding leaves a part unreached; 0 if there are none.
pub fn weighted_quantiles(
    n: usize,
    of: impl Fn(usize) -> (f64, f64) + Sync,
    fractions: &[f64],
) -> Vec<f64> {
    let classes = if n > FEW { CLASSES } else { 1 };
    let class = |value: f64| {
        let bits = value.to_bits();
        let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        (((ordered >> 32) * classes as u64) >> 32) as usize
    };
    let range = |first: usize| {
        let mut weights = vec![CompensatedSum::default(); classes];
        for k in first..(first + RANGE).min(n) {
            let (value, weight) = of(k);
            weights[class(value)].add(weight);
        }
        weights
    };
    let ranges: Vec<_> = (0..n).into_par_iter().step_by(RANGE).map(range).collect();
    // The weight up to the end of each class.
    let mut within = CompensatedSum::default();
    let up_to = |class: usize| {
        ranges.iter().for_each(|weights| within.add_sum(weights[class]));
        within
    };
    let reached: Vec<CompensatedSum> = (0..classes).map(up_to).collect();
    let total = within.value();
    let quantile = |fraction: &f64| {
        // Rounding must not push the last fraction past the last value.
        let wanted = fraction * total * (1.0 - 1e-14);
        let found = reached.partition_point(|sum| sum.value() < wanted).min(classes - 1);
        let members = (0..n).into_par_iter().map(&of).filter(|(value, _)| class(*value) == found);
        let mut members: Vec<(f64, f64)> = members.collect();
        members.par_sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut within = found.checked_sub(1).map(|before| reached[before]).unwrap_or_default();
        let reaches = |(_, weight): &&(f64, f64)| {
            within.add(*weight);
            within.value() >= wanted
        };
        members.iter().find(reaches).or(members.last()).map_or(0.0, |(value, _)| *value)
    };
    fractions.iter().map(quantile).collect()
}

#[cfg(test)]
mod tests {
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
            let found = weighted_quantiles(n, |k| all[k], &fractions);
            assert_eq!(found, by_sorting(&all, &fractions), "{n}, {wide}");
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            assert_eq!(pool.install(|| weighted_quantiles(n, |k| all[k], &fractions)), found);
        }
        assert_eq!(weighted_quantiles(0, |_| (1.0, 1.0), &[0.5, 1.0]), [0.0, 0.0]);
    }
}
