//! Moving bodies that engines are tested, checked and timed on. No scene: nothing moves as in nature.

use std::ops::Range;

use glam::DVec3;

use super::{Identity, Sinks, Sources};

/// Bodies with all that a direct engine asks for.
#[derive(Clone, Debug, Default)]
pub struct TestBodies {
    /// Positions.
    pub position: Vec<DVec3>,
    /// Velocities, as many.
    pub velocity: Vec<DVec3>,
    /// Accelerations, as many.
    pub acceleration: Vec<DVec3>,
    /// Masses, as many.
    pub mass: Vec<f64>,
}

impl TestBodies {
    /// `n` bodies of total mass about 1 that f32 does not hold: with a dense middle, unequal in mass, away
    /// from the origin; body 1 where body 0 is, body 3 without mass. The same on every machine.
    pub fn new(n: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let mut cloud = Self::default();
        for k in 0..n {
            let spread = 0.2 + 2.0 * random.unit();
            let position = spread * random.vector() + DVec3::new(0.3, -0.1, 0.2);
            let mass = if k == 3 { 0.0 } else { (0.5 + random.unit()) / n as f64 };
            cloud.push(position, random.vector(), random.vector(), mass);
        }
        if n > 2 {
            cloud.position[1] = cloud.position[0];
        }
        cloud
    }

    /// One more body.
    pub fn push(&mut self, position: DVec3, velocity: DVec3, acceleration: DVec3, mass: f64) {
        self.position.push(position);
        self.velocity.push(velocity);
        self.acceleration.push(acceleration);
        self.mass.push(mass);
    }

    /// Number of bodies.
    pub fn len(&self) -> usize {
        self.position.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.position.is_empty()
    }

    /// The first `count` of them as sources.
    pub fn sources(&self, count: usize) -> Sources<'_> {
        Sources {
            position: &self.position[..count],
            velocity: &self.velocity[..count],
            acceleration: &self.acceleration[..count],
            mass: &self.mass[..count],
        }
    }

    /// Some of them as sinks.
    pub fn sinks<'a>(&'a self, range: Range<usize>, identity: Identity<'a>) -> Sinks<'a> {
        Sinks {
            position: &self.position[range.clone()],
            velocity: &self.velocity[range.clone()],
            acceleration: &self.acceleration[range],
            identity,
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014): fixed, so that every run tries the same.
pub(super) struct Random(pub u64);

impl Random {
    /// 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// In a cube of side 1 about the origin.
    pub fn vector(&mut self) -> DVec3 {
        DVec3::new(self.unit(), self.unit(), self.unit()) - DVec3::splat(0.5)
    }
}
