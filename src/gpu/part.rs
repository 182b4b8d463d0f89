//! What each of several devices does of their shared work.

use std::ops::Range;

/// A device's part of shared work.
#[derive(Clone, Debug, PartialEq)]
pub struct DevicePart {
    /// Name and place of its adapter.
    pub device: String,
    /// What it computes of each force.
    pub share: Share,
    /// The part of the time of steps since the last call that it spent in exchanges, waiting for
    /// the others and copying, from 0 to 1; `None` if no step was taken.
    pub exchanging: Option<f64>,
}

/// What a device computes of each force.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Share {
    /// All pairs: the forces on these bodies, which it also moves.
    Bodies(Range<usize>),
    /// The tree: the forces on this range of bodies along the tree's curve, chosen anew at each
    /// step.
    Curve(Range<usize>),
    /// Individual steps: the forces on its part of each large block.
    Blocks,
}

/// Seconds of steps, and of exchanges within them, since they were last taken.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub steps: f64,
    pub exchanges: f64,
}

#[cfg(not(target_arch = "wasm32"))]
impl Spent {
    /// The part of the steps' time that exchanges took; resets the counts.
    pub fn take(&mut self) -> Option<f64> {
        let Self { steps, exchanges } = std::mem::take(self);
        (steps > 0.0).then(|| (exchanges / steps).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_no_time_is_none() {
        let mut spent = Spent { steps: 2.0, exchanges: 0.5 };
        assert_eq!([spent.take(), spent.take()], [Some(0.25), None]);
    }
}
