//! The sources as the loop reads them: stored packs, or packs predicted as they are read.

use glam::DVec3;

use super::lanes::LanesF64;
use super::pack::{PACK, PackF64};
use crate::forces::{Arrivals, Moving, SourceTable, ToJerk};

/// Position, velocity, acceleration and mass of one vector of sources. Derivatives that an order
/// does not need are 0.
#[derive(Clone, Copy)]
pub(super) struct SourceLanes<V> {
    pub position: [V; 3],
    pub velocity: [V; 3],
    pub acceleration: [V; 3],
    pub mass: V,
}

/// The sources that the loop passes over.
pub(super) trait Rows: Copy {
    /// Number of packs.
    fn len(self) -> usize;

    /// The sources from `lane` of pack `k` on.
    ///
    /// # Safety
    /// [`LanesF64`]; pack and lanes exist.
    unsafe fn row<V: LanesF64, const ORDER: usize>(self, k: usize, lane: usize) -> SourceLanes<V>;
}

impl Rows for &[PackF64] {
    fn len(self) -> usize {
        self.len()
    }

    #[inline(always)]
    unsafe fn row<V: LanesF64, const ORDER: usize>(self, k: usize, lane: usize) -> SourceLanes<V> {
        // SAFETY: as the caller guarantees.
        unsafe {
            let pack = self.get_unchecked(k);
            let zero = [V::splat(0.0); 3];
            SourceLanes {
                position: load(&pack.position, lane),
                velocity: if ORDER > 0 { load(&pack.velocity, lane) } else { zero },
                acceleration: if ORDER > 1 { load(&pack.acceleration, lane) } else { zero },
                mass: V::load(pack.mass.as_ptr().add(lane)),
            }
        }
    }
}

/// 8 moving sources: position, velocity, acceleration and jerk, each at its own time.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct MovingPack {
    motion: [[[f64; PACK]; 3]; 4],
    time: [f64; PACK],
    mass: [f64; PACK],
}

/// Snap and crackle of 8 sources; not stored for the fourth-order Hermite scheme, which has none.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct HighPack([[[f64; PACK]; 3]; 2]);

/// All moving sources of an engine.
#[derive(Debug, Default)]
pub(super) struct Movers {
    packs: Vec<MovingPack>,
    /// As many packs, or none as long as all snaps and crackles are 0.
    high: Vec<HighPack>,
}

impl Movers {
    /// Replaces all sources by those of `table`.
    pub fn set(&mut self, table: &SourceTable) {
        self.clear();
        // Fills up the last pack, see `PackF64::EMPTY`.
        let mut empty =
            MovingPack { motion: [[[0.0; PACK]; 3]; 4], time: [0.0; PACK], mass: [0.0; PACK] };
        empty.motion[0] = PackF64::EMPTY.position;
        self.packs.resize(table.len().div_ceil(PACK), empty);
        table.each().enumerate().for_each(|(k, (low, high))| self.put(k, low, high));
    }

    /// Replaces some sources, which must exist.
    pub fn put_all(&mut self, sources: &Arrivals) {
        for (k, (place, low)) in sources.places.iter().zip(sources.low).enumerate() {
            self.put(place.at as usize, low, sources.high(k));
        }
    }

    #[inline]
    fn put(&mut self, k: usize, low: &ToJerk, high: [DVec3; 2]) {
        let (k, lane) = (k / PACK, k % PACK);
        let pack = &mut self.packs[k];
        write(&mut pack.motion, lane, &low.motion);
        pack.time[lane] = low.time;
        pack.mass[lane] = low.mass;
        if self.high.is_empty() && high != [DVec3::ZERO; 2] {
            self.high.resize(self.packs.len(), HighPack([[[0.0; PACK]; 3]; 2]));
        }
        if let Some(pack) = self.high.get_mut(k) {
            write(&mut pack.0, lane, &high);
        }
    }

    /// Removes all, keeps the memory.
    pub fn clear(&mut self) {
        self.packs.clear();
        self.high.clear();
    }

    /// A view for the loop, predicted to `time`.
    pub fn at(&self, time: Option<f64>) -> PredictedPacks<'_> {
        PredictedPacks { packs: &self.packs, high: &self.high, time }
    }
}

/// Packs that are predicted as they are read.
#[derive(Clone, Copy)]
pub(super) struct PredictedPacks<'a> {
    packs: &'a [MovingPack],
    high: &'a [HighPack],
    time: Option<f64>,
}

impl Rows for PredictedPacks<'_> {
    fn len(self) -> usize {
        self.packs.len()
    }

    /// Has the bits of [`Moving::at`]: the same operations in the same order, none of them fused.
    /// Terms that are 0 for all sources are skipped, which can change only the sign of a zero.
    #[inline(always)]
    unsafe fn row<V: LanesF64, const ORDER: usize>(self, k: usize, lane: usize) -> SourceLanes<V> {
        // SAFETY: as the caller guarantees; where there are high packs there are as many.
        unsafe {
            let pack = self.packs.get_unchecked(k);
            let time = V::load(pack.time.as_ptr().add(lane));
            let zero = [V::splat(0.0); 3];
            let t = match self.time {
                Some(now) => V::splat(now).minus(time),
                None => zero[0],
            };
            let mut part = [t; Moving::PARTS.len()];
            for (part, constant) in part.iter_mut().zip(Moving::PARTS) {
                *part = t.times(V::splat(constant));
            }
            let (x, v) = (load(&pack.motion[0], lane), load(&pack.motion[1], lane));
            let (a, j) = (load(&pack.motion[2], lane), load(&pack.motion[3], lane));
            let mass = V::load(pack.mass.as_ptr().add(lane));
            let (velocity, acceleration) = (ORDER > 0, ORDER > 1);
            if self.high.is_empty() {
                SourceLanes {
                    position: series([x, v, a, j], &part),
                    velocity: if velocity { series([v, a, j], &part) } else { zero },
                    acceleration: if acceleration { series([a, j], &part) } else { zero },
                    mass,
                }
            } else {
                let high = self.high.get_unchecked(k);
                let (s, c) = (load(&high.0[0], lane), load(&high.0[1], lane));
                SourceLanes {
                    position: series([x, v, a, j, s, c], &part),
                    velocity: if velocity { series([v, a, j, s, c], &part) } else { zero },
                    acceleration: if acceleration { series([a, j, s, c], &part) } else { zero },
                    mass,
                }
            }
        }
    }
}

impl PredictedPacks<'_> {
    /// Writes the packs from `from` on into all of `into`.
    ///
    /// # Safety
    /// [`LanesF64`]; that many exist.
    #[inline(always)]
    pub unsafe fn write<V: LanesF64, const ORDER: usize>(self, from: usize, into: &mut [PackF64]) {
        for (k, pack) in into.iter_mut().enumerate() {
            for lane in (0..PACK).step_by(V::WIDTH) {
                // SAFETY: as the caller guarantees; no vector is longer than a pack.
                unsafe {
                    let row = self.row::<V, ORDER>(from + k, lane);
                    store(row.position, &mut pack.position, lane);
                    if ORDER > 0 {
                        store(row.velocity, &mut pack.velocity, lane);
                    }
                    if ORDER > 1 {
                        store(row.acceleration, &mut pack.acceleration, lane);
                    }
                    row.mass.store(pack.mass.as_mut_ptr().add(lane));
                }
            }
        }
    }
}

/// The sources of a slice, of either kind.
#[derive(Clone, Copy)]
pub(super) enum SliceSources<'a> {
    /// They are where they were set.
    Still(&'a [PackF64]),
    /// They are predicted.
    Moving(PredictedPacks<'a>),
}

impl SliceSources<'_> {
    /// The packs `begin` to `end`.
    pub fn part(self, begin: usize, end: usize) -> Self {
        match self {
            Self::Still(packs) => Self::Still(&packs[begin..end]),
            Self::Moving(all) => Self::Moving(PredictedPacks {
                packs: &all.packs[begin..end],
                high: if all.high.is_empty() { &[] } else { &all.high[begin..end] },
                ..all
            }),
        }
    }
}

/// Horner's sum of `terms[k] t^k / k!`, given `part[k]` = t / (k + 1).
///
/// # Safety
/// [`LanesF64`].
#[inline(always)]
unsafe fn series<V: LanesF64, const N: usize>(terms: [[V; 3]; N], part: &[V]) -> [V; 3] {
    let mut sum = terms[N - 1];
    for k in (0..N - 1).rev() {
        for axis in 0..3 {
            // SAFETY: as above.
            sum[axis] = unsafe { terms[k][axis].plus(sum[axis].times(part[k])) };
        }
    }
    sum
}

/// # Safety
/// [`LanesF64`]; there is such a lane.
#[inline(always)]
unsafe fn load<V: LanesF64>(rows: &[[f64; PACK]; 3], lane: usize) -> [V; 3] {
    // SAFETY: as above.
    unsafe {
        [
            V::load(rows[0].as_ptr().add(lane)),
            V::load(rows[1].as_ptr().add(lane)),
            V::load(rows[2].as_ptr().add(lane)),
        ]
    }
}

/// # Safety
/// [`LanesF64`]; there is such a lane.
#[inline(always)]
unsafe fn store<V: LanesF64>(vectors: [V; 3], rows: &mut [[f64; PACK]; 3], lane: usize) {
    for axis in 0..3 {
        // SAFETY: as above.
        unsafe { vectors[axis].store(rows[axis].as_mut_ptr().add(lane)) };
    }
}

/// Writes one lane of some rows.
#[inline(always)]
fn write<const N: usize>(rows: &mut [[[f64; PACK]; 3]; N], lane: usize, values: &[DVec3; N]) {
    for (row, value) in rows.iter_mut().zip(values) {
        (row[0][lane], row[1][lane], row[2][lane]) = (value.x, value.y, value.z);
    }
}
