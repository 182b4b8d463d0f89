//! The structs that shaders share with the host; this file has nothing else. A test compares every
//! size and offset with naga's layout of `shaders/body.wgsl` and of `params.wgsl` in
//! `shaders/direct/`, `blocks/`, `diagnostics/`, `scan/`, `sort/` and `tree/`.

#![allow(missing_docs, reason = "the shaders explain the fields")]

use bytemuck::{Pod, Zeroable};

/// Bytes of a `vec4<f32>`: a position, velocity, acceleration or partial sum.
pub const VEC4: u64 = 16;

/// `self_offset` of a [`ForceParams`]: no sink is a source.
pub const FOREIGN: u32 = u32::MAX;
/// `self_offset` of a [`ForceParams`]: w of each sink has the bits of its source's index.
pub const IN_SINK: u32 = u32::MAX - 1;

/// The part of the (sink, source) square that one dispatch computes. See `shaders/body.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct ForceParams {
    pub sink_begin: u32,
    pub sink_end: u32,
    pub sink_count: u32,
    pub source_count: u32,
    pub slice_length: u32,
    pub chunk_begin: u32,
    pub chunk_end: u32,
    pub self_offset: u32,
    pub softening_squared: f32,
    pub close_kick: f32,
    pub open_kick: f32,
    pub drift: f32,
    pub zero: u32,
    pub first_sink: u32,
    pub unused: [u32; 2],
}

/// One pass of the leapfrog kernel. See `shaders/body.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LeapfrogParams {
    pub count: u32,
    pub slices: u32,
    pub close_kick: f32,
    pub open_kick: f32,
    pub drift: f32,
    pub zero: u32,
    pub first: u32,
    pub unused: u32,
}

/// Steps of all bodies in one workgroup. See `shaders/body.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct StepsParams {
    pub count: u32,
    pub steps: u32,
    pub per_row: u32,
    pub zero: u32,
    pub kick: f32,
    pub drift: f32,
    pub softening_squared: f32,
    pub unused: u32,
}

/// One dispatch of forces with derivatives. See `shaders/direct/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct DirectParams {
    pub sink_begin: u32,
    pub sink_end: u32,
    pub sink_count: u32,
    pub source_count: u32,
    pub slice_length: u32,
    pub chunk_begin: u32,
    pub chunk_end: u32,
    pub capacity: u32,
    pub softening_squared: f32,
    pub softening_low: f32,
    pub softening_lowest: f32,
    pub segments: u32,
    pub zero: u32,
    pub sinks_at: u32,
    pub itself_at: u32,
    pub unused: u32,
}

/// New values for some sources. See `shaders/direct/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct ScatterParams {
    pub count: u32,
    pub words: u32,
    pub at: u32,
    pub sent: u32,
}

/// The time to which sources are predicted. See `shaders/direct/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct PredictParams {
    pub count: u32,
    pub unused: u32,
    pub moves: u32,
    pub zero: u32,
    pub time: [f32; 4],
    pub drift: [f32; 4],
    pub drift_low: [f32; 4],
}

/// Parameters of all blocks of a run. See `shaders/blocks/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct BlockParams {
    pub count: u32,
    pub few: u32,
    pub few_sinks: u32,
    pub few_threads: u32,
    pub few_tile: u32,
    pub many_sinks: u32,
    pub many_threads: u32,
    pub many_tile: u32,
    pub fill: u32,
    pub piece: u32,
    pub pieces: u32,
    pub stride: u32,
    pub softening_squared: f32,
    pub softening_low: f32,
    pub softening_lowest: f32,
    pub tick: f32,
    pub pull: f32,
    pub pull_low: f32,
    pub pull_lowest: f32,
    pub eta: f32,
    pub eta6: f32,
    pub noise_acceleration: f32,
    pub noise_jerk: f32,
    pub room: u32,
    pub alone: u32,
    pub parts: u32,
    pub part: u32,
    pub shares: u32,
}

/// The state of the blocks. See `shaders/blocks/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct BlockState {
    pub now: [u32; 2],
    pub next: [u32; 2],
    pub end: [u32; 2],
    pub body_steps: [u32; 2],
    pub blocks: u32,
    pub members: u32,
    pub last_members: u32,
    pub taken: u32,
    pub lost: u32,
    pub too_short: u32,
    pub least: f32,
    pub lengthened: u32,
    pub lengthened_levels: u32,
    pub waiting: u32,
    pub levels: [u32; 46],
}

impl Default for BlockState {
    fn default() -> Self {
        Self::zeroed()
    }
}

/// Parameters of all kernels of diagnostics. See `shaders/diagnostics/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct DiagnosisParams {
    pub count: u32,
    pub slices: u32,
    pub unused: [u32; 2],
}

/// A group of bodies whose centre and radii are computed. See `shaders/diagnostics/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct DiagnosisGroup {
    pub centre: [f32; 3],
    pub radius_squared: f32,
    pub weight: f32,
    pub each: f32,
    pub units: f32,
    pub whole: u32,
    pub least: u32,
    pub first_chunk: u32,
    pub end_chunk: u32,
    pub round: u32,
    pub done: u32,
    pub digit: u32,
    pub unused: [u32; 2],
    pub found: [u32; 4],
    pub left: [u32; 4],
}

/// Members of a group, for one workgroup. See `shaders/diagnostics/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct DiagnosisChunk {
    pub group: u32,
    pub begin: u32,
    pub end: u32,
    pub listed: u32,
}

/// The part of a prefix sum that one dispatch computes. See `shaders/scan/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct ScanParams {
    pub count: u32,
    pub each: u32,
    pub unused: [u32; 2],
}

/// One digit of a radix sort. See `shaders/sort/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct SortParams {
    pub count: u32,
    pub blocks: u32,
    pub shift: u32,
    pub unused: u32,
}

/// One dispatch of the tree's kernels. See `shaders/tree/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct TreeParams {
    pub count: u32,
    pub reserve: u32,
    pub level: u32,
    pub spare: u32,
    pub group_begin: u32,
    pub group_end: u32,
    pub opening: f32,
    pub softening_squared: f32,
    pub not_a_number: u32,
    pub singles: u32,
    pub room: u32,
    pub first: u32,
    pub part: u32,
    pub parts: u32,
    pub margin: f32,
    pub least: f32,
}

/// Results of the tree's kernels. See `shaders/tree/params.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct TreeState {
    pub inside: u32,
    pub outside: u32,
    pub cells: u32,
    pub leaf: u32,
    pub half: f32,
    pub levels: [u32; 24],
    pub scattered: u32,
    pub counted: u32,
    pub own_bodies: u32,
    pub all_bodies: u32,
    pub ahead: u32,
    pub before: u32,
    pub after: u32,
    pub base: u32,
    pub first_copied: u32,
    pub first_copy: u32,
    pub last_copied: u32,
    pub last_copy: u32,
}

#[cfg(test)]
mod tests;
