//! The window: a picture of a simulation that runs, and a panel to tune it.
//!
//! ```text
//! events -> egui -> panel -> actions -> Live and view
//! every frame, one submission: a slice of the simulation -> sprites ... tone map -> egui -> surface
//! ```

mod act;
mod again;
mod frame;
mod load;
mod memory;
mod news;
mod pictures;
mod recover;
mod reload;
mod seen;
mod shell;
mod show;
mod stage;
mod steer;

pub use steer::Steering;

use glam::DVec3;

use crate::app::cli::{EngineOptions, InputOptions, LookOptions, StepOptions};
use crate::error::{Error, Result};
use crate::render::Style;

/// What `gravitile` without arguments shows.
pub const FIRST_SCENE: &str = "galaxy-collision";

/// What to open, as the command line says it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The bodies.
    pub input: InputOptions,
    /// Softening and step.
    pub steps: StepOptions,
    /// Camera and looks.
    pub look: LookOptions,
    /// The looks, checked.
    pub style: Style,
    /// The point in the middle of the picture, if not what suits the bodies.
    pub target: Option<DVec3>,
    /// Begin paused.
    pub paused: bool,
    /// Where the kernels' texts are watched for changes.
    pub shaders: Option<std::path::PathBuf>,
    /// Engine and kernel.
    pub engine: EngineOptions,
}

/// Opens the window and returns when it is closed.
///
/// Errors: no display, no graphics driver, bodies that cannot be made.
pub fn open(request: Request) -> Result<()> {
    shell::run(request)
}

/// The one sentence where there is no display.
fn no_display(why: &str) -> Error {
    let why = why.trim().trim_end_matches('.');
    Error::Display(format!(
        "no window can be opened here ({why}); 'gravitile render' films the same without one"
    ))
}
