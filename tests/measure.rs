//! Measuring on a device: times that are taken, and kernels that are refused.

mod common;

#[path = "measure/timing.rs"]
mod timing;
