//! Records of measurements, and the score, which can be measured wherever there is a device.
//! Figures of kernels are defined everywhere; other figures, files and reports are for the program
//! only.

mod facts;
mod files;
mod machine;
mod names;
mod record;
mod score;
mod steps;
mod tree_picture;

pub use facts::{CompiledFacts, DevicesFacts, DirectFacts, RunFacts, RunOutcome, TreeFacts};
pub use files::{latest, parse_json_lines, read_json_lines, to_csv, to_json_lines};
pub use machine::Machine;
pub use names::cpu_device;
pub use record::{FORMAT, Record, RecordKind, RecordedDevice, Run};
pub use score::{SIZES as SCORE_SIZES, SUBMITTED_SCORES, Score};
pub use steps::{Going, measure_steps, steps_of_score, sweep_ceilings, sweep_kernels};
pub use tree_picture::TreePicture;

pub mod figures;
mod ladder;
pub mod plot;
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "a page has figures of kernels only"))]
mod points;
mod sizes;
pub mod slow_motion;

pub use figures::FigurePlan;
pub use ladder::{RUNGS, Rung};
pub use points::{Candidate, DerivativesCase, EngineTier, FigurePoint};
pub use sizes::BenchSizes;

#[cfg(not(target_arch = "wasm32"))]
pub mod report;
#[cfg(not(target_arch = "wasm32"))]
mod session;

#[cfg(not(target_arch = "wasm32"))]
pub use session::BenchSession;
