//! The program: the only place that prints, exits and asks the environment.

pub mod cli;
mod lookup;
#[cfg(feature = "window")]
pub mod panel;
#[cfg(feature = "window")]
pub mod window;
