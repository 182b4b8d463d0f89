//! What only the program's `bench` needs: records of measurements, and figures, files and reports made of them.

mod candidate;
mod compiled;
mod devices_facts;
mod direct_facts;
pub mod figures;
mod files;
mod host_timer;
mod machine;
pub mod plot;
mod record;
pub mod report;
mod score;
mod session;
mod sizes;
mod tree_facts;

pub use candidate::{Candidate, Point, cpu_device};
pub use compiled::Compiled;
pub use devices_facts::DevicesFacts;
pub use direct_facts::{DirectFacts, RunFacts, RunOutcome};
pub use files::{latest, read_json_lines, to_csv, to_json_lines};
pub use machine::Machine;
pub use record::{Device, FORMAT, Kind, Record};
pub use score::Score;
pub use session::{Observer, Session};
pub use sizes::Sizes;
pub use tree_facts::TreeFacts;
