//! Compensated sums: the result does not lose small terms next to large ones.

use glam::DVec3;
use rayon::prelude::*;

/// A running sum by Neumaier's method (1974): exact to about one rounding of the result.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompensatedSum {
    total: f64,
    lost: f64,
}

impl CompensatedSum {
    /// Adds one term.
    pub fn add(&mut self, term: f64) {
        let next = self.total + term;
        self.lost += if self.total.abs() >= term.abs() {
            (self.total - next) + term
        } else {
            (term - next) + self.total
        };
        self.total = next;
    }

    /// Adds the sum of other terms.
    pub fn add_sum(&mut self, other: Self) {
        self.add(other.total);
        self.lost += other.lost;
    }

    /// The sum so far.
    pub fn value(self) -> f64 {
        self.total + self.lost
    }
}

impl FromIterator<f64> for CompensatedSum {
    fn from_iter<I: IntoIterator<Item = f64>>(terms: I) -> Self {
        let mut total = Self::default();
        terms.into_iter().for_each(|term| total.add(term));
        total
    }
}

impl std::iter::Sum for CompensatedSum {
    /// Adds sums of parts in their order.
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        let mut total = Self::default();
        parts.for_each(|part| total.add_sum(part));
        total
    }
}

/// The compensated sum of `terms`, in their order.
pub fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    terms.into_iter().collect::<CompensatedSum>().value()
}

/// The compensated sum of vectors, component by component.
pub fn sum_vec(terms: impl IntoIterator<Item = DVec3>) -> DVec3 {
    let mut total = [CompensatedSum::default(); 3];
    for term in terms {
        for (axis, sum) in total.iter_mut().enumerate() {
            sum.add(term[axis]);
        }
    }
    DVec3::from_array(total.map(CompensatedSum::value))
}

/// Number of terms that one core sums.
const RANGE: usize = 8192;

/// The compensated sum of `term(0)` to `term(n - 1)` by all cores. Sums of fixed ranges are added
/// in order, so that the bits do not depend on the number of cores; up to 8,192 terms they are
/// those of [`sum`].
pub fn sum_of(n: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    let [sum] = sums_of(n, |i| [term(i)]);
    sum
}

/// [`sum_of`] for vectors, component by component.
pub fn sum_vec_of(n: usize, term: impl Fn(usize) -> DVec3 + Sync) -> DVec3 {
    sums_of(n, |i| term(i).to_array()).into()
}

/// K sums at once.
pub fn sums_of<const K: usize>(n: usize, term: impl Fn(usize) -> [f64; K] + Sync) -> [f64; K] {
    let range = |first: usize| {
        let mut total = [CompensatedSum::default(); K];
        for i in first..(first + RANGE).min(n) {
            let terms = term(i);
            for (sum, term) in total.iter_mut().zip(terms) {
                sum.add(term);
            }
        }
        total
    };
    let ranges: Vec<_> = (0..n).into_par_iter().step_by(RANGE).map(range).collect();
    let mut total = [CompensatedSum::default(); K];
    for range in &ranges {
        for (sum, part) in total.iter_mut().zip(range) {
            sum.add_sum(*part);
        }
    }
    total.map(CompensatedSum::value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_survive_large_ones() {
        assert_eq!(sum([1e100, 1.0, -1e100]), 1.0);
        let v = sum_vec([DVec3::splat(1e17), DVec3::ONE, DVec3::splat(-1e17)]);
        assert_eq!(v, DVec3::ONE);
    }

    #[test]
    fn sums_by_all_cores_lose_nothing_and_do_not_depend_on_their_number() {
        // Large terms of either sign in different ranges, small ones between.
        let term = |i: usize| match i {
            3 => 1e17,
            40_000 => -1e17,
            i => 1.0 / (1.0 + i as f64),
        };
        let n = 50_001;
        let exact: f64 =
            (0..n).rev().map(|i| if i == 3 || i == 40_000 { 0.0 } else { term(i) }).sum();
        let all = sum_of(n, term);
        assert!((all / exact - 1.0).abs() < 1e-14, "{all} for {exact}");
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| sum_of(n, term)).to_bits(), all.to_bits());
        }
        assert_eq!(sum_of(8192, term).to_bits(), sum((0..8192).map(term)).to_bits());
        let v = sum_vec_of(20_000, |i| DVec3::new(i as f64, 1.0, -0.5));
        assert_eq!(v, DVec3::new(199_990_000.0, 20_000.0, -10_000.0));
        assert_eq!((sum_of(0, term), sum_vec_of(0, |_| DVec3::ONE)), (0.0, DVec3::ZERO));
    }
}
