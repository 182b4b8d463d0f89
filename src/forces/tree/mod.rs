//! Method `tree`: far bodies attract as cells of an octree (Barnes and Hut 1986).
//!
//! Bodies are put in order along a Hilbert curve. A cell of level L is a run of bodies whose keys share L octal
//! digits; runs of more than [`LEAF`] bodies have children. Runs of [`GROUP`] sinks along the curve share one walk
//! through the cells (Barnes 1990): it accepts a cell, whose multipoles then attract them, or opens it.
//!
//! The stages, each a function of the one before, so that kernels on a device can be compared stage by stage:
//! [`Cube`] -> [`keys`] -> [`order`] -> [`Cells`] -> [`moments()`] -> [`CellRecord`]. All begin with positions in f32 in
//! the frame of a call or a run. Keys, order and cells are whole numbers, the same wherever they are computed;
//! sums are in f64 here.

mod balance;
mod cells;
mod config;
mod cpu;
mod cube;
pub mod gpu;
mod key;
mod moments;
mod opening;
mod pace;
mod record;
mod scattered;
#[cfg(test)]
mod tests;
mod whole;

pub use crate::settings::Rebuild;
pub use balance::{LEAST_REST, balance};
pub use cells::{Cell, Cells, NO_PARENT};
pub use config::TreeConfig;
pub use cpu::{CpuTree, GroupWalk, LevelWalk, Lists, TreeView};
pub use cube::{Cube, FARTHEST};
pub use key::{HILBERT, Key, key, keys, order};
pub use moments::{Moment, WIDENED, moments};
pub use opening::{MultipoleOrder, Opening};
pub use record::{CellBox, CellForce, CellOpen, CellRecord, IS_LEAF};
pub use scattered::{CROWD, is_scattered, room_for, split};
pub use whole::Tree;

use super::registry::{boxed, made};
use super::{
    DeviceEntry, DeviceForces, DeviceTools, Entry, Method, Order, Place as Where, Precision,
};
use gpu::{Field, GpuTree, TreeForces, TreeShape};

/// SIMD in f32 on all cores.
pub const CPU: Entry = Entry {
    place: Where::Cpu,
    method: Method::Tree,
    precision: Precision::Single,
    orders: (Order::Acceleration, Order::Acceleration),
    make: |tools| made(CpuTree::new(tools.tree)),
};

/// Kernels for single calls.
pub const GPU: Entry = Entry {
    place: Where::Gpu,
    make: |tools| {
        let shape = TreeShape::of(&tools.tree, tools.kernel.checked.into());
        Box::pin(async move { boxed(GpuTree::new(tools.device()?, shape)) })
    },
    ..CPU
};

/// Kernels for bodies that live on a device.
pub const ON_DEVICE: DeviceEntry = DeviceEntry {
    method: Method::Tree,
    bytes_per_body: gpu::BYTES_PER_BODY,
    bind: |gpu, bodies, tools| {
        let DeviceTools { kernel, softening, tree, walk } = *tools;
        let shape = TreeShape { walk, ..TreeShape::of(&tree, kernel.config.checks) };
        let field = Field {
            softening: softening as f32,
            guarded: kernel.guarded,
            potential: false,
            has_accelerations: false,
            is_closed: true,
        };
        Box::pin(async move {
            let forces = TreeForces::new(gpu, shape, bodies, field).await?;
            Ok(Box::new(forces) as Box<dyn DeviceForces>)
        })
    },
};

/// Sinks that walk together: a run along the curve.
pub const GROUP: usize = 64;

/// Bodies in a cell without children at most, but on the last level. 8 to 48 cost the walk the same; 32 makes half
/// the cells that 16 does, 0.12 a body.
pub const LEAF: usize = 32;

/// Levels below the root: octal digits of a key.
pub const LEVELS: u32 = 21;

/// Where bodies are and what they weigh in a frame: x, y, z, mass. As the kernels have them.
pub type Place = [f32; 4];
