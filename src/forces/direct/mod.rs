//! Method `direct`: every pair of a source and a sink by itself.

pub mod cpu;
pub mod gpu;
mod reference;

pub use cpu::{CpuDouble, CpuSingle};
pub use gpu::{GpuSingle, tiers::GpuTiers};
pub use reference::Reference;

/// Flops of an interaction, by the custom of GPU Gems 3, chapter 31.
pub const FLOPS: f64 = 20.0;
