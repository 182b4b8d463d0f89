//! The program: the only place that prints, exits and asks the environment.

pub mod cli;
mod lookup;
#[cfg(feature = "window")]
pub mod panel;
mod ranks;
#[cfg(feature = "window")]
pub mod window;
