//! What positions and velocities in f64 lack of those in f32, far from the origin: kept with a snapshot, so
//! that a run goes on to the same bits.

use std::collections::BTreeMap;

use glam::DVec3;

use super::{Frame, wide};

/// The beginning of the names of a snapshot's columns that hold rests.
pub const PREFIX: &str = "frame.";

/// Columns: of the position, then of the velocity.
const NAMES: [&str; 6] = ["frame.x", "frame.y", "frame.z", "frame.vx", "frame.vy", "frame.vz"];

/// One entry per body. A body's exact position is the rounded one in f64 and this together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rests {
    /// Of positions.
    pub position: Vec<DVec3>,
    /// Of velocities.
    pub velocity: Vec<DVec3>,
}

impl Rests {
    /// Those that `columns` of a snapshot of `n` bodies hold, if all are there.
    pub fn find(columns: &BTreeMap<String, Vec<f64>>, n: usize) -> Option<Self> {
        let column = |name: &str| columns.get(name).filter(|column| column.len() == n);
        let [x, y, z, vx, vy, vz] = NAMES.map(column);
        let (x, y, z) = (x?, y?, z?);
        let (vx, vy, vz) = (vx?, vy?, vz?);
        Some(Self {
            position: (0..n).map(|i| DVec3::new(x[i], y[i], z[i])).collect(),
            velocity: (0..n).map(|i| DVec3::new(vx[i], vy[i], vz[i])).collect(),
        })
    }

    /// The columns of a snapshot; none where nothing is lacking.
    pub fn columns(&self) -> BTreeMap<String, Vec<f64>> {
        let all = || self.position.iter().chain(&self.velocity);
        if all().all(|rest| *rest == DVec3::ZERO) {
            return BTreeMap::new();
        }
        let column = |k: usize| {
            let vectors = if k < 3 { &self.position } else { &self.velocity };
            (NAMES[k].to_owned(), vectors.iter().map(|vector| vector[k % 3]).collect())
        };
        (0..NAMES.len()).map(column).collect()
    }
}

impl Frame {
    /// A position of the time `epoch` from f32, and what that lacks of the exact one.
    pub fn exact_position(&self, position: [f32; 3]) -> (DVec3, DVec3) {
        exact_sum(self.origin.into(), wide(position) * self.length)
    }

    /// A velocity from f32, and what that lacks of the exact one.
    pub fn exact_velocity(&self, velocity: [f32; 3]) -> (DVec3, DVec3) {
        exact_sum(self.velocity.into(), wide(velocity) * self.velocity_unit())
    }

    /// The f32 position that [`Frame::exact_position`] was made from.
    pub fn narrow_position(&self, position: DVec3, rest: DVec3) -> [f32; 3] {
        let (offset, lost) = exact_sum(position, -DVec3::from(self.origin));
        super::narrow((offset + (lost + rest)) / self.length)
    }

    /// The f32 velocity that [`Frame::exact_velocity`] was made from.
    pub fn narrow_velocity(&self, velocity: DVec3, rest: DVec3) -> [f32; 3] {
        let (offset, lost) = exact_sum(velocity, -DVec3::from(self.velocity));
        super::narrow((offset + (lost + rest)) / self.velocity_unit())
    }
}

/// a + b rounded, and what that lacks (Knuth 1969, two-sum).
fn exact_sum(a: DVec3, b: DVec3) -> (DVec3, DVec3) {
    let sum = a + b;
    let b_in_sum = sum - a;
    let lost = (a - (sum - b_in_sum)) + (b - b_in_sum);
    (sum, lost)
}
