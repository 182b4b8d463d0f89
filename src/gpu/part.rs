//! What each of several devices does of the work that they share.

use std::ops::Range;

/// A device's part of the work that several share.
#[derive(Clone, Debug, PartialEq)]
pub struct DevicePart {
    /// Name and place of its adapter.
    pub device: String,
    /// Of what it has a part, and which.
    pub share: Share,
    /// How much of the time of the steps since this was asked last it spent in exchanges, waiting for the others and copying,
    /// from 0 to 1; `None` where no step was taken since.
    pub exchanging: Option<f64>,
}

/// What a device computes of each force.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Share {
    /// All pairs: what acts on these of the bodies, which it moves.
    Bodies(Range<usize>),
    /// A tree: what acts on so many bodies, these in their order along the tree's curve, cut anew at each step.
    Curve(Range<usize>),
    /// Individual steps: what acts on its part of the bodies of each large block.
    Blocks,
}

/// Seconds of steps, and those of them that went into exchanges, since they were taken last.
#[cfg(not(target_arch = "wasm32"))]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub steps: f64,
    pub exchanges: f64,
}

#[cfg(not(target_arch = "wasm32"))]
impl Spent {
    /// The part of the steps' time that exchanges took; from now on counts anew.
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
