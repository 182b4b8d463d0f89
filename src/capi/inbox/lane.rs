//! Lock-free append buffer for the one thread that sets particles in most programs. A locked
//! operation per particle would wait until all stores of the last particle have reached the cache,
//! which doubles the time.
//!
//! The first thread that appends becomes the owner. Only the owner writes entries; it then
//! publishes their count, and consumers read the published entries without changing them. Once
//! another thread appends, the buffer is disabled for good, so everything in it precedes what other
//! threads set afterwards.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use glam::DVec3;

use super::spin::Held;
use super::{AppendBuffer, write_entry};
use crate::particle::Particle;
use gravitile::forces::{Goal, ToJerk};

/// More than any number of entries.
const CLOSED: usize = usize::MAX;

thread_local! {
    /// Its address identifies this thread as long as the thread lives.
    static MARK: Cell<u8> = const { Cell::new(0) };
}

#[inline(always)]
fn mark() -> usize {
    MARK.with(|mark| std::ptr::from_ref(mark) as usize)
}

/// Entries written by a single thread.
#[derive(Default)]
pub struct SingleWriter {
    /// Mark of the owner; 0 if there is none yet.
    owner: AtomicUsize,
    /// Whether other threads have appended.
    is_shared: AtomicBool,
    /// Pointers into `buffer`, of `capacity` entries each; `high` may be null. They change only
    /// while the owner holds the queue's lock.
    places: AtomicPtr<Goal>,
    low: AtomicPtr<ToJerk>,
    high: AtomicPtr<[DVec3; 2]>,
    softening_squared: AtomicPtr<f64>,
    capacity: AtomicUsize,
    /// Number of entries written.
    count: AtomicUsize,
    /// Accessed only with the queue's lock held.
    state: UnsafeCell<WriterState>,
}

#[derive(Default)]
struct WriterState {
    buffer: AppendBuffer,
    /// Number of entries taken; [`CLOSED`] if later ones are to be discarded.
    taken: usize,
}

// SAFETY: `state` is accessed only with the queue's lock held. Of the entries of its buffer the
// owner writes those from `count` on, and the lock holder reads those below.
unsafe impl Sync for SingleWriter {}

impl SingleWriter {
    /// Whether this thread appends here.
    #[inline(always)]
    pub fn is_mine(&self) -> bool {
        let is_shared = self.is_shared.load(Ordering::Acquire);
        !is_shared && (self.owner.load(Ordering::Relaxed) == mark() || self.claim())
    }

    /// Makes this thread the owner if there is none; otherwise disables the buffer.
    #[cold]
    fn claim(&self) -> bool {
        let claimed =
            self.owner.compare_exchange(0, mark(), Ordering::AcqRel, Ordering::Acquire).is_ok();
        if !claimed {
            self.is_shared.store(true, Ordering::Release);
        }
        claimed
    }

    /// Whether there is capacity for the owner's next particle, and for its snap unless it
    /// `is_low`.
    #[inline(always)]
    pub fn has_room(&self, is_low: bool) -> bool {
        self.count.load(Ordering::Relaxed) < self.capacity.load(Ordering::Relaxed)
            && (is_low || !self.high.load(Ordering::Relaxed).is_null())
    }

    /// Appends a particle; only the owner may call this. Returns false if it is full.
    #[inline(always)]
    pub fn append(&self, address: c_int, particle: &Particle) -> bool {
        let k = self.count.load(Ordering::Relaxed);
        if k >= self.capacity.load(Ordering::Relaxed) {
            return false;
        }
        let high = self.high.load(Ordering::Relaxed);
        // SAFETY: this thread is the owner, the only one that changes the pointers and the count; k
        // is below the capacity, and no other thread reads entries from `count` on.
        unsafe {
            // Written in place: an intermediate copy would double the time.
            let place = &mut *self.places.load(Ordering::Relaxed).add(k);
            let low = &mut *self.low.load(Ordering::Relaxed).add(k);
            write_entry(address, particle, place, low);
            if !high.is_null() {
                high.add(k).write(particle.high());
            }
            let softening_squared = self.softening_squared.load(Ordering::Relaxed);
            softening_squared.add(k).write(particle.softening_squared);
        }
        self.count.store(k + 1, Ordering::Release);
        true
    }

    /// Moves the entries written since the last call to `empty`, which must be empty.
    pub fn take(&self, empty: &mut AppendBuffer, _held: &Held<'_, AppendBuffer>) {
        // SAFETY: `_held` proves that the queue's lock is held.
        let state = unsafe { &mut *self.state.get() };
        let count = self.count.load(Ordering::Acquire);
        let is_owner = self.owner.load(Ordering::Relaxed) == mark();
        if is_owner && state.taken == 0 {
            // The owner is this thread, so nobody writes now.
            state.buffer.count = count;
            std::mem::swap(&mut state.buffer, empty);
        } else if count > state.taken {
            let more = state.taken..count;
            let (places, low) =
                (self.places.load(Ordering::Relaxed), self.low.load(Ordering::Relaxed));
            let (high, softening_squared) =
                (self.high.load(Ordering::Relaxed), self.softening_squared.load(Ordering::Relaxed));
            // SAFETY: entries below `count` have been written, and nobody changes them.
            let all = more.map(|k| unsafe {
                let high = if high.is_null() { Default::default() } else { *high.add(k) };
                (*places.add(k), &*low.add(k), high, *softening_squared.add(k))
            });
            empty.append(all);
            state.taken = count;
        }
        if is_owner {
            state.taken = 0;
            state.buffer.clear();
            self.count.store(0, Ordering::Release);
            self.publish_memory(&mut state.buffer);
        }
    }

    /// Reuses the memory of `read` for the owner's next entries if there are none yet: it is still
    /// in the cache.
    pub fn reuse_memory(&self, read: &mut AppendBuffer, _held: &Held<'_, AppendBuffer>) {
        // SAFETY: `_held` proves that the queue's lock is held.
        let state = unsafe { &mut *self.state.get() };
        let is_owner = self.owner.load(Ordering::Relaxed) == mark();
        let is_empty = state.taken == 0 && self.count.load(Ordering::Relaxed) == 0;
        if is_owner && is_empty && read.low.len() >= state.buffer.low.len() {
            std::mem::swap(&mut state.buffer, read);
            self.publish_memory(&mut state.buffer);
        }
    }

    /// Grows for one more entry, and for its snap unless it `is_low`; only the owner may call this.
    /// Returns false at the limit or without memory.
    pub fn grow(&self, is_low: bool, _held: &Held<'_, AppendBuffer>) -> bool {
        // SAFETY: `_held` proves that the queue's lock is held.
        let buffer = unsafe { &mut (*self.state.get()).buffer };
        // The buffer's own count is not up to date; the number of written entries is in
        // `self.count`.
        let grown = buffer.grow(self.count.load(Ordering::Relaxed), is_low);
        self.publish_memory(buffer);
        grown
    }

    fn publish_memory(&self, buffer: &mut AppendBuffer) {
        self.capacity.store(buffer.low.len(), Ordering::Relaxed);
        self.places.store(buffer.places.as_mut_ptr(), Ordering::Relaxed);
        self.low.store(buffer.low.as_mut_ptr(), Ordering::Relaxed);
        let has_high = !buffer.high.is_empty();
        let high = if has_high { buffer.high.as_mut_ptr() } else { std::ptr::null_mut() };
        self.high.store(high, Ordering::Relaxed);
        self.softening_squared.store(buffer.softening_squared.as_mut_ptr(), Ordering::Relaxed);
    }

    /// Discards all entries. If the caller is not the owner, the owner may be writing: the buffer
    /// then stays disabled and keeps its memory, and what the owner was writing is discarded.
    pub fn close(&self, _held: &Held<'_, AppendBuffer>) {
        // SAFETY: `_held` proves that the queue's lock is held.
        let state = unsafe { &mut *self.state.get() };
        let owner = self.owner.load(Ordering::Relaxed);
        if owner != mark() {
            if owner != 0 {
                self.is_shared.store(true, Ordering::Release);
                state.taken = CLOSED;
            }
            return;
        }
        self.capacity.store(0, Ordering::Relaxed);
        self.count.store(0, Ordering::Relaxed);
        *state = WriterState::default();
        self.is_shared.store(false, Ordering::Release);
        self.owner.store(0, Ordering::Release);
    }
}
