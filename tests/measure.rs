//! Benchmarks on a device: timers, refused kernels, and figures from end to end.

#[path = "common/program.rs"]
mod program;

mod common;

#[cfg(feature = "cli")]
#[path = "measure/command.rs"]
mod command;
#[cfg(feature = "cli")]
#[path = "measure/figures.rs"]
mod figures;
#[path = "measure/timing.rs"]
mod timing;
