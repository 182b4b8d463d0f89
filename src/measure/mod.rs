//! Measuring kernels: first whether they are right, later how fast they are.

mod accuracy;
#[cfg(not(target_arch = "wasm32"))]
mod check;
#[cfg(not(target_arch = "wasm32"))]
mod steps_check;

pub use accuracy::{ErrorStats, acceleration_errors, potential_errors};
#[cfg(not(target_arch = "wasm32"))]
pub use check::{Case, Row, Skipped, cases, check};
#[cfg(not(target_arch = "wasm32"))]
pub use steps_check::{StepsRow, check_steps, steps_cases};
