//! When the cells of a tree act as a whole, and how.

use serde::{Deserialize, Serialize};

use super::Rebuild;

/// What is chosen of the method `tree`; see [`crate::forces::tree::TreeConfig`] for what it comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(
    feature = "options",
    derive(clap::Args),
    command(next_help_heading = "Tree (with --method tree)")
)]
pub struct TreeRequest {
    /// When a cell acts as a whole: acceleration (by --alpha), radius, bonsai or octgrav (by --theta) [default:
    /// acceleration]
    #[cfg_attr(feature = "options", arg(long, value_name = "RULE"))]
    pub opening: Option<String>,
    /// What part of a body's acceleration a cell may spoil, up to 1; smaller is more precise and slower [default: 0.003]
    #[cfg_attr(feature = "options", arg(long, value_name = "A"))]
    pub alpha: Option<f64>,
    /// Under what angle a cell may be seen, up to 1; smaller is more precise and slower [default: 0.6 with radius, 0.75
    /// with bonsai and octgrav]
    #[cfg_attr(feature = "options", arg(long, value_name = "ANGLE"))]
    pub theta: Option<f64>,
    /// Multipoles of cells: 1 (monopoles) or 2 (quadrupoles) [default: 2]
    #[cfg_attr(feature = "options", arg(long, value_name = "N"))]
    pub moments: Option<u32>,
    /// Builds the tree anew at every K-th step only: in between bodies keep their cells, whose boxes and moments follow
    /// them; auto, in the window alone: as often as makes steps fast [default: 1]
    #[cfg_attr(feature = "options", arg(long, value_name = "K"))]
    pub rebuild: Option<Rebuild>,
}
