//! A cell as the kernels store it: seven vec4 in three arrays, so that each phase reads only what
//! it needs.

use bytemuck::{Pod, Zeroable};

use super::{Cell, CellMoments, MultipoleOrder, Opening};

/// `child` of a [`CellOpen`] that has no children.
pub const IS_LEAF: u32 = u32::MAX;

/// The fields for the opening test: two vec4.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct CellOpen {
    /// The centre of mass.
    pub centre: [f32; 3],
    /// [`Opening::critical`].
    pub critical: f32,
    /// Squared radius.
    pub radius_squared: f32,
    /// 16 times the number of the first child, plus the number of children less one; or
    /// [`IS_LEAF`].
    pub child: u32,
    /// Index of the first body along the curve.
    pub first: u32,
    /// Number of bodies.
    pub count: u32,
}

/// The multipoles of an accepted cell: three vec4. Q are the second moments.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct CellForce {
    /// The centre of mass.
    pub centre: [f32; 3],
    /// The mass.
    pub mass: f32,
    /// 3 Q: xx, yy, zz.
    pub diagonal: [f32; 3],
    /// 1.5 times the trace of Q.
    pub trace: f32,
    /// 3 Q: xy, xz, yz.
    pub off_diagonal: [f32; 3],
    /// Half of the trace of Q, for the potential.
    pub half_trace: f32,
}

impl CellForce {
    /// The multipoles of a cell with these moments.
    pub fn of(moment: &CellMoments) -> Self {
        let ([xx, yy, zz, xy, xz, yz], trace) = (moment.second, moment.trace());
        let three = |q: f64| (3.0 * q) as f32;
        Self {
            centre: moment.centre_f32(),
            mass: moment.mass as f32,
            diagonal: [xx, yy, zz].map(three),
            trace: (1.5 * trace) as f32,
            off_diagonal: [xy, xz, yz].map(three),
            half_trace: (0.5 * trace) as f32,
        }
    }
}

/// The box around the bodies: two vec4.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct CellBox {
    /// Lower corner.
    pub lower: [f32; 3],
    /// Level of the cell.
    pub level: u32,
    /// Upper corner.
    pub upper: [f32; 3],
    /// Number of the parent; [`super::NO_PARENT`] for the root.
    pub parent: u32,
}

/// The complete record of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellRecord {
    /// For the opening test.
    pub open: CellOpen,
    /// The multipoles.
    pub force: CellForce,
    /// The box.
    pub bounds: CellBox,
}

impl CellRecord {
    /// The record of a cell for this opening rule.
    pub fn of(cell: &Cell, moment: &CellMoments, opening: &Opening, order: MultipoleOrder) -> Self {
        let centre = moment.centre_f32();
        let child = match cell.is_leaf() {
            true => IS_LEAF,
            false => cell.child << 4 | (cell.children - 1),
        };
        Self {
            open: CellOpen {
                centre,
                critical: opening.critical(moment, order) as f32,
                radius_squared: (moment.radius * moment.radius) as f32,
                child,
                first: cell.first,
                count: cell.count,
            },
            force: CellForce::of(moment),
            bounds: CellBox {
                lower: moment.lower,
                level: cell.level,
                upper: moment.upper,
                parent: cell.parent,
            },
        }
    }
}
