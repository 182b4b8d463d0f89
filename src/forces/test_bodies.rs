//! Moving bodies for testing, checking and timing engines. Not a scene: they do not move
//! physically.

use std::ops::Range;

use glam::DVec3;

use super::{Identity, Sinks, Sources};

/// Bodies with everything that a direct engine may need.
#[derive(Clone, Debug, Default)]
pub struct TestBodies {
    /// Positions.
    pub position: Vec<DVec3>,
    /// Velocities, one per body.
    pub velocity: Vec<DVec3>,
    /// Accelerations, one per body.
    pub acceleration: Vec<DVec3>,
    /// Masses, one per body.
    pub mass: Vec<f64>,
}

impl TestBodies {
    /// `n` bodies of total mass about 1 that are not exact in f32: with a dense centre, unequal
    /// masses, away from the origin; body 1 is at the position of body 0, body 3 is massless. The
    /// same on every machine.
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

    /// Adds a body.
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

    /// Whether there are no bodies.
    pub fn is_empty(&self) -> bool {
        self.position.is_empty()
    }

    /// The first `count` bodies as sources.
    pub fn sources(&self, count: usize) -> Sources<'_> {
        Sources {
            position: &self.position[..count],
            velocity: &self.velocity[..count],
            acceleration: &self.acceleration[..count],
            mass: &self.mass[..count],
        }
    }

    /// The bodies in `range` as sinks.
    pub fn sinks<'a>(&'a self, range: Range<usize>, identity: Identity<'a>) -> Sinks<'a> {
        Sinks {
            position: &self.position[range.clone()],
            velocity: &self.velocity[range.clone()],
            acceleration: &self.acceleration[range],
            identity,
            only: None,
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014), so that every run tests the same numbers.
pub(super) struct Random(pub u64);

impl Random {
    /// A number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A point in a cube of side 1 about the origin.
    pub fn vector(&mut self) -> DVec3 {
        DVec3::new(self.unit(), self.unit(), self.unit()) - DVec3::splat(0.5)
    }
}
