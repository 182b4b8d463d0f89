//! How time advances: softening, step, integrator and its accuracy.

use serde::{Deserialize, Serialize};

use super::StepLength;

/// How time advances.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "options", derive(clap::Args))]
pub struct StepRequest {
    /// Plummer softening length [default: chosen to suit the bodies]
    #[cfg_attr(feature = "options", arg(long, value_name = "E"))]
    pub eps: Option<f64>,
    /// Time step, or auto: one step for all bodies, at most 0.1 (auto:ETA for another part) times
    /// the least sqrt(eps / |acceleration|) of all bodies; shortened and lengthened by powers of
    /// two [default: chosen to suit the bodies]
    #[cfg_attr(feature = "options", arg(long, value_name = "DT"))]
    pub dt: Option<StepLength>,
    /// Integrator: leapfrog, hermite4 or hermite6 [default: the scene's, or leapfrog]
    #[cfg_attr(feature = "options", arg(long, value_name = "NAME"))]
    pub integrator: Option<String>,
    /// The individual steps.
    #[cfg_attr(feature = "options", command(flatten))]
    #[serde(flatten)]
    pub blocks: BlockRequest,
}

/// How individual steps are chosen, and how precisely forces are computed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(
    feature = "options",
    derive(clap::Args),
    command(next_help_heading = "Accuracy of hermite4 and hermite6")
)]
pub struct BlockRequest {
    /// Aarseth's accuracy parameter: steps are proportional to its square root [default: 0.01]
    #[cfg_attr(feature = "options", arg(long, value_name = "ETA"))]
    pub eta: Option<f64>,
    /// Accuracy parameter of the sixth-order criterion, which hermite6 averages with Aarseth's;
    /// steps are proportional to it [default: 0.1]
    #[cfg_attr(feature = "options", arg(long, value_name = "ETA"))]
    pub eta6: Option<f64>,
    /// Longest step of any body, a power of two; bodies are synchronised at its multiples, or every
    /// --dt if that is given
    #[cfg_attr(feature = "options", arg(long, value_name = "DT"))]
    pub dt_max: Option<f64>,
    /// Precision of the forces: single, double-single or double; not every engine has all of them
    #[cfg_attr(feature = "options", arg(long, value_name = "TIER"))]
    pub precision: Option<String>,
    /// Predict and correct bodies on the host in f64, even if the GPU could do it
    #[cfg_attr(feature = "options", arg(long))]
    pub host_blocks: bool,
}

impl BlockRequest {
    /// These settings; any that is missing is taken from `others`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            eta: self.eta.or(others.eta),
            eta6: self.eta6.or(others.eta6),
            dt_max: self.dt_max.or(others.dt_max),
            precision: self.precision.or(others.precision),
            host_blocks: self.host_blocks || others.host_blocks,
        }
    }
}
