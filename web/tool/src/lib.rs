//! Makes the folder of the page, and serves it on this machine.

#![warn(missing_docs)]

mod bindings;
mod folder;
mod scenes;
mod serve;

pub use folder::{Made, Profile, make};
pub use serve::Server;
