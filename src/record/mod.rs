//! A run on disk: a folder with the run's settings, snapshots and an energy log, which can be
//! resumed after any interruption with identical bits.
//!
//! ```text
//! DIR/run.toml               settings, with the engine and kernel that `auto` chose
//! DIR/step_0000000000.gvt    full snapshots, named by step; one written at an interruption is
//!                            removed once the resumed run has written its next one
//! DIR/step_0000000000.0.gvt  with `--files`: the bodies of the first of several files, of which the
//!                            snapshot is the index, written last
//! DIR/energy.csv             one row per snapshot, except those of interruptions; with individual
//!                            steps also the closest passage before it
//! DIR/stopped.gvt            the last state of a run whose individual steps became too short
//! DIR/run.lock               locked while a process works in the folder; names the last holder
//! ```

mod edited;
mod energy_log;
mod folder;
mod lock;
mod plan;
mod resuming;
mod runner;
mod spread;
mod writer;

pub use energy_log::{EnergyLog, EnergyWarning, Jump, StepRow};
pub use folder::{LastSnapshot, Prepared, RunFolder, refuse_names_of_runs};
pub use plan::Plan;
pub use resuming::{energy_initial, restart_of, set_restart, set_step, template};
pub use runner::{Outcome, run};
pub use spread::rows;
