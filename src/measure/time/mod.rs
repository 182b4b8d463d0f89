//! How fast kernels are on a device, and what limits them.

#[cfg(not(target_arch = "wasm32"))]
mod ceiling_bench;
mod ceilings;
#[cfg(not(target_arch = "wasm32"))]
mod derivatives_timer;
#[cfg(not(target_arch = "wasm32"))]
mod kernel_timer;
mod model;
#[cfg(not(target_arch = "wasm32"))]
pub(super) mod problem;
mod step_timer;
mod stopwatch;
#[cfg(not(target_arch = "wasm32"))]
mod timer;
#[cfg(not(target_arch = "wasm32"))]
mod tree_timer;

pub use ceilings::{Ceiling, CeilingSamples, Ceilings, Effort};
pub use model::{FP32, LOOP, Limit, Prediction, overlap, predict};
pub use step_timer::StepTimer;
pub use stopwatch::{Method, Stopwatch};

#[cfg(not(target_arch = "wasm32"))]
pub use {
    derivatives_timer::DerivativesTimer,
    kernel_timer::KernelTimer,
    timer::{Timer, interleave},
    tree_timer::{TreeTimer, TreeTimes, WalkSamples},
};
