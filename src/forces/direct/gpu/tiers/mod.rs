//! The GPU as an engine for forces with derivatives, in three tiers of precision.
//!
//! [`GpuTiers`] stores the sources in its own units and computes in a [`TierShape`] that fills the
//! device for any number of sinks. [`tier`] tests whether a tier holds on an adapter.
//!
//! One shader text (`shaders/direct/forces.wgsl`) makes all tiers and orders, and the neighbour
//! lists. Double-single uses pairs of f32 for positions and sums; with up to 4,096 sources also for
//! everything between (`shaders/interaction/refined.wgsl`).
//!
//! Every slice of the sources is a segment with its own sums. The rows of a slice combine their
//! sums at its end; where lists are made, each row is a segment of its own.
//! `shaders/direct/sum.wgsl` adds the segments in a fixed order and determines where each segment's
//! part of a list begins. Few sinks get many rows, so that no thread is idle; many sinks get two
//! per thread ([`TierShape`]).
//!
//! Sources stay on the device from call to call, in units that give f32 the longest reach
//! (`frame`). Changed sources are uploaded in one transfer, and a kernel puts them in place
//! (`changes`). Moving sources, used by the C library, are stored with their derivatives and an
//! individual time; `shaders/direct/predict.wgsl` makes sources from them for each call
//! (`motions`).
//!
//! Each write, copy or pass takes as long as a small force. Therefore changes, sinks and parameters
//! are uploaded in one write and read where they arrive, and all dispatches are in one pass
//! (`gpu/batch.rs`). On Vulkan, with device memory that the host can reach
//! (`gpu::Tier::mapped_storage`), there is no copy at all:
//!
//! - The host writes into the buffer that the kernels read (`gpu/transfer.rs`) and reads the sums
//!   where the last kernel wrote them.
//! - Parameters are at fixed offsets whatever the sizes, each followed by the size of its dispatch.
//!   The commands of the next call can therefore be recorded while the device computes the current
//!   one.
//! - Large numbers of changes have a buffer of their own, which the host fills as soon as they are
//!   announced.
//!
//! Elsewhere, and if the host comes before the device is done, copies are used, with the same bits.
//! With thousands of sinks and short forces, a quarter of the sinks is then submitted early, while
//! the host makes the records of the rest (`engine/evaluation.rs`). Records are made in rows of
//! four numbers, which become one vector instruction each (`records`, `rows`).

mod changes;
mod engine;
mod fitted;
mod frame;
mod kernels;
mod motion_records;
mod motions;
mod records;
mod rows;
mod self_test;
#[cfg(not(target_arch = "wasm32"))]
mod several;
mod sources;
mod store;
mod variant;
mod widen;

pub use crate::forces::shape::{Pairs, TierShape};
pub use engine::GpuTiers;
pub use fitted::{Fitted, FittedShapes, sinks_class, sources_class};
pub(crate) use frame::TierFrame;
pub(crate) use rows::three_parts;
pub use self_test::{double_single, tier, verdict};
#[cfg(not(target_arch = "wasm32"))]
pub use several::SeveralTiers;
pub use variant::{DirectVariant, NeighbourOutput};
