//! The j-particles of one cluster: stored on the host in f64 and uploaded to the engine in one
//! transfer, only if something has changed (Belleman et al. 2008, section 3.5). For engines that do
//! not predict, particles are predicted here.

use std::collections::HashMap;

use glam::DVec3;
use rayon::prelude::*;

use super::queue::{Particle, ParticleQueue, QueueReader};
use gravitile::error::{Error, Result};
use gravitile::forces::{
    ArrivalList, ForceEngine, Goal, MovingSources, NO_SOURCE, Order, SharedTable, Sources,
};

/// Addresses must be below this: 1.1 GB of particles, 1.5 with snaps. It turns a wild address into
/// an error instead of exhausting memory.
pub const LARGEST_MEMORY: usize = 1 << 23;

/// From this number of particles on, prediction runs in parallel.
const PARALLEL_MIN: usize = 8192;

/// Parameters of the last upload to the engine.
#[derive(Clone, Copy, PartialEq)]
struct Sent {
    addresses: usize,
    time: Option<f64>,
}

/// The j-particles by address, which an engine that predicts reads from here, too.
pub struct Memory {
    order: Order,
    table: SharedTable,
    /// The client's indices of the engine's sources.
    pub indices: Indices,
    /// Increases whenever source numbers change.
    arrangement: u64,
    sent: Option<Sent>,
    /// Time to which the engine's sources are predicted.
    time: Option<f64>,
    /// Particles that clients set one by one. They are sent to the engine in the order in which
    /// they were set, and stored in `table` while the engine computes.
    queue: Option<QueueReader<'static>>,
}

impl Memory {
    /// Creates an empty memory for forces up to `order`.
    pub fn new(order: Order) -> Self {
        Self {
            order,
            table: SharedTable::default(),
            indices: Indices::default(),
            arrangement: 0,
            sent: None,
            time: None,
            queue: None,
        }
    }

    /// Reads new particles from `queue`, which has no other reader.
    pub fn attach_queue(&mut self, queue: &'static ParticleQueue) {
        self.queue = Some(QueueReader::new(queue));
        self.publish_capacity();
    }

    /// Sets the queue's capacity to the allocated memory.
    fn publish_capacity(&self) {
        if let Some(queue) = &self.queue {
            queue.set_capacity(self.table.read().capacity());
        }
    }

    /// Number of particles.
    pub fn len(&mut self) -> usize {
        self.store_queued();
        self.table.read().tags().count()
    }

    /// Stores a particle at `address`, replacing the old one.
    ///
    /// # Errors
    /// An address out of range, out of memory, NaN or infinite values, a negative mass. The old
    /// particle is then unchanged.
    pub fn set(&mut self, address: i32, particle: &Particle) -> Result<()> {
        let at = u32::try_from(address).ok().filter(|at| (*at as usize) < LARGEST_MEMORY);
        let at = at.ok_or_else(|| {
            let allowed = format!("from 0 to {}", LARGEST_MEMORY - 1);
            Error::value("the address of a j-particle", address, allowed)
        })?;
        if !particle.is_valid() {
            particle.check(at)?;
        }
        // Queued particles were set before this one.
        self.store_queued();
        let (goal, moving) = (Goal { at, tag: particle.index }, &particle.moving);
        let high = moving.high();
        self.table.write().set(goal, &moving.into(), high, particle.softening_squared)?;
        self.publish_capacity();
        Ok(())
    }

    /// Stores all queued particles and marks them for upload.
    fn store_queued(&mut self) {
        let Some(queue) = &mut self.queue else { return };
        loop {
            queue.take();
            if queue.is_empty() {
                return;
            }
            let mut table = self.table.write();
            let (arrivals, softening_squared) = queue.entries();
            for (k, (goal, low)) in arrivals.places.iter().zip(arrivals.low).enumerate() {
                let stored = table.set(*goal, low, arrivals.high(k), softening_squared[k]);
                // Cannot fail: the queue accepts only particles that need no allocation.
                debug_assert!(stored.is_ok(), "{stored:?}");
            }
            queue.clear();
        }
    }

    /// The particle at `address`.
    ///
    /// # Errors
    /// No particle was set there.
    pub fn get(&mut self, address: i32) -> Result<Particle> {
        self.store_queued();
        let found = usize::try_from(address).ok().and_then(|at| self.table.read().get(at));
        let (moving, index, softening_squared) = found.ok_or_else(|| {
            Error::value("the address of a j-particle", address, "one that was set before")
        })?;
        Ok(Particle { index, softening_squared, moving })
    }

    /// Brings `engine` up to date with the particles below address `addresses`, predicted to
    /// `time`. Call [`Memory::settle`] once the evaluation has begun.
    ///
    /// # Errors
    /// A particle whose prediction is not finite; an error of the engine.
    pub fn send(
        &mut self,
        engine: &mut dyn ForceEngine,
        addresses: usize,
        time: Option<f64>,
    ) -> Result<()> {
        self.time = time;
        if let Some(moving) = engine.interfaces().moving {
            return self.send_moving(moving, addresses);
        }
        self.store_queued();
        let goal = Some(Sent { addresses, time });
        // Above a quarter of all particles one large transfer is cheaper than many small writes.
        let (is_rearranged, is_small) = {
            let table = self.table.read();
            (table.is_rearranged(), table.changed().len() <= table.len() / 4)
        };
        if self.sent == goal && !is_rearranged && is_small {
            self.send_changed(engine)?;
        } else {
            let is_other = self.sent.take().is_none_or(|sent| sent.addresses != addresses);
            if is_rearranged || is_other {
                self.arrange(addresses);
            }
            let all = self.predict_all()?;
            engine.set_sources(&all.sources())?;
            self.sent = goal;
        }
        self.table.write().clear_changes();
        Ok(())
    }

    /// Replaces the changed sources of an engine that does not predict.
    fn send_changed(&mut self, engine: &mut dyn ForceEngine) -> Result<()> {
        let changed: Vec<u32> = {
            // Particles above the addresses in use are not sources.
            let table = self.table.read();
            let sources = table.changed().iter().filter_map(|&at| table.source_at(at));
            sources.map(|source| source as u32).collect()
        };
        if changed.is_empty() {
            return Ok(());
        }
        // A failed update may be partial: forces a complete upload.
        let predicted = self.predict(&changed).inspect_err(|_| self.sent = None)?;
        let updated = engine.update_sources(&changed, &predicted.sources());
        updated.inspect_err(|_| self.sent = None)
    }

    /// [`Memory::send`] to an engine that predicts: uploads only what has changed, whatever the
    /// time.
    fn send_moving(&mut self, engine: &mut dyn MovingSources, addresses: usize) -> Result<()> {
        engine.predict_to(self.time);
        let is_sent = self.sent.is_some_and(|sent| sent.addresses == addresses);
        if let Some(queue) = &mut self.queue {
            queue.take();
            let (queued, _) = queue.entries();
            let is_current = {
                let table = self.table.read();
                let is_unchanged = !table.is_rearranged() && table.changed().is_empty();
                is_sent && is_unchanged && !table.has_gaps() && !queue.has_more()
            };
            // Whether the queued particles replace sources without changing any index.
            let has_index = |one: &Goal| self.indices.has_index(one.at as usize, one.tag);
            if is_current && queued.places.iter().all(has_index) {
                let announced = if queued.is_empty() { Ok(()) } else { engine.announce(&queued) };
                if announced.is_err() {
                    // A failed update may be partial: forces a complete upload.
                    self.sent = None;
                    self.store_queued();
                }
                return announced;
            }
        }
        self.store_queued();
        if !is_sent || self.table.read().is_rearranged() {
            self.sent = None;
            self.arrange(addresses);
            engine.share(&self.table)?;
            self.sent = Some(Sent { addresses, time: None });
        } else if !self.table.read().changed().is_empty() {
            let list = self.changed_sources();
            engine.announce(&list.all()).inspect_err(|_| self.sent = None)?;
        }
        self.table.write().clear_changes();
        Ok(())
    }

    /// Sources that changed, ascending: the engine then accesses its memory sequentially.
    fn changed_sources(&self) -> ArrivalList {
        let table = self.table.read();
        let mut changed = table.changed().to_vec();
        changed.sort_unstable();
        let mut list = ArrivalList::default();
        // Particles above the addresses in use are not sources.
        for source in changed.into_iter().filter_map(|at| table.source_at(at)) {
            let (low, high) = table.source(source);
            list.push_parts(Goal { at: source as u32, tag: 0 }, low, high);
        }
        list
    }

    /// Stores the particles that were sent to the engine. Called after an evaluation has begun.
    pub fn settle(&mut self) {
        if let Some(queue) = self.queue.as_mut().filter(|queue| !queue.is_empty()) {
            let (queued, softening_squared) = queue.entries();
            self.table.write().settle(&queued, softening_squared);
            queue.clear();
        }
    }

    /// Makes the particles below address `addresses` the sources.
    fn arrange(&mut self, addresses: usize) {
        let mut table = self.table.write();
        table.arrange(addresses);
        let below = table.tags().take_while(|(at, _)| *at < addresses);
        self.indices.set(below.map(|(_, index)| index));
        self.arrangement += 1;
    }

    /// All sources, predicted.
    fn predict_all(&self) -> Result<PredictedSources> {
        self.predict(&(0..self.source_count() as u32).collect::<Vec<_>>())
    }

    /// The sources with these numbers, predicted.
    ///
    /// # Errors
    /// A prediction that is not finite.
    pub fn predict(&self, sources: &[u32]) -> Result<PredictedSources> {
        let table = self.table.read();
        let predicted = |source: &u32| {
            let (low, high) = table.source(*source as usize);
            (low.with(high).at(self.time), low.mass)
        };
        let all: Vec<([DVec3; 3], f64)> = if sources.len() < PARALLEL_MIN {
            sources.iter().map(predicted).collect()
        } else {
            sources.par_iter().map(predicted).collect()
        };
        for ((motion, _), &source) in all.iter().zip(sources) {
            if !motion.iter().all(|vector| vector.is_finite()) {
                let (address, index) =
                    (table.address(source as usize), self.indices.index_of(source));
                let time = self.time;
                return Err(Error::value(
                    format!(
                        "the particle at address {address} (index {index}), predicted to {time:?},"
                    ),
                    motion[0],
                    "finite in position, velocity and acceleration",
                ));
            }
        }
        let derivative = |k: usize| -> Vec<DVec3> {
            let of_order = all.iter().filter(|_| self.order as usize >= k);
            of_order.map(|(motion, _)| motion[k]).collect()
        };
        Ok(PredictedSources {
            motion: [derivative(0), derivative(1), derivative(2)],
            mass: all.iter().map(|(_, mass)| *mass).collect(),
        })
    }

    /// Returns an error for the first source whose prediction is not finite. An engine that
    /// predicts reports only the resulting sums.
    pub fn check_predictions(&self) -> Result<()> {
        self.predict_all().map(drop)
    }

    /// Number of sources that the engine holds.
    pub fn source_count(&self) -> usize {
        self.table.read().len()
    }

    /// Changes whenever source numbers change.
    pub fn arrangement(&self) -> u64 {
        self.arrangement
    }
}

/// Predicted sources up to the derivative that the order of forces needs.
pub struct PredictedSources {
    motion: [Vec<DVec3>; 3],
    mass: Vec<f64>,
}

impl PredictedSources {
    /// In the engines' format.
    pub fn sources(&self) -> Sources<'_> {
        let [position, velocity, acceleration] = &self.motion;
        Sources { position, velocity, acceleration, mass: &self.mass }
    }
}

// Conversion between the client's particle indices and the engine's source numbers.

/// The client's index of each source.
#[derive(Default)]
pub struct Indices {
    index: Vec<i32>,
    /// Whether each index equals the source number.
    is_sequential: bool,
    /// Map from index to source, and to all sources of a duplicate index.
    source: HashMap<i32, u32>,
    duplicates: HashMap<i32, Vec<u32>>,
}

impl Indices {
    /// Replaces all: `index` yields that of each source.
    pub fn set(&mut self, index: impl Iterator<Item = i32>) {
        self.source.clear();
        self.duplicates.clear();
        self.index.clear();
        self.index.extend(index);
        for (source, &index) in (0..).zip(&self.index) {
            let first = *self.source.entry(index).or_insert(source);
            if first != source {
                self.duplicates.entry(index).or_insert_with(|| vec![first]).push(source);
            }
        }
        self.is_sequential = self.index.iter().zip(0..).all(|(index, source)| *index == source);
    }

    /// The source with index `index`; with duplicates the one at the lowest address.
    pub fn source_of(&self, index: i32) -> Option<u32> {
        // For most clients the index equals the source number.
        let same = usize::try_from(index).ok().filter(|_| self.duplicates.is_empty());
        match same.filter(|&source| self.has_index(source, index)) {
            Some(source) => Some(source as u32),
            None => self.source.get(&index).copied(),
        }
    }

    /// The source of each index, [`NO_SOURCE`] for none.
    pub fn identify(&self, index: &[i32], sources: &mut Vec<u32>) {
        sources.clear();
        if self.is_sequential {
            // Negative indices become large: there are fewer than 2^23 sources.
            let count = self.index.len() as u32;
            let number =
                |index: &i32| if (*index as u32) < count { *index as u32 } else { NO_SOURCE };
            return sources.extend(index.iter().map(number));
        }
        sources.extend(index.iter().map(|&index| self.source_of(index).unwrap_or(NO_SOURCE)));
    }

    /// The index of each source, -1 for none.
    pub fn name(&self, sources: &[u32], index: &mut Vec<i32>) {
        index.clear();
        if self.is_sequential {
            let count = self.index.len() as u32;
            let number = |source: &u32| if *source < count { *source as i32 } else { -1 };
            return index.extend(sources.iter().map(number));
        }
        index.extend(sources.iter().map(|&source| self.index_of(source)));
    }

    /// All sources of index `index` if there are several; otherwise empty.
    pub fn duplicates_of(&self, index: i32) -> &[u32] {
        self.duplicates.get(&index).map_or(&[], Vec::as_slice)
    }

    /// Whether any two sources share an index.
    pub fn has_duplicates(&self) -> bool {
        !self.duplicates.is_empty()
    }

    /// The index of source `source`, -1 for none.
    pub fn index_of(&self, source: u32) -> i32 {
        self.index.get(source as usize).copied().unwrap_or(-1)
    }

    /// Whether source `source` has this index. Needs no memory access if indices equal source
    /// numbers.
    pub fn has_index(&self, source: usize, index: i32) -> bool {
        match self.is_sequential {
            // Negative indices become large: there are fewer than 2^23 sources.
            true => source < self.index.len() && index as u32 as usize == source,
            false => self.index.get(source) == Some(&index),
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod indices_tests {
    use super::*;

    /// Lookups agree whether or not indices equal source numbers.
    #[test]
    fn sequential_and_arbitrary_indices_are_found() {
        let mut indices = Indices::default();
        indices.set(0..50);
        let of = |all: &Indices| [-1, 0, 7, 49, 50, i32::MIN].map(|index| all.source_of(index));
        let sequential = [None, Some(0), Some(7), Some(49), None, None];
        assert!(indices.is_sequential);
        assert_eq!(of(&indices), sequential);
        assert_eq!([0, 49, 50, u32::MAX].map(|k| indices.index_of(k)), [0, 49, -1, -1]);
        let has =
            |all: &Indices| [(7, 7), (7, 8), (50, 50), (7, -7)].map(|(k, i)| all.has_index(k, i));
        assert_eq!(has(&indices), [true, false, false, false]);
        // One index differs: the fast path is disabled, other lookups are unchanged.
        indices.set((0..50).map(|k| if k == 20 { 1000 } else { k }));
        assert!(!indices.is_sequential);
        assert_eq!(of(&indices), sequential);
        assert_eq!(has(&indices), [true, false, false, false]);
        assert_eq!((indices.source_of(1000), indices.source_of(20)), (Some(20), None));
        assert_eq!([0, 20, 49, 50].map(|k| indices.index_of(k)), [0, 1000, 49, -1]);
    }
}
