//! Which engine computes, on what, and how its kernel is cut up.

use serde::{Deserialize, Serialize};

use super::{AdapterRequest, DeviceCount, KernelRequest, TreeRequest};

/// Which engine computes, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "options", derive(clap::Args), command(next_help_heading = "Engine"))]
pub struct MethodRequest {
    /// auto (measures), gpu (any graphics adapter), cpu (SIMD, all cores), reference (f64, slow)
    #[cfg_attr(feature = "options", arg(long, default_value = AUTO, value_name = "ENGINE"))]
    pub engine: String,
    /// How forces are computed: auto (of steps, whichever of direct and tree is faster here for so many bodies; else
    /// direct), direct (every pair), tree (far bodies together as cells of an octree), reference (every pair in f64, on
    /// the CPU)
    #[cfg_attr(feature = "options", arg(long, default_value = AUTO, value_name = "METHOD"))]
    pub method: String,
}

/// Which engine computes, on what, and how its kernel is cut up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "options", derive(clap::Args), command(next_help_heading = "Engine"))]
pub struct EngineRequest {
    /// Engine and method.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub by: MethodRequest,
    /// Which adapter.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub adapter: AdapterRequest,
    /// On how many graphics adapters at once: a number, or auto, which takes all of the best one's kind where that is
    /// faster [default: as many as --adapter names]
    // Not under the heading of the group before.
    #[cfg_attr(feature = "options", arg(long, value_name = "N", help_heading = "Engine"))]
    pub devices: Option<DeviceCount>,
    /// The kernel's shape.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub kernel: KernelRequest,
    /// How a tree is walked.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub tree: TreeRequest,
}

const AUTO: &str = "auto";

impl Default for MethodRequest {
    fn default() -> Self {
        Self { engine: AUTO.to_owned(), method: AUTO.to_owned() }
    }
}
