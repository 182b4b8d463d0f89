//! Records of measurements, and the score, which can be measured wherever there is a device.
//! Figures, files and reports are for the program only.

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

pub use compiled::Compiled;
pub use devices_facts::DevicesFacts;
pub use direct_facts::{DirectFacts, RunFacts, RunOutcome};
pub use files::{latest, read_json_lines, to_csv, to_json_lines};
pub use machine::Machine;
pub use names::cpu_device;
pub use record::{Device, FORMAT, Kind, Record};
pub use run::Run;
pub use score::{SUBMITTED_SCORES, Score};
pub use steps::{Going, measure_steps, steps_of_score};
pub use tree_facts::TreeFacts;

#[cfg(not(target_arch = "wasm32"))]
pub mod figures;
#[cfg(not(target_arch = "wasm32"))]
pub mod plot;
#[cfg(not(target_arch = "wasm32"))]
mod points;
#[cfg(not(target_arch = "wasm32"))]
pub mod report;
#[cfg(not(target_arch = "wasm32"))]
mod session;
#[cfg(not(target_arch = "wasm32"))]
mod sizes;

#[cfg(not(target_arch = "wasm32"))]
pub use {
    points::{Candidate, Derivatives, EngineTier, Point},
    session::Session,
    sizes::Sizes,
};
