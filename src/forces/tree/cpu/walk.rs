//! The walk of a group: which cells act on it as a whole, and which bodies individually.

use rayon::prelude::*;

use super::super::domains::select::SinkBox;
use super::super::far::SinkGroup;
use super::super::{Cell, CellMoments, MultipoleOrder, Opening, PointMass};

/// Cells tested at once: all children of one cell.
const CHILDREN: usize = 8;

/// Nearer than this, about 2^-39 of the extent, no cell acts as a whole, because the fifth power of
/// 1/d would exceed f32.
const NEAREST_SQUARED: f32 = f32::from_bits((127 - 48) << 23);

/// The fields of all cells that the test reads, as a structure of arrays, for one opening rule.
#[derive(Debug, Default)]
pub(super) struct Opened {
    centre: [Vec<f32>; 3],
    critical: Vec<f32>,
    radius_squared: Vec<f32>,
    /// 1.5 times the trace of the second moments.
    trace: Vec<f32>,
    mass: Vec<f32>,
    softening_squared: f32,
    /// Lower and upper corners of the boxes, if the rule needs them.
    corners: Option<[[Vec<f32>; 3]; 2]>,
    cells: Vec<Cell>,
    /// See [`Opened::new`]; `u32::MAX` if there is no such cell.
    absent: u32,
}

/// The box of a group's sinks, and the reach that the rule gives them.
#[derive(Clone, Copy, Debug)]
pub(super) struct SinkReach {
    pub lower: [f32; 3],
    pub upper: [f32; 3],
    /// [`Opening::reach`].
    pub reach: f32,
    /// For accepted cells.
    pub near: SinkGroup,
}

impl SinkReach {
    /// What decides which cells are opened.
    pub fn sink_box(&self) -> SinkBox {
        SinkBox { lower: self.lower, upper: self.upper, reach: self.reach }
    }
}

/// The interaction list of a group.
#[derive(Clone, Debug, Default)]
pub struct InteractionLists {
    /// Numbers of the cells that act with all their moments.
    pub cells: Vec<u32>,
    /// Numbers of the cells that act as points.
    pub points: Vec<u32>,
    /// Numbers of the cells that are expanded.
    pub far: Vec<u32>,
    /// Runs of bodies along the curve: first body and count.
    pub runs: Vec<(u32, u32)>,
    /// The bodies of the runs and the points, as the kernel reads them.
    pub(super) places: Vec<PointMass>,
    /// Number of cells that the walk had to open but whose contents this rank has not received.
    pub missing: u32,
    /// Children still to be tested: first cell and count.
    stack: Vec<(u32, u32)>,
}

impl InteractionLists {
    /// Number of bodies.
    pub fn bodies(&self) -> usize {
        self.runs.iter().map(|(_, count)| *count as usize).sum()
    }
}

impl Opened {
    /// Cells and their moments for this rule. `absent` is the number of the placeholder that is the
    /// only child of each cell whose contents were not received.
    pub fn new(
        cells: &[Cell],
        moments: &[CellMoments],
        absent: Option<u32>,
        opening: &Opening,
        order: MultipoleOrder,
        softening_squared: f32,
    ) -> Self {
        // Padding, so that all eight lanes can be read from the last cell on.
        let padded = moments.len() + CHILDREN - 1;
        let mut columns: [Vec<f32>; 7] = std::array::from_fn(|_| vec![0.0; padded]);
        let least = opening.least_distance_squared();
        let [x, y, z, critical, radius, trace, mass] = &mut columns;
        let rows = (moments, x, y, z, critical, radius, trace, mass).into_par_iter();
        rows.for_each(|(moment, x, y, z, critical, radius, trace, mass)| {
            [*x, *y, *z] = moment.centre_f32();
            *critical = opening.critical(moment, order) as f32;
            let squared = (moment.radius * moment.radius * least) as f32;
            *radius = squared.max(NEAREST_SQUARED);
            *trace = (1.5 * moment.trace()) as f32;
            *mass = moment.mass as f32;
        });
        let [x, y, z, critical, radius_squared, trace, mass] = columns;
        let corner = |side: &(dyn Fn(&CellMoments) -> f32 + Sync)| {
            let mut column: Vec<f32> = moments.par_iter().map(side).collect();
            column.resize(padded, 0.0);
            column
        };
        let corners = || {
            let axes = [0, 1, 2];
            [
                axes.map(|axis| corner(&|m| m.lower[axis])),
                axes.map(|axis| corner(&|m| m.upper[axis])),
            ]
        };
        let mut all = Vec::with_capacity(padded);
        all.extend_from_slice(cells);
        all.extend(cells.first().into_iter().cycle().take(padded - moments.len()));
        Self {
            centre: [x, y, z],
            critical,
            radius_squared,
            trace,
            mass,
            softening_squared,
            corners: opening.is_between_boxes().then(corners),
            cells: all,
            absent: absent.unwrap_or(u32::MAX),
        }
    }

    /// Whether these sinks open a cell, if squared distances count as `margin` times as large.
    pub fn is_opened(&self, number: usize, sinks: &SinkBox, margin: f32) -> bool {
        let squared = |lower: [f32; 3], upper: [f32; 3]| {
            let mut squared = 0.0f32;
            for axis in 0..3 {
                let below = sinks.lower[axis] - upper[axis];
                let d = below.max(lower[axis] - sinks.upper[axis]).max(0.0);
                squared += d * d;
            }
            margin * squared
        };
        let corner = |columns: &[Vec<f32>; 3]| [0, 1, 2].map(|axis| columns[axis][number]);
        let centre = corner(&self.centre);
        let from_centre = squared(centre, centre);
        let compared = match &self.corners {
            None => from_centre,
            Some([lower, upper]) => squared(corner(lower), corner(upper)),
        };
        let critical = self.critical[number];
        let accepted =
            compared * sinks.reach > critical && from_centre > self.radius_squared[number];
        critical >= 0.0 && !accepted
    }

    /// Classifies eight cells from `first` on, of which only the first `count` are siblings to
    /// test.
    #[inline(always)]
    fn verdicts(&self, first: usize, count: u32, group: &SinkReach) -> Verdicts {
        let eight = |column: &Vec<f32>| eight(column, first);
        // Not by `map`, which is not always inlined.
        let [x, y, z] = &self.centre;
        let centre = [eight(x), eight(y), eight(z)];
        let (critical, radius_squared) = (eight(&self.critical), eight(&self.radius_squared));
        let (trace, mass) = (eight(&self.trace), eight(&self.mass));
        let distance = |lower: &[[f32; CHILDREN]; 3], upper: &[[f32; CHILDREN]; 3]| {
            let mut squared = [0.0f32; CHILDREN];
            for axis in 0..3 {
                for k in 0..CHILDREN {
                    let below = group.lower[axis] - upper[axis][k];
                    let d = below.max(lower[axis][k] - group.upper[axis]).max(0.0);
                    squared[k] += d * d;
                }
            }
            squared
        };
        let from_centre = distance(&centre, &centre);
        let compared = match &self.corners {
            None => from_centre,
            Some(corners) => {
                let [[x, y, z], [u, v, w]] = corners;
                distance(&[eight(x), eight(y), eight(z)], &[eight(u), eight(v), eight(w)])
            }
        };
        let near = &group.near;
        let mut verdicts = Verdicts::default();
        for k in 0..CHILDREN {
            // A cell without mass has -1.
            let counts = ((k as u32) < count) & (critical[k] >= 0.0);
            let accepted =
                (compared[k] * group.reach > critical[k]) & (from_centre[k] > radius_squared[k]);
            let at = [centre[0][k], centre[1][k], centre[2][k]];
            let is_far = near.is_expanded(at, mass[k], trace[k], self.softening_squared);
            let is_point = near.is_point(from_centre[k], trace[k]);
            verdicts.opened[k] = u32::from(counts & !accepted);
            verdicts.far[k] = u32::from(counts & accepted & is_far);
            verdicts.points[k] = u32::from(counts & accepted & !is_far & is_point);
            verdicts.cells[k] = u32::from(counts & accepted & !is_far & !is_point);
        }
        verdicts
    }
}

/// The values of the eight cells from `first` on.
#[inline(always)]
fn eight(column: &[f32], first: usize) -> [f32; CHILDREN] {
    let (lanes, _) = column[first..].as_chunks::<CHILDREN>();
    lanes[0]
}

/// The classes of eight cells: each is 1 in at most one of the arrays.
#[derive(Default)]
struct Verdicts {
    opened: [u32; CHILDREN],
    far: [u32; CHILDREN],
    points: [u32; CHILDREN],
    cells: [u32; CHILDREN],
}

/// A list to which entries are appended without a branch: each is written, but the length grows
/// only if it is to stay. A branch on a cell's class would be mispredicted for every other cell.
struct Appended<'a, T> {
    entries: &'a mut Vec<T>,
    length: usize,
}

impl<'a, T: Copy + Default> Appended<'a, T> {
    /// Overwrites the list from its start, reusing its memory.
    #[inline(always)]
    fn new(entries: &'a mut Vec<T>) -> Self {
        Self { entries, length: 0 }
    }

    /// Makes room for the entries of eight cells.
    #[inline(always)]
    fn reserve(&mut self) {
        if self.entries.len() < self.length + CHILDREN {
            self.entries.resize(2 * (self.length + CHILDREN), T::default());
        }
    }

    #[inline(always)]
    fn push_if(&mut self, entry: T, is_pushed: u32) {
        self.entries[self.length] = entry;
        self.length += is_pushed as usize;
    }

    #[inline(always)]
    fn end(self) {
        self.entries.truncate(self.length);
    }
}

/// Fills `lists` for a group, starting at the root.
#[inline(always)]
pub(super) fn walk(opened: &Opened, group: &SinkReach, lists: &mut InteractionLists) {
    let [mut cells, mut points, mut far] =
        [&mut lists.cells, &mut lists.points, &mut lists.far].map(Appended::new);
    let [mut runs, mut stack] = [&mut lists.runs, &mut lists.stack].map(Appended::new);
    lists.missing = 0;
    stack.reserve();
    stack.push_if((0, 1), u32::from(!opened.cells.is_empty()));
    while stack.length > 0 {
        stack.length -= 1;
        let (first, count) = stack.entries[stack.length];
        lists.missing += u32::from(first == opened.absent);
        let verdicts = opened.verdicts(first as usize, count, group);
        cells.reserve();
        points.reserve();
        far.reserve();
        runs.reserve();
        stack.reserve();
        let below = &opened.cells[first as usize..first as usize + CHILDREN];
        for (k, cell) in below.iter().enumerate() {
            let number = first + k as u32;
            cells.push_if(number, verdicts.cells[k]);
            points.push_if(number, verdicts.points[k]);
            far.push_if(number, verdicts.far[k]);
            let is_leaf = u32::from(cell.is_leaf());
            runs.push_if((cell.first, cell.count), verdicts.opened[k] & is_leaf);
            stack.push_if((cell.child, cell.children), verdicts.opened[k] & !is_leaf);
        }
    }
    cells.end();
    points.end();
    far.end();
    runs.end();
}
