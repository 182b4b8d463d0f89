//! Queue of j-particles to be stored in a cluster's memory, appended contiguously whatever their
//! addresses. Clients set a particle every few nanoseconds, whereas a random access to a large
//! memory takes about 100 ns.

mod lane;
mod spin;

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use glam::DVec3;

use super::particle::Particle;
use gravitile::forces::{Arrivals, Goal, ToJerk};
use lane::SingleWriter;
use spin::Spin;

/// Maximum number of queued particles: 4 MB. If a client sets more between calls, they are stored
/// early.
const MAX_QUEUED: usize = 1 << 15;

/// Initial capacity.
const INITIAL_CAPACITY: usize = 256;

/// Append buffer: particles in the order in which they were set. The vectors are longer than
/// `count`.
#[derive(Default)]
pub struct AppendBuffer {
    /// In the engines' format: address, and the client's index as tag.
    places: Vec<Goal>,
    low: Vec<ToJerk>,
    /// Snap and crackle: as long as `low`, or empty if all are 0.
    high: Vec<[DVec3; 2]>,
    softening_squared: Vec<f64>,
    count: usize,
}

impl AppendBuffer {
    /// All particles in the engines' format, with the client's index as tag.
    pub fn arrivals(&self) -> Arrivals<'_> {
        let high = self.high.get(..self.count).unwrap_or(&[]);
        Arrivals { places: self.places(), low: &self.low[..self.count], high }
    }

    /// Addresses and indices of all particles.
    pub fn places(&self) -> &[Goal] {
        &self.places[..self.count]
    }

    /// All particles with snap, crackle and eps^2.
    pub fn each(&self) -> impl Iterator<Item = (Goal, &ToJerk, [DVec3; 2], f64)> {
        let high = |k: usize| self.high.get(k).copied().unwrap_or_default();
        let all = self.places().iter().zip(&self.low).zip(&self.softening_squared).enumerate();
        all.map(move |(k, ((place, low), softening))| (*place, low, high(k), *softening))
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Removes all particles but keeps the allocation.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Grows for one more than `count` entries, doubling the capacity if it is full, and adds snap
    /// and crackle unless the particle `is_low`. Returns false at the limit or without memory.
    #[cold]
    fn grow(&mut self, count: usize, is_low: bool) -> bool {
        let old = self.low.len();
        let new = if count < old {
            old
        } else {
            (2 * count).clamp(INITIAL_CAPACITY, MAX_QUEUED).max(old)
        };
        self.reserve(new, !is_low || !self.high.is_empty()) && count < new
    }

    /// Reserves `capacity` entries in all. Returns false without memory.
    fn reserve(&mut self, capacity: usize, with_high: bool) -> bool {
        fn fit<T: Copy + Default>(all: &mut Vec<T>, capacity: usize) -> bool {
            let has_memory = all.try_reserve_exact(capacity.saturating_sub(all.len())).is_ok();
            if has_memory {
                all.resize(capacity.max(all.len()), T::default());
            }
            has_memory
        }
        fit(&mut self.places, capacity)
            && fit(&mut self.softening_squared, capacity)
            && (!with_high || fit(&mut self.high, capacity))
            && fit(&mut self.low, capacity)
    }

    /// Appends a particle. Returns false without capacity.
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
        write_entry(address, particle, place, low);
        *softening = particle.softening_squared;
        if let Some(high) = self.high.get_mut(k) {
            *high = particle.high();
        }
        self.count += 1;
        true
    }

    /// Appends `others`. Aborts the process without memory.
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

/// Writes a particle number by number; see [`ParticleQueue::grow_writer`] for the reason.
#[inline(always)]
fn write_entry(address: c_int, particle: &Particle, place: &mut Goal, low: &mut ToJerk) {
    (place.at, place.tag) = (address as u32, particle.index);
    (low.time, low.mass) = (particle.time, particle.mass);
    for (to, from) in low.motion.iter_mut().zip(&particle.motion) {
        (to.x, to.y, to.z) = (from.x, from.y, from.z);
    }
}

/// Flag in `ParticleQueue::capacity`: snap and crackle can be stored.
const TAKES_HIGH: u64 = 1 << 32;

/// Particles that are not yet stored in a cluster's memory.
#[derive(Default)]
pub struct ParticleQueue {
    /// Addresses below this have memory for particles; plus [`TAKES_HIGH`].
    capacity: AtomicU64,
    /// Used by the first thread that sets particles; in most programs it is the only one.
    writer: SingleWriter,
    /// Used by all other threads.
    shared: Spin<AppendBuffer>,
}

impl ParticleQueue {
    /// Appends a particle for `address` unless that needs memory or the particle is invalid;
    /// `is_open` is evaluated last. Returns false if nothing was done.
    #[inline(always)]
    pub fn enqueue(
        &self,
        address: c_int,
        particle: &Particle,
        is_open: impl FnOnce() -> bool,
    ) -> bool {
        if !particle.is_valid() {
            return false;
        }
        let capacity = self.capacity.load(Ordering::Acquire);
        // Negative addresses become large.
        let is_beyond = address as u32 >= capacity as u32;
        let is_low = particle.is_low();
        if is_beyond || (capacity & TAKES_HIGH == 0 && !is_low) {
            return false;
        }
        if self.writer.is_mine() {
            return is_open()
                && (self.writer.has_room(is_low) || self.grow_writer(is_low))
                && self.writer.append(address, particle);
        }
        let mut shared = self.shared.lock();
        is_open() && shared.push(address, particle)
    }

    // Does not take the particle as an argument: it would be spilled to memory and reloaded right
    // after being written, which stalls until all earlier stores have reached the cache.
    #[cold]
    fn grow_writer(&self, is_low: bool) -> bool {
        self.writer.grow(is_low, &self.shared.lock())
    }

    /// Moves all queued particles to `empty`, which must be empty.
    pub fn take(&self, empty: &mut AppendBuffer) {
        // Held by every consumer.
        let mut shared = self.shared.lock();
        // A particle set by another thread after one of the writer's comes later in the order,
        // since the writer is disabled from then on.
        self.writer.take(empty, &shared);
        if shared.is_empty() {
            return;
        }
        if empty.is_empty() {
            std::mem::swap(&mut *shared, empty);
        } else {
            empty.append(shared.each());
            shared.clear();
        }
    }

    /// Returns a consumed buffer for reuse.
    pub fn recycle(&self, read: &mut AppendBuffer) {
        read.clear();
        let held = self.shared.lock();
        self.writer.reuse_memory(read, &held);
    }

    /// Sets the addresses that can be stored without allocation, and whether snap and crackle can.
    pub fn set_capacity(&self, capacity: usize, takes_high: bool) {
        let capacity = u64::from(u32::try_from(capacity).unwrap_or(u32::MAX));
        self.capacity.store(capacity + if takes_high { TAKES_HIGH } else { 0 }, Ordering::Release);
    }

    /// Closes the queue and discards its particles.
    pub fn close(&self) {
        self.capacity.store(0, Ordering::Release);
        let mut shared = self.shared.lock();
        *shared = AppendBuffer::default();
        self.writer.close(&shared);
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
    fn particles_that_need_no_allocation_are_queued_in_order() {
        let queue = ParticleQueue::default();
        assert!(!queue.enqueue(0, &particle(0), || true), "the capacity is 0 at first");
        queue.set_capacity(10, false);
        let mut high = particle(1);
        high.motion[4].y = 1.0;
        let mut broken = particle(1);
        broken.motion[2].z = f64::NAN;
        for (address, particle) in [(10, particle(0)), (-1, particle(0)), (1, high), (1, broken)] {
            assert!(!queue.enqueue(address, &particle, || true), "{address} {particle:?}");
        }
        assert!(!queue.enqueue(1, &particle(0), || false));
        queue.set_capacity(10, true);
        for (address, particle) in [(9, particle(-7)), (0, high), (9, particle(8))] {
            assert!(queue.enqueue(address, &particle, || true));
        }
        let mut buffer = AppendBuffer::default();
        queue.take(&mut buffer);
        let found: Vec<(u32, i32, f64)> =
            buffer.each().map(|(place, _, _, eps2)| (place.at, place.tag, eps2)).collect();
        assert_eq!(found, [(9, -7, 0.5), (0, 1, 0.5), (9, 8, 0.5)]);
        let motions: Vec<_> = buffer.arrivals().each().map(|(_, moving)| moving.motion).collect();
        assert_eq!(motions, [particle(-7).motion, high.motion, particle(8).motion]);
        buffer.clear();
        queue.take(&mut buffer);
        assert!(buffer.is_empty());
        queue.close();
        assert!(!queue.enqueue(0, &particle(0), || true));
    }

    #[test]
    fn full_queue_rejects_until_taken() {
        let queue = ParticleQueue::default();
        queue.set_capacity(MAX_QUEUED, false);
        let enqueued =
            (0..2 * MAX_QUEUED as i32).take_while(|k| queue.enqueue(k % 9, &particle(*k), || true));
        assert_eq!(enqueued.count(), MAX_QUEUED);
        let mut buffer = AppendBuffer::default();
        queue.take(&mut buffer);
        assert!(buffer.places().iter().zip(0..).all(|(place, k)| place.tag == k));
        assert!(queue.enqueue(3, &particle(5), || true));
    }

    /// Particles are taken by another thread than the one that sets them, then by that one; finally
    /// another thread sets particles too.
    #[test]
    fn order_is_preserved_across_threads() {
        let queue = ParticleQueue::default();
        queue.set_capacity(9, false);
        let found = |buffer: &mut AppendBuffer| {
            queue.take(buffer);
            let tags: Vec<i32> = buffer.places().iter().map(|place| place.tag).collect();
            queue.recycle(buffer);
            assert!(buffer.is_empty());
            tags
        };
        let elsewhere = |work: &(dyn Fn() -> Vec<i32> + Sync)| {
            std::thread::scope(|scope| scope.spawn(work).join().unwrap())
        };
        let mut buffer = AppendBuffer::default();
        let enqueue = |range: std::ops::Range<i32>| {
            range.for_each(|k| assert!(queue.enqueue(k % 9, &particle(k), || true)));
        };
        enqueue(0..300);
        let by_another = elsewhere(&|| found(&mut AppendBuffer::default()));
        assert!(by_another.into_iter().eq(0..300));
        enqueue(300..700);
        assert!(found(&mut buffer).into_iter().eq(300..700), "not those that are taken");
        enqueue(700..800);
        elsewhere(&|| {
            enqueue(800..900);
            Vec::new()
        });
        enqueue(900..1000);
        assert!(found(&mut buffer).into_iter().eq(700..1000));
        enqueue(1000..1100);
        assert!(elsewhere(&|| found(&mut AppendBuffer::default())).into_iter().eq(1000..1100));
        assert!(found(&mut buffer).is_empty());
        // Closed by another thread than the one that sets.
        let queue = ParticleQueue::default();
        queue.set_capacity(9, false);
        assert!(queue.enqueue(0, &particle(0), || true));
        std::thread::scope(|scope| drop(scope.spawn(|| queue.close())));
        queue.set_capacity(9, false);
        assert!(queue.enqueue(1, &particle(1), || true));
        queue.take(&mut buffer);
        assert_eq!(buffer.places().iter().map(|place| place.tag).collect::<Vec<_>>(), [1]);
    }

    /// Another thread closes and reopens the queue just after the setting thread has found it open.
    #[test]
    fn particle_for_closed_queue_is_dropped() {
        let queue = ParticleQueue::default();
        queue.set_capacity(9, false);
        assert!(queue.enqueue(0, &particle(0), || true));
        let is_open = || {
            std::thread::scope(|scope| drop(scope.spawn(|| queue.close())));
            queue.set_capacity(9, false);
            true
        };
        assert!(queue.enqueue(1, &particle(1), is_open));
        let tags = |queue: &ParticleQueue| -> Vec<i32> {
            let mut buffer = AppendBuffer::default();
            queue.take(&mut buffer);
            buffer.places().iter().map(|place| place.tag).collect()
        };
        assert!(
            std::thread::scope(|scope| scope.spawn(|| tags(&queue)).join().unwrap()).is_empty()
        );
        assert!(queue.enqueue(2, &particle(2), || true));
        assert_eq!(tags(&queue), [2], "the thread that set takes what comes");
        assert!(queue.enqueue(3, &particle(3), || true));
        assert_eq!(tags(&queue), [3]);
    }

    #[test]
    fn concurrent_threads_lose_no_particle() {
        let queue = ParticleQueue::default();
        queue.set_capacity(4, false);
        let (threads, each) = (4, 5000);
        let mut found = vec![Vec::new(); threads];
        std::thread::scope(|scope| {
            for thread in 0..threads as i32 {
                let queue = &queue;
                scope.spawn(move || {
                    for k in 0..each {
                        while !queue.enqueue(thread, &particle(k), || true) {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            let mut buffer = AppendBuffer::default();
            while found.iter().map(Vec::len).sum::<usize>() < threads * each as usize {
                queue.take(&mut buffer);
                buffer.places().iter().for_each(|one| found[one.at as usize].push(one.tag));
                buffer.clear();
            }
        });
        assert!(found.iter().all(|of_one| of_one.iter().copied().eq(0..each)));
    }
}
