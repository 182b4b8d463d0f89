//! Moving sources: each known at its own time, and predicted by the engine that holds it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use glam::DVec3;

use super::request::check_indices;
use crate::error::{Error, Result};
use crate::math::fetch_ahead;

/// A source as last corrected by its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moving {
    /// The time at which `motion` holds.
    pub time: f64,
    /// Gravitating mass G m, at least 0.
    pub mass: f64,
    /// Position and its time derivatives at `time`, from velocity to crackle.
    pub motion: [DVec3; 6],
}

impl Moving {
    /// 1 / k from k = 1 on. Engines that use the same factors in the same order predict the same
    /// bits.
    pub(crate) const PARTS: [f64; 5] = [1.0, 0.5, 1.0 / 3.0, 0.25, 0.2];

    /// Snap and crackle.
    #[inline(always)]
    pub fn high(&self) -> [DVec3; 2] {
        let [.., s, c] = self.motion;
        [s, c]
    }

    /// Position, velocity and acceleration at `time`, from all derivatives; with `None` nothing is
    /// predicted.
    ///
    /// In GRAPE-6's coefficients x + v t + a2 t^2 + j6 t^3 + (3/4) k18 t^4, and its derivatives
    /// with respect to t.
    pub fn at(&self, time: Option<f64>) -> [DVec3; 3] {
        let [x, v, a, j, s, c] = self.motion;
        let t = time.map_or(0.0, |time| time - self.time);
        // Horner's scheme: term k is divided by k.
        let series = |terms: &[DVec3]| {
            let earlier = terms.iter().zip(Self::PARTS).rev();
            earlier.fold(c, |sum, (term, part)| *term + sum * (t * part))
        };
        [series(&[x, v, a, j, s]), series(&[v, a, j, s]), series(&[a, j, s])]
    }
}

/// A source's motion up to the jerk, which is all that most sources have.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ToJerk {
    /// Time at which `motion` holds.
    pub time: f64,
    /// Gravitating mass G m, at least 0.
    pub mass: f64,
    /// Position, velocity, acceleration and jerk at `time`.
    pub motion: [DVec3; 4],
}

impl ToJerk {
    /// Adds a snap and a crackle.
    pub fn with(&self, [s, c]: [DVec3; 2]) -> Moving {
        let [x, v, a, j] = self.motion;
        Moving { time: self.time, mass: self.mass, motion: [x, v, a, j, s, c] }
    }
}

impl From<&Moving> for ToJerk {
    fn from(moving: &Moving) -> Self {
        let [x, v, a, j, ..] = moving.motion;
        Self { time: moving.time, mass: moving.mass, motion: [x, v, a, j] }
    }
}

/// The place of a new source.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goal {
    /// Index of the source that it replaces.
    pub at: u32,
    /// For the owner's use; engines ignore it.
    pub tag: i32,
}

/// New sources that replace others, as three arrays of equal length: their indices are read more
/// often than their motion, and few have all derivatives.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrivals<'a> {
    /// Indices of the sources that they replace.
    pub places: &'a [Goal],
    /// Their motion up to the jerk.
    pub low: &'a [ToJerk],
    /// Snaps and crackles; empty if all are 0.
    pub high: &'a [[DVec3; 2]],
}

impl Arrivals<'_> {
    /// Number of sources.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Snap and crackle of the `k`-th.
    #[inline(always)]
    pub fn high(&self, k: usize) -> [DVec3; 2] {
        self.high.get(k).copied().unwrap_or_default()
    }

    /// The indices of the replaced sources, with the new ones.
    pub fn each(&self) -> impl Iterator<Item = (u32, Moving)> {
        let both = self.places.iter().zip(self.low).enumerate();
        both.map(|(k, (place, low))| (place.at, low.with(self.high(k))))
    }
}

/// Storage for [`Arrivals`].
#[derive(Clone, Debug, Default)]
pub struct ArrivalList {
    places: Vec<Goal>,
    low: Vec<ToJerk>,
    high: Vec<[DVec3; 2]>,
}

impl ArrivalList {
    /// Adds one.
    pub fn push(&mut self, place: Goal, moving: &Moving) {
        self.push_parts(place, &moving.into(), moving.high());
    }

    /// Adds one whose snap and crackle are separate.
    pub fn push_parts(&mut self, place: Goal, low: &ToJerk, high: [DVec3; 2]) {
        if !self.high.is_empty() || high != [DVec3::ZERO; 2] {
            self.high.resize(self.low.len(), [DVec3::ZERO; 2]);
            self.high.push(high);
        }
        self.places.push(place);
        self.low.push(*low);
    }

    /// All of them.
    pub fn all(&self) -> Arrivals<'_> {
        Arrivals { places: &self.places, low: &self.low, high: &self.high }
    }

    /// Removes all, keeps the memory.
    pub fn clear(&mut self) {
        self.places.clear();
        self.low.clear();
        self.high.clear();
    }
}

/// A source in a [`SourceTable`]: two cache lines, since those that change are far apart.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(128))]
struct StoredSource {
    low: ToJerk,
    softening_squared: f64,
    tag: i32,
    /// Whether this address was set.
    is_set: bool,
    is_changed: bool,
}

const _: () = assert!(size_of::<StoredSource>() == 128);

/// Moving sources by address: the host's only copy, shared by the owner of the sources and the
/// engine that predicts them ([`MovingSources::share`]). Addresses may have gaps; sources are
/// numbered in the order of their addresses.
#[derive(Debug, Default)]
pub struct SourceTable {
    low: Vec<StoredSource>,
    /// Snaps and crackles: as long as `low`, or empty while all are 0.
    high: Vec<[DVec3; 2]>,
    /// Addresses of the sources, ascending.
    sources: Vec<u32>,
    /// Whether any source number differs from its address.
    has_gaps: bool,
    changed: Vec<u32>,
    is_rearranged: bool,
    /// Number of evaluations in progress that need the positions as of their beginning, and what
    /// has been replaced meanwhile.
    watches: usize,
    replaced: HashMap<u32, Moving>,
}

/// A table that an engine reads while the owner of the sources has it, too.
#[derive(Clone, Debug, Default)]
pub struct SharedTable(Arc<RwLock<SourceTable>>);

impl SharedTable {
    /// A table of `sources` without gaps.
    pub fn of(sources: &[Moving]) -> Self {
        let high = sources.iter().any(|one| one.high() != [DVec3::ZERO; 2]);
        let stored = |moving| StoredSource {
            low: ToJerk::from(moving),
            is_set: true,
            ..StoredSource::default()
        };
        let table = SourceTable {
            low: sources.iter().map(stored).collect(),
            high: if high { sources.iter().map(Moving::high).collect() } else { Vec::new() },
            sources: (0..sources.len() as u32).collect(),
            ..SourceTable::default()
        };
        Self(Arc::new(RwLock::new(table)))
    }

    /// Locks it for reading.
    pub fn read(&self) -> RwLockReadGuard<'_, SourceTable> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks it for writing.
    pub fn write(&self) -> RwLockWriteGuard<'_, SourceTable> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the present positions available by [`SourceTable::position_before`] as long as the
    /// returned value lives.
    pub(crate) fn watch(&self) -> SourceWatch {
        self.write().watches += 1;
        SourceWatch(self.clone())
    }
}

/// See [`SharedTable::watch`].
pub(crate) struct SourceWatch(SharedTable);

impl SourceWatch {
    pub fn table(&self) -> RwLockReadGuard<'_, SourceTable> {
        self.0.read()
    }
}

impl Drop for SourceWatch {
    fn drop(&mut self) {
        let mut table = self.0.write();
        table.watches -= 1;
        if table.watches == 0 {
            table.replaced.clear();
        }
    }
}

impl SourceTable {
    /// Number of sources.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there are no sources.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Source `j` up to its jerk, and its higher derivatives.
    #[inline(always)]
    pub fn source(&self, j: usize) -> (&ToJerk, [DVec3; 2]) {
        self.parts(self.address(j))
    }

    #[inline(always)]
    fn parts(&self, address: usize) -> (&ToJerk, [DVec3; 2]) {
        (&self.low[address].low, self.high.get(address).copied().unwrap_or_default())
    }

    /// All sources.
    pub fn each(&self) -> impl Iterator<Item = (&ToJerk, [DVec3; 2])> {
        (0..self.len()).map(|j| self.source(j))
    }

    /// Address of source `j`.
    #[inline(always)]
    pub fn address(&self, j: usize) -> usize {
        if self.has_gaps { self.sources[j] as usize } else { j }
    }

    /// The source at an address, if any.
    pub fn source_at(&self, address: u32) -> Option<usize> {
        if !self.has_gaps {
            return Some(address as usize).filter(|j| *j < self.len());
        }
        self.sources.binary_search(&address).ok()
    }

    /// Whether source numbers are addresses.
    pub fn has_gaps(&self) -> bool {
        self.has_gaps
    }

    /// The position at `time` of source `j` when the evaluation began that the caller watches.
    pub(crate) fn position_before(&self, j: usize, time: Option<f64>) -> Option<DVec3> {
        let address = if self.has_gaps { *self.sources.get(j)? as usize } else { j };
        let replaced =
            if self.replaced.is_empty() { None } else { self.replaced.get(&(address as u32)) };
        let moving = match replaced {
            Some(moving) => *moving,
            None => self.get(address)?.0,
        };
        Some(moving.at(time)[0])
    }

    /// The motion at an address, with its owner's tag and eps^2.
    pub fn get(&self, address: usize) -> Option<(Moving, i32, f64)> {
        let stored = self.low.get(address).filter(|stored| stored.is_set)?;
        let (low, high) = self.parts(address);
        Some((low.with(high), stored.tag, stored.softening_squared))
    }

    /// Addresses and tags of all that were set, ascending by address.
    pub fn tags(&self) -> impl Iterator<Item = (usize, i32)> {
        let all = self.low.iter().enumerate().filter(|(_, stored)| stored.is_set);
        all.map(|(address, stored)| (address, stored.tag))
    }

    /// Addresses set since [`SourceTable::clear_changes`].
    pub fn changed(&self) -> &[u32] {
        &self.changed
    }

    /// Whether addresses or tags changed since [`SourceTable::arrange`].
    pub fn is_rearranged(&self) -> bool {
        self.is_rearranged
    }

    /// Forgets which addresses changed.
    pub fn clear_changes(&mut self) {
        self.changed.drain(..).for_each(|at| self.low[at as usize].is_changed = false);
    }

    /// Makes those below the address `below` the sources.
    pub fn arrange(&mut self, below: usize) {
        let set = self.low.iter().take(below).enumerate().filter(|(_, stored)| stored.is_set);
        self.sources.clear();
        self.sources.extend(set.map(|(address, _)| address as u32));
        self.has_gaps =
            self.sources.last().is_some_and(|last| *last as usize >= self.sources.len());
        self.is_rearranged = false;
    }

    /// Stores a motion, with its owner's tag and eps^2, and marks it as changed.
    ///
    /// # Errors
    /// Out of memory. Nothing is changed then.
    pub fn set(
        &mut self,
        place: Goal,
        low: &ToJerk,
        high: [DVec3; 2],
        softening_squared: f64,
    ) -> Result<()> {
        let at = place.at as usize;
        if at >= self.low.len() || (self.high.is_empty() && high != [DVec3::ZERO; 2]) {
            self.grow(at, high != [DVec3::ZERO; 2])?;
        }
        self.remember(at);
        let stored = &mut self.low[at];
        self.is_rearranged |= !stored.is_set || stored.tag != place.tag;
        if !std::mem::replace(&mut stored.is_changed, true) {
            self.changed.push(place.at);
        }
        self.write(place, low, high, softening_squared);
        Ok(())
    }

    /// Stores motions at addresses that were set before, as a part of the evaluation that has just
    /// begun.
    pub fn settle(&mut self, sources: &Arrivals, softening_squared: &[f64]) {
        for (k, (place, low)) in sources.places.iter().zip(sources.low).enumerate() {
            if let Some(later) = sources.places.get(k + AHEAD) {
                fetch_ahead(&self.low, later.at as usize);
            }
            self.write(*place, low, sources.high(k), softening_squared[k]);
        }
    }

    /// Replaces the motion of source `j`.
    pub(crate) fn replace(&mut self, j: usize, low: &ToJerk, high: [DVec3; 2]) {
        let at = self.address(j);
        self.remember(at);
        let StoredSource { tag, softening_squared, .. } = self.low[at];
        self.write(Goal { at: at as u32, tag }, low, high, softening_squared);
    }

    /// Copies what is about to be replaced if an evaluation needs it.
    #[inline(always)]
    fn remember(&mut self, address: usize) {
        if self.watches > 0
            && let Some((moving, ..)) = self.get(address)
        {
            self.replaced.entry(address as u32).or_insert(moving);
        }
    }

    #[inline(always)]
    fn write(&mut self, place: Goal, low: &ToJerk, high: [DVec3; 2], softening_squared: f64) {
        let at = place.at as usize;
        let stored = &mut self.low[at];
        // Vector by vector: a single assignment compiles to a call of memcpy, which doubles the
        // time.
        for (into, from) in stored.low.motion.iter_mut().zip(&low.motion) {
            (into.x, into.y, into.z) = (from.x, from.y, from.z);
        }
        (stored.low.time, stored.low.mass, stored.tag) = (low.time, low.mass, place.tag);
        (stored.softening_squared, stored.is_set) = (softening_squared, true);
        if self.high.is_empty() && high != [DVec3::ZERO; 2] {
            self.high.resize(self.low.len(), [DVec3::ZERO; 2]);
        }
        if let Some(old) = self.high.get_mut(at) {
            *old = high;
        }
    }

    /// Grows to hold an address, and the higher derivatives if they are needed.
    #[cold]
    fn grow(&mut self, address: usize, with_high: bool) -> Result<()> {
        let length = self.low.len().max(address + 1);
        let full = |_| Error::Outside(format!("no memory for {length} j-particles"));
        self.low.try_reserve(length - self.low.len()).map_err(full)?;
        if with_high || !self.high.is_empty() {
            self.high.try_reserve(length - self.high.len()).map_err(full)?;
            self.high.resize(length, [DVec3::ZERO; 2]);
        }
        self.low.resize(length, StoredSource::default());
        Ok(())
    }

    /// Number of addresses that can be stored without allocation, and whether snap and crackle can.
    pub fn capacity(&self) -> (usize, bool) {
        let (low, takes_high) = (self.low.capacity(), !self.high.is_empty());
        (if takes_high { low.min(self.high.capacity()) } else { low }, takes_high)
    }
}

/// Prefetch distance, in sources.
const AHEAD: usize = 8;

/// An engine that stores the motion of its sources and predicts them all before computing forces,
/// as a GRAPE does ([`super::Interfaces::moving`]): between two evaluations only changed sources
/// are sent, whatever the time. Setting moving sources discards those of
/// [`super::ForceEngine::set_sources`], and vice versa.
pub trait MovingSources {
    /// Replaces all sources by those of `table`. The engine may read the table during each
    /// [`super::ForceEngine::begin`] and [`super::ForceEngine::collect`]. Further changes of the
    /// table have to be announced.
    ///
    /// # Errors
    /// More sources than the engine can hold; numbers outside the range of its precision.
    fn share(&mut self, table: &SharedTable) -> Result<()>;

    /// Announces new motions before an evaluation begins, for example to a device that computes
    /// while the host stores them. The table must hold them once [`super::ForceEngine::begin`] has
    /// returned, whether or not that succeeded ([`SourceTable::settle`]). If a source occurs
    /// several times, the last entry counts.
    ///
    /// # Errors
    /// As [`MovingSources::share`]; an index that is not below the number of sources.
    fn announce(&mut self, sources: &Arrivals) -> Result<()>;

    /// Sets the time to which sources are predicted from the next evaluation on; `None` uses them
    /// unpredicted.
    fn predict_to(&mut self, time: Option<f64>);

    /// The table that the engine reads; `None` if it has copied all sources.
    fn table(&self) -> Option<SharedTable>;

    /// Replaces all sources by `sources`.
    ///
    /// # Errors
    /// As [`MovingSources::share`].
    fn set_moving(&mut self, sources: &[Moving]) -> Result<()> {
        self.share(&SharedTable::of(sources))
    }

    /// Replaces source `index[k]` by `sources[k]`, for all k.
    ///
    /// # Errors
    /// As [`MovingSources::announce`].
    fn update_moving(&mut self, index: &[u32], sources: &[Moving]) -> Result<()> {
        check_indices(index, sources.len(), usize::MAX)?;
        let mut list = ArrivalList::default();
        let both = || index.iter().zip(sources);
        both().for_each(|(&at, moving)| list.push(Goal { at, tag: 0 }, moving));
        self.announce(&list.all())?;
        if let Some(table) = self.table() {
            let mut table = table.write();
            both().for_each(|(&j, new)| table.replace(j as usize, &new.into(), new.high()));
        }
        Ok(())
    }
}
