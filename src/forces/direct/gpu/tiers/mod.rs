//! The GPU as an engine for forces with derivatives, in three tiers of precision.
//!
//! [`GpuTiers`] stores the sources in its own units and computes in a [`Shape`] that fills the
//! device for any number of sinks. [`tier`] tests whether a tier holds on an adapter.

mod changes;
mod copies;
mod engine;
mod fitted;
mod frame;
mod held;
mod kernels;
mod motion_records;
mod motions;
mod records;
mod rows;
mod self_test;
#[cfg(not(target_arch = "wasm32"))]
mod several;
mod shape;
mod staging;
mod store;
mod variant;
mod widen;

pub use engine::GpuTiers;
pub use fitted::{Fitted, FittedShapes, sinks_class, sources_class};
pub(crate) use frame::TierFrame;
pub(crate) use rows::three_parts;
pub use self_test::{double_single, tier, tier_soon, verdict, verdict_soon};
#[cfg(not(target_arch = "wasm32"))]
pub use several::SeveralTiers;
pub use shape::Shape;
pub use variant::{DirectVariant, Near, Pairs};
