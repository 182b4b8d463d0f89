//! Measuring kernels: first whether they are right, later how fast they are.

mod accuracy;
#[cfg(not(target_arch = "wasm32"))]
mod check;

pub use accuracy::{ErrorStats, acceleration_errors, potential_errors};
#[cfg(not(target_arch = "wasm32"))]
pub use check::{Case, Row, Skipped, cases, check};
