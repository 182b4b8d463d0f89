//! Sums and maxima over all processes that each have some of the bodies.

use rayon::prelude::*;

use super::{ExactSum, exact_sums_of};
use crate::error::Result;

/// All-reduce: each process gives its part, and all get the same result, which does not depend on
/// who has which bodies. All processes make the same calls.
///
/// # Errors
/// Another process is gone.
pub trait AllReduce: Sync {
    /// Adds up sums, elementwise.
    fn sums(&self, values: &mut [ExactSum]) -> Result<()>;

    /// Adds up integers, elementwise.
    fn integers(&self, values: &mut [i128]) -> Result<()>;

    /// The largest of each; NaN counts as less than all others.
    fn maxima(&self, values: &mut [f64]) -> Result<()>;

    /// The numbers of all processes, in their order.
    fn gather(&self, values: &[f64]) -> Result<Vec<f64>>;
}

/// A process that has all bodies.
pub struct Alone;

impl AllReduce for Alone {
    fn sums(&self, _: &mut [ExactSum]) -> Result<()> {
        Ok(())
    }

    fn integers(&self, _: &mut [i128]) -> Result<()> {
        Ok(())
    }

    fn maxima(&self, _: &mut [f64]) -> Result<()> {
        Ok(())
    }

    fn gather(&self, values: &[f64]) -> Result<Vec<f64>> {
        Ok(values.to_vec())
    }
}

impl Alone {
    /// What was computed by one process, which waits for no others.
    pub fn always<T>(done: Result<T>) -> T {
        done.expect("one process should find what it has itself")
    }
}

/// [`super::sum_of`] of K terms of each of this process's `n` bodies and of those of all others.
///
/// # Errors
/// As of [`AllReduce`].
pub fn all_sums_of<const K: usize>(
    all: &dyn AllReduce,
    n: usize,
    term: impl Fn(usize) -> [f64; K] + Sync,
) -> Result<[f64; K]> {
    let mut sums = exact_sums_of(n, term);
    all.sums(&mut sums)?;
    Ok(sums.map(|sum| sum.value()))
}

/// The largest of `of` over the bodies of all processes; 0 if there are none or all are less.
///
/// # Errors
/// As of [`AllReduce`].
pub fn all_largest_of(
    all: &dyn AllReduce,
    n: usize,
    of: impl Fn(usize) -> f64 + Sync,
) -> Result<f64> {
    let own = (0..n).into_par_iter().map(&of).reduce(|| 0.0, f64::max);
    let mut largest = [own];
    all.maxima(&mut largest)?;
    Ok(largest[0])
}
