//! The j-particles of one cluster: stored on the host in f64 and uploaded to the engine in one
//! transfer, only if something has changed (Belleman et al. 2008, section 3.5). For engines that do
//! not predict, particles are predicted here.

mod naming;
mod queued;
mod records;

use std::collections::HashMap;

use glam::DVec3;
use rayon::prelude::*;

use super::inbox::{AppendBuffer, ParticleQueue};
pub use super::particle::Particle;
use gravitile::error::{Error, Result};
use gravitile::forces::{
    ArrivalList, ForceEngine, Goal, Moving, MovingSources, Order, Sources, ToJerk,
};
use records::Records;

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

/// The j-particles by address, and the copies that the engine holds.
pub struct Memory {
    order: Order,
    /// By address.
    particles: Records,
    /// Addresses set since the last upload.
    changed: Vec<u32>,
    /// Whether particles were added, or their indices changed.
    rearranged: bool,
    /// Counts the calls of `arrange`: source numbers are valid for one arrangement.
    arrangement: u64,
    sent: Option<Sent>,
    /// The engine's sources: their addresses, ascending; their client indices; and whether each
    /// index equals the source number.
    address: Vec<u32>,
    index: Vec<i32>,
    is_sequential: bool,
    /// Map from index to source, and to all sources of a duplicate index.
    source: HashMap<i32, u32>,
    duplicates: HashMap<i32, Vec<u32>>,
    position: Vec<DVec3>,
    velocity: Vec<DVec3>,
    acceleration: Vec<DVec3>,
    mass: Vec<f64>,
    /// Time to which the engine's sources are predicted.
    time: Option<f64>,
    /// Queue of particles that clients set one by one, and those taken from it.
    queue: Option<&'static ParticleQueue>,
    queued: AppendBuffer,
    /// Other sources announced to the engine but not yet settled.
    announced: ArrivalList,
}

impl Memory {
    /// Creates an empty memory for forces up to `order`.
    pub fn new(order: Order) -> Self {
        Self {
            order,
            particles: Records::default(),
            changed: Vec::new(),
            rearranged: true,
            arrangement: 0,
            sent: None,
            address: Vec::new(),
            index: Vec::new(),
            is_sequential: false,
            source: HashMap::new(),
            duplicates: HashMap::new(),
            position: Vec::new(),
            velocity: Vec::new(),
            acceleration: Vec::new(),
            mass: Vec::new(),
            time: None,
            queue: None,
            queued: AppendBuffer::default(),
            announced: ArrivalList::default(),
        }
    }

    /// Number of particles.
    pub fn len(&mut self) -> usize {
        self.store_queued();
        self.particles.all().count()
    }

    /// Stores a particle at `address`, replacing the old one.
    ///
    /// # Errors
    /// An address out of range, out of memory, NaN or infinite values, a negative mass. The old
    /// particle is then unchanged.
    pub fn set(&mut self, address: i32, particle: Particle) -> Result<()> {
        let place = match usize::try_from(address) {
            Ok(place) if place < LARGEST_MEMORY => place,
            _ => return Err(out_of_range(address)),
        };
        if !particle.is_valid() {
            particle.check(place)?;
        }
        // Queued particles were set before this one.
        self.store_queued();
        let goal = Goal { at: place as u32, tag: particle.index };
        let moving = particle.moving();
        self.put(goal, &ToJerk::from(&moving), particle.high(), particle.softening_squared)?;
        self.publish_capacity();
        Ok(())
    }

    /// Stores a particle and marks it for upload.
    fn put(
        &mut self,
        place: Goal,
        low: &ToJerk,
        high: [DVec3; 2],
        softening_squared: f64,
    ) -> Result<()> {
        let before = self.particles.put(place, low, high, softening_squared)?;
        self.rearranged |= before.index != Some(place.tag);
        if !before.was_changed {
            self.changed.push(place.at);
        }
        Ok(())
    }

    /// The particle at `address`.
    ///
    /// # Errors
    /// No particle was set there.
    pub fn get(&mut self, address: i32) -> Result<Particle> {
        self.store_queued();
        let particle = usize::try_from(address).ok().and_then(|place| self.particles.get(place));
        particle.ok_or_else(|| {
            Error::value("the address of a j-particle", address, "one that was set before")
        })
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
        if let Some(moving) = engine.interfaces().moving {
            return self.send_moving(moving, addresses, time);
        }
        self.store_queued();
        self.time = time;
        let goal = Some(Sent { addresses, time });
        // Above a quarter of all particles one large transfer is cheaper than many small writes.
        let is_small = self.changed.len() <= self.address.len() / 4;
        if self.sent == goal && !self.rearranged && is_small {
            self.send_changed(engine, time)?;
        } else {
            let other = self.sent.is_none_or(|sent| sent.addresses != addresses);
            self.sent = None;
            if self.rearranged || other {
                self.arrange(addresses);
            }
            self.send_all(engine, time)?;
            self.sent = goal;
        }
        self.forget_changes();
        Ok(())
    }

    /// [`Memory::send`] to an engine that predicts: uploads only what has changed, whatever the
    /// time.
    fn send_moving(
        &mut self,
        engine: &mut dyn MovingSources,
        addresses: usize,
        time: Option<f64>,
    ) -> Result<()> {
        self.time = time;
        engine.predict_to(time);
        self.take_queued();
        if self.queued_replace_sources(addresses) {
            if self.queued.is_empty() {
                return Ok(());
            }
            return engine.announce_moving(&self.queued.arrivals()).inspect_err(|_| {
                // A failed update may be partial: forces a complete upload.
                self.sent = None;
                self.store_queued();
            });
        }
        self.store_queued();
        if self.rearranged || self.sent.is_none_or(|sent| sent.addresses != addresses) {
            self.sent = None;
            self.arrange(addresses);
            let particles = self.address.iter().filter_map(|&k| self.particles.get(k as usize));
            let all: Vec<Moving> = particles.map(|particle| particle.moving()).collect();
            engine.set_moving(&all)?;
            self.sent = Some(Sent { addresses, time: None });
        } else if !self.changed.is_empty() {
            // Sorted, as most clients set them: the engine then accesses its memory sequentially.
            if !self.changed.is_sorted() {
                self.changed.sort_unstable();
            }
            self.announced.clear();
            for &place in &self.changed {
                // Particles above the addresses in use are not sources.
                if let Some(source) = self.source_at(place) {
                    let moving = self.particles.moving(place as usize);
                    self.announced.push(Goal { at: source as u32, tag: 0 }, &moving);
                }
            }
            // A failed update may be partial: forces a complete upload.
            let announced = engine.announce_moving(&self.announced.all());
            if announced.is_err() {
                self.announced.clear();
                self.sent = None;
            }
            announced?;
        }
        self.forget_changes();
        Ok(())
    }

    fn forget_changes(&mut self) {
        self.changed.drain(..).for_each(|place| self.particles.forget_change(place as usize));
    }

    /// The source at an address, if any. Without gaps between addresses its number is the address.
    fn source_at(&self, place: u32) -> Option<usize> {
        match self.address.get(place as usize) {
            Some(address) if *address == place => Some(place as usize),
            _ => self.address.binary_search(&place).ok(),
        }
    }

    /// Rebuilds the list of sources and the maps between indices and sources.
    fn arrange(&mut self, addresses: usize) {
        self.address.clear();
        self.index.clear();
        self.source.clear();
        self.duplicates.clear();
        for (place, index) in self.particles.all().take_while(|(place, _)| *place < addresses) {
            let source = self.address.len() as u32;
            self.address.push(place as u32);
            self.index.push(index);
            let first = *self.source.entry(index).or_insert(source);
            if first != source {
                self.duplicates.entry(index).or_insert_with(|| vec![first]).push(source);
            }
        }
        self.is_sequential = self.index.iter().zip(0..).all(|(index, source)| *index == source);
        self.rearranged = false;
        self.arrangement += 1;
    }

    fn send_all(&mut self, engine: &mut dyn ForceEngine, time: Option<f64>) -> Result<()> {
        let n = self.address.len();
        let (particles, addresses) = (&self.particles, &self.address);
        let predicted = |k: usize| {
            let particle = particles.get(addresses[k] as usize);
            particle.map_or(([DVec3::ZERO; 3], 0.0), |particle| (particle.at(time), particle.mass))
        };
        let all: Vec<([DVec3; 3], f64)> = if n < PARALLEL_MIN {
            (0..n).map(predicted).collect()
        } else {
            (0..n).into_par_iter().map(predicted).collect()
        };
        for (k, (motion, _)) in all.iter().enumerate() {
            self.check_predicted(k, motion, time)?;
        }
        let order = self.order;
        let derivative = |k: usize, into: &mut Vec<DVec3>| {
            into.clear();
            if order as usize >= k {
                into.extend(all.iter().map(|(motion, _)| motion[k]));
            }
        };
        derivative(0, &mut self.position);
        derivative(1, &mut self.velocity);
        derivative(2, &mut self.acceleration);
        self.mass.clear();
        self.mass.extend(all.iter().map(|(_, mass)| mass));
        engine.set_sources(&Sources {
            position: &self.position,
            velocity: &self.velocity,
            acceleration: &self.acceleration,
            mass: &self.mass,
        })
    }

    fn send_changed(&mut self, engine: &mut dyn ForceEngine, time: Option<f64>) -> Result<()> {
        let mut sources = Vec::with_capacity(self.changed.len());
        // Particles above the addresses in use are not sources.
        for place in &self.changed {
            sources.extend(self.source_at(*place));
        }
        for &k in &sources {
            let Some(particle) = self.particles.get(self.address[k] as usize) else { continue };
            let motion = particle.at(time);
            if let Err(error) = self.check_predicted(k, &motion, time) {
                // Some copies here are already updated: forces a complete upload next time.
                self.sent = None;
                return Err(error);
            }
            let copies = [&mut self.position, &mut self.velocity, &mut self.acceleration];
            for (copy, new) in copies.into_iter().zip(motion) {
                if let Some(entry) = copy.get_mut(k) {
                    *entry = new;
                }
            }
            self.mass[k] = particle.mass;
        }
        if sources.is_empty() {
            return Ok(());
        }
        let of = |from: &[DVec3]| -> Vec<DVec3> {
            if from.is_empty() { Vec::new() } else { sources.iter().map(|&k| from[k]).collect() }
        };
        let (position, velocity) = (of(&self.position), of(&self.velocity));
        let acceleration = of(&self.acceleration);
        let mass: Vec<f64> = sources.iter().map(|&k| self.mass[k]).collect();
        let index: Vec<u32> = sources.iter().map(|&k| k as u32).collect();
        let changed = Sources {
            position: &position,
            velocity: &velocity,
            acceleration: &acceleration,
            mass: &mass,
        };
        // A failed update may be partial: forces a complete upload.
        engine.update_sources(&index, &changed).inspect_err(|_| self.sent = None)
    }

    fn check_predicted(&self, k: usize, motion: &[DVec3; 3], time: Option<f64>) -> Result<()> {
        if motion.iter().all(|vector| vector.is_finite()) {
            return Ok(());
        }
        let (address, index) = (self.address[k], self.index[k]);
        Err(Error::value(
            format!("the particle at address {address} (index {index}), predicted to {time:?},"),
            motion[0],
            "finite in position, velocity and acceleration",
        ))
    }

    /// Predicted position, velocity and acceleration of source `k`, and its mass.
    pub fn predicted(&self, k: usize) -> ([DVec3; 3], f64) {
        let particle = self.particles.get(self.address[k] as usize);
        particle.map_or(([DVec3::ZERO; 3], 0.0), |particle| (particle.at(self.time), particle.mass))
    }

    /// Returns an error for the first source whose prediction is not finite. An engine that
    /// predicts reports only the resulting sums.
    pub fn check_predictions(&self) -> Result<()> {
        let all = 0..self.address.len();
        all.into_iter().try_for_each(|k| self.check_predicted(k, &self.predicted(k).0, self.time))
    }

    /// Number of sources that the engine holds.
    pub fn source_count(&self) -> usize {
        self.address.len()
    }

    /// Changes whenever source numbers change.
    pub fn arrangement(&self) -> u64 {
        self.arrangement
    }
}

#[cold]
fn out_of_range(address: i32) -> Error {
    let allowed = format!("from 0 to {}", LARGEST_MEMORY - 1);
    Error::value("the address of a j-particle", address, allowed)
}

#[cfg(test)]
mod tests;
