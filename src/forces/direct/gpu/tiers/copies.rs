//! The host's copies of moving sources: two cache lines each, since those that change are far
//! apart.

use glam::DVec3;

use super::motion_records::{has_snap, high_of};
use crate::forces::{Moving, ToJerk};
use crate::math::fetch_ahead;

#[derive(Clone, Copy, Debug)]
#[repr(align(128))]
struct Low(ToJerk);

/// Sources by index, as set by the caller.
#[derive(Debug, Default)]
pub(super) struct Copies {
    low: Vec<Low>,
    /// Snaps and crackles; empty as long as all are 0.
    high: Vec<[DVec3; 2]>,
}

impl Copies {
    /// Replaces all.
    pub fn set(&mut self, sources: &[Moving]) {
        self.low.clear();
        self.high.clear();
        self.low.extend(sources.iter().map(|moving| Low(moving.into())));
        if sources.iter().any(|moving| has_snap(high_of(moving))) {
            self.high.extend(sources.iter().map(high_of));
        }
    }

    /// Replaces source `j`.
    #[inline]
    pub fn put(&mut self, j: usize, low: &ToJerk, high: [DVec3; 2]) {
        self.low[j] = Low(*low);
        if self.high.is_empty() && has_snap(high) {
            self.high.resize(self.low.len(), [DVec3::ZERO; 2]);
        }
        if let Some(place) = self.high.get_mut(j) {
            *place = high;
        }
    }

    /// Prefetches a source that is about to be replaced.
    #[inline(always)]
    pub fn fetch(&self, j: usize) {
        fetch_ahead(&self.low, j);
    }

    pub fn len(&self) -> usize {
        self.low.len()
    }

    /// Whether any source has a snap or a crackle, or had one.
    pub fn has_snap(&self) -> bool {
        !self.high.is_empty()
    }

    /// Source `j` up to its jerk, and its higher derivatives.
    #[inline(always)]
    pub fn parts(&self, j: usize) -> (&ToJerk, [DVec3; 2]) {
        (&self.low[j].0, self.high.get(j).copied().unwrap_or_default())
    }

    /// Source `j`, if it exists.
    pub fn get(&self, j: usize) -> Option<Moving> {
        (j < self.len()).then(|| {
            let (low, high) = self.parts(j);
            low.with(high)
        })
    }

    /// All of them up to their jerks.
    pub fn all(&self) -> impl Iterator<Item = &ToJerk> {
        self.low.iter().map(|low| &low.0)
    }
}
