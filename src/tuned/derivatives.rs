//! Kernel shapes for forces with derivatives, as they are stored.

use serde::{Deserialize, Serialize};

use super::{Device, Kernels};
use crate::forces::direct::gpu::tiers::{Fitted, Shape};

/// A shape of the kernels with derivatives, and the evaluations for which it was found fastest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DerivativesChoice {
    /// The device and the kernels that it was measured with.
    #[serde(flatten)]
    pub on: Device,
    /// Seconds per evaluation from host to host, median.
    pub secs: f64,
    /// The same for the default rule's shape, in the same race.
    pub default_secs: f64,
    /// The default rule's shape.
    pub default: Shape,
    /// The shape, and the evaluations that it is for.
    pub fitted: Fitted,
}

impl DerivativesChoice {
    /// Whether both are for the same evaluations on the same device, whatever the kernels.
    pub fn is_for_the_same(&self, other: &Self) -> bool {
        self.fitted.order_in_file() == other.fitted.order_in_file()
            && self.on.is_but_for_kernels(&other.on)
    }

    /// True if it was measured with the kernels of another version of the program.
    pub fn is_outdated(&self) -> bool {
        self.on.kernels != Kernels::Derivatives.checksum()
    }
}

impl Fitted {
    /// Sort key: tier, derivative, sources and sinks.
    pub(super) fn order_in_file(&self) -> (usize, usize, u32, u32) {
        (self.precision as usize, self.order as usize, self.sources, self.sinks)
    }
}
