//! When a cell of the tree acts as one, and how.

use serde::{Deserialize, Serialize};

use super::Rebuild;

/// Choices for the method `tree`; [`crate::forces::tree::TreeConfig`] is what they lead to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(
    feature = "options",
    derive(clap::Args),
    command(next_help_heading = "Tree (with --method tree)")
)]
pub struct TreeRequest {
    /// Rule for when a cell acts as one: acceleration (uses --alpha), radius, bonsai or octgrav (use --theta) [default:
    /// acceleration]
    #[cfg_attr(feature = "options", arg(long, value_name = "RULE"))]
    pub opening: Option<String>,
    /// Error that a cell may cause, as a fraction of a body's acceleration, up to 1; smaller is more precise and slower
    /// [default: 0.003]
    #[cfg_attr(feature = "options", arg(long, value_name = "A"))]
    pub alpha: Option<f64>,
    /// Opening angle, the largest under which a cell may be seen, up to 1; smaller is more precise and slower [default:
    /// 0.6 with radius, 0.75 with bonsai and octgrav]
    #[cfg_attr(feature = "options", arg(long, value_name = "ANGLE"))]
    pub theta: Option<f64>,
    /// Multipoles of the cells: 1 (monopoles) or 2 (quadrupoles) [default: 2]
    #[cfg_attr(feature = "options", arg(long, value_name = "N"))]
    pub moments: Option<u32>,
    /// Rebuild the tree only every K steps; in between, bodies keep their cells, whose boxes and moments follow them.
    /// auto (in the window only): as often as is fastest [default: 1]
    #[cfg_attr(feature = "options", arg(long, value_name = "K"))]
    pub rebuild: Option<Rebuild>,
}
