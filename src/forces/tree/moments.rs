//! Masses and multipoles of cells: from bodies to leaves, from children to parents.

use bytemuck::{Pod, Zeroable};
use glam::DVec3;
use rayon::prelude::*;

use super::{Cell, Cells, PointMass};

/// Factor by which a cell's radius grows on every level, so that f32 rounding never puts a body
/// outside.
pub const WIDENED: f64 = 1.0 + 1.0 / (1 << 18) as f64;

/// The multipoles of a cell, its radius and its box.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct CellMoments {
    /// Sum of the bodies' masses.
    pub mass: f64,
    /// Their centre of mass; for a cell without mass the middle of its box.
    pub centre: DVec3,
    /// Second moments about `centre`, the sums of m x x etc.: xx, yy, zz, xy, xz, yz. The trace is
    /// not removed, since with softening it matters.
    pub second: [f64; 6],
    /// The distance from the f32 `centre` within which all bodies lie, widened by [`WIDENED`]; 0 if
    /// all bodies are there.
    pub radius: f64,
    /// The lower corner of the smallest box around the bodies.
    pub lower: [f32; 3],
    /// The upper corner.
    pub upper: [f32; 3],
}

impl CellMoments {
    /// The start for adding children.
    const NONE: Self = Self {
        mass: 0.0,
        centre: DVec3::ZERO,
        second: [0.0; 6],
        radius: 0.0,
        lower: [f32::INFINITY; 3],
        upper: [f32::NEG_INFINITY; 3],
    };

    /// The centre of mass in f32.
    pub fn centre_f32(&self) -> [f32; 3] {
        crate::frame::narrow(self.centre)
    }

    /// The longest edge of the box.
    pub fn edge(&self) -> f64 {
        (wide(self.upper) - wide(self.lower)).max_element()
    }

    /// The trace of the second moments.
    pub fn trace(&self) -> f64 {
        self.second[0] + self.second[1] + self.second[2]
    }

    /// The middle of the box.
    pub fn middle(&self) -> DVec3 {
        0.5 * (wide(self.lower) + wide(self.upper))
    }

    /// The moments of a leaf with these bodies, at least one, in the order of the curve.
    pub(super) fn of_bodies(places: &[PointMass]) -> Self {
        let mut sum = Self::NONE;
        // Relative to the first body, so that bodies at one position have their centre exactly
        // there.
        let origin = position(&places[0]);
        let mut centre = DVec3::ZERO;
        for place in places {
            let at = [place[0], place[1], place[2]];
            sum.enclose(at, at);
            sum.mass += f64::from(place[3]);
            centre += f64::from(place[3]) * (position(place) - origin);
        }
        sum.settle(origin, centre);
        for place in places {
            sum.add_second(f64::from(place[3]), position(place) - sum.centre);
        }
        let from = wide(sum.centre_f32());
        let farthest =
            places.iter().map(|place| position(place).distance(from)).fold(0.0, f64::max);
        sum.radius = farthest * WIDENED;
        sum
    }

    /// The moments of a cell with these children, at least one, in the order of the curve.
    pub(super) fn of_children(children: &[Self]) -> Self {
        let mut sum = Self::NONE;
        let origin = children[0].centre;
        let mut centre = DVec3::ZERO;
        for child in children {
            sum.enclose(child.lower, child.upper);
            sum.mass += child.mass;
            centre += child.mass * (child.centre - origin);
        }
        sum.settle(origin, centre);
        let from = wide(sum.centre_f32());
        let mut farthest = 0.0f64;
        for child in children {
            for (sum, second) in sum.second.iter_mut().zip(child.second) {
                *sum += second;
            }
            sum.add_second(child.mass, child.centre - sum.centre);
            farthest = farthest.max(wide(child.centre_f32()).distance(from) + child.radius);
        }
        let corner = (from - wide(sum.lower)).abs().max((wide(sum.upper) - from).abs());
        sum.radius = farthest.min(corner.length()) * WIDENED;
        sum
    }

    fn enclose(&mut self, lower: [f32; 3], upper: [f32; 3]) {
        for axis in 0..3 {
            self.lower[axis] = self.lower[axis].min(lower[axis]);
            self.upper[axis] = self.upper[axis].max(upper[axis]);
        }
    }

    /// Sets the centre from the first moments about `origin`.
    fn settle(&mut self, origin: DVec3, first_moments: DVec3) {
        self.centre =
            if self.mass > 0.0 { origin + first_moments / self.mass } else { self.middle() };
    }

    fn add_second(&mut self, mass: f64, d: DVec3) {
        let products = [d.x * d.x, d.y * d.y, d.z * d.z, d.x * d.y, d.x * d.z, d.y * d.z];
        for (sum, product) in self.second.iter_mut().zip(products) {
            *sum += mass * product;
        }
    }
}

/// The moments of all cells over the bodies in the order of the curve.
pub fn moments(cells: &Cells, sorted: &[PointMass]) -> Vec<CellMoments> {
    let mut moments = vec![CellMoments::NONE; cells.len()];
    // The deepest level first, because parents need their children.
    for level in (1..cells.levels.len()).rev() {
        let (first, end) = (cells.levels[level - 1] as usize, cells.levels[level] as usize);
        let (level, below) = moments[first..].split_at_mut(end - first);
        level.par_iter_mut().zip(&cells.cells[first..end]).for_each(|(moment, cell)| {
            *moment = of(cell, &below[children(cell, end)], sorted);
        });
    }
    moments
}

/// The children of a cell, among the cells from number `end` on.
fn children(cell: &Cell, end: usize) -> std::ops::Range<usize> {
    if cell.is_leaf() {
        return 0..0;
    }
    let first = cell.child as usize - end;
    first..first + cell.children as usize
}

fn of(cell: &Cell, children: &[CellMoments], sorted: &[PointMass]) -> CellMoments {
    if cell.is_leaf() {
        CellMoments::of_bodies(&sorted[cell.first as usize..][..cell.count as usize])
    } else {
        CellMoments::of_children(children)
    }
}

fn position(place: &PointMass) -> DVec3 {
    wide([place[0], place[1], place[2]])
}

fn wide(vector: [f32; 3]) -> DVec3 {
    DVec3::from(vector.map(f64::from))
}
