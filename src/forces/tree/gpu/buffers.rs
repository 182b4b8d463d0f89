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
pub struct TreeResources<'a> {
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
pub(super) const TALLY: u32 = 294;

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
    /// Number of bodies, or capacity for them if the tree is a part of one.
    pub count: u32,
    /// Capacity for cells: 0.28 per body. Usually 0.12 are needed; the largest leaves need at most
    /// 0.26.
    pub reserve: u32,
    /// The start of the records of sinks that walk one by one, and the number of groups there is
    /// room for.
    pub singles: (u32, u32),
    /// Present if the tree is a part of one.
    pub(super) part: Option<PartBuffers>,
    /// [`TreeState`].
    pub state: wgpu::Buffer,
    pub(super) tally: wgpu::Buffer,
    /// `array<vec2<u32>>`: the keys' lower 31 bits and upper 32, along the curve after the sort. In
    /// a part of a tree those of the neighbours stand before and after them.
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
    /// `array<u32>`: the far cells of each group of a dispatch, [`FAR_LENGTH`] words; small if
    /// there are none.
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

/// Additional buffers of a part of a tree.
#[derive(Debug)]
pub(super) struct PartBuffers {
    /// The keys and bodies that are sorted, without those of other ranks.
    pub keys: wgpu::Buffer,
    pub order: wgpu::Buffer,
    /// [`TreeState`] of the common cells (`forces/tree/domains/top.rs`).
    pub top_state: wgpu::Buffer,
    /// `array<u32>`: groups that bodies of other ranks make scattered.
    pub scattered: wgpu::Buffer,
    /// Capacities for bodies along the curve and for cells, those of other ranks included.
    pub sources: u32,
    pub cells: u32,
}

/// Capacities in a part for bodies and cells of other ranks, and for messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceivedRoom {
    /// Bodies that are received, outside the cube, or in common leaves.
    pub bodies: u32,
    /// Cells that are received, beyond the room that own ones leave.
    pub cells: u32,
    /// Entries of 16 bytes of all messages that are sent.
    pub message: u32,
}

impl ReceivedRoom {
    /// The initial capacities of one of `parts` parts, with room for `count` of `all` bodies.
    /// Typically a part receives a few percent as many bodies and cells as it has; with few bodies,
    /// all others.
    pub fn first(count: u32, all: u32, parts: usize) -> Self {
        let bodies = all.min(count / 16 + (1 << 16)) + (1 << 12);
        let most = 5 * u64::from(TreeBuffers::reserve_for(count)) + u64::from(count);
        let message = (parts as u64 - 1) * most.min(u64::from(count) / 16 + (1 << 18));
        Self { bodies, cells: bodies.min(1 << 16), message: message as u32 + 64 }
    }

    /// Grows capacities that are below `needed` to a tenth more than that.
    #[must_use]
    pub fn with(self, needed: Self) -> Self {
        let more = |have: u32, needed: u32| if needed > have { needed + needed / 10 } else { have };
        Self {
            bodies: more(self.bodies, needed.bodies),
            cells: more(self.cells, needed.cells),
            message: more(self.message, needed.message),
        }
    }
}

/// Entries of the buffers.
struct BufferEntries {
    bodies: u32,
    keys: u32,
    sources: u32,
    reserve: u32,
    cells: u32,
}

/// The most keys of other ranks before and after those of a part: twice the largest leaf.
pub(super) const EDGE_KEYS: u32 = 1024;

/// Capacity for common cells, which precede those of a part: 8 children each of 21 cells at a cut.
pub(super) const TOP_CELLS: u32 = 1 << 14;

impl TreeBuffers {
    /// The capacity for cells with this many bodies.
    pub fn reserve_for(bodies: u32) -> u32 {
        (u64::from(bodies) * 7 / 25).max(u64::from(FEWEST_CELLS)) as u32
    }

    fn singles_of(bodies: u32) -> (u32, u32) {
        let groups = bodies.div_ceil(GROUP as u32);
        // Each body outside the cube walks by itself.
        (groups + Cube::spare(bodies as usize) as u32, room_for(groups as usize) as u32)
    }

    /// The largest number of groups and single sinks that walk.
    pub fn most_walks(&self) -> u32 {
        Self::most_walks_of(self.singles)
    }

    /// [`TreeBuffers::most_walks`] of `bodies` bodies on one device.
    pub(super) fn walks_for(bodies: u32) -> u32 {
        Self::most_walks_of(Self::singles_of(bodies))
    }

    fn most_walks_of((singles, room): (u32, u32)) -> u32 {
        singles + room * GROUP as u32
    }

    /// The keys and bodies that are sorted.
    pub(super) fn sorted(&self) -> [&wgpu::Buffer; 2] {
        self.part.as_ref().map_or([&self.keys, &self.order], |part| [&part.keys, &part.order])
    }

    /// Creates the buffers for `count` bodies.
    ///
    /// # Errors
    /// More bodies than fit one of the adapter's storage buffers; checked before anything is
    /// created.
    pub fn new(gpu: &Gpu, count: u32, shape: &TreeShape) -> Result<Self> {
        let reserve = Self::reserve_for(count);
        let room =
            BufferEntries { bodies: count, keys: count, sources: count, reserve, cells: reserve };
        Self::with_room(gpu, room, Self::singles_of(count), shape)
    }

    /// Creates the buffers of a part of a tree of `all` bodies, with room for `count` of them.
    ///
    /// # Errors
    /// Those of [`TreeBuffers::new`].
    pub(super) fn of_part(
        gpu: &Gpu,
        count: u32,
        all: u32,
        received: ReceivedRoom,
        shape: &TreeShape,
    ) -> Result<Self> {
        let reserve = Self::reserve_for(count);
        let keys = count + 2 * EDGE_KEYS;
        let sources = count + received.bodies;
        let cells = TOP_CELLS + reserve + received.cells;
        let room = BufferEntries { bodies: count, keys, sources, reserve, cells };
        let (of_part, of_all) = (Self::singles_of(count), Self::singles_of(all));
        let singles = of_part.0 + Cube::spare(all as usize) as u32;
        let mut made = Self::with_room(gpu, room, (singles, of_all.1), shape)?;
        let words = |label: &str, each: u32| gpu.words(label, u64::from(each) * u64::from(count));
        made.part = Some(PartBuffers {
            keys: words("sorted keys", 2),
            order: words("bodies in the order of keys", 1),
            top_state: gpu.words("state of common cells", size_of::<TreeState>() as u64 / 4),
            scattered: gpu.words("scattered groups", u64::from(count.div_ceil(GROUP as u32)) + 1),
            sources,
            cells,
        });
        Ok(made)
    }

    /// Frees their memory, though kernels are still bound to them: these must not be used again.
    pub(super) fn destroy(&self) {
        let Self { keys, order, sources, built_at, far_cells, groups, offsets, .. } = self;
        let Self { levels, numbers, starts, ranks, cell_open, cell_force, cell_box, .. } = self;
        let own = [
            keys, order, sources, built_at, far_cells, groups, offsets, levels, numbers, starts,
            ranks, cell_open, cell_force, cell_box,
        ];
        let part = self.part.iter().flat_map(|part| [&part.keys, &part.order]);
        own.into_iter().chain(part).for_each(wgpu::Buffer::destroy);
    }

    fn with_room(
        gpu: &Gpu,
        room: BufferEntries,
        singles: (u32, u32),
        shape: &TreeShape,
    ) -> Result<Self> {
        let is_reused = shape.rebuild.keeps();
        let BufferEntries { bodies: count, reserve, .. } = room;
        // Ranks of cells have 28 bits, because the number of children takes the others.
        let most = (gpu.limits.storage_buffer / VEC4).min(800_000_000);
        if u64::from(count) > most || u64::from(room.cells) * 3 * VEC4 > gpu.limits.storage_buffer {
            return Err(gpu.refuse(format!(
                "a tree of {count} bodies needs storage buffers of {} bytes, but it allows {} (at most {most} bodies)",
                (u64::from(count) * VEC4).max(u64::from(room.cells) * 3 * VEC4),
                gpu.limits.storage_buffer
            )));
        }
        let bodies = |label: &str, words: u64| gpu.words(label, words * u64::from(count));
        let cells = |label: &str| gpu.words(label, u64::from(reserve));
        let entries = |label: &str, each: usize| storage(gpu, label, each * room.cells as usize);
        let built_at = if is_reused { count } else { 1 };
        let far_groups = match shape.config().expands() {
            true => Self::most_walks_of(singles).min(FAR_GROUPS),
            false => 0,
        };
        let far_words = (u64::from(far_groups) * u64::from(FAR_LENGTH)).max(1);
        Ok(Self {
            far_cells: gpu.words("far cells", far_words),
            far_groups,
            count,
            reserve,
            singles,
            part: None,
            state: gpu.words("state of the tree", size_of::<TreeState>() as u64 / 4),
            tally: gpu.words("tally of the tree", u64::from(TALLY)),
            keys: gpu.words("keys", 2 * u64::from(room.keys)),
            order: bodies("order along the curve", 1),
            sources: storage(gpu, "bodies along the curve", room.sources as usize),
            built_at: storage(gpu, "bodies when the tree was built", built_at as usize),
            is_reused: AtomicBool::new(false),
            groups: storage(gpu, "groups of sinks", 2 * Self::most_walks_of(singles) as usize),
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
