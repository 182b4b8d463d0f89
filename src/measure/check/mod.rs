//! Whether kernels are right: everything that a device computes, against f64.

mod derivatives;
mod kernels;
mod steps;

pub use derivatives::{DirectCase, DirectRow, check_direct, direct_cases};
pub use kernels::{Case, Row, Skipped, cases, check};
pub use steps::{StepsRow, check_steps, steps_cases};
