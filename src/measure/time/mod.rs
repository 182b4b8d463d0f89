//! How fast kernels are on a device, and what limits them.

mod ceiling_bench;
mod ceilings;
mod kernel_timer;
mod model;
pub(super) mod problem;
mod step_timer;
mod stopwatch;
mod timer;
mod tree_step_timer;
mod tree_timer;

pub use ceilings::{Ceiling, CeilingSamples, Ceilings, Effort};
pub use kernel_timer::KernelTimer;
pub use model::{FP32, LOOP, Limit, Prediction, overlap, predict};
pub use step_timer::StepTimer;
pub use stopwatch::{Method, Stopwatch};
pub use timer::{Timer, in_turns, interleave};
pub use tree_step_timer::TreeStepTimer;
pub use tree_timer::{TreeTimer, TreeTimes};
