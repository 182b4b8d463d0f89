//! The results of engines: one entry per sink.

use glam::DVec3;

use super::Precision;
use super::request::{NO_SOURCE, Order, Outputs};
use crate::error::{Error, Result};
use crate::math::{all_finite, all_vectors_finite};

/// The results of an engine, one entry per sink; what was not requested is empty.
///
/// With r = x_j - x_i, v and a its derivatives, R^2 = r^2 + eps^2, and sums over all sources j
/// except the sink itself (Belleman et al. 2008, equations 3.3 to 3.5; Nitadori and Makino 2008,
/// section 2):
///
/// ```text
/// A_j = G m_j r / R^3                      alpha = (r . v) / R^2
/// J_j = G m_j v / R^3 - 3 alpha A_j        beta  = (v^2 + r . a) / R^2 + alpha^2
/// S_j = G m_j a / R^3 - 6 alpha J_j - 3 beta A_j
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forces {
    /// Sum of A_j.
    pub acceleration: Vec<DVec3>,
    /// Sum of J_j.
    pub jerk: Vec<DVec3>,
    /// Sum of S_j.
    pub snap: Vec<DVec3>,
    /// -Sum of G m_j / R.
    pub potential: Vec<f64>,
    /// Index of the nearest source, the lowest of equally near ones; [`NO_SOURCE`] if there is
    /// none.
    pub nearest: Vec<u32>,
    /// Its distance without softening; infinite if there is none. Empty if not requested.
    pub nearest_distance: Vec<f64>,
    /// The sources within each sink's radius.
    pub neighbours: NeighbourLists,
}

impl Forces {
    /// Allocates entries for `n` sinks of what `outputs` requests, and empties the rest. Remaining
    /// values are stale until overwritten.
    pub fn resize(&mut self, n: usize, outputs: &Outputs) {
        let when = |requested: bool| if requested { n } else { 0 };
        self.acceleration.resize(n, DVec3::ZERO);
        self.jerk.resize(when(outputs.order >= Order::Jerk), DVec3::ZERO);
        self.snap.resize(when(outputs.order >= Order::Snap), DVec3::ZERO);
        self.potential.resize(when(outputs.potential), 0.0);
        self.nearest.resize(when(outputs.nearest), NO_SOURCE);
        self.nearest_distance.resize(when(outputs.nearest && outputs.distance), f64::INFINITY);
        self.neighbours.clear();
    }

    /// The first sink with a sum that is infinite or NaN, and the name of that sum.
    pub fn lost(&self) -> Option<(usize, &'static str)> {
        let vectors =
            [("acceleration", &self.acceleration), ("jerk", &self.jerk), ("snap", &self.snap)];
        not_finite(vectors.map(|(name, values)| (name, &values[..])), &self.potential)
    }

    /// Checks that all sums are finite.
    ///
    /// # Errors
    /// [`Error::Body`] with the first sink for which one is not.
    pub fn check(&self, precision: Precision) -> Result<()> {
        check_finite(self.lost(), || format!("the tier '{}'", precision.name()))
    }
}

/// The index of the first entry that is not finite, and the name of its quantity.
fn not_finite<const N: usize>(
    vectors: [(&'static str, &[DVec3]); N],
    potential: &[f64],
) -> Option<(usize, &'static str)> {
    if vectors.iter().all(|(_, values)| all_vectors_finite(values)) && all_finite(potential) {
        return None;
    }
    let first = |(name, values): (&'static str, &[DVec3])| {
        Some((values.iter().position(|value| !value.is_finite())?, name))
    };
    let scalar = potential.iter().position(|value| !value.is_finite()).map(|i| (i, "potential"));
    vectors.into_iter().filter_map(first).chain(scalar).min_by_key(|(i, _)| *i)
}

/// The only place that turns results that are not finite into an error; `range` describes the range
/// that they exceeded.
fn check_finite(lost: Option<(usize, &str)>, range: impl Fn() -> String) -> Result<()> {
    let Some((index, what)) = lost else { return Ok(()) };
    let problem = format!(
        "its {what} is not finite: too near to another body, or too large, for {}; a larger softening or a higher precision is needed",
        range()
    );
    Err(Error::Body { index, id: index as u64, problem })
}

/// One list of sources per sink, stored contiguously.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NeighbourLists {
    /// The lists one after the other.
    index: Vec<u32>,
    /// The end of each list in `index`.
    end: Vec<usize>,
    /// The number of sources within the radius, stored or not.
    found: Vec<u32>,
}

impl NeighbourLists {
    /// Clears all lists, keeps the memory.
    pub fn clear(&mut self) {
        self.index.clear();
        self.end.clear();
        self.found.clear();
    }

    /// Appends the next sink's list: `stored` of the `found` sources.
    pub fn push(&mut self, stored: &[u32], found: u32) {
        self.index.extend_from_slice(stored);
        self.end.push(self.index.len());
        self.found.push(found);
    }

    /// Number of lists: one per sink, or 0 if no lists were requested.
    pub fn len(&self) -> usize {
        self.end.len()
    }

    /// Whether no lists were requested.
    pub fn is_empty(&self) -> bool {
        self.end.is_empty()
    }

    /// The sources around sink `i`, ascending. If it [`NeighbourLists::overflowed`], these are an
    /// unspecified `capacity` of them.
    pub fn of(&self, i: usize) -> &[u32] {
        let begin = i.checked_sub(1).map_or(0, |before| self.end[before]);
        &self.index[begin..self.end[i]]
    }

    /// The number of sources around sink `i`, including those not stored.
    pub fn found(&self, i: usize) -> usize {
        self.found[i] as usize
    }

    /// Whether the list of sink `i` is incomplete.
    pub fn overflowed(&self, i: usize) -> bool {
        self.of(i).len() < self.found(i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_report_lengths_and_overflow() {
        let mut lists = NeighbourLists::default();
        assert!(lists.is_empty());
        lists.push(&[3, 5], 2);
        lists.push(&[], 0);
        lists.push(&[1], 4);
        assert_eq!((lists.len(), lists.of(0), lists.of(1)), (3, &[3, 5][..], &[][..]));
        assert_eq!((lists.of(2), lists.found(2)), (&[1][..], 4));
        assert_eq!([0, 1, 2].map(|i| lists.overflowed(i)), [false, false, true]);
        lists.clear();
        assert_eq!(lists, NeighbourLists::default());
    }
}
