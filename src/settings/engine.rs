//! Which engine computes forces, on what hardware, and with which kernel shape.

use serde::{Deserialize, Serialize};

use super::{AdapterRequest, DeviceCount, KernelRequest, Rebuild};

/// Which engine computes forces, and by which method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "options", derive(clap::Args), command(next_help_heading = "Engine"))]
pub struct MethodRequest {
    /// What computes forces: auto (gpu for 512 bodies or more if there is a graphics card, else
    /// cpu), gpu (any graphics adapter), cpu (SIMD, all cores), reference (f64, slow)
    #[cfg_attr(feature = "options", arg(long, default_value = AUTO, value_name = "ENGINE"))]
    pub engine: String,
    /// How forces are computed: auto (for steps, direct or tree by the number of bodies and the
    /// kind of device; otherwise direct), direct (every pair), tree (distant bodies grouped into
    /// cells of an octree), reference (every pair in f64, on the CPU)
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
    /// Number of graphics adapters to use together, or auto, which takes all adapters of the best
    /// one's kind if that is faster [default: as many as --adapter names]
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

/// Choices for the method `tree`; [`crate::forces::tree::TreeConfig`] is what they lead to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(
    feature = "options",
    derive(clap::Args),
    command(next_help_heading = "Tree (with --method tree)")
)]
pub struct TreeRequest {
    /// Rule for when a cell acts as one: acceleration (uses --alpha), radius, bonsai or octgrav
    /// (use --theta) [default: acceleration]
    #[cfg_attr(feature = "options", arg(long, value_name = "RULE"))]
    pub opening: Option<String>,
    /// Error that a cell may cause, as a fraction of a body's acceleration, up to 1; smaller is
    /// more precise and slower [default: 0.003]
    #[cfg_attr(feature = "options", arg(long, value_name = "A"))]
    pub alpha: Option<f64>,
    /// Opening angle: the largest size of a cell relative to its distance, up to 1; smaller is more
    /// precise and slower [default: 0.6 with radius, 0.75 with bonsai and octgrav]
    #[cfg_attr(feature = "options", arg(long, value_name = "ANGLE"))]
    pub theta: Option<f64>,
    /// Multipoles of the cells: 1 (monopoles) or 2 (quadrupoles) [default: 2]
    #[cfg_attr(feature = "options", arg(long, value_name = "N"))]
    pub moments: Option<u32>,
    /// Whether far cells act on neighbours together, by an expansion, with the rule acceleration:
    /// on or off [default: on]
    #[cfg_attr(feature = "options", arg(long, value_name = "ON|OFF"))]
    pub far: Option<String>,
    /// Rebuild the tree only every K steps; in between, bodies keep their cells, whose boxes and
    /// moments follow them. auto (in the window only): as often as is fastest [default: 1]
    #[cfg_attr(feature = "options", arg(long, value_name = "K"))]
    pub rebuild: Option<Rebuild>,
}
