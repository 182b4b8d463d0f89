//! What is chosen of a tree on the device.

use crate::forces::tree::{LEAF, MultipoleOrder, Opening, TreeConfig};
use crate::gpu::Checks;

/// Bodies in the largest of the leaves that are tried: their cells always have room.
pub const LARGEST_LEAF: u32 = 512;

/// What decides the bits of a tree's forces, and the run-time checks of its kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeShape {
    /// When a cell may act as a whole.
    pub opening: Opening,
    /// Up to which multipole cells attract.
    pub order: MultipoleOrder,
    /// Bodies in a leaf at most, while there is room for the cells that come of it.
    pub leaf: u32,
    /// Threads of a workgroup of the walk, which share 64 sinks: 32 or 64. They change no bit.
    pub lanes: u32,
    /// Whether 32 threads that are one subgroup use its operations. They change no bit; on an H200 (580.159) both ways take
    /// the same time, so they are not asked for unless somebody does.
    pub subgroups: bool,
    /// Run-time checks.
    pub checks: Checks,
    /// At steps divisible by this the tree is built anew: [`TreeConfig::rebuild`].
    pub rebuild: u64,
}

impl TreeShape {
    /// What a configuration comes to.
    pub fn of(config: &TreeConfig, checks: Checks) -> Self {
        Self { checks, rebuild: config.rebuild, ..Self::new(config.opening, config.moments) }
    }

    /// The configuration that it is made for.
    pub fn config(&self) -> TreeConfig {
        TreeConfig { opening: self.opening, moments: self.order, rebuild: self.rebuild }
    }

    /// The usual one for an opening rule.
    pub fn new(opening: Opening, order: MultipoleOrder) -> Self {
        let (leaf, lanes, subgroups) = (LEAF as u32, 32, false);
        Self { opening, order, leaf, lanes, subgroups, checks: Checks::Off, rebuild: 1 }
    }

    /// Sizes of leaves that there may be, each twice the one before.
    pub(super) fn leaf_sizes(&self) -> u32 {
        1 + (LARGEST_LEAF / self.leaf.max(1)).max(1).ilog2()
    }
}

impl std::fmt::Display for TreeShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "tree, {}", self.config())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_double_up_to_the_largest() {
        let shape = TreeShape::new(Opening::Radius { theta: 0.6 }, MultipoleOrder::Quadrupole);
        assert_eq!(shape.leaf_sizes(), 5);
        assert_eq!(TreeShape { leaf: 512, ..shape }.leaf_sizes(), 1);
        assert_eq!(shape.to_string(), "tree, quadrupoles, radius 0.6");
    }
}
