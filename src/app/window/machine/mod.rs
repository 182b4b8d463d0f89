//! What differs between a native window and a page in a browser: choosing a file, films, the event
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

/// Something that arrives from outside between two frames.
pub type Arrival = Box<dyn FnOnce(&mut Frames)>;

#[cfg(not(target_arch = "wasm32"))]
pub use native::*;
#[cfg(target_arch = "wasm32")]
pub use web::*;
