//! The j-particles of one cluster: kept on the host in f64, and sent to the engine in one piece, only when something
//! has changed (Belleman et al. 2008, section 3.5). An engine that does not predict them gets them predicted.

mod letters;
mod naming;
mod records;

use std::collections::HashMap;

use glam::DVec3;
use rayon::prelude::*;

use super::inbox::{Inbox, Letters};
pub use super::particle::Particle;
use crate::error::{Error, Result};
use crate::forces::{
    ArrivalList, ForceEngine, Goal, Moving, MovingSources, Order, Sources, ToJerk,
};
use records::Records;

/// Addresses are below this: 1.1 GB of particles, 1.5 with snaps. A wild address is an error, not a full machine.
pub const LARGEST_MEMORY: usize = 1 << 23;

/// Particles from which on threads are woken to predict them.
const MANY: usize = 8192;

/// What the engine was sent last.
#[derive(Clone, Copy, PartialEq)]
struct Sent {
    addresses: usize,
    time: Option<f64>,
}

/// The memory, and what of it the engine holds.
pub struct Memory {
    order: Order,
    /// By address.
    particles: Records,
    /// Addresses that were set since the engine was sent anything.
    changed: Vec<u32>,
    /// Whether particles have come, or have got other indices.
    rearranged: bool,
    /// How often sources were arranged: numbers of sources are of one arrangement.
    arrangement: u64,
    sent: Option<Sent>,
    /// The engine's sources: where each is in memory, ascending; the client's index of each, and whether that is its number.
    address: Vec<u32>,
    index: Vec<i32>,
    counted: bool,
    /// By index: the source, and others of the same index.
    source: HashMap<i32, u32>,
    twins: HashMap<i32, Vec<u32>>,
    position: Vec<DVec3>,
    velocity: Vec<DVec3>,
    acceleration: Vec<DVec3>,
    mass: Vec<f64>,
    /// To when the engine's sources are predicted.
    time: Option<f64>,
    /// Where particles arrive that clients set one by one, and those that were fetched from there.
    inbox: Option<&'static Inbox>,
    letters: Letters,
    /// Other sources that were announced to the engine and not settled.
    announced: ArrivalList,
}

impl Memory {
    /// Empty, for forces of this order.
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
            counted: false,
            source: HashMap::new(),
            twins: HashMap::new(),
            position: Vec::new(),
            velocity: Vec::new(),
            acceleration: Vec::new(),
            mass: Vec::new(),
            time: None,
            inbox: None,
            letters: Letters::default(),
            announced: ArrivalList::default(),
        }
    }

    /// Number of particles that were ever set.
    pub fn len(&mut self) -> usize {
        self.put_away();
        self.particles.all().count()
    }

    /// Puts a particle at `address`, in the place of what was there.
    ///
    /// Errors: an address out of range, no memory, numbers that are none. The old particle then stays.
    pub fn set(&mut self, address: i32, particle: Particle) -> Result<()> {
        let place = match usize::try_from(address) {
            Ok(place) if place < LARGEST_MEMORY => place,
            _ => return Err(refused(address)),
        };
        if !particle.is_sound() {
            particle.check(place)?;
        }
        // They came before.
        self.put_away();
        let goal = Goal { at: place as u32, tag: particle.index };
        let moving = particle.moving();
        self.put(goal, &ToJerk::from(&moving), particle.high(), particle.softening_squared)?;
        self.tell_room();
        Ok(())
    }

    /// Puts a particle in its place, to be sent.
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
    pub fn get(&mut self, address: i32) -> Result<Particle> {
        self.put_away();
        let there = usize::try_from(address).ok().and_then(|place| self.particles.get(place));
        there.ok_or_else(|| {
            Error::value("the address of a j-particle", address, "one that was set before")
        })
    }

    /// Makes `engine` hold the particles below address `addresses`, predicted to `time`: [`Memory::settle`] comes after
    /// the evaluation has begun.
    ///
    /// Errors: a particle whose prediction is not finite; what the engine refuses.
    pub fn send(
        &mut self,
        engine: &mut dyn ForceEngine,
        addresses: usize,
        time: Option<f64>,
    ) -> Result<()> {
        if let Some(moving) = engine.moving() {
            return self.send_moving(moving, addresses, time);
        }
        self.put_away();
        self.time = time;
        let goal = Some(Sent { addresses, time });
        // Beyond a quarter one large transfer is cheaper than many small writes.
        let few = self.changed.len() <= self.address.len() / 4;
        if self.sent == goal && !self.rearranged && few {
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

    /// [`Memory::send`] to an engine that predicts by itself: what changed goes there, whatever the time.
    fn send_moving(
        &mut self,
        engine: &mut dyn MovingSources,
        addresses: usize,
        time: Option<f64>,
    ) -> Result<()> {
        self.time = time;
        engine.predict_to(time);
        self.fetch();
        if self.letters_are_sources(addresses) {
            if self.letters.is_empty() {
                return Ok(());
            }
            return engine.announce_moving(&self.letters.arrivals()).inspect_err(|_| {
                // What an engine refuses may be half done.
                self.sent = None;
                self.put_away();
            });
        }
        self.put_away();
        if self.rearranged || self.sent.is_none_or(|sent| sent.addresses != addresses) {
            self.sent = None;
            self.arrange(addresses);
            let particles = self.address.iter().filter_map(|&k| self.particles.get(k as usize));
            let all: Vec<Moving> = particles.map(|particle| particle.moving()).collect();
            engine.set_moving(&all)?;
            self.sent = Some(Sent { addresses, time: None });
        } else if !self.changed.is_empty() {
            // In order, as most clients set them: engines go through their memory once.
            if !self.changed.is_sorted() {
                self.changed.sort_unstable();
            }
            self.announced.clear();
            for &place in &self.changed {
                // Beyond the addresses in use there are particles that no engine holds.
                if let Some(source) = self.source_at(place) {
                    let moving = self.particles.moving(place as usize);
                    self.announced.push(Goal { at: source as u32, tag: 0 }, &moving);
                }
            }
            // What an engine refuses may be half done.
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

    /// The source at an address, if there is one. Where no address is free, that is the address itself.
    fn source_at(&self, place: u32) -> Option<usize> {
        match self.address.get(place as usize) {
            Some(there) if *there == place => Some(place as usize),
            _ => self.address.binary_search(&place).ok(),
        }
    }

    /// Finds out which particles are sources, and which index means which of them.
    fn arrange(&mut self, addresses: usize) {
        self.address.clear();
        self.index.clear();
        self.source.clear();
        self.twins.clear();
        for (place, index) in self.particles.all().take_while(|(place, _)| *place < addresses) {
            let source = self.address.len() as u32;
            self.address.push(place as u32);
            self.index.push(index);
            let first = *self.source.entry(index).or_insert(source);
            if first != source {
                self.twins.entry(index).or_insert_with(|| vec![first]).push(source);
            }
        }
        self.counted = self.index.iter().zip(0..).all(|(index, source)| *index == source);
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
        let all: Vec<([DVec3; 3], f64)> = if n < MANY {
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
        // Beyond the addresses in use there are particles that no engine holds.
        for place in &self.changed {
            sources.extend(self.source_at(*place));
        }
        for &k in &sources {
            let Some(particle) = self.particles.get(self.address[k] as usize) else { continue };
            let motion = particle.at(time);
            if let Err(error) = self.check_predicted(k, &motion, time) {
                // Some of the copies here are new already: the next time all are sent.
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
        // What an engine refuses may be half done.
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

    /// Source `k` as the engine has it: predicted, and its mass.
    pub fn predicted(&self, k: usize) -> ([DVec3; 3], f64) {
        let particle = self.particles.get(self.address[k] as usize);
        particle.map_or(([DVec3::ZERO; 3], 0.0), |particle| (particle.at(self.time), particle.mass))
    }

    /// Refuses the first source whose prediction is not finite: an engine that predicts by itself sees only what
    /// comes of it.
    pub fn check_predictions(&self) -> Result<()> {
        let all = 0..self.address.len();
        all.into_iter().try_for_each(|k| self.check_predicted(k, &self.predicted(k).0, self.time))
    }

    /// Number of sources that the engine holds.
    pub fn source_count(&self) -> usize {
        self.address.len()
    }

    /// Changes when the numbers of sources do.
    pub fn arrangement(&self) -> u64 {
        self.arrangement
    }
}

#[cold]
fn refused(address: i32) -> Error {
    let allowed = format!("from 0 to {}", LARGEST_MEMORY - 1);
    Error::value("the address of a j-particle", address, allowed)
}

#[cfg(test)]
mod tests;
