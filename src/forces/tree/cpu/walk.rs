//! The walk of a group: which cells act on it as a whole, and which bodies individually.

use super::super::far::Near;
use super::super::{Cell, Moment, MultipoleOrder, Opening, Tree};

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
}

/// The box of a group's sinks, and the reach that the rule gives them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub lower: [f32; 3],
    pub upper: [f32; 3],
    /// [`Opening::reach`].
    pub reach: f32,
    /// For accepted cells.
    pub near: Near,
}

/// The interaction list of a group.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// Numbers of the cells that act with all their moments.
    pub cells: Vec<u32>,
    /// Numbers of the cells that act as points.
    pub points: Vec<u32>,
    /// Numbers of the cells that are expanded.
    pub far: Vec<u32>,
    /// Runs of bodies along the curve: first body and count.
    pub runs: Vec<(u32, u32)>,
    /// Children still to be tested: first cell and count.
    stack: Vec<(u32, u32)>,
}

impl Lists {
    /// Number of bodies.
    pub fn bodies(&self) -> usize {
        self.runs.iter().map(|(_, count)| *count as usize).sum()
    }
}

impl Opened {
    /// All cells of a tree for this rule.
    pub fn new(
        tree: &Tree,
        opening: &Opening,
        order: MultipoleOrder,
        softening_squared: f32,
    ) -> Self {
        let moments = &tree.moments;
        let column = |value: &dyn Fn(&Moment) -> f32| {
            let mut column: Vec<f32> = moments.iter().map(value).collect();
            // Padding, so that all eight lanes can be read from the last cell on.
            column.resize(moments.len() + CHILDREN, 0.0);
            column
        };
        let axes = [0, 1, 2];
        let least = opening.least_distance_squared();
        let squared = |moment: &Moment| (moment.radius * moment.radius * least) as f32;
        Self {
            centre: axes.map(|axis| column(&|moment| moment.centre_f32()[axis])),
            critical: column(&|moment| opening.critical(moment, order) as f32),
            radius_squared: column(&|moment| squared(moment).max(NEAREST_SQUARED)),
            trace: column(&|moment| (1.5 * moment.trace()) as f32),
            mass: column(&|moment| moment.mass as f32),
            softening_squared,
            corners: opening.is_between_boxes().then(|| {
                [
                    axes.map(|axis| column(&|m| m.lower[axis])),
                    axes.map(|axis| column(&|m| m.upper[axis])),
                ]
            }),
            cells: tree.cells.cells.clone(),
        }
    }

    /// Which of the eight cells from `first` on are accepted, and the squares of their distances.
    #[inline(always)]
    fn accepted(&self, first: usize, group: &Reach) -> ([bool; CHILDREN], [f32; CHILDREN]) {
        let eight = |column: &Vec<f32>| -> [f32; CHILDREN] {
            let lanes = &column[first..first + CHILDREN];
            std::array::from_fn(|k| lanes[k])
        };
        let centre = [0, 1, 2].map(|axis| eight(&self.centre[axis]));
        let (critical, radius_squared) = (eight(&self.critical), eight(&self.radius_squared));
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
                let [lower, upper] =
                    [0, 1].map(|side| [0, 1, 2].map(|axis| eight(&corners[side][axis])));
                distance(&lower, &upper)
            }
        };
        let accepted = std::array::from_fn(|k| {
            (compared[k] * group.reach > critical[k]) & (from_centre[k] > radius_squared[k])
        });
        (accepted, from_centre)
    }
}

/// Fills `lists` for a group, starting at the root.
#[inline(always)]
pub(super) fn walk(opened: &Opened, group: &Reach, lists: &mut Lists) {
    lists.cells.clear();
    lists.points.clear();
    lists.far.clear();
    lists.runs.clear();
    lists.stack.clear();
    if !opened.cells.is_empty() {
        lists.stack.push((0, 1));
    }
    while let Some((first, count)) = lists.stack.pop() {
        let (accepted, distance_squared) = opened.accepted(first as usize, group);
        for (k, accepted) in accepted.into_iter().enumerate().take(count as usize) {
            let number = first as usize + k;
            let cell = &opened.cells[number];
            if opened.critical[number] < 0.0 {
                // A cell without mass.
            } else if accepted {
                let centre = [0, 1, 2].map(|axis| opened.centre[axis][number]);
                let (mass, trace) = (opened.mass[number], opened.trace[number]);
                let near = &group.near;
                let list = if near.is_expanded(centre, mass, trace, opened.softening_squared) {
                    &mut lists.far
                } else if near.is_point(distance_squared[k], trace) {
                    &mut lists.points
                } else {
                    &mut lists.cells
                };
                list.push(number as u32);
            } else if cell.is_leaf() {
                lists.runs.push((cell.first, cell.count));
            } else {
                lists.stack.push((cell.child, cell.children));
            }
        }
    }
}
