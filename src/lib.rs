//! gravitile: a portable N-body engine.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod bodies;
pub mod error;
pub mod force;
pub mod gpu;
pub mod integrate;
pub mod math;
pub mod measure;
pub mod units;
