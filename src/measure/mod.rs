//! Measuring kernels: whether they are right, how fast they are, and what limits them.
//!
//! From the bottom: [`Stopwatch`] times compute passes, [`KernelTimer`] kernels that it has found right,
//! [`StepTimer`] whole steps with them, [`Ceilings`] what the adapter can do at most; [`predict`] says from those what a kernel should
//! do. [`Session`] makes records of all this, [`figures`] what to measure and how to show it.

mod accuracy;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
mod candidate;
#[cfg(not(target_arch = "wasm32"))]
mod ceiling_bench;
#[cfg(not(target_arch = "wasm32"))]
mod ceilings;
#[cfg(not(target_arch = "wasm32"))]
mod check;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
mod compiled;
#[cfg(not(target_arch = "wasm32"))]
mod direct_check;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
mod direct_facts;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod figures;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
mod files;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
mod host_timer;
#[cfg(not(target_arch = "wasm32"))]
mod kernel_timer;
#[cfg(not(target_arch = "wasm32"))]
mod model;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod plot;
#[cfg(not(target_arch = "wasm32"))]
mod problem;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
mod record;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub mod report;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
mod session;
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
mod sizes;
mod stats;
#[cfg(not(target_arch = "wasm32"))]
mod step_timer;
#[cfg(not(target_arch = "wasm32"))]
mod steps_check;
#[cfg(not(target_arch = "wasm32"))]
mod stopwatch;
#[cfg(not(target_arch = "wasm32"))]
mod timer;

pub use accuracy::{ErrorStats, acceleration_errors, potential_errors};
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub use candidate::{Candidate, Point, cpu_device};
#[cfg(not(target_arch = "wasm32"))]
pub use ceilings::{Ceiling, CeilingSamples, Ceilings, Effort};
#[cfg(not(target_arch = "wasm32"))]
pub use check::{Case, Row, Skipped, cases, check};
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub use compiled::Compiled;
#[cfg(not(target_arch = "wasm32"))]
pub use direct_check::{DirectCase, DirectRow, check_direct, direct_cases};
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub use direct_facts::{DirectFacts, RunFacts, RunOutcome};
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub use files::{read_json_lines, to_csv, to_json_lines};
#[cfg(not(target_arch = "wasm32"))]
pub use kernel_timer::KernelTimer;
#[cfg(not(target_arch = "wasm32"))]
pub use model::{FP32, LOOP, Limit, Prediction, overlap, predict};
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub use record::{Device, FORMAT, Kind, Record};
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub use session::{Observer, Session};
#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub use sizes::Sizes;
pub use stats::{Steadiness, Summary};
#[cfg(not(target_arch = "wasm32"))]
pub use step_timer::StepTimer;
#[cfg(not(target_arch = "wasm32"))]
pub use steps_check::{StepsRow, check_steps, steps_cases};
#[cfg(not(target_arch = "wasm32"))]
pub use stopwatch::{Method, Stopwatch};
#[cfg(not(target_arch = "wasm32"))]
pub use timer::{Timer, in_turns, interleave};
