//! gravitile: a portable N-body engine.
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(feature = "cli")]
pub mod app;
pub mod bodies;
pub mod diagnostics;
pub mod error;
#[cfg(not(target_arch = "wasm32"))]
pub mod film;
pub mod force;
pub mod gpu;
pub mod integrate;
pub mod math;
pub mod measure;
#[cfg(not(target_arch = "wasm32"))]
pub mod record;
pub mod render;
pub mod scene;
pub mod sim;
pub mod snapshot;
pub mod units;
