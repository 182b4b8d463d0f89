//! Particles that clients set one by one are sent to the engine in the order in which they were
//! set, and stored in memory while the engine computes.

use super::super::inbox::ParticleQueue;
use super::Memory;
use gravitile::forces::ForceEngine;

/// Prefetch distance, in queued particles.
const AHEAD: usize = 8;

impl Memory {
    /// Attaches the queue of new particles.
    pub fn attach_queue(&mut self, queue: &'static ParticleQueue) {
        self.queue = Some(queue);
        self.publish_capacity();
    }

    /// Sets the queue's capacity to the allocated memory.
    pub(super) fn publish_capacity(&self) {
        if let Some(queue) = self.queue {
            let (capacity, takes_high) = self.particles.capacity();
            queue.set_capacity(capacity, takes_high);
        }
    }

    /// Takes new particles from the queue, unless earlier ones are still to be stored.
    pub(super) fn take_queued(&mut self) {
        if let Some(queue) = self.queue
            && self.queued.is_empty()
        {
            queue.take(&mut self.queued);
        }
    }

    /// Stores all queued particles and marks them for upload.
    pub(super) fn store_queued(&mut self) {
        self.take_queued();
        let queued = std::mem::take(&mut self.queued);
        for (place, low, high, softening_squared) in queued.each() {
            // Cannot fail: the queue accepts only particles that need no allocation.
            let put = self.put(place, low, high, softening_squared);
            debug_assert!(put.is_ok(), "{put:?}");
        }
        self.queued = queued;
        self.queued.clear();
    }

    /// Whether the queued particles are the only changes and replace sources without changing any
    /// index.
    pub(super) fn queued_replace_sources(&self, addresses: usize) -> bool {
        let count = self.address.len();
        let has_no_gaps = self.address.last().is_none_or(|last| *last as usize + 1 == count);
        let is_sent = self.sent.is_some_and(|sent| sent.addresses == addresses);
        let is_current = has_no_gaps && is_sent && !self.rearranged && self.changed.is_empty();
        is_current
            && self.queued.places().iter().all(|one| self.has_index(one.at as usize, one.tag))
    }

    /// Commits the announced sources in the engine's memory and stores them here. Called after an
    /// evaluation has begun.
    pub fn settle(&mut self, engine: &mut dyn ForceEngine) {
        if let Some(moving) = engine.interfaces().moving {
            let announced = self.announced.all();
            let is_queued = announced.is_empty();
            moving.settle_moving(&if is_queued { self.queued.arrivals() } else { announced });
        }
        self.announced.clear();
        let places = self.queued.places();
        for (k, (place, low, high, softening_squared)) in self.queued.each().enumerate() {
            if let Some(later) = places.get(k + AHEAD) {
                self.particles.prefetch(later.at as usize);
            }
            if self.particles.put(place, low, high, softening_squared).is_ok() {
                self.particles.forget_change(place.at as usize);
            }
        }
        match self.queue {
            Some(queue) => queue.recycle(&mut self.queued),
            None => self.queued.clear(),
        }
    }
}
