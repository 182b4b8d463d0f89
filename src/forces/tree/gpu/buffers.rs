//! The buffers of a tree on the device.

use std::sync::atomic::AtomicBool;

use super::TreeShape;
use super::walk::FAR_LENGTH;
use crate::error::Result;
use crate::forces::tree::{Cube, GROUP, room_for};
use crate::gpu::layout::{TreeParams, TreeState, VEC4};
use crate::gpu::{Gpu, Params, storage};

/// Resources that all kernels of a tree are bound to.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    /// The device.
    pub gpu: &'a Gpu,
    /// The tree's parameters.
    pub shape: &'a TreeShape,
    /// Buffers that pass data between stages.
    pub buffers: &'a TreeBuffers,
    /// The result of the walk: `array<vec4<f32>>`, acceleration and potential in the bodies' own
    /// order.
    pub partial_sums: &'a wgpu::Buffer,
    /// The parameters of a submission.
    pub params: &'a Params<TreeParams>,
}

/// The most groups whose far cells there is room for: 96 MiB, less than the smallest storage buffer
/// that WebGPU guarantees (128 MiB).
const FAR_GROUPS: u32 = 16_384;

/// Counters that kernels increment atomically; see `shaders/tree/common.wgsl`.
pub(super) const TALLY: u32 = 288;

/// The least capacity for cells, however few bodies there are.
const FEWEST_CELLS: u32 = 256;

/// Bytes on the device for each body: its own 48 ([`crate::gpu::BodyBuffers`]), 16 for the result
/// of the walk, 33 for the buffers below, 0.28 cells of 128, 13 for sorting keys, 0.28 times 8 for
/// sorting cells. Not counted: up to 96 for the far cells of a million bodies, and no more for
/// others.
pub const BYTES_PER_BODY: u64 = 150;

/// Additional bytes on the device per body if a tree serves several steps: the body's position when
/// it was built.
pub const REUSED_BYTES_PER_BODY: u64 = 16;

/// The buffers that the stages of a tree share: about 70 bytes per body, and 15 more in the sorts.
#[derive(Debug)]
pub struct TreeBuffers {
    /// Number of bodies.
    pub count: u32,
    /// Capacity for cells: 0.28 per body. Usually 0.12 are needed; the largest leaves need at most
    /// 0.26.
    pub reserve: u32,
    /// [`TreeState`].
    pub state: wgpu::Buffer,
    pub(super) tally: wgpu::Buffer,
    /// `array<vec2<u32>>`: the keys' lower 31 bits and upper 32, along the curve after the sort.
    pub keys: wgpu::Buffer,
    /// `array<u32>`: the bodies' indices along the curve.
    pub order: wgpu::Buffer,
    /// `array<vec4<f32>>`: positions and masses along the curve.
    pub sources: wgpu::Buffer,
    /// `array<vec4<f32>>`: the bodies in their own order at the time the tree was built, if it
    /// serves several steps.
    pub built_at: wgpu::Buffer,
    /// Whether such a tree exists.
    pub(super) is_reused: AtomicBool,
    /// `array<u32>`: the far cells of each group of a dispatch, [`FAR_LENGTH`] words; small if there
    /// are none.
    pub(super) far_cells: wgpu::Buffer,
    /// The number of groups there is room for.
    pub(super) far_groups: u32,
    /// Sinks that walk together: see `shaders/tree/sinks.wgsl`.
    pub groups: wgpu::Buffer,
    /// `array<u32>`: the number of cells that begin before each body.
    pub offsets: wgpu::Buffer,
    /// Four `array<u32>` for cells under construction: level, number in depth-first order, first
    /// body, rank.
    pub(super) levels: wgpu::Buffer,
    pub(super) numbers: wgpu::Buffer,
    pub(super) starts: wgpu::Buffer,
    pub(super) ranks: wgpu::Buffer,
    /// [`crate::forces::tree::CellOpen`] of each cell.
    pub cell_open: wgpu::Buffer,
    /// [`crate::forces::tree::CellForce`] of each cell.
    pub cell_force: wgpu::Buffer,
    /// [`crate::forces::tree::CellBox`] of each cell.
    pub cell_box: wgpu::Buffer,
}

impl TreeBuffers {
    /// The capacity for cells with this many bodies.
    pub fn reserve_for(bodies: u32) -> u32 {
        (u64::from(bodies) * 7 / 25).max(u64::from(FEWEST_CELLS)) as u32
    }

    /// The start of the records of sinks that walk one by one, and their capacity.
    pub fn singles(&self) -> (u32, u32) {
        Self::singles_of(self.count)
    }

    fn singles_of(bodies: u32) -> (u32, u32) {
        let groups = bodies.div_ceil(GROUP as u32);
        // Each body outside the cube walks by itself.
        (groups + Cube::spare(bodies as usize) as u32, room_for(groups as usize) as u32)
    }

    /// The largest number of groups and single sinks that walk.
    pub fn most_walks(&self) -> u32 {
        Self::most_walks_of(self.count)
    }

    fn most_walks_of(bodies: u32) -> u32 {
        let (singles, room) = Self::singles_of(bodies);
        singles + room * GROUP as u32
    }

    /// Creates the buffers for `count` bodies.
    ///
    /// # Errors
    /// More bodies than fit one of the adapter's storage buffers; checked before anything is
    /// created.
    pub fn new(gpu: &Gpu, count: u32, shape: &TreeShape) -> Result<Self> {
        let is_reused = shape.rebuild.keeps();
        let reserve = Self::reserve_for(count);
        // Ranks of cells have 28 bits, because the number of children takes the others.
        let most = (gpu.limits.storage_buffer / VEC4).min(800_000_000);
        if u64::from(count) > most || u64::from(reserve) * 3 * VEC4 > gpu.limits.storage_buffer {
            return Err(gpu.refuse(format!(
                "a tree of {count} bodies needs storage buffers of {} bytes, but it allows {} (at most {most} bodies)",
                (u64::from(count) * VEC4).max(u64::from(reserve) * 3 * VEC4),
                gpu.limits.storage_buffer
            )));
        }
        let bodies = |label: &str, words: u64| gpu.words(label, words * u64::from(count));
        let cells = |label: &str| gpu.words(label, u64::from(reserve));
        let entries = |label: &str, each: usize| storage(gpu, label, each * reserve as usize);
        let built_at = if is_reused { count } else { 1 };
        let far_groups = match shape.config().expands() {
            true => Self::most_walks_of(count).min(FAR_GROUPS),
            false => 0,
        };
        let far_words = (u64::from(far_groups) * u64::from(FAR_LENGTH)).max(1);
        Ok(Self {
            far_cells: gpu.words("far cells", far_words),
            far_groups,
            count,
            reserve,
            state: gpu.words("state of the tree", size_of::<TreeState>() as u64 / 4),
            tally: gpu.words("tally of the tree", u64::from(TALLY)),
            keys: bodies("keys", 2),
            order: bodies("order along the curve", 1),
            sources: storage(gpu, "bodies along the curve", count as usize),
            built_at: storage(gpu, "bodies when the tree was built", built_at as usize),
            is_reused: AtomicBool::new(false),
            groups: storage(gpu, "groups of sinks", 2 * Self::most_walks_of(count) as usize),
            offsets: bodies("cells before each body", 1),
            levels: cells("levels of cells"),
            numbers: cells("numbers of cells"),
            starts: cells("first bodies of cells"),
            ranks: cells("ranks of cells"),
            cell_open: entries("cells, to be opened", 2),
            cell_force: entries("cells, as they attract", 3),
            cell_box: entries("boxes of cells", 2),
        })
    }
}
