//! The number of bodies from which the tree is faster than all pairs, on an adapter or on the CPU.

use serde::{Deserialize, Serialize};

use super::Device;

/// Times of steps of a number of bodies, by both methods.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Number of bodies.
    pub n: u64,
    /// Seconds per step by all pairs.
    pub direct_secs: f64,
    /// Seconds per step by the tree.
    pub tree_secs: f64,
}

/// The number of bodies from which the tree is faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossover {
    /// Where it was measured.
    #[serde(flatten)]
    pub on: Device,
    /// The smallest number of bodies for which the tree is used.
    pub from: u64,
    /// What was measured, by increasing number of bodies.
    pub tried: Vec<Trial>,
}
