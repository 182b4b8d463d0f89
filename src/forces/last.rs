//! The accelerations of the last step in a snapshot: some methods' forces depend on them, so a
//! resumed run needs them for the same bits.

use std::collections::BTreeMap;

use glam::DVec3;
use rayon::prelude::*;

/// Prefix of the names of the columns.
pub const PREFIX: &str = "last.";

const NAMES: [&str; 3] = ["last.ax", "last.ay", "last.az"];

/// The columns that hold these accelerations in a snapshot.
pub fn columns(acceleration: &[DVec3]) -> BTreeMap<String, Vec<f64>> {
    named(NAMES, acceleration)
}

/// [`columns`] of the accelerations that `of` gives for the bodies from 0 to n - 1.
pub fn columns_of(n: usize, of: impl Fn(usize) -> DVec3 + Sync) -> BTreeMap<String, Vec<f64>> {
    named_of(NAMES, n, of)
}

/// The accelerations in `columns` of a snapshot of `n` bodies, if all are present and finite.
pub fn find(columns: &BTreeMap<String, Vec<f64>>, n: usize) -> Option<Vec<DVec3>> {
    find_named(NAMES, columns, n)
}

/// A column for each axis.
pub(super) fn named(names: [&str; 3], vectors: &[DVec3]) -> BTreeMap<String, Vec<f64>> {
    named_of(names, vectors.len(), |i| vectors[i])
}

fn named_of(
    names: [&str; 3],
    n: usize,
    of: impl Fn(usize) -> DVec3 + Sync,
) -> BTreeMap<String, Vec<f64>> {
    let column = |axis: usize| (0..n).into_par_iter().map(|i| of(i)[axis]).collect();
    names.into_iter().enumerate().map(|(axis, name)| (name.to_owned(), column(axis))).collect()
}

/// The vectors of `n` bodies in the columns with these names, if all are present and finite.
pub(super) fn find_named(
    names: [&str; 3],
    columns: &BTreeMap<String, Vec<f64>>,
    n: usize,
) -> Option<Vec<DVec3>> {
    let column = |name: &str| columns.get(name).filter(|column| column.len() == n);
    let [x, y, z] = names.map(column);
    let (x, y, z) = (x?, y?, z?);
    let vector = |i: usize| DVec3::new(x[i], y[i], z[i]);
    let found: Vec<_> = (0..n).into_par_iter().map(vector).collect();
    found.par_iter().all(|a| a.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accelerations_round_trip_if_complete() {
        let all = [DVec3::new(1.0, -2.5, 1e-300), DVec3::ZERO];
        let mut there = columns(&all);
        assert!(there.keys().all(|name| name.starts_with(PREFIX)));
        assert_eq!(find(&there, 2).unwrap(), all);
        assert!(find(&there, 3).is_none());
        there.get_mut("last.ay").unwrap()[1] = f64::NAN;
        assert!(find(&there, 2).is_none());
    }
}
