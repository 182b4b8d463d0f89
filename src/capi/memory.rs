//! The j-particles of one cluster: kept on the host in f64, predicted there, and sent to the engine in
//! one piece, only when something has changed (Belleman et al. 2008, section 3.5).

use std::collections::HashMap;

use glam::DVec3;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::forces::{ForceEngine, Moving, MovingSources, Order, Sources};

/// Addresses are below this: 1.6 GB of particles. A wild address is an error, not a full machine.
pub const LARGEST_MEMORY: usize = 1 << 23;

/// Particles from which on threads are woken to predict them.
const MANY: usize = 8192;

/// A j-particle as a client sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Particle {
    /// The client's name for it, any number.
    pub index: i32,
    /// When `motion` holds.
    pub time: f64,
    /// Gravitating mass G m, at least 0.
    pub mass: f64,
    /// Kept for the client, who may ask for it.
    pub softening_squared: f64,
    /// Position and its five derivatives, from velocity to crackle.
    pub motion: [DVec3; 6],
}

impl Particle {
    /// Refuses what is not a number; the texts name the particle.
    pub fn check(&self, address: usize) -> Result<()> {
        let names = ["position", "velocity", "acceleration", "jerk", "snap", "crackle"];
        let who = || format!("of the particle at address {address} (index {})", self.index);
        for (name, vector) in names.iter().zip(&self.motion) {
            if !vector.is_finite() {
                return Err(Error::value(format!("the {name} {}", who()), vector, "finite"));
            }
        }
        if !(self.mass.is_finite() && self.mass >= 0.0) {
            let allowed = "finite and at least 0";
            return Err(Error::value(format!("the mass {}", who()), self.mass, allowed));
        }
        if !self.time.is_finite() {
            return Err(Error::value(format!("the time tj {}", who()), self.time, "finite"));
        }
        Ok(())
    }

    /// As engines take it.
    pub fn moving(&self) -> Moving {
        Moving { time: self.time, mass: self.mass, motion: self.motion }
    }

    /// [`Moving::at`].
    pub fn at(&self, time: Option<f64>) -> [DVec3; 3] {
        self.moving().at(time)
    }
}

/// What the engine was sent last.
#[derive(Clone, Copy, PartialEq)]
struct Sent {
    addresses: usize,
    time: Option<f64>,
}

/// The memory, and what of it the engine holds.
pub struct Memory {
    order: Order,
    /// By address; addresses that nobody has set are no particles.
    particles: Vec<Option<Particle>>,
    /// Addresses that were set since the engine was sent anything.
    changed: Vec<u32>,
    is_changed: Vec<bool>,
    /// Whether particles have come, or have got other indices.
    rearranged: bool,
    sent: Option<Sent>,
    /// The engine's sources: where each is in memory, ascending.
    address: Vec<u32>,
    index: Vec<i32>,
    /// By index: the source, and others of the same index.
    source: HashMap<i32, u32>,
    twins: HashMap<i32, Vec<u32>>,
    position: Vec<DVec3>,
    velocity: Vec<DVec3>,
    acceleration: Vec<DVec3>,
    mass: Vec<f64>,
    /// What goes to an engine that predicts by itself: sources and where they belong, and the time.
    moving: Vec<Moving>,
    source_index: Vec<u32>,
    time: Option<f64>,
}

impl Memory {
    /// Empty, for forces of this order.
    pub fn new(order: Order) -> Self {
        Self {
            order,
            particles: Vec::new(),
            changed: Vec::new(),
            is_changed: Vec::new(),
            rearranged: true,
            sent: None,
            address: Vec::new(),
            index: Vec::new(),
            source: HashMap::new(),
            twins: HashMap::new(),
            position: Vec::new(),
            velocity: Vec::new(),
            acceleration: Vec::new(),
            mass: Vec::new(),
            moving: Vec::new(),
            source_index: Vec::new(),
            time: None,
        }
    }

    /// Number of particles that were ever set.
    pub fn len(&self) -> usize {
        self.particles.iter().flatten().count()
    }

    /// Puts a particle at `address`, in the place of what was there.
    ///
    /// Errors: an address out of range, no memory, numbers that are none. The old particle then stays.
    pub fn set(&mut self, address: i32, particle: Particle) -> Result<()> {
        let allowed = || format!("from 0 to {}", LARGEST_MEMORY - 1);
        let refused = || Error::value("the address of a j-particle", address, allowed());
        let place = usize::try_from(address).map_err(|_| refused())?;
        if place >= LARGEST_MEMORY {
            return Err(refused());
        }
        particle.check(place)?;
        if place >= self.particles.len() {
            let more = place + 1 - self.particles.len();
            let full = |_| Error::Outside(format!("no memory for {} j-particles", place + 1));
            self.particles.try_reserve(more).map_err(full)?;
            self.is_changed.try_reserve(more).map_err(full)?;
            self.particles.resize(place + 1, None);
            self.is_changed.resize(place + 1, false);
        }
        let before = self.particles[place].replace(particle);
        self.rearranged |= before.is_none_or(|before| before.index != particle.index);
        if !std::mem::replace(&mut self.is_changed[place], true) {
            self.changed.push(place as u32);
        }
        Ok(())
    }

    /// The particle at `address`.
    pub fn get(&self, address: i32) -> Result<&Particle> {
        let there = usize::try_from(address).ok().and_then(|place| self.particles.get(place));
        there.and_then(Option::as_ref).ok_or_else(|| {
            Error::value("the address of a j-particle", address, "one that was set before")
        })
    }

    /// Makes `engine` hold the particles below address `addresses`, predicted to `time`.
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
        if self.rearranged || self.sent.is_none_or(|sent| sent.addresses != addresses) {
            self.sent = None;
            self.arrange(addresses);
            let particles =
                self.address.iter().filter_map(|&k| self.particles[k as usize].as_ref());
            self.moving.clear();
            self.moving.extend(particles.map(Particle::moving));
            engine.set_moving(&self.moving)?;
            self.sent = Some(Sent { addresses, time: None });
        } else if !self.changed.is_empty() {
            self.moving.clear();
            self.source_index.clear();
            for place in &self.changed {
                // Beyond the addresses in use there are particles that no engine holds.
                let source = self.address.binary_search(place);
                if let (Ok(source), Some(particle)) = (source, &self.particles[*place as usize]) {
                    self.source_index.push(source as u32);
                    self.moving.push(particle.moving());
                }
            }
            // What an engine refuses may be half done.
            let updated = engine.update_moving(&self.source_index, &self.moving);
            updated.inspect_err(|_| self.sent = None)?;
        }
        self.forget_changes();
        Ok(())
    }

    fn forget_changes(&mut self) {
        for place in self.changed.drain(..) {
            self.is_changed[place as usize] = false;
        }
    }

    /// Finds out which particles are sources, and which index means which of them.
    fn arrange(&mut self, addresses: usize) {
        self.address.clear();
        self.index.clear();
        self.source.clear();
        self.twins.clear();
        for (place, particle) in self.particles.iter().enumerate().take(addresses) {
            let Some(particle) = particle else { continue };
            let source = self.address.len() as u32;
            self.address.push(place as u32);
            self.index.push(particle.index);
            let first = *self.source.entry(particle.index).or_insert(source);
            if first != source {
                self.twins.entry(particle.index).or_insert_with(|| vec![first]).push(source);
            }
        }
        self.rearranged = false;
    }

    fn send_all(&mut self, engine: &mut dyn ForceEngine, time: Option<f64>) -> Result<()> {
        let n = self.address.len();
        let (particles, addresses) = (&self.particles, &self.address);
        let predicted = |k: usize| {
            let particle = particles[addresses[k] as usize].as_ref();
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
            sources.extend(self.address.binary_search(place).ok());
        }
        for &k in &sources {
            let Some(particle) = &self.particles[self.address[k] as usize] else { continue };
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
        let particle = self.particles[self.address[k] as usize].as_ref();
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

    /// The source of index `index`, the one of lowest address.
    pub fn source_of(&self, index: i32) -> Option<u32> {
        self.source.get(&index).copied()
    }

    /// All sources of index `index`, where there are several; else none.
    pub fn twins_of(&self, index: i32) -> &[u32] {
        self.twins.get(&index).map_or(&[], Vec::as_slice)
    }

    /// The index of source `source`, or -1 where there is none.
    pub fn index_of(&self, source: u32) -> i32 {
        self.index.get(source as usize).copied().unwrap_or(-1)
    }
}

#[cfg(test)]
mod tests;
