//! The way for the one thread that sets particles, in most programs: without a lock. One locked operation for each particle
//! would wait until everything that was written of the last one has reached the cache, which takes as long as all the rest.
//!
//! The first thread that posts owns the lane. It alone writes entries, and then says how many there are. Others read
//! those that it has told of, and change nothing of them. As soon as another thread posts, the lane is closed for good, and
//! so everything in it came before anything that others set after it.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use glam::DVec3;

use super::spin::Held;
use super::{Letters, write_letter};
use crate::capi::particle::Particle;
use crate::forces::{Goal, ToJerk};

/// More than ever were written.
const CLOSED: usize = usize::MAX;

thread_local! {
    /// Its address is this thread's mark, and no other's as long as this thread lives.
    static MARK: Cell<u8> = const { Cell::new(0) };
}

#[inline(always)]
fn mark() -> usize {
    MARK.with(|mark| std::ptr::from_ref(mark) as usize)
}

/// Entries that one thread writes.
#[derive(Default)]
pub struct Lane {
    /// The mark of that thread; 0: there is none yet.
    owner: AtomicUsize,
    /// Whether others have posted.
    is_shared: AtomicBool,
    /// The memory of `letters`, of so many entries; for snaps and crackles there may be none. It changes only where the
    /// owner holds the lock of the inbox.
    places: AtomicPtr<Goal>,
    low: AtomicPtr<ToJerk>,
    high: AtomicPtr<[DVec3; 2]>,
    softening_squared: AtomicPtr<f64>,
    room: AtomicUsize,
    /// So many have been written.
    count: AtomicUsize,
    /// Looked at by whoever holds the lock of the inbox.
    kept: UnsafeCell<Kept>,
}

#[derive(Default)]
struct Kept {
    letters: Letters,
    /// So many have been taken; [`CLOSED`]: what may still come is for nobody.
    taken: usize,
}

// SAFETY: `kept` is reached by the holder of the inbox's lock alone, and the entries of its letters by the owner, which
// writes those from `count` on, and by that holder, which reads those below.
unsafe impl Sync for Lane {}

impl Lane {
    /// Whether this thread's particles go by the lane.
    #[inline(always)]
    pub fn is_mine(&self) -> bool {
        let is_shared = self.is_shared.load(Ordering::Acquire);
        !is_shared && (self.owner.load(Ordering::Relaxed) == mark() || self.claim())
    }

    /// Makes it this thread's, if it is nobody's; else closes it.
    #[cold]
    fn claim(&self) -> bool {
        let claimed =
            self.owner.compare_exchange(0, mark(), Ordering::AcqRel, Ordering::Acquire).is_ok();
        if !claimed {
            self.is_shared.store(true, Ordering::Release);
        }
        claimed
    }

    /// Whether the owner's next particle has room, and its snap, unless it `is_low`.
    #[inline(always)]
    pub fn has_room(&self, is_low: bool) -> bool {
        self.count.load(Ordering::Relaxed) < self.room.load(Ordering::Relaxed)
            && (is_low || !self.high.load(Ordering::Relaxed).is_null())
    }

    /// Takes a particle of the owner's, which has room. False: it is full.
    #[inline(always)]
    pub fn post(&self, address: c_int, particle: &Particle) -> bool {
        let k = self.count.load(Ordering::Relaxed);
        if k >= self.room.load(Ordering::Relaxed) {
            return false;
        }
        let high = self.high.load(Ordering::Relaxed);
        // SAFETY: this is the owner, the only thread that changes the memory or the number of entries; k is below that of
        // entries there are, and nobody reads those from `count` on.
        unsafe {
            // Made in its place: a copy on the way would cost as much as all the rest.
            let place = &mut *self.places.load(Ordering::Relaxed).add(k);
            let low = &mut *self.low.load(Ordering::Relaxed).add(k);
            write_letter(address, particle, place, low);
            if !high.is_null() {
                high.add(k).write(particle.high());
            }
            let softening_squared = self.softening_squared.load(Ordering::Relaxed);
            softening_squared.add(k).write(particle.softening_squared);
        }
        self.count.store(k + 1, Ordering::Release);
        true
    }

    /// Gives what was written since the last time for `empty`, which is.
    pub fn take(&self, empty: &mut Letters, _held: &Held<'_, Letters>) {
        // SAFETY: the lock is held.
        let kept = unsafe { &mut *self.kept.get() };
        let count = self.count.load(Ordering::Acquire);
        let is_owner = self.owner.load(Ordering::Relaxed) == mark();
        if is_owner && kept.taken == 0 {
            // Nobody writes now.
            kept.letters.count = count;
            std::mem::swap(&mut kept.letters, empty);
        } else if count > kept.taken {
            let more = kept.taken..count;
            let (places, low) =
                (self.places.load(Ordering::Relaxed), self.low.load(Ordering::Relaxed));
            let (high, softening_squared) =
                (self.high.load(Ordering::Relaxed), self.softening_squared.load(Ordering::Relaxed));
            // SAFETY: they have been written, and nobody changes them.
            let all = more.map(|k| unsafe {
                let high = if high.is_null() { Default::default() } else { *high.add(k) };
                (*places.add(k), &*low.add(k), high, *softening_squared.add(k))
            });
            empty.append(all);
            kept.taken = count;
        }
        if is_owner {
            kept.taken = 0;
            kept.letters.clear();
            self.count.store(0, Ordering::Release);
            self.tell_memory(&mut kept.letters);
        }
    }

    /// Takes the memory of `read` for the owner's next entries, if there are none yet: what was read last is near.
    pub fn take_memory(&self, read: &mut Letters, _held: &Held<'_, Letters>) {
        // SAFETY: the lock is held.
        let kept = unsafe { &mut *self.kept.get() };
        let is_owner = self.owner.load(Ordering::Relaxed) == mark();
        let is_empty = kept.taken == 0 && self.count.load(Ordering::Relaxed) == 0;
        if is_owner && is_empty && read.low.len() >= kept.letters.low.len() {
            std::mem::swap(&mut kept.letters, read);
            self.tell_memory(&mut kept.letters);
        }
    }

    /// Makes room for another, which the owner does, also for its snap unless it `is_low`. False: there is none.
    pub fn grow(&self, is_low: bool, _held: &Held<'_, Letters>) -> bool {
        // SAFETY: the lock is held.
        let letters = unsafe { &mut (*self.kept.get()).letters };
        // The entries are among the letters already; how many of them have been written is the lane's to know.
        let grown = letters.grow(self.count.load(Ordering::Relaxed), is_low);
        self.tell_memory(letters);
        grown
    }

    fn tell_memory(&self, letters: &mut Letters) {
        self.room.store(letters.low.len(), Ordering::Relaxed);
        self.places.store(letters.places.as_mut_ptr(), Ordering::Relaxed);
        self.low.store(letters.low.as_mut_ptr(), Ordering::Relaxed);
        let has_high = !letters.high.is_empty();
        let high = if has_high { letters.high.as_mut_ptr() } else { std::ptr::null_mut() };
        self.high.store(high, Ordering::Relaxed);
        self.softening_squared.store(letters.softening_squared.as_mut_ptr(), Ordering::Relaxed);
    }

    /// Nobody reads it any more. Where another thread than the owner says so, the owner may be writing: the lane then
    /// stays closed, and keeps its memory. What the owner was writing was for those who read until now.
    pub fn close(&self, _held: &Held<'_, Letters>) {
        // SAFETY: the lock is held.
        let kept = unsafe { &mut *self.kept.get() };
        let owner = self.owner.load(Ordering::Relaxed);
        if owner != mark() {
            if owner != 0 {
                self.is_shared.store(true, Ordering::Release);
                kept.taken = CLOSED;
            }
            return;
        }
        self.room.store(0, Ordering::Relaxed);
        self.count.store(0, Ordering::Relaxed);
        *kept = Kept::default();
        self.is_shared.store(false, Ordering::Release);
        self.owner.store(0, Ordering::Release);
    }
}
