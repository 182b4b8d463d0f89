//! The tree on a graphics adapter: built, walked and evaluated there, without a round trip to the
//! host.
//!
//! [`Build`] records the stages that the host has as functions: cube, keys, sort, cells of all
//! levels, moments, each from the [`TreeBuffers`] of the one before. [`Walk`] records forces on
//! groups of sinks. [`TreeForces`] provides both as [`crate::forces::DeviceForces`], [`GpuTree`] as
//! an engine. Counts known only to the device stay there: dispatches have the largest size that may
//! be needed, and workgroups without work end at once, which takes less time than an indirect
//! dispatch.

mod balance;
mod buffers;
mod build;
mod engine;
mod forces;
mod kept;
mod lists;
mod probe;
mod shape;
mod shared;
mod walk;

pub use buffers::{BYTES_PER_BODY, Bound, TreeBuffers};
pub use build::{Build, Stage, Strengths};
pub use engine::GpuTree;
pub use forces::{Field, Part, TreeForces};
pub use kept::KEPT_BYTES_PER_BODY;
pub use lists::GroupLists;
pub use probe::{Taken, WalkCounts, WalkProbe};
pub use shape::{LARGEST_LEAF, TreeShape, WalkShape};
pub use walk::{Output, Rule, TILE, Walk, WalkVariant};
