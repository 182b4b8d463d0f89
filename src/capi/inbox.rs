//! j-particles on their way to a cluster's memory: each written once, beside the one before, however far apart their
//! addresses are. Clients set one every few nanoseconds, where a place in a large memory takes a hundred to reach.

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::hint::spin_loop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use super::particle::Particle;
use crate::forces::{Moving, Placed};

/// Particles that wait at most: 6 MB. A client that sets more without a call has them put in their places meanwhile.
const MOST: usize = 1 << 15;

/// Particles that there is room for at first.
const FIRST: usize = 256;

/// Particles in the order in which they were set.
#[derive(Default)]
pub struct Letters {
    /// As engines take them, by address; the client's index is their tag. Longer than there are any.
    placed: Vec<Placed>,
    softening_squared: Vec<f64>,
    count: usize,
}

impl Letters {
    /// All of them, as engines take them: at their addresses, the client's index as the tag.
    pub fn placed(&self) -> &[Placed] {
        &self.placed[..self.count]
    }

    /// All of them, and what the client wants to be kept.
    pub fn each(&self) -> impl Iterator<Item = (&Placed, f64)> {
        self.placed().iter().zip(self.softening_squared.iter().copied())
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Forgets them, and keeps their memory.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Twice the room. False: there is none.
    #[cold]
    fn grow(&mut self) -> bool {
        let room = (2 * self.count).clamp(FIRST, MOST);
        let more = room.saturating_sub(self.placed.len());
        let is_full = more == 0
            || self.placed.try_reserve_exact(more).is_err()
            || self.softening_squared.try_reserve_exact(more).is_err();
        if !is_full {
            self.placed.resize(room, Placed::default());
            self.softening_squared.resize(room, 0.0);
        }
        !is_full
    }
}

/// What waits, and what may.
#[derive(Default)]
struct Waiting {
    letters: Letters,
    /// Below this address there is memory for particles.
    room: u32,
    /// And for snaps and crackles of them.
    takes_high: bool,
}

/// The particles that a cluster's memory has not seen yet.
#[derive(Default)]
pub struct Inbox(Spin<Waiting>);

impl Inbox {
    /// Takes a particle for `address`, if that needs nothing that might be refused, and if it `is_open`, as is asked
    /// when no other thread can close it. False: nothing is done.
    #[inline(always)]
    pub fn post(
        &self,
        address: c_int,
        particle: &Particle,
        is_open: impl FnOnce() -> bool,
    ) -> bool {
        if !particle.is_sound() {
            return false;
        }
        let high = !particle.is_low();
        let mut waiting = self.0.lock();
        let Waiting { letters, room, takes_high } = &mut *waiting;
        // An address below 0 is far above.
        let refused = address as u32 >= *room || (high && !*takes_high) || !is_open();
        if refused || (letters.count == letters.placed.len() && !letters.grow()) {
            return false;
        }
        let Letters { placed, softening_squared, count } = letters;
        let (Some(place), Some(softening)) =
            (placed.get_mut(*count), softening_squared.get_mut(*count))
        else {
            return false;
        };
        let moving = Moving { time: particle.time, mass: particle.mass, motion: particle.motion };
        *place = Placed { moving, at: address as u32, tag: particle.index };
        *softening = particle.softening_squared;
        *count += 1;
        true
    }

    /// Gives what waits for `empty`, which is.
    pub fn take(&self, empty: &mut Letters) {
        let mut waiting = self.0.lock();
        if !waiting.letters.is_empty() {
            std::mem::swap(&mut waiting.letters, empty);
        }
    }

    /// From now on particles below address `room` can be put in their places, and so can snaps and crackles.
    pub fn make_room(&self, room: usize, takes_high: bool) {
        let mut waiting = self.0.lock();
        waiting.room = u32::try_from(room).unwrap_or(u32::MAX);
        waiting.takes_high = takes_high;
    }

    /// Nobody is there any more to read it.
    pub fn close(&self) {
        *self.0.lock() = Waiting::default();
    }
}

/// A lock for moments: it takes one atomic operation, where a mutex that can sleep takes two.
#[derive(Default)]
struct Spin<T> {
    is_held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: whoever holds the lock is the only one with a reference to the value.
unsafe impl<T: Send> Sync for Spin<T> {}

impl<T> Spin<T> {
    #[inline(always)]
    fn lock(&self) -> Held<'_, T> {
        if self.is_held.swap(true, Ordering::Acquire) {
            self.wait();
        }
        Held(self)
    }

    #[cold]
    fn wait(&self) {
        let mut turns = 0;
        while self.is_held.swap(true, Ordering::Acquire) {
            while self.is_held.load(Ordering::Relaxed) {
                turns += 1;
                // Whoever holds it may have lost its core.
                if turns % 128 == 0 { std::thread::yield_now() } else { spin_loop() }
            }
        }
    }
}

/// The lock, held.
struct Held<'a, T>(&'a Spin<T>);

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held, and this is its only holder.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.is_held.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    fn particle(index: i32) -> Particle {
        let mut motion = [DVec3::ZERO; 6];
        motion[0].x = f64::from(index);
        Particle { index, mass: 1.0, softening_squared: 0.5, motion, ..Particle::default() }
    }

    #[test]
    fn what_needs_no_memory_waits_in_order() {
        let inbox = Inbox::default();
        assert!(!inbox.post(0, &particle(0), || true), "there is no room at first");
        inbox.make_room(10, false);
        let mut high = particle(1);
        high.motion[4].y = 1.0;
        let mut broken = particle(1);
        broken.motion[2].z = f64::NAN;
        for (address, particle) in [(10, particle(0)), (-1, particle(0)), (1, high), (1, broken)] {
            assert!(!inbox.post(address, &particle, || true), "{address} {particle:?}");
        }
        assert!(!inbox.post(1, &particle(0), || false));
        inbox.make_room(10, true);
        for (address, particle) in [(9, particle(-7)), (0, high), (9, particle(8))] {
            assert!(inbox.post(address, &particle, || true));
        }
        let mut letters = Letters::default();
        inbox.take(&mut letters);
        let found: Vec<(u32, i32, f64)> =
            letters.each().map(|(placed, eps2)| (placed.at, placed.tag, eps2)).collect();
        assert_eq!(found, [(9, -7, 0.5), (0, 1, 0.5), (9, 8, 0.5)]);
        assert_eq!(letters.placed()[1].moving.motion, high.motion);
        letters.clear();
        inbox.take(&mut letters);
        assert!(letters.is_empty());
        inbox.close();
        assert!(!inbox.post(0, &particle(0), || true));
    }

    #[test]
    fn a_full_one_refuses_until_it_is_taken() {
        let inbox = Inbox::default();
        inbox.make_room(MOST, false);
        let posted = (0..2 * MOST as i32).take_while(|k| inbox.post(k % 9, &particle(*k), || true));
        assert_eq!(posted.count(), MOST);
        let mut letters = Letters::default();
        inbox.take(&mut letters);
        assert!(letters.placed().iter().zip(0..).all(|(placed, k)| placed.tag == k));
        assert!(inbox.post(3, &particle(5), || true));
    }

    #[test]
    fn threads_lose_nothing() {
        let inbox = Inbox::default();
        inbox.make_room(4, false);
        let (threads, each) = (4, 5000);
        let mut found = vec![Vec::new(); threads];
        std::thread::scope(|scope| {
            for thread in 0..threads as i32 {
                let inbox = &inbox;
                scope.spawn(move || {
                    for k in 0..each {
                        while !inbox.post(thread, &particle(k), || true) {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            let mut letters = Letters::default();
            while found.iter().map(Vec::len).sum::<usize>() < threads * each as usize {
                inbox.take(&mut letters);
                letters.each().for_each(|(placed, _)| found[placed.at as usize].push(placed.tag));
                letters.clear();
            }
        });
        assert!(found.iter().all(|of_one| of_one.iter().copied().eq(0..each)));
    }
}
