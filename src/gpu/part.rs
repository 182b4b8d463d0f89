//! Division of work between several devices.

use std::ops::Range;

/// A device's share of the work.
#[derive(Clone, Debug, PartialEq)]
pub struct DevicePart {
    /// Name and place of its adapter.
    pub device: String,
    /// The forces that it computes.
    pub share: Share,
    /// Fraction of the time of steps since the last call that it spent in exchanges, waiting for
    /// the others and copying, from 0 to 1; `None` if no step was taken.
    pub exchanging: Option<f64>,
}

/// The forces that a device computes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Share {
    /// All pairs: the forces on these bodies, which it also moves.
    Bodies(Range<usize>),
    /// The tree: the forces on this many bodies, which it also moves, redistributed at each step.
    Domain(u32),
    /// Individual steps: the forces on its range of each large block.
    Blocks,
}

/// Seconds of steps, and of exchanges within them, since they were last taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    pub steps: f64,
    pub exchanges: f64,
}

impl Spent {
    /// Fraction of the steps' time spent in exchanges; resets the counts.
    pub fn take(&mut self) -> Option<f64> {
        let Self { steps, exchanges } = std::mem::take(self);
        (steps > 0.0).then(|| (exchanges / steps).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchange_fraction_without_steps_is_none() {
        let mut spent = Spent { steps: 2.0, exchanges: 0.5 };
        assert_eq!([spent.take(), spent.take()], [Some(0.25), None]);
    }
}
