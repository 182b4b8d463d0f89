//! From how many bodies on the tree is faster than all pairs, on an adapter or on the processor.

use serde::{Deserialize, Serialize};

use super::Device;

/// Steps of a number of bodies, by either method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Number of bodies.
    pub n: u64,
    /// Seconds per step by all pairs.
    pub direct_secs: f64,
    /// Seconds per step by the tree.
    pub tree_secs: f64,
}

/// From how many bodies on the tree is faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossover {
    /// Where.
    #[serde(flatten)]
    pub on: Device,
    /// The least number of bodies that the tree is taken for.
    pub from: u64,
    /// What was measured, in rising numbers.
    pub tried: Vec<Trial>,
}
