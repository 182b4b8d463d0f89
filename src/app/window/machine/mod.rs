//! Platform-specific code of the window, native or in a browser's page: file dialog, films, event
//! loop.

#[cfg(not(target_arch = "wasm32"))]
mod caption;
#[cfg(not(target_arch = "wasm32"))]
mod native;
#[cfg(not(target_arch = "wasm32"))]
mod picker;
#[cfg(target_arch = "wasm32")]
mod web;

use super::frame::Frames;

/// A callback that the next frame runs, queued between two frames.
pub type Arrival = Box<dyn FnOnce(&mut Frames)>;

#[cfg(not(target_arch = "wasm32"))]
pub use native::*;
#[cfg(target_arch = "wasm32")]
pub use web::*;
