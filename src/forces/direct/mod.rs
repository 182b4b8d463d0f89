//! Method `direct`: direct summation over all pairs of a sink and a source.

pub mod cpu;
pub mod gpu;
mod reference;

pub use cpu::{CpuDouble, CpuSingle};
#[cfg(not(target_arch = "wasm32"))]
pub use gpu::tiers::SeveralTiers;
pub use gpu::{GpuSingle, tiers::GpuTiers};
pub use reference::Reference;

/// Flops per interaction by the convention of GPU Gems 3, chapter 31.
pub const FLOPS: f64 = 20.0;
