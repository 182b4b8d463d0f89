//! The parameters of a tree on the device.

use serde::{Deserialize, Serialize};

use crate::forces::tree::{LEAF, MultipoleOrder, Opening, TreeConfig};
use crate::gpu::Checks;
use crate::settings::Rebuild;

/// The largest leaf size tried: the buffers always have capacity for its cells.
pub const LARGEST_LEAF: u32 = 512;

/// Shape of the walk's kernel; does not affect any bit of the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WalkShape {
    /// Interactions unrolled per turn of the inner loops: a power of two up to 32.
    pub unroll: u32,
}

impl WalkShape {
    /// The default without tuning.
    pub const DEFAULT: Self = Self { unroll: 8 };

    /// All shapes worth timing, the default first.
    pub const ALL: [Self; 5] = [
        Self::DEFAULT,
        Self { unroll: 2 },
        Self { unroll: 4 },
        Self { unroll: 16 },
        Self { unroll: 32 },
    ];

    /// Whether the shape exists.
    pub fn is_valid(self) -> bool {
        self.unroll.is_power_of_two() && self.unroll <= 32
    }
}

impl std::fmt::Display for WalkShape {
    /// Formats it as `walk u 8`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "walk u {}", self.unroll)
    }
}

/// The parameters that determine the bits of a tree's forces, and the run-time checks of its
/// kernels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeShape {
    /// When a cell may act as a whole.
    pub opening: Opening,
    /// The highest multipole of cells.
    pub order: MultipoleOrder,
    /// Whether far cells are expanded, where the rule bounds the error: [`TreeConfig::far`].
    pub far: bool,
    /// The most bodies in a leaf, as long as the resulting cells fit the buffers.
    pub leaf: u32,
    /// Shape of the walk's kernel.
    pub walk: WalkShape,
    /// Run-time checks.
    pub checks: Checks,
    /// At which steps the tree is rebuilt: [`TreeConfig::rebuild`].
    pub rebuild: Rebuild,
}

impl TreeShape {
    /// The shape for a configuration.
    pub fn of(config: &TreeConfig, checks: Checks) -> Self {
        let TreeConfig { opening, moments, far, rebuild } = *config;
        Self { checks, far, rebuild, ..Self::new(opening, moments) }
    }

    /// The configuration of this shape.
    pub fn config(&self) -> TreeConfig {
        let Self { opening, order, far, rebuild, .. } = *self;
        TreeConfig { opening, moments: order, far, rebuild }
    }

    /// This shape for energies: [`TreeConfig::for_energies`].
    pub fn for_energies(self) -> Self {
        let TreeConfig { opening, moments, .. } = self.config().for_energies();
        Self { opening, order: moments, ..self }
    }

    /// The default shape for an opening rule.
    pub fn new(opening: Opening, order: MultipoleOrder) -> Self {
        let (leaf, walk) = (LEAF as u32, WalkShape::DEFAULT);
        let (checks, rebuild) = (Checks::Off, Rebuild::EACH_STEP);
        Self { opening, order, far: true, leaf, walk, checks, rebuild }
    }

    /// Number of possible leaf sizes, each twice the one before.
    pub(super) fn leaf_sizes(&self) -> u32 {
        1 + (LARGEST_LEAF / self.leaf.max(1)).max(1).ilog2()
    }
}

impl std::fmt::Display for TreeShape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "tree, {}", self.config())?;
        match self.walk == WalkShape::DEFAULT {
            true => Ok(()),
            false => write!(f, ", {}", self.walk),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_double_up_to_the_largest() {
        let shape = TreeShape::new(Opening::Radius { theta: 0.6 }, MultipoleOrder::Quadrupole);
        assert_eq!(TreeShape { leaf: 32, ..shape }.leaf_sizes(), 5);
        assert_eq!(TreeShape { leaf: 512, ..shape }.leaf_sizes(), 1);
        assert_eq!(shape.to_string(), "tree, quadrupoles, radius 0.6");
        let walk = WalkShape { unroll: 4 };
        let text = TreeShape { walk, ..shape }.to_string();
        assert_eq!(text, "tree, quadrupoles, radius 0.6, walk u 4");
    }
}
