//! The tree on a graphics adapter: built, walked and evaluated there, without a round trip to the
//! host.
//!
//! [`Build`] records the stages that the host has as functions: cube, keys, sort, cells of all
//! levels, moments, each from the [`TreeBuffers`] of the one before. [`Walk`] records forces on
//! groups of sinks. [`TreeForces`] provides both as [`crate::forces::DeviceForces`], [`GpuTree`] as
//! an engine. Counts known only to the device stay there: dispatches have the largest size that may
//! be needed, and workgroups without work end at once, which takes less time than an indirect
//! dispatch.
//!
//! The stages, each one dispatch or a few of `shaders/tree/`:
//!
//! 1. The cube (`spread`, `edge`): its centre is the origin of the frame, its edge follows from a
//!    histogram of distances: whole numbers, so the order of additions does not matter, and nothing
//!    from an earlier step, so a restart finds the same cube.
//! 2. Hilbert keys, and the sort of `gpu/sort.rs`.
//! 3. The cells of all levels at once (`count` to `link`): how many cells begin at each body,
//!    prefix sums over these counts, and a stable sort by level.
//! 4. Moments of the leaves, then of one level after the other.
//! 5. Groups of sinks that walk together (`groups`): 64 neighbours on the curve. Where thousands of
//!    other bodies lie among them they walk one by one, because all work waits for the last group.
//! 6. The walk (`walk.wgsl`), one workgroup of 64 threads per group: a stack and two lists in
//!    workgroup memory, and the pair function of all-pairs over tiles. Latency and workgroup memory
//!    decide its speed, not arithmetic: turns of 64 cells, one to a thread, and lists of 64 leaves
//!    in place of turns of 32 and a search after each took 1.77 to 1.24 ms for a million bodies on
//!    an H100, 2 KiB more of workgroup memory 12 to 18 % longer. Subgroup operations in place of
//!    atomic bits gained 3 %, and two cells to each of 32 threads were 10 % slower.
//! 7. Far cells (`far.wgsl`), which the walk has only listed: their expansions about the middle of
//!    each group, one lane for a cell (`forces/tree/far.rs`). Its 36 sums would take the occupancy
//!    of the walk. The lists of 16,384 groups are stored at a time.
//! 8. The balance (`balance.wgsl`), which removes the momentum that the forces leave over, from all
//!    bodies at once. If devices share the walk, this happens after their results have been
//!    combined.
//!
//! An evaluation is recorded as stages, then ranges of groups. A group's sums depend only on the
//! tree, so this division changes no bit. Bodies that fly far
//! away stay outside the cube: every group takes them one by one, and they walk by themselves.
//!
//! The opening rule `acceleration` needs the accelerations of the last step. A first evaluation
//! therefore walks twice, first by the rule `radius`.

mod balance;
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "a page has no part of a tree"))]
mod buffers;
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "a page has no part of a tree"))]
mod build;
#[cfg(not(target_arch = "wasm32"))]
pub mod domains;
mod engine;
mod far;
mod forces;
mod lists;
mod probe;
mod reused;
mod shape;
mod walk;

pub use buffers::{
    BYTES_PER_BODY, REUSED_BYTES_PER_BODY, ReceivedRoom, TreeBuffers, TreeResources,
};
pub use build::{Build, Stage, Strengths};
pub use engine::GpuTree;
pub use far::FarForces;
pub use forces::{Field, TimedStage, TreeForces, interactions};
pub use lists::GroupLists;
pub use probe::{TileWork, WalkCounts, WalkProbe};
pub use shape::{LARGEST_LEAF, TreeShape, WalkShape};
pub use walk::{TILES, Walk, WalkOutput, WalkVariant};
