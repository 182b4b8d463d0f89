//! One tree over bodies that ranks share: each rank has a part of the curve, and forces have the
//! bits of one rank, whatever their number.
//!
//! A walk reads the records of the cells that it tests and the bodies of the leaves that it opens,
//! in an order that does not depend on their numbers. So a rank needs no more than those, if:
//!
//! - the curve is cut at multiples of [`GROUP`](super::GROUP) bodies, so that groups are the same
//!   ([`cut`]);
//! - cells are those of all keys: with [`LEAF`](super::LEAF) keys of the neighbours on either side
//!   each rank finds the cells that begin at its bodies
//!   ([`Cells::of_part`](super::Cells::of_part));
//! - cells that reach over a cut are summed from all their children or bodies, on all ranks alike
//!   ([`top`]);
//! - sums over all bodies are of integers.
//!
//! Each rank describes its groups to the others by a few boxes that open at least the cells that
//! the groups open ([`select`]). These cells are sent to it and joined to its own, which gives its
//! locally essential tree ([`graft`]). A walk counts the cells that it lacks; if there are any, the
//! forces are computed again with more cells. So the results do not depend on the choice of boxes.
//!
//! These functions are independent of threads and networks. The payload of a cell is its data
//! besides bodies and children.

pub mod cut;
pub mod graft;
pub mod select;
pub mod top;

use bytemuck::{Pod, Zeroable};

use super::PointMass;

/// A body as it is sent to the rank whose part of the curve it is in.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Visitor {
    /// Position and mass in the frame.
    pub place: PointMass,
    /// The magnitude of its last acceleration in the frame's units; NaN if it is not known.
    pub strength: f64,
    /// The cost of its forces in the last step, in interactions.
    pub cost: f32,
    /// Its number among all bodies.
    pub number: u32,
}
