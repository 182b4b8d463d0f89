//! Queue of j-particles to be stored in a cluster's memory, appended contiguously whatever their
//! addresses. Clients set a particle every few nanoseconds, whereas a random access to a large
//! memory takes about 100 ns.
//!
//! In most programs one thread sets all particles. It appends to a log without locked operations,
//! each of which would wait until all stores of the last particle have reached the cache: 9 ns per
//! particle, but 21 with a mutex (the queue alone, AMD EPYC with AVX-512). Particles of other
//! threads are appended under a lock.

use std::cell::Cell;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::slice::from_raw_parts;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use glam::DVec3;

use gravitile::error::{Error, Result};
use gravitile::forces::{Arrivals, Goal, Moving, ToJerk};

/// Most particles in the log, and of other threads: 4 MB each. If a client sets more between calls,
/// they are stored early.
const MAX_QUEUED: usize = 1 << 15;

/// Flag in `ParticleQueue::capacity`: snap and crackle can be stored.
const TAKES_HIGH: u64 = 1 << 32;

/// More than any number of entries.
const CLOSED: usize = usize::MAX;

/// The store of the log among the stores of a queue; the others take turns for other threads'
/// particles.
const LOG: usize = 0;

/// Particles that are not yet stored in a cluster's memory.
#[derive(Default)]
pub struct ParticleQueue {
    /// Addresses below this have memory for particles; plus [`TAKES_HIGH`].
    capacity: AtomicU64,
    log: SingleWriterLog,
    stores: [EntryStore; 3],
    shared: Mutex<Shared>,
    has_reader: AtomicBool,
}

struct Shared {
    /// The store that particles of other threads than the log's owner are appended to, and their
    /// number there.
    store: usize,
    count: usize,
    /// Number of entries of the log that were read; [`CLOSED`] if later ones are to be discarded.
    read: usize,
}

impl Default for Shared {
    fn default() -> Self {
        Self { store: LOG + 1, count: 0, read: 0 }
    }
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
        if self.log.is_mine() {
            let (store, k) = (&self.stores[LOG], self.log.count.load(Ordering::Relaxed));
            let is_ready = is_open() && (store.has_room(k, is_low) || store.grow(k, is_low));
            if is_ready {
                // SAFETY: there is room. This thread is the owner, the only one that writes here,
                // and no other thread reads entries that are not counted.
                unsafe { store.write(k, address, particle) };
                self.log.count.store(k + 1, Ordering::Release);
            }
            return is_ready;
        }
        let mut shared = self.lock();
        let (store, k) = (&self.stores[shared.store], shared.count);
        let is_ready = is_open() && (store.has_room(k, is_low) || store.grow(k, is_low));
        if is_ready {
            // SAFETY: there is room, and the lock is held.
            unsafe { store.write(k, address, particle) };
            shared.count += 1;
        }
        is_ready
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The only reader of a queue, which takes and stores its particles. Dropping it closes the queue
/// and discards them.
pub struct QueueReader<'a> {
    queue: &'a ParticleQueue,
    /// The store that holds the particles taken.
    store: usize,
    taken: Range<usize>,
    has_more: bool,
}

impl<'a> QueueReader<'a> {
    /// Opens a queue that has no reader.
    pub fn new(queue: &'a ParticleQueue) -> Self {
        assert!(!queue.has_reader.swap(true, Ordering::AcqRel), "a queue has one reader");
        Self { queue, store: LOG, taken: 0..0, has_more: false }
    }

    /// Sets the addresses that can be stored without allocation, and whether snap and crackle can.
    pub fn set_capacity(&self, (capacity, takes_high): (usize, bool)) {
        let capacity = u64::from(u32::try_from(capacity).unwrap_or(u32::MAX));
        let flag = if takes_high { TAKES_HIGH } else { 0 };
        self.queue.capacity.store(capacity + flag, Ordering::Release);
    }

    /// Takes queued particles, unless some that were taken before are still to be stored.
    pub fn take(&mut self) {
        if !self.is_empty() {
            return;
        }
        let mut shared = self.queue.lock();
        let unread = shared.read..self.queue.log.count.load(Ordering::Acquire);
        // What another thread sets after the log's owner comes later in the order, since the log is
        // disabled from then on.
        self.has_more = !unread.is_empty() && shared.count > 0;
        if !unread.is_empty() {
            (self.store, self.taken) = (LOG, unread);
        } else if shared.count > 0 {
            (self.store, self.taken) = (shared.store, 0..shared.count);
            (shared.store, shared.count) = (if shared.store == 1 { 2 } else { 1 }, 0);
        } else {
            self.queue.log.restart_if_read(&mut shared);
        }
    }

    /// Whether there are no taken particles.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// Whether the queue held more particles than were taken. Happens once: when the log is
    /// disabled, its entries are taken first.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// The particles that were taken, in the order in which they were set, in the engines' format
    /// with the client's index as tag, and their eps^2.
    pub fn entries(&self) -> (Arrivals<'_>, &[f64]) {
        if self.is_empty() {
            return Default::default();
        }
        // SAFETY: these entries were written and do not change until the only reader removes them,
        // which is borrowed.
        unsafe { self.queue.stores[self.store].entries(&self.taken) }
    }

    /// Removes the particles that were taken.
    pub fn clear(&mut self) {
        let taken = std::mem::take(&mut self.taken);
        if self.store == LOG && !taken.is_empty() {
            let mut shared = self.queue.lock();
            shared.read = taken.end;
            self.queue.log.restart_if_read(&mut shared);
        }
    }
}

impl Drop for QueueReader<'_> {
    fn drop(&mut self) {
        let Self { queue, .. } = self;
        queue.capacity.store(0, Ordering::Release);
        let mut shared = queue.lock();
        let owner = queue.log.owner.load(Ordering::Relaxed);
        shared.count = 0;
        if owner == mark() {
            shared.read = 0;
            queue.log.count.store(0, Ordering::Relaxed);
            queue.log.is_shared.store(false, Ordering::Release);
            queue.log.owner.store(0, Ordering::Release);
        } else if owner != 0 {
            // The owner may be writing: the log is disabled, and what is written is discarded.
            queue.log.is_shared.store(true, Ordering::Release);
            shared.read = CLOSED;
        }
        queue.has_reader.store(false, Ordering::Release);
    }
}

thread_local! {
    /// Its address identifies this thread as long as the thread lives.
    static MARK: Cell<u8> = const { Cell::new(0) };
}

#[inline(always)]
fn mark() -> usize {
    MARK.with(|mark| std::ptr::from_ref(mark) as usize)
}

/// A log with a single writer: the first thread that appends becomes its owner. Only the owner
/// writes entries; it then publishes their count, and the queue's reader reads the published
/// entries. Once another thread sets particles, the log is disabled permanently, so all its
/// entries precede those of other threads.
#[derive(Default)]
struct SingleWriterLog {
    /// Mark of the owner; 0 if there is none yet.
    owner: AtomicUsize,
    /// Whether other threads have set particles.
    is_shared: AtomicBool,
    /// Number of entries written.
    count: AtomicUsize,
}

impl SingleWriterLog {
    /// Whether this thread appends here.
    #[inline(always)]
    fn is_mine(&self) -> bool {
        let is_shared = self.is_shared.load(Ordering::Acquire);
        !is_shared && (self.owner.load(Ordering::Relaxed) == mark() || self.claim())
    }

    /// Makes this thread the owner if there is none; otherwise disables the log.
    #[cold]
    fn claim(&self) -> bool {
        let claimed =
            self.owner.compare_exchange(0, mark(), Ordering::AcqRel, Ordering::Acquire).is_ok();
        if !claimed {
            self.is_shared.store(true, Ordering::Release);
        }
        claimed
    }

    /// Starts again at the first entry if all were read and the owner is this thread, so that
    /// nobody writes now: that memory is still in the cache.
    fn restart_if_read(&self, shared: &mut Shared) {
        if self.owner.load(Ordering::Relaxed) == mark()
            && self.count.load(Ordering::Relaxed) == shared.read
        {
            self.count.store(0, Ordering::Relaxed);
            shared.read = 0;
        }
    }
}

/// Memory of [`MAX_QUEUED`] particles. Allocated when it is needed, by the thread that writes, and
/// never freed, as a thread may be writing when another one closes the queue.
#[derive(Default)]
struct EntryStore {
    entries: AtomicPtr<Entries>,
    /// Null as long as no particle has a snap or crackle.
    high: AtomicPtr<[[DVec3; 2]; MAX_QUEUED]>,
}

/// 128 bytes of each particle.
struct Entries {
    places: [Goal; MAX_QUEUED],
    low: [ToJerk; MAX_QUEUED],
    softening_squared: [f64; MAX_QUEUED],
}

impl EntryStore {
    /// Whether there is memory for entry `k`, and for its snap unless it `is_low`.
    #[inline(always)]
    fn has_room(&self, k: usize, is_low: bool) -> bool {
        k < MAX_QUEUED
            && !self.entries.load(Ordering::Relaxed).is_null()
            && (is_low || !self.high.load(Ordering::Relaxed).is_null())
    }

    /// Allocates what [`EntryStore::has_room`] needs after `k` entries; only the thread that writes
    /// may call this. Returns false if the store is full or without memory. Does not take the
    /// particle as an argument: it would be spilled to memory and reloaded right after being
    /// written, which stalls until all earlier stores have reached the cache.
    #[cold]
    fn grow(&self, k: usize, is_low: bool) -> bool {
        if self.entries.load(Ordering::Relaxed).is_null() {
            self.entries.store(allocate(), Ordering::Relaxed);
        }
        if !is_low && self.high.load(Ordering::Relaxed).is_null() {
            let high = allocate::<[[DVec3; 2]; MAX_QUEUED]>();
            if !high.is_null() {
                // SAFETY: allocated above; nobody else has the pointer yet.
                unsafe { high.cast::<[DVec3; 2]>().write_bytes(0, k) };
            }
            self.high.store(high, Ordering::Release);
        }
        self.has_room(k, is_low)
    }

    /// Writes entry `k`.
    ///
    /// # Safety
    /// [`EntryStore::has_room`] is true, and no other thread reads or writes this entry.
    #[inline(always)]
    unsafe fn write(&self, k: usize, address: c_int, particle: &Particle) {
        let (entries, high) =
            (self.entries.load(Ordering::Relaxed), self.high.load(Ordering::Relaxed));
        // SAFETY: as the caller guarantees.
        unsafe {
            // Written in place, number by number: an intermediate copy would double the time.
            let place = &raw mut (*entries).places[k];
            ((*place).at, (*place).tag) = (address as u32, particle.index);
            let (low, moving) = (&raw mut (*entries).low[k], &particle.moving);
            ((*low).time, (*low).mass) = (moving.time, moving.mass);
            for axis in 0..4 {
                let to = &raw mut (*low).motion[axis];
                let from = moving.motion[axis];
                ((*to).x, (*to).y, (*to).z) = (from.x, from.y, from.z);
            }
            if !high.is_null() {
                (*high)[k] = moving.high();
            }
            (*entries).softening_squared[k] = particle.softening_squared;
        }
    }

    /// The entries `range`, of which there is at least one.
    ///
    /// # Safety
    /// They were written, and nobody writes them while they are borrowed.
    unsafe fn entries(&self, range: &Range<usize>) -> (Arrivals<'_>, &[f64]) {
        let entries = self.entries.load(Ordering::Relaxed);
        let high = self.high.load(Ordering::Acquire);
        let (first, n) = (range.start, range.len());
        // SAFETY: as the caller guarantees.
        unsafe {
            let places =
                from_raw_parts((&raw const (*entries).places).cast::<Goal>().add(first), n);
            let low = from_raw_parts((&raw const (*entries).low).cast::<ToJerk>().add(first), n);
            let high = match high.is_null() {
                true => &[],
                false => from_raw_parts(high.cast::<[DVec3; 2]>().add(first), n),
            };
            let softening_squared = (&raw const (*entries).softening_squared).cast::<f64>();
            (Arrivals { places, low, high }, from_raw_parts(softening_squared.add(first), n))
        }
    }
}

/// Uninitialized memory that is never freed; null if there is none.
fn allocate<T>() -> *mut T {
    let mut one = ManuallyDrop::new(Vec::<T>::new());
    match one.try_reserve_exact(1) {
        Ok(()) => one.as_mut_ptr(),
        Err(_) => std::ptr::null_mut(),
    }
}

// The j-particle.

/// A j-particle as set by a client.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Particle {
    /// The client's identifier, any number.
    pub index: i32,
    /// Stored for the client only; not used in forces.
    pub softening_squared: f64,
    pub moving: Moving,
}

impl Particle {
    /// Whether all values are finite and the mass is not negative. Branch-free, so that it
    /// vectorizes.
    #[inline(always)]
    pub fn is_valid(&self) -> bool {
        let Moving { time, mass, motion } = &self.moving;
        // x times 0 is 0 unless x is infinite or NaN.
        let scalars = mass * 0.0 + time * 0.0;
        let sum = motion.iter().fold(DVec3::ZERO, |sum, vector| sum + *vector * 0.0);
        (sum.x + sum.y + sum.z + scalars == 0.0) & (*mass >= 0.0)
    }

    /// Whether it has neither snap nor crackle.
    #[inline(always)]
    pub fn is_low(&self) -> bool {
        let [s, c] = self.moving.high();
        (s == DVec3::ZERO) & (c == DVec3::ZERO)
    }

    /// Rejects invalid values; messages name the particle.
    #[cold]
    pub fn check(&self, address: u32) -> Result<()> {
        let names = ["position", "velocity", "acceleration", "jerk", "snap", "crackle"];
        let owner = || format!("of the particle at address {address} (index {})", self.index);
        let Moving { time, mass, motion } = &self.moving;
        for (name, vector) in names.iter().zip(motion) {
            if !vector.is_finite() {
                return Err(Error::value(format!("the {name} {}", owner()), vector, "finite"));
            }
        }
        if !(mass.is_finite() && *mass >= 0.0) {
            let allowed = "finite and at least 0";
            return Err(Error::value(format!("the mass {}", owner()), mass, allowed));
        }
        if !time.is_finite() {
            return Err(Error::value(format!("the time tj {}", owner()), time, "finite"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gravitile::forces::Moving;

    fn particle(index: i32) -> Particle {
        let mut motion = [DVec3::ZERO; 6];
        motion[0].x = f64::from(index);
        let moving = Moving { time: 0.0, mass: 1.0, motion };
        Particle { index, softening_squared: 0.5, moving }
    }

    /// Takes and removes all particles; returns their tags.
    fn take(reader: &mut QueueReader) -> Vec<i32> {
        let mut tags = Vec::new();
        loop {
            reader.take();
            if reader.is_empty() {
                return tags;
            }
            tags.extend(reader.entries().0.places.iter().map(|place| place.tag));
            reader.clear();
        }
    }

    #[test]
    fn particles_that_need_no_allocation_are_queued_in_order() {
        let queue = ParticleQueue::default();
        let mut reader = QueueReader::new(&queue);
        assert!(!queue.enqueue(0, &particle(0), || true), "the capacity is 0 at first");
        reader.set_capacity((10, false));
        let mut high = particle(1);
        high.moving.motion[4].y = 1.0;
        let mut broken = particle(1);
        broken.moving.motion[2].z = f64::NAN;
        for (address, particle) in [(10, particle(0)), (-1, particle(0)), (1, high), (1, broken)] {
            assert!(!queue.enqueue(address, &particle, || true), "{address} {particle:?}");
        }
        assert!(!queue.enqueue(1, &particle(0), || false));
        reader.set_capacity((10, true));
        for (address, particle) in [(9, particle(-7)), (0, high), (9, particle(8))] {
            assert!(queue.enqueue(address, &particle, || true));
        }
        reader.take();
        let (arrivals, eps2) = reader.entries();
        let found: Vec<(u32, i32)> = arrivals.places.iter().map(|one| (one.at, one.tag)).collect();
        assert_eq!((&found[..], eps2), (&[(9, -7), (0, 1), (9, 8)][..], &[0.5; 3][..]));
        let motions: Vec<Moving> = arrivals.each().map(|(_, moving)| moving).collect();
        assert_eq!(motions, [particle(-7).moving, high.moving, particle(8).moving]);
        reader.clear();
        assert!(take(&mut reader).is_empty());
        drop(reader);
        assert!(!queue.enqueue(0, &particle(0), || true));
    }

    #[test]
    fn full_queue_rejects_until_taken() {
        let queue = ParticleQueue::default();
        let mut reader = QueueReader::new(&queue);
        reader.set_capacity((MAX_QUEUED, false));
        let enqueued =
            (0..2 * MAX_QUEUED as i32).take_while(|k| queue.enqueue(k % 9, &particle(*k), || true));
        assert_eq!(enqueued.count(), MAX_QUEUED);
        assert!(take(&mut reader).into_iter().eq(0..MAX_QUEUED as i32));
        assert!(queue.enqueue(3, &particle(5), || true));
    }

    /// Particles are taken by another thread than the one that sets them, then by that one; finally
    /// another thread sets particles too.
    #[test]
    fn order_is_preserved_across_threads() {
        let queue = ParticleQueue::default();
        let mut reader = QueueReader::new(&queue);
        reader.set_capacity((9, false));
        let enqueue = |range: std::ops::Range<i32>| {
            range.for_each(|k| assert!(queue.enqueue(k % 9, &particle(k), || true)));
        };
        fn elsewhere<T: Send>(work: impl FnOnce() -> T + Send) -> T {
            std::thread::scope(|scope| scope.spawn(work).join().unwrap())
        }
        enqueue(0..300);
        assert!(elsewhere(|| take(&mut reader)).into_iter().eq(0..300));
        enqueue(300..700);
        assert!(take(&mut reader).into_iter().eq(300..700), "not those that are taken");
        enqueue(700..800);
        // Those that were taken first are stored first.
        reader.take();
        enqueue(800..810);
        assert_eq!(reader.entries().0.len(), 100);
        reader.clear();
        elsewhere(|| enqueue(810..900));
        enqueue(900..1000);
        reader.take();
        assert!(reader.has_more() && reader.entries().0.len() == 10);
        assert!(take(&mut reader).into_iter().eq(800..1000));
        enqueue(1000..1100);
        reader.take();
        assert!(!reader.has_more());
        assert!(elsewhere(|| take(&mut reader)).into_iter().eq(1000..1100));
        assert!(take(&mut reader).is_empty());
        // Closed by another thread than the one that sets.
        let queue = ParticleQueue::default();
        let reader = QueueReader::new(&queue);
        reader.set_capacity((9, false));
        assert!(queue.enqueue(0, &particle(0), || true));
        elsewhere(|| drop(reader));
        let mut reader = QueueReader::new(&queue);
        reader.set_capacity((9, false));
        assert!(queue.enqueue(1, &particle(1), || true));
        assert_eq!(take(&mut reader), [1]);
    }

    /// Another thread closes and reopens the queue just after the setting thread has found it open.
    #[test]
    fn particle_for_closed_queue_is_dropped() {
        let queue = ParticleQueue::default();
        let open = || {
            let reader = QueueReader::new(&queue);
            reader.set_capacity((9, false));
            reader
        };
        let mut reader = Some(open());
        assert!(queue.enqueue(0, &particle(0), || true));
        let is_open = || {
            std::thread::scope(|scope| drop(scope.spawn(|| drop(reader.take()))));
            reader = Some(open());
            true
        };
        assert!(queue.enqueue(1, &particle(1), is_open));
        let mut reader = reader.unwrap();
        let taken = std::thread::scope(|scope| scope.spawn(|| take(&mut reader)).join().unwrap());
        assert!(taken.is_empty());
        assert!(queue.enqueue(2, &particle(2), || true));
        assert_eq!(take(&mut reader), [2], "the thread that set takes what comes");
        assert!(queue.enqueue(3, &particle(3), || true));
        assert_eq!(take(&mut reader), [3]);
    }

    #[test]
    fn concurrent_threads_lose_no_particle() {
        let queue = ParticleQueue::default();
        let mut reader = QueueReader::new(&queue);
        reader.set_capacity((4, false));
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
            while found.iter().map(Vec::len).sum::<usize>() < threads * each as usize {
                reader.take();
                let places = reader.entries().0.places;
                places.iter().for_each(|one| found[one.at as usize].push(one.tag));
                reader.clear();
            }
        });
        assert!(found.iter().all(|of_one| of_one.iter().copied().eq(0..each)));
    }
}
