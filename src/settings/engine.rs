//! Which engine computes forces, on what hardware, and with which kernel shape.

use serde::{Deserialize, Serialize};

use super::{AdapterRequest, DeviceCount, KernelRequest, TreeRequest};

/// Which engine computes forces, and by which method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "options", derive(clap::Args), command(next_help_heading = "Engine"))]
pub struct MethodRequest {
    /// What computes forces: auto (gpu for 512 bodies or more if there is a graphics card, else cpu), gpu (any graphics
    /// adapter), cpu (SIMD, all cores), reference (f64, slow)
    #[cfg_attr(feature = "options", arg(long, default_value = AUTO, value_name = "ENGINE"))]
    pub engine: String,
    /// How forces are computed: auto (for steps, direct or tree by the number of bodies and the kind of device;
    /// otherwise direct), direct (every pair), tree (distant bodies grouped into cells of an octree), reference (every
    /// pair in f64, on the CPU)
    #[cfg_attr(feature = "options", arg(long, default_value = AUTO, value_name = "METHOD"))]
    pub method: String,
}

/// Which engine computes forces, on what hardware, and with which kernel shape.
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
    /// Number of graphics adapters to use together, or auto, which takes all adapters of the best one's kind if that
    /// is faster [default: as many as --adapter names]
    // Or it would get the heading of the group before.
    #[cfg_attr(feature = "options", arg(long, value_name = "N", help_heading = "Engine"))]
    pub devices: Option<DeviceCount>,
    /// The kernel's shape.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub kernel: KernelRequest,
    /// The tree's opening rule, moments and rebuilds.
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
