//! Direct summation on a graphics adapter: the tiled kernel of GPU Gems 3, chapter 31.
//!
//! [`AllPairs`] is the kernel itself, recorded in chunks, with a selectable shape
//! ([`KernelRequest`], [`KernelConfig`], [`candidates`]). [`GpuSingle`] implements the interface of
//! engines with it; [`tiers`] is its counterpart for derivatives, neighbours and precision beyond
//! f32.

mod all_pairs;
pub mod candidates;
mod config;
pub mod own;
mod packing;
mod request;
mod single;
pub mod tiers;
mod variant;

pub use all_pairs::{AllPairs, PairBuffers};
pub use config::KernelConfig;

pub use packing::{Masses, Packing, USUAL_BLOCK, WINDOW};

pub use crate::gpu::Progress;
pub use crate::settings::{Dispatch, KernelRequest};
pub use single::GpuSingle;
pub use variant::KernelVariant;
