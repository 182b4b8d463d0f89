//! Method `tree`: distant bodies attract as cells of an octree (Barnes and Hut 1986).
//!
//! Bodies are sorted along a Hilbert curve. A cell of level L is a run of bodies whose keys share L
//! octal digits; runs of more than [`LEAF`] bodies have children. Each [`GROUP`] of consecutive
//! sinks along the curve shares one walk through the cells (Barnes 1990): it accepts a cell, whose
//! multipoles then attract the sinks, or opens it. Far cells attract all of them by one expansion
//! ([`Expansion`]).
//!
//! Each stage is a function of the one before, so that kernels on a device can be compared stage by
//! stage: [`Cube`] -> [`keys`] -> [`order`] -> [`Cells`] -> [`moments()`] -> [`CellRecord`]. The
//! input is f32 positions in the frame of a call or a run. Keys, order and cells are integers,
//! equal wherever they are computed; sums are in f64 here.

mod balance;
mod cells;
mod config;
mod cpu;
mod cube;
pub(crate) mod domains;
mod far;
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
pub use cells::{Cell, Cells, Crossing, NO_PARENT};
pub use config::TreeConfig;
pub use cpu::{CpuTree, GroupWalk, InteractionLists, LevelWalk, TreeView};
pub use cube::{Cube, FARTHEST};
pub use far::{Expansion, SinkGroup};
pub use key::{HILBERT, Key, key, keys, order};
pub use moments::{CellMoments, WIDENED, moments};
pub use opening::{MultipoleOrder, Opening};
pub use record::{CellBox, CellForce, CellOpen, CellRecord, IS_LEAF};
pub use scattered::{CROWD, Surroundings, is_scattered, room_for, split};
pub use whole::Tree;

/// Number of sinks that walk together: consecutive along the curve.
pub const GROUP: usize = 64;

/// The most bodies in a cell without children, except on the last level. The walk costs the same
/// with 8 to 48; 32 makes half as many cells as 16, 0.12 per body.
pub const LEAF: usize = 32;

/// Number of levels below the root, equal to the octal digits of a key.
pub const LEVELS: u32 = 21;

/// Position and mass of a body in a frame, as in the kernels: x, y, z, mass.
pub type PointMass = [f32; 4];
