//! How fast kernels are on a device, and what limits them.

mod ceilings;
#[cfg(not(target_arch = "wasm32"))]
mod derivatives_timer;
mod kernel_timer;
mod model;
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "a page has figures of kernels only"))]
pub(super) mod problem;
mod step_timer;
mod stopwatch;
mod timer;
#[cfg(not(target_arch = "wasm32"))]
mod tree_timer;

pub use ceilings::{Ceiling, CeilingSamples, Ceilings, Effort};
pub use kernel_timer::KernelTimer;
pub use model::{FP32, LOOP, Limit, Prediction, overlap, predict};
pub use step_timer::StepTimer;
pub use stopwatch::{Stopwatch, TimingMethod};
pub use timer::{Timer, interleave};

#[cfg(not(target_arch = "wasm32"))]
pub use {
    derivatives_timer::DerivativesTimer,
    tree_timer::{TreeTimer, TreeTimes, WalkSamples},
};
