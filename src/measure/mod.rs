//! Measuring kernels: whether they are right, how fast they are, and what limits them.

mod accuracy;
#[cfg(not(target_arch = "wasm32"))]
mod check;
#[cfg(not(target_arch = "wasm32"))]
mod cloud;
mod stats;
#[cfg(not(target_arch = "wasm32"))]
mod stopwatch;
#[cfg(not(target_arch = "wasm32"))]
mod timer;

pub use accuracy::{ErrorStats, acceleration_errors, potential_errors};
#[cfg(not(target_arch = "wasm32"))]
pub use check::{Case, Row, Skipped, cases, check};
pub use stats::{Steadiness, Summary};
#[cfg(not(target_arch = "wasm32"))]
pub use stopwatch::{Method, Stopwatch};
#[cfg(not(target_arch = "wasm32"))]
pub use timer::{KernelTimer, Timer, interleave};
