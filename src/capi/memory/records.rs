//! Particles by address, each in few cache lines: a client may set one every few nanoseconds.

use glam::DVec3;

use super::Particle;
use gravitile::error::{Error, Result};
use gravitile::forces::{Goal, Moving, ToJerk};
use gravitile::math::fetch_ahead;

/// All data of a particle without snap and crackle: two cache lines.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct Record {
    /// Position, velocity, acceleration and jerk.
    motion: [DVec3; 4],
    time: f64,
    mass: f64,
    softening_squared: f64,
    index: i32,
    /// Whether this address was set.
    is_set: bool,
}

const _: () = assert!(size_of::<Record>() == 128);

const UNSET: Record = Record {
    motion: [DVec3::ZERO; 4],
    time: 0.0,
    mass: 0.0,
    softening_squared: 0.0,
    index: 0,
    is_set: false,
};

/// Particles by address; unset addresses hold no particle.
#[derive(Default)]
pub(super) struct Records {
    low: Vec<Record>,
    /// Whether each has changed since [`Records::forget_change`]. Stored apart from `low`, since
    /// all flags are traversed.
    changed: Vec<bool>,
    /// Snaps and crackles: as long as `low`, or empty while all are 0.
    high: Vec<[DVec3; 2]>,
}

/// Previous content of an address.
pub(super) struct Previous {
    /// The old particle's index, if any.
    pub index: Option<i32>,
    /// Whether it had changed since [`Records::forget_change`].
    pub was_changed: bool,
}

impl Records {
    /// Stores a particle, whose index is the tag of its place, and marks it changed.
    ///
    /// # Errors
    /// Out of memory. Nothing is changed then.
    #[inline]
    pub fn put(
        &mut self,
        Goal { at, tag: index }: Goal,
        low: &ToJerk,
        high: [DVec3; 2],
        softening_squared: f64,
    ) -> Result<Previous> {
        let place = at as usize;
        if place >= self.low.len() || (self.high.is_empty() && high != [DVec3::ZERO; 2]) {
            self.grow(place, high != [DVec3::ZERO; 2])?;
        }
        let record = &mut self.low[place];
        let before = Previous {
            index: record.is_set.then_some(record.index),
            was_changed: std::mem::replace(&mut self.changed[place], true),
        };
        // Vector by vector: a single assignment compiles to a call of memcpy, which doubles the
        // time.
        for (into, from) in record.motion.iter_mut().zip(&low.motion) {
            (into.x, into.y, into.z) = (from.x, from.y, from.z);
        }
        (record.time, record.mass, record.index) = (low.time, low.mass, index);
        (record.softening_squared, record.is_set) = (softening_squared, true);
        if let Some(old) = self.high.get_mut(place) {
            *old = high;
        }
        Ok(before)
    }

    /// Prefetches the record of an address that will be set soon.
    #[inline(always)]
    pub fn prefetch(&self, place: usize) {
        fetch_ahead(&self.low, place);
    }

    /// Grows to hold an address, and the higher derivatives if they are needed.
    #[cold]
    fn grow(&mut self, place: usize, with_high: bool) -> Result<()> {
        let length = self.low.len().max(place + 1);
        let full = |_| Error::Outside(format!("no memory for {length} j-particles"));
        let with_high = with_high || !self.high.is_empty();
        self.low.try_reserve(length - self.low.len()).map_err(full)?;
        if with_high {
            self.high.try_reserve(length - self.high.len()).map_err(full)?;
            self.high.resize(length, [DVec3::ZERO; 2]);
        }
        self.changed.try_reserve(length - self.changed.len()).map_err(full)?;
        self.low.resize(length, UNSET);
        self.changed.resize(length, false);
        Ok(())
    }

    /// Number of addresses that can be stored without allocation, and whether snap and crackle can.
    pub fn capacity(&self) -> (usize, bool) {
        let low = self.low.capacity().min(self.changed.capacity());
        let takes_high = !self.high.is_empty();
        (if takes_high { low.min(self.high.capacity()) } else { low }, takes_high)
    }

    /// The particle at an address.
    pub fn get(&self, place: usize) -> Option<Particle> {
        let record = self.low.get(place).filter(|record| record.is_set)?;
        let [x, v, a, j] = record.motion;
        let [s, c] = self.high.get(place).copied().unwrap_or_default();
        Some(Particle {
            index: record.index,
            time: record.time,
            mass: record.mass,
            softening_squared: record.softening_squared,
            motion: [x, v, a, j, s, c],
        })
    }

    /// The particle at an address in the engines' format; massless if unset.
    pub fn moving(&self, place: usize) -> Moving {
        let Some(record) = self.low.get(place).filter(|record| record.is_set) else {
            return Moving::default();
        };
        let [x, v, a, j] = record.motion;
        let [s, c] = self.high.get(place).copied().unwrap_or_default();
        Moving { time: record.time, mass: record.mass, motion: [x, v, a, j, s, c] }
    }

    /// Addresses and indices of all particles, ascending by address.
    pub fn all(&self) -> impl Iterator<Item = (usize, i32)> {
        let records = self.low.iter().enumerate();
        records.filter(|(_, record)| record.is_set).map(|(place, record)| (place, record.index))
    }

    /// Clears the changed flag of an address.
    pub fn forget_change(&mut self, place: usize) {
        self.changed[place] = false;
    }
}
