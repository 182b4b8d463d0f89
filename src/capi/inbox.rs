//! j-particles on their way to a cluster's memory: each written once, beside the one before, however far apart their
//! addresses are. Clients set one every few nanoseconds, where a place in a large memory takes a hundred to reach.

mod lane;
mod spin;

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use glam::DVec3;

use super::particle::Particle;
use crate::forces::{Arrivals, Goal, ToJerk};
use lane::Lane;
use spin::Spin;

/// Particles that wait at most: 4 MB. A client that sets more without a call has them put in their places meanwhile.
const MOST: usize = 1 << 15;

/// Particles that there is room for at first.
const FIRST: usize = 256;

/// Particles in the order in which they were set.
#[derive(Default)]
pub struct Letters {
    /// As engines take them, by address; the client's index is their tag. Longer than there are any.
    places: Vec<Goal>,
    low: Vec<ToJerk>,
    /// As long, or empty where none has any.
    high: Vec<[DVec3; 2]>,
    softening_squared: Vec<f64>,
    count: usize,
}

impl Letters {
    /// All of them, as engines take them: at their addresses, the client's index as the tag.
    pub fn arrivals(&self) -> Arrivals<'_> {
        let high = self.high.get(..self.count).unwrap_or(&[]);
        Arrivals { places: self.places(), low: &self.low[..self.count], high }
    }

    /// Their addresses and indices.
    pub fn places(&self) -> &[Goal] {
        &self.places[..self.count]
    }

    /// All of them, with snap and crackle and what the client wants to be kept.
    pub fn each(&self) -> impl Iterator<Item = (Goal, &ToJerk, [DVec3; 2], f64)> {
        let high = |k: usize| self.high.get(k).copied().unwrap_or_default();
        let all = self.places().iter().zip(&self.low).zip(&self.softening_squared).enumerate();
        all.map(move |(k, ((place, low), softening))| (*place, low, high(k), *softening))
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Forgets them, and keeps their memory.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Makes room for one more than `count`, twice as much where it is full, and for its snap and crackle if it has any.
    /// False: there is none.
    #[cold]
    fn grow(&mut self, count: usize, is_low: bool) -> bool {
        let there = self.low.len();
        let room = if count < there { there } else { (2 * count).clamp(FIRST, MOST).max(there) };
        self.reserve(room, !is_low || !self.high.is_empty()) && count < room
    }

    /// Room for so many in all. False: there is no memory.
    fn reserve(&mut self, room: usize, with_high: bool) -> bool {
        fn fit<T: Copy + Default>(all: &mut Vec<T>, room: usize) -> bool {
            let is_there = all.try_reserve_exact(room.saturating_sub(all.len())).is_ok();
            if is_there {
                all.resize(room.max(all.len()), T::default());
            }
            is_there
        }
        fit(&mut self.places, room)
            && fit(&mut self.softening_squared, room)
            && (!with_high || fit(&mut self.high, room))
            && fit(&mut self.low, room)
    }

    /// Takes one more. False: there is no room.
    #[inline(always)]
    fn push(&mut self, address: c_int, particle: &Particle) -> bool {
        let (k, is_low) = (self.count, particle.is_low());
        let has_room = k < self.low.len() && (is_low || !self.high.is_empty());
        if !has_room && !self.grow(k, is_low) {
            return false;
        }
        let (Some(place), Some(low), Some(softening)) =
            (self.places.get_mut(k), self.low.get_mut(k), self.softening_squared.get_mut(k))
        else {
            return false;
        };
        write_letter(address, particle, place, low);
        *softening = particle.softening_squared;
        if let Some(high) = self.high.get_mut(k) {
            *high = particle.high();
        }
        self.count += 1;
        true
    }

    /// Takes others behind those that are there, for which there is memory or the process ends.
    fn append<'a>(&mut self, others: impl Iterator<Item = (Goal, &'a ToJerk, [DVec3; 2], f64)>) {
        self.places.truncate(self.count);
        self.low.truncate(self.count);
        self.high.truncate(self.count);
        self.softening_squared.truncate(self.count);
        for (place, low, high, softening_squared) in others {
            if !self.high.is_empty() || high != [DVec3::ZERO; 2] {
                self.high.resize(self.low.len(), [DVec3::ZERO; 2]);
                self.high.push(high);
            }
            self.places.push(place);
            self.low.push(*low);
            self.softening_squared.push(softening_squared);
        }
        self.count = self.low.len();
    }
}

/// A letter of a particle for an address, number by number: see [`Inbox::make_lane_longer`].
#[inline(always)]
fn write_letter(address: c_int, particle: &Particle, place: &mut Goal, low: &mut ToJerk) {
    (place.at, place.tag) = (address as u32, particle.index);
    (low.time, low.mass) = (particle.time, particle.mass);
    for (to, from) in low.motion.iter_mut().zip(&particle.motion) {
        (to.x, to.y, to.z) = (from.x, from.y, from.z);
    }
}

/// Added to the room where there is memory for snaps and crackles, too.
const TAKES_HIGH: u64 = 1 << 32;

/// The particles that a cluster's memory has not seen yet.
#[derive(Default)]
pub struct Inbox {
    /// Below this address there is memory for particles; and [`TAKES_HIGH`].
    room: AtomicU64,
    /// Of the one thread that sets particles, in most programs.
    lane: Lane,
    /// Of all others.
    waiting: Spin<Letters>,
}

impl Inbox {
    /// Takes a particle for `address`, if that needs nothing that might be refused, and if it `is_open`, as is asked
    /// last. False: nothing is done.
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
        let room = self.room.load(Ordering::Acquire);
        // An address below 0 is far above.
        let is_beyond = address as u32 >= room as u32;
        let is_low = particle.is_low();
        if is_beyond || (room & TAKES_HIGH == 0 && !is_low) {
            return false;
        }
        if self.lane.is_mine() {
            return is_open()
                && (self.lane.has_room(is_low) || self.make_lane_longer(is_low))
                && self.lane.post(address, particle);
        }
        let mut waiting = self.waiting.lock();
        is_open() && waiting.push(address, particle)
    }

    // It knows nothing of the particle: one that is handed on lies in memory, and is read from there as soon as it has been
    // written, which waits for all that was written before to reach the cache.
    #[cold]
    fn make_lane_longer(&self, is_low: bool) -> bool {
        self.lane.grow(is_low, &self.waiting.lock())
    }

    /// Gives what waits for `empty`, which is.
    pub fn take(&self, empty: &mut Letters) {
        // Whoever takes holds this lock.
        let mut waiting = self.waiting.lock();
        // What another thread set after one of the lane's came after it: from then on nothing goes by the lane.
        self.lane.take(empty, &waiting);
        if waiting.is_empty() {
            return;
        }
        if empty.is_empty() {
            std::mem::swap(&mut *waiting, empty);
        } else {
            empty.append(waiting.each());
            waiting.clear();
        }
    }

    /// Gives back letters that have been read, as empty ones.
    pub fn give_back(&self, read: &mut Letters) {
        read.clear();
        let held = self.waiting.lock();
        self.lane.take_memory(read, &held);
    }

    /// From now on particles below address `room` can be put in their places, and so can snaps and crackles.
    pub fn make_room(&self, room: usize, takes_high: bool) {
        let room = u64::from(u32::try_from(room).unwrap_or(u32::MAX));
        self.room.store(room + if takes_high { TAKES_HIGH } else { 0 }, Ordering::Release);
    }

    /// Nobody is there any more to read it.
    pub fn close(&self) {
        self.room.store(0, Ordering::Release);
        let mut waiting = self.waiting.lock();
        *waiting = Letters::default();
        self.lane.close(&waiting);
    }
}

#[cfg(test)]
mod tests {
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
            letters.each().map(|(place, _, _, eps2)| (place.at, place.tag, eps2)).collect();
        assert_eq!(found, [(9, -7, 0.5), (0, 1, 0.5), (9, 8, 0.5)]);
        let motions: Vec<_> = letters.arrivals().each().map(|(_, moving)| moving.motion).collect();
        assert_eq!(motions, [particle(-7).motion, high.motion, particle(8).motion]);
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
        assert!(letters.places().iter().zip(0..).all(|(place, k)| place.tag == k));
        assert!(inbox.post(3, &particle(5), || true));
    }

    /// Memory is read by another thread than the one that sets, then by that one; and another thread sets, too.
    #[test]
    fn what_comes_later_is_taken_later() {
        let inbox = Inbox::default();
        inbox.make_room(9, false);
        let found = |letters: &mut Letters| {
            inbox.take(letters);
            let tags: Vec<i32> = letters.places().iter().map(|place| place.tag).collect();
            inbox.give_back(letters);
            assert!(letters.is_empty());
            tags
        };
        let elsewhere = |work: &(dyn Fn() -> Vec<i32> + Sync)| {
            std::thread::scope(|scope| scope.spawn(work).join().unwrap())
        };
        let mut letters = Letters::default();
        let post = |range: std::ops::Range<i32>| {
            range.for_each(|k| assert!(inbox.post(k % 9, &particle(k), || true)));
        };
        post(0..300);
        let by_another = elsewhere(&|| found(&mut Letters::default()));
        assert!(by_another.into_iter().eq(0..300));
        post(300..700);
        assert!(found(&mut letters).into_iter().eq(300..700), "not those that are taken");
        post(700..800);
        elsewhere(&|| {
            post(800..900);
            Vec::new()
        });
        post(900..1000);
        assert!(found(&mut letters).into_iter().eq(700..1000));
        post(1000..1100);
        assert!(elsewhere(&|| found(&mut Letters::default())).into_iter().eq(1000..1100));
        assert!(found(&mut letters).is_empty());
        // Closed by another thread than the one that set.
        let inbox = Inbox::default();
        inbox.make_room(9, false);
        assert!(inbox.post(0, &particle(0), || true));
        std::thread::scope(|scope| drop(scope.spawn(|| inbox.close())));
        inbox.make_room(9, false);
        assert!(inbox.post(1, &particle(1), || true));
        inbox.take(&mut letters);
        assert_eq!(letters.places().iter().map(|place| place.tag).collect::<Vec<_>>(), [1]);
    }

    /// It is closed by another thread, and opened for other particles, just after the one that sets has seen it open.
    #[test]
    fn a_particle_for_a_closed_one_does_not_get_into_the_next() {
        let inbox = Inbox::default();
        inbox.make_room(9, false);
        assert!(inbox.post(0, &particle(0), || true));
        let is_open = || {
            std::thread::scope(|scope| drop(scope.spawn(|| inbox.close())));
            inbox.make_room(9, false);
            true
        };
        assert!(inbox.post(1, &particle(1), is_open));
        let tags = |inbox: &Inbox| -> Vec<i32> {
            let mut letters = Letters::default();
            inbox.take(&mut letters);
            letters.places().iter().map(|place| place.tag).collect()
        };
        assert!(
            std::thread::scope(|scope| scope.spawn(|| tags(&inbox)).join().unwrap()).is_empty()
        );
        assert!(inbox.post(2, &particle(2), || true));
        assert_eq!(tags(&inbox), [2], "the thread that set takes what comes");
        assert!(inbox.post(3, &particle(3), || true));
        assert_eq!(tags(&inbox), [3]);
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
                letters.places().iter().for_each(|one| found[one.at as usize].push(one.tag));
                letters.clear();
            }
        });
        assert!(found.iter().all(|of_one| of_one.iter().copied().eq(0..each)));
    }
}
