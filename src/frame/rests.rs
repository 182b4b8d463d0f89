//! The low-order digits of positions and velocities that f32 near the origin resolves but f64 far
//! from it does not. A snapshot stores them so that a resumed run has the same bits.

use std::collections::BTreeMap;

use glam::DVec3;

use super::Frame;

/// Prefix of the names of a snapshot's columns that hold rests.
pub const PREFIX: &str = "frame.";

/// The columns of the position, then of the velocity.
const NAMES: [&str; 6] = ["frame.x", "frame.y", "frame.z", "frame.vx", "frame.vy", "frame.vz"];

/// One entry per body: the exact position is the rounded f64 one plus its rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rests {
    /// Rests of positions.
    pub position: Vec<DVec3>,
    /// Rests of velocities.
    pub velocity: Vec<DVec3>,
}

impl Rests {
    /// The rests in `columns` of a snapshot of `n` bodies, if all columns are there.
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

    /// Whether all rests are 0, so that snapshots need no columns of them.
    pub fn are_zero(&self) -> bool {
        self.position.iter().chain(&self.velocity).all(|rest| *rest == DVec3::ZERO)
    }

    /// The columns for a snapshot.
    pub fn columns(&self) -> BTreeMap<String, Vec<f64>> {
        let column = |k: usize| {
            let vectors = if k < 3 { &self.position } else { &self.velocity };
            (NAMES[k].to_owned(), vectors.iter().map(|vector| vector[k % 3]).collect())
        };
        (0..NAMES.len()).map(column).collect()
    }
}

impl Frame {
    /// The position at the time `epoch` for one relative to the origin, in units of length, and its
    /// rest to the exact value.
    pub fn exact_position(&self, scaled: DVec3) -> (DVec3, DVec3) {
        exact_sum(self.origin.into(), scaled * self.length)
    }

    /// The velocity for one relative to the origin's, in units of length and time, and its rest to
    /// the exact value.
    pub fn exact_velocity(&self, scaled: DVec3) -> (DVec3, DVec3) {
        exact_sum(self.velocity.into(), scaled * self.velocity_unit())
    }

    /// Inverse of [`Frame::exact_position`].
    pub fn scaled_exact_position(&self, position: DVec3, rest: DVec3) -> DVec3 {
        let (offset, lost) = exact_sum(position, -DVec3::from(self.origin));
        (offset + (lost + rest)) / self.length
    }

    /// Inverse of [`Frame::exact_velocity`].
    pub fn scaled_exact_velocity(&self, velocity: DVec3, rest: DVec3) -> DVec3 {
        let (offset, lost) = exact_sum(velocity, -DVec3::from(self.velocity));
        (offset + (lost + rest)) / self.velocity_unit()
    }
}

/// a + b rounded, and the rounding error (Knuth 1969, two-sum).
fn exact_sum(a: DVec3, b: DVec3) -> (DVec3, DVec3) {
    let sum = a + b;
    let b_in_sum = sum - a;
    let lost = (a - (sum - b_in_sum)) + (b - b_in_sum);
    (sum, lost)
}
