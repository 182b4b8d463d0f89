//! Everything a user can choose, in one place: the command line, the window, its panel, films, runs
//! and other programs fill in these structs, and the modules above decide what follows from them.
//!
//! A *request* holds what the user chose; anything left out is chosen to suit the bodies and the
//! device. Resolved for given bodies and a given device, a request becomes the *settings* of a
//! simulation, the *config* of a kernel or the *style* of a picture.
//!
//! Each request is plain data for serde and, with the feature `options`, also a group of options of
//! the command line (clap) whose help is the documentation of the fields. A new setting is one
//! field here: `command_line` writes it without further code, and tests check that every setting
//! survives being written to the command line and to files.

mod adapter;
#[cfg(feature = "options")]
mod command_line;
mod comparison;
mod dispatch;
mod engine;
mod input;
mod kernel;
#[cfg(feature = "options")]
pub mod link;
mod look;
mod output;
mod snapshot;
mod step_length;
mod steps;
mod throw;
mod values;

pub use adapter::{AdapterIdentity, AdapterName, AdapterRequest, one_or_several};
#[cfg(feature = "options")]
pub use command_line::CommandLine;
pub use comparison::Comparison;
pub use dispatch::Dispatch;
pub use engine::{EngineRequest, MethodRequest, TreeRequest};
pub use input::{Assignment, InputRequest, count};
pub use kernel::KernelRequest;
pub use look::LookRequest;
pub use output::{FilmRequest, RunRequest, ViewRequest};
pub use snapshot::SnapshotChoice;
pub use step_length::StepLength;
pub(crate) use step_length::check_accuracy;
pub use steps::{BlockRequest, StepRequest};
pub use throw::{Throw, ThrowRequest, ThrownKind};
pub use values::{
    Coordinates, DeviceCount, FileCount, FilmOptions, MAX_PIXELS, MAX_SIDE_PX, PictureSize,
    Rebuild, ValueRange,
};
