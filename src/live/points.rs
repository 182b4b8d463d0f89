//! Bodies on the host, converted to f32 for the sprites.

use glam::DVec3;

use crate::bodies::Bodies;
use crate::frame::Frame;

/// The bodies in f32.
#[derive(Debug, Default)]
pub(super) struct PointArrays {
    pub position_mass: Vec<[f32; 4]>,
    pub velocity: Vec<[f32; 4]>,
    pub acceleration: Vec<[f32; 4]>,
    /// The number of steps of this state.
    pub steps: u64,
    /// The coordinate frame.
    pub frame: Frame,
}

/// Converts bodies from f64 to f32 in a coordinate frame.
pub(super) struct Narrowing {
    tags: Vec<u32>,
    gravitational_constant: f64,
    frame: Frame,
}

impl Narrowing {
    /// Chooses the coordinate frame by the state of the bodies at `time`.
    pub fn of(bodies: &Bodies, gravitational_constant: f64, time: f64) -> Self {
        Self {
            tags: (0..bodies.len()).map(|i| bodies.tag(i)).collect(),
            gravitational_constant,
            frame: Frame::of(bodies, gravitational_constant, time),
        }
    }

    /// Fills `points` with the bodies at `time`.
    pub fn fill(
        &self,
        points: &mut PointArrays,
        bodies: &Bodies,
        acceleration: &[DVec3],
        time: f64,
    ) {
        let frame = self.frame.at(time);
        let unit = self.gravitational_constant / frame.mass;
        let fill = |into: &mut Vec<[f32; 4]>, entry: &dyn Fn(usize) -> ([f32; 3], f32)| {
            into.clear();
            into.extend((0..bodies.len()).map(|i| {
                let ([x, y, z], w) = entry(i);
                [x, y, z, w]
            }));
        };
        fill(&mut points.position_mass, &|i| {
            (frame.position(bodies.position[i]), (bodies.mass[i] * unit) as f32)
        });
        let velocity = |i: usize| frame.velocity(bodies.velocity[i]);
        fill(&mut points.velocity, &|i| (velocity(i), self.tags[i] as f32));
        fill(&mut points.acceleration, &|i| (frame.acceleration(acceleration[i]), 0.0));
        points.frame = frame;
    }
}
