//! The window: a picture of a running simulation, and a panel to control it.
//!
//! ```text
//! shell (winit's events) -> frame -> events: results since the last frame --------+
//!                             |----> panel_layout: egui -> actions, by topic: ---+---> state
//!                             |                      settings, sessions, restore,
//!                             |                      saving, camera
//!                             +----> slice of the simulation -> sprites ... tone map
//!                                    -> panel's layers -> surface, one submission
//! ```
//!
//! Files use only those to the right of them. The state (`state`) has a viewer (`viewer`, whose
//! camera is `steer`), a simulation (`simulated`, with a `session`), an input (`input`) and an
//! output (`output`). Differences between a native window and a page are in `machine/`; files that
//! both read and store are in `gravitile::files` and `app/folders.rs`.

mod actions;
mod camera;
mod command_line;
mod comparing;
mod compile_ahead;
mod diagram;
mod encounter;
mod events;
mod frame;
mod input;
mod layers;
mod loading;
pub(super) mod machine;
mod measuring;
mod output;
mod own_kernel;
mod pace;
mod panel_layout;
mod past;
mod pictures;
mod preferences;
mod quality;
mod recover;
mod refresh;
mod restore;
mod saving;
mod screen;
mod second_run;
mod session;
mod sessions;
mod settings;
mod sharing;
mod shell;
mod simulated;
mod state;
mod steer;
mod stillness;
mod throwing;
mod trace;
mod undo;
mod viewer;

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
    if let Some(compare) = &request.compare {
        compare.over(&request.engine.settings()?)?;
    }
    shell::run(request, listen)
}

/// The error if there is no display.
fn no_display(why: &str) -> Error {
    let why = why.trim().trim_end_matches('.');
    Error::Display(format!(
        "no window can be opened here ({why}); 'gravitile render' makes the same film without one"
    ))
}
