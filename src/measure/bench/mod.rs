//! Records of measurements, and the score, which can be measured wherever there is a device.
//! Figures of kernels are defined everywhere; other figures, files and reports are for the program only.

mod compiled;
mod devices_facts;
mod direct_facts;
mod files;
mod machine;
mod names;
mod record;
mod run;
mod score;
mod steps;
mod tree_facts;
mod tree_picture;

pub use compiled::Compiled;
pub use devices_facts::DevicesFacts;
pub use direct_facts::{DirectFacts, RunFacts, RunOutcome};
pub use files::{latest, parse_json_lines, read_json_lines, to_csv, to_json_lines};
pub use machine::Machine;
pub use names::cpu_device;
pub use record::{Device, FORMAT, Kind, Record};
pub use run::Run;
pub use score::{SIZES as SCORE_SIZES, SUBMITTED_SCORES, Score};
pub use steps::{Going, measure_steps, steps_of_score};
pub use tree_facts::TreeFacts;
pub use tree_picture::TreePicture;

pub mod figures;
mod ladder;
pub mod plot;
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "a page has figures of kernels only"))]
mod points;
mod sizes;
pub mod slow_motion;
mod sweep;

pub use figures::Plan;
pub use ladder::{RUNGS, Rung};
pub use points::{Candidate, Derivatives, EngineTier, Point};
pub use sizes::Sizes;
pub use sweep::{sweep_ceilings, sweep_kernels};

#[cfg(not(target_arch = "wasm32"))]
pub mod report;
#[cfg(not(target_arch = "wasm32"))]
mod session;

#[cfg(not(target_arch = "wasm32"))]
pub use session::Session;
