//! Builds the folder of the page, and serves it on this machine.

#![warn(missing_docs)]

mod bindings;
mod folder;
mod lesson;
mod questions;
mod scenes;
mod scores;
mod serve;

pub use folder::{PageSize, Profile, make, make_lesson};
pub use serve::Server;
