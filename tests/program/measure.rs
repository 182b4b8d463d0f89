//! Benchmarks on a device: timers, refused kernels, and figures from end to end.

use crate::common;

mod command;
mod figures;
mod timing;
