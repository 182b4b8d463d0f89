//! Measuring kernels: whether they are right, how fast they are, and what limits them.
//!
//! [`choose()`] says which engine is faster here. [`Stopwatch`] times compute passes, [`StepTimer`] whole steps with
//! kernels that it has found right, [`check_soon`] compares kernels with f64; these are there everywhere. The other checks and
//! timings wait for the device, which a page in a browser cannot: [`KernelTimer`] times forces alone, [`Ceilings`] what the adapter can do at most; [`predict`] says from
//! those what a kernel should do. [`Session`] makes records of all this for the program, [`figures`] what to measure
//! and how to show it.

mod accuracy;
mod choose;
mod crossover;
#[cfg(not(target_arch = "wasm32"))]
mod devices;
mod distribution;
mod stats;

pub use accuracy::{ErrorStats, acceleration_errors, potential_errors};
pub use choose::{choose, choose_on};
pub use distribution::ErrorDistribution;
pub use stats::{Steadiness, Summary};

// Of these a page has what does not wait for a device.
mod check;
pub use check::*;
mod time;
pub use time::*;

// The program's and the page's alone.
#[cfg(any(feature = "cli", feature = "panel"))]
mod bench;
#[cfg(any(feature = "cli", feature = "panel"))]
pub use bench::*;
