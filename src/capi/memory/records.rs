//! Particles by address, in few cache lines each: a client may set one every few nanoseconds.

use glam::DVec3;

use super::Particle;
use crate::error::{Error, Result};
use crate::forces::{Goal, Moving, ToJerk};
use crate::math::fetch_ahead;

/// What is there of most particles: two cache lines.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct Record {
    /// Position, velocity, acceleration and jerk.
    motion: [DVec3; 4],
    time: f64,
    mass: f64,
    softening_squared: f64,
    index: i32,
    /// Whether anybody has set this one.
    is_set: bool,
}

const _: () = assert!(size_of::<Record>() == 128);

const NOBODY: Record = Record {
    motion: [DVec3::ZERO; 4],
    time: 0.0,
    mass: 0.0,
    softening_squared: 0.0,
    index: 0,
    is_set: false,
};

/// Particles by address; addresses that nobody has set are no particles.
#[derive(Default)]
pub(super) struct Records {
    low: Vec<Record>,
    /// Whether each has changed since [`Records::forget_change`]; by themselves, since all are gone through.
    changed: Vec<bool>,
    /// Snaps and crackles: as many, or none as long as all are 0.
    high: Vec<[DVec3; 2]>,
}

/// What was at an address before.
pub(super) struct Before {
    /// The particle's index, if there was one.
    pub index: Option<i32>,
    /// Whether it had changed since [`Records::forget_change`].
    pub was_changed: bool,
}

impl Records {
    /// Puts a particle, whose index is the tag of its place, at its address, changed.
    ///
    /// Errors: no memory. Nothing has changed then.
    #[inline]
    pub fn put(
        &mut self,
        Goal { at, tag: index }: Goal,
        low: &ToJerk,
        high: [DVec3; 2],
        softening_squared: f64,
    ) -> Result<Before> {
        let place = at as usize;
        if place >= self.low.len() || (self.high.is_empty() && high != [DVec3::ZERO; 2]) {
            self.grow(place, high != [DVec3::ZERO; 2])?;
        }
        let record = &mut self.low[place];
        let before = Before {
            index: record.is_set.then_some(record.index),
            was_changed: std::mem::replace(&mut self.changed[place], true),
        };
        // Vector by vector: all at once is a call of memcpy, which takes as long as all the rest.
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

    /// Begins to fetch the place of an address that is set soon.
    #[inline(always)]
    pub fn fetch(&self, place: usize) {
        fetch_ahead(&self.low, place);
    }

    /// Makes room for an address, and for the higher derivatives if they are needed.
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
        self.low.resize(length, NOBODY);
        self.changed.resize(length, false);
        Ok(())
    }

    /// Addresses that particles can be put at without other memory, and whether snaps and crackles can.
    pub fn room(&self) -> (usize, bool) {
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

    /// The particle at an address as engines take it; one of no mass where there is none.
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

    /// The particle at an address is no longer a changed one.
    pub fn forget_change(&mut self, place: usize) {
        self.changed[place] = false;
    }
}
