//! Measuring kernels: whether they are correct, how fast they are, and what limits them.
//!
//! [`choose()`] adds to [`crate::sim::choose()`] how many devices are fastest. [`Stopwatch`] times
//! compute passes,
//! [`StepTimer`] times whole steps of kernels that it has checked, [`check_case`] compares kernels
//! with f64, [`KernelTimer`] times forces alone; these are available everywhere. The others block
//! on the device, which a page in a browser cannot: [`Ceilings`] hold the adapter's maximum rates,
//! [`predict`] derives a kernel's time from them. [`BenchSession`] records all this for the
//! program, [`sweep_kernels`] the rates of kernels for a page; [`figures`] define what to measure
//! and how to show it.

mod choose;
#[cfg(not(target_arch = "wasm32"))]
mod devices;
mod stats;

pub use choose::{choose, choose_on};
use stats::reference;
pub use stats::{
    ErrorDistribution, ErrorStats, SampledForces, Steadiness, Summary, acceleration_errors,
    grouped, potential_errors,
};

// A page has only the modules that do not block on a device.
mod check;
pub use check::*;
mod time;
pub use time::*;

// Only for the program and the page.
#[cfg(feature = "bench")]
mod bench;
#[cfg(feature = "bench")]
pub use bench::*;
