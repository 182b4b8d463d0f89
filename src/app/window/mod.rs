//! The window: a picture of a running simulation, and a panel to control it.
//!
//! ```text
//! events -> egui -> panel -> actions -> Live and view
//! each frame, one submission: slice of the simulation -> sprites ... tone map -> egui -> surface
//! ```
//!
//! A frame (`frame`) has a viewer (`viewer`, whose camera is moved by `steer`, `directing` or a
//! `path`), a simulation (`simulated`), an input (`input`) and an output (`output`). Differences
//! between a native window and a page are in `machine/`; files that both read and store are in
//! `gravitile::files` and `app/folders.rs`.

mod act;
mod command_line;
mod diagram;
mod directing;
mod encounter;
mod ending;
mod fitting;
mod frame;
mod input;
mod layers;
mod load;
pub(super) mod machine;
mod measuring;
mod memory;
mod news;
mod output;
mod pace;
mod past;
mod path;
mod pictures;
mod recover;
mod refresh;
mod reload;
mod rest;
mod screen;
mod seen;
mod sharing;
mod shell;
mod show;
mod simulated;
mod soon;
mod sparing;
mod steer;
mod travel;
mod undo;
mod viewer;
mod warm;

pub use steer::Steering;

use gravitile::error::{Error, Result};
use gravitile::settings::{InputRequest, ViewRequest};

/// The scene shown if none is requested.
pub const FIRST_SCENE: &str = "galaxy-collision";

/// The request for [`FIRST_SCENE`] if nothing is requested.
pub fn first_scene() -> ViewRequest {
    let input = InputRequest::named(FIRST_SCENE);
    ViewRequest { input, is_default: true, ..ViewRequest::default() }
}

/// Installs a callback for requests to end the program: Ctrl-C, or the system's shutdown.
pub type Listen = fn(Box<dyn Fn() + Send>);

/// Opens the window and returns when it is closed, by the user or by the callback given to
/// `listen`. A film that is being recorded is completed and saved.
///
/// # Errors
///
/// The request is invalid (no window appears); no display; no graphics driver; the bodies cannot be
/// created.
pub fn open(request: ViewRequest, listen: Listen) -> Result<()> {
    request.steps.check()?;
    request.engine.by.chosen()?;
    request.input.scene()?;
    request.look.style()?;
    machine::run(request, listen)
}

/// The error if there is no display.
fn no_display(why: &str) -> Error {
    let why = why.trim().trim_end_matches('.');
    Error::Display(format!(
        "no window can be opened here ({why}); 'gravitile render' makes the same film without one"
    ))
}
