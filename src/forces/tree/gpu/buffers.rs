//! What a tree keeps on the device.

use std::sync::atomic::AtomicBool;

use super::TreeShape;
use crate::error::Result;
use crate::forces::tree::{Cube, GROUP, room_for};
use crate::gpu::layout::{TreeParams, TreeState, VEC4};
use crate::gpu::{Gpu, Params, storage};

/// What all kernels of a tree are bound with.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    /// The device.
    pub gpu: &'a Gpu,
    /// What is chosen of the tree.
    pub shape: &'a TreeShape,
    /// What stages leave for each other.
    pub buffers: &'a TreeBuffers,
    /// What the walk leaves: `array<vec4<f32>>`, acceleration and potential in the bodies' own order.
    pub partial_sums: &'a wgpu::Buffer,
    /// The parameters of a submission.
    pub params: &'a Params<TreeParams>,
}

/// Numbers that kernels count by atomic additions; see `shaders/tree/common.wgsl`.
pub(super) const TALLY: u32 = 6416;

/// Cells for which there is room at least, however few bodies there are.
const FEWEST_CELLS: u32 = 256;

/// Bytes on the device for each body: its own 48 ([`crate::gpu::BodyBuffers`]), what the walk leaves 16, the buffers
/// below 33 and 0.28 cells of 128, the sort of keys 13, that of cells 0.28 times 8.
pub const BYTES_PER_BODY: u64 = 150;

/// Everything that the stages of a tree leave for each other: about 70 bytes a body, and 15 more in the sorts.
#[derive(Debug)]
pub struct TreeBuffers {
    /// Bodies.
    pub count: u32,
    /// Cells that there is room for: 0.28 a body, where 0.12 are usual, and the largest leaves make 0.26 at most.
    pub reserve: u32,
    /// [`TreeState`].
    pub state: wgpu::Buffer,
    pub(super) tally: wgpu::Buffer,
    /// `array<vec2<u32>>`: the keys' lower 31 bits, their upper 32, along the curve after the sort.
    pub keys: wgpu::Buffer,
    /// `array<u32>`: the bodies' own numbers along the curve.
    pub order: wgpu::Buffer,
    /// `array<vec4<f32>>`: positions and masses along the curve.
    pub sources: wgpu::Buffer,
    /// `array<vec4<f32>>`: the bodies in their own order as they were when the tree was built, if it serves several steps.
    pub built_at: wgpu::Buffer,
    /// Whether such a tree is there.
    pub(super) is_kept: AtomicBool,
    /// Sinks that walk together: see `shaders/tree/sinks.wgsl`.
    pub groups: wgpu::Buffer,
    /// `array<u32>`: how many cells begin before each body.
    pub offsets: wgpu::Buffer,
    /// Four `array<u32>` of cells in the making: level, number in depth-first order, first body, rank.
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
    /// Cells for which there is room with that many bodies.
    pub fn reserve_for(bodies: u32) -> u32 {
        (u64::from(bodies) * 7 / 25).max(u64::from(FEWEST_CELLS)) as u32
    }

    /// Where the records of sinks that walk one by one begin, and of how many groups there is room for them.
    pub fn singles(&self) -> (u32, u32) {
        Self::singles_of(self.count)
    }

    fn singles_of(bodies: u32) -> (u32, u32) {
        let groups = bodies.div_ceil(GROUP as u32);
        // Each body outside the cube walks by itself.
        (groups + Cube::spare(bodies as usize) as u32, room_for(groups as usize) as u32)
    }

    /// The most groups and single sinks that walk.
    pub fn most_walks(&self) -> u32 {
        Self::most_walks_of(self.count)
    }

    fn most_walks_of(bodies: u32) -> u32 {
        let (singles, room) = Self::singles_of(bodies);
        singles + room * GROUP as u32
    }

    /// Makes them for `count` bodies.
    ///
    /// Errors: more bodies than one of the adapter's storage buffers holds, told before anything is made.
    pub fn new(gpu: &Gpu, count: u32) -> Result<Self> {
        Self::of_steps(gpu, count, false)
    }

    /// [`TreeBuffers::new`], for a tree that `is_kept` from step to step or is not.
    pub fn of_steps(gpu: &Gpu, count: u32, is_kept: bool) -> Result<Self> {
        let reserve = Self::reserve_for(count);
        // Ranks of cells have 28 bits beside the number of children.
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
        let built_at = if is_kept { count } else { 1 };
        Ok(Self {
            count,
            reserve,
            state: gpu.words("state of the tree", size_of::<TreeState>() as u64 / 4),
            tally: gpu.words("tally of the tree", u64::from(TALLY)),
            keys: bodies("keys", 2),
            order: bodies("order along the curve", 1),
            sources: storage(gpu, "bodies along the curve", count as usize),
            built_at: storage(gpu, "bodies when the tree was built", built_at as usize),
            is_kept: AtomicBool::new(false),
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
