//! Builds the folder of the page, and serves it on this machine.

#![warn(missing_docs)]

mod bindings;
mod folder;
mod scenes;
mod scores;
mod serve;

pub use folder::{PageSize, Profile, make};
pub use serve::Server;
