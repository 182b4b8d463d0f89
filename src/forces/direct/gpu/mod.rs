//! Direct summation on a graphics adapter: the tiled kernel of GPU Gems 3, chapter 31.
//!
//! [`AllPairs`] is the kernel itself, recorded in chunks, with a selectable shape
//! ([`KernelRequest`], [`KernelConfig`], [`candidates`]). [`GpuSingle`] implements the interface of
//! engines with it; [`tiers`] is its counterpart for derivatives, neighbours and precision beyond
//! f32.
//!
//! The loop over a tile has these variants:
//!
//! - Rows that share a sink. With q >= 8, up to four tiles are loaded at once, and the kernel works
//!   on each as it arrives.
//! - Tiles of one mass. If the sources, sorted by mass, fill tiles with one mass each, they are
//!   packed as positions alone and summed without the mass (`packing.rs`,
//!   `shaders/force/pack.wgsl`). The masses are checked again whenever bodies are uploaded; if they
//!   vary, the ordinary kernel is used.
//! - Uniform memory. `--uniform` reads the packed sources in windows of 64 KiB of a uniform buffer.
//! - Registers. `--broadcast` has the threads of a subgroup load one source each and read those of
//!   the others from their registers.
//! - Pairs. `--vec2` computes two sinks of a thread in each operation.
//! - Guarded. If the softening is so small that m / r^3 leaves the range of f32, a body's own term
//!   would be infinity times zero; this kernel forms no power beyond 1 / r^2
//!   ([`KernelVariant::new`]).
//!
//! How steps are dispatched is part of the shape too (`sim/device/stepper/`). `gravitile tune`
//! finds the fastest shape for an adapter and a number of bodies. The result is stored in the
//! user's cache folder; the program looks it up and passes it to every run in which the user fixed
//! nothing about the kernel (`app/lookup.rs`).

mod all_pairs;
pub mod candidates;
mod config;
pub mod own;
mod packing;
mod request;
mod single;
pub mod tiers;
mod variant;

pub use crate::gpu::Progress;
pub use crate::settings::{Dispatch, KernelRequest};
pub use all_pairs::{AllPairs, PairBuffers};
pub use config::{KernelConfig, WINDOW};
pub use packing::{DEFAULT_BLOCK, Masses, Packing};
pub use single::GpuSingle;
pub use variant::KernelVariant;
