//! The cells of all levels, found from the sorted keys without a loop over levels.
//!
//! A cell of level L begins at body i if the keys of i - 1 and i share fewer than L digits and the
//! enclosing cell of level L - 1 holds more bodies than a leaf may. So each body finds from its
//! neighbours how many cells begin at it, and a prefix sum of those numbers gives every cell in
//! depth-first order. A stable sort by level then makes siblings adjacent and levels consecutive.

use std::ops::Range;

use rayon::prelude::*;

use super::{Key, LEVELS};

/// Parent number of the root.
pub const NO_PARENT: u32 = u32::MAX;

/// One cell: a run of bodies along the curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Index of its first body along the curve.
    pub first: u32,
    /// Number of bodies, at least 1.
    pub count: u32,
    /// Number of leading digits shared by its bodies, at least; 0 for the root.
    pub level: u32,
    /// Number of the parent; [`NO_PARENT`] for the root, and in a part of the curve for cells whose
    /// parent is not in it ([`Cells::of_part`]).
    pub parent: u32,
    /// Number of the first child; 0 for a leaf.
    pub child: u32,
    /// Number of children: 0 for a leaf, otherwise 1 to 8. They are adjacent, in the order of the
    /// curve.
    pub children: u32,
}

impl Cell {
    /// Whether it has no children, so that opening it means taking its bodies.
    pub fn is_leaf(&self) -> bool {
        self.children == 0
    }
}

/// All cells, level by level, along the curve on each. Empty if there are no bodies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    /// The root is number 0.
    pub cells: Vec<Cell>,
    /// The start of each level in `cells`, followed by the end of the last level.
    pub levels: Vec<u32>,
}

/// A cell that reaches beyond the part of the curve in which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// Index of its first body in that part.
    pub first: u32,
    /// Its level.
    pub level: u32,
}

impl Cells {
    /// The cells of the bodies with these `keys` along the curve, which must all be inside the
    /// cube. Leaves hold up to `leaf` bodies, on the last level any number.
    pub fn new(keys: &[Key], leaf: usize) -> Self {
        Self::of_part(keys, 0..keys.len(), leaf).0
    }

    /// The cells that begin in the part `own` of the curve: those that end there, with indices
    /// counted from the part's first body, and those that do not. `keys` are the part's with `leaf`
    /// more on either side, or as many as there are. Cells whose parent begins in an earlier part
    /// or crosses have no parent here.
    pub fn of_part(keys: &[Key], own: Range<usize>, leaf: usize) -> (Self, Vec<Crossing>) {
        let runs = Runs { keys, leaf };
        let begins: Vec<Begin> = own.clone().into_par_iter().map(|i| runs.begin(i)).collect();
        let next = keys.get(own.end);
        let keys = &keys[own];
        // Depth first; `above` holds the current parents.
        let mut above = [NO_PARENT; LEVELS as usize + 1];
        let mut depth_first: Vec<Cell> = Vec::new();
        let mut crossing = Vec::new();
        for (i, begin) in begins.iter().enumerate() {
            for level in begin.level..begin.level + begin.cells {
                let first = i as u32;
                if next.is_some_and(|next| next.shared(keys[i]) >= level) {
                    crossing.push(Crossing { first, level });
                    above[level as usize] = NO_PARENT;
                    continue;
                }
                let parent = level.checked_sub(1).map_or(NO_PARENT, |up| above[up as usize]);
                above[level as usize] = depth_first.len() as u32;
                let (count, child, children) = (0, 0, 0);
                depth_first.push(Cell { first, count, level, parent, child, children });
            }
        }
        depth_first.par_iter_mut().for_each(|cell| {
            let from = &keys[cell.first as usize..];
            let is_in = |other: &Key| other.shared(from[0]) >= cell.level;
            cell.count = from.partition_point(is_in) as u32;
        });
        (by_level(&depth_first), crossing)
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// The cells without a parent, in the order of their numbers.
    pub fn roots(&self) -> impl Iterator<Item = u32> + '_ {
        let numbered = (0..).zip(&self.cells);
        numbered.filter(|(_, cell)| cell.parent == NO_PARENT).map(|(number, _)| number)
    }

    /// Whether there are no cells, because no body is in the cube.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }
}

/// The cells that begin at one body.
#[derive(Clone, Copy)]
struct Begin {
    /// Level of the first of them.
    level: u32,
    /// Number of cells, each one level deeper than the one before.
    cells: u32,
}

struct Runs<'a> {
    keys: &'a [Key],
    leaf: usize,
}

impl Runs<'_> {
    fn shared(&self, i: usize, j: usize) -> u32 {
        self.keys[i].shared(self.keys[j])
    }

    /// One more than the deepest level of a run that begins at `i` or before and reaches past body
    /// `i + leaf`; 0 if not even the root does.
    fn reaches(&self, i: usize) -> u32 {
        if i + self.leaf < self.keys.len() { self.shared(i, i + self.leaf) + 1 } else { 0 }
    }

    /// Which cells begin at body `i`.
    fn begin(&self, i: usize) -> Begin {
        // Levels below this one begin anew at i; the root begins at body 0.
        let level = if i == 0 { 0 } else { self.shared(i - 1, i) + 1 };
        if level > LEVELS {
            return Begin { level, cells: 0 };
        }
        let least = u32::from(i == 0 || self.is_divided(i, level - 1));
        let deepest = self.reaches(i).min(LEVELS);
        Begin { level, cells: least.max((deepest + 1).saturating_sub(level)) }
    }

    /// Whether the run of `level` that contains, but does not begin with, body `i` holds more than
    /// a leaf.
    fn is_divided(&self, i: usize, level: u32) -> bool {
        if i >= self.leaf && self.shared(i - self.leaf, i) >= level {
            return true;
        }
        // The run begins at most leaf - 1 bodies before i.
        let (mut low, mut high) = ((i + 1).saturating_sub(self.leaf), i - 1);
        while low < high {
            let middle = (low + high) / 2;
            if self.shared(middle, i) >= level {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        self.reaches(low) > level
    }
}

/// Reorders cells from depth-first to level by level.
fn by_level(depth_first: &[Cell]) -> Cells {
    let mut levels = vec![0u32; LEVELS as usize + 2];
    for cell in depth_first {
        levels[cell.level as usize + 1] += 1;
    }
    let deepest = levels.iter().rposition(|count| *count > 0).unwrap_or(0);
    levels.truncate(deepest + 1);
    for level in 1..levels.len() {
        levels[level] += levels[level - 1];
    }
    let mut next = levels.clone();
    let mut rank = vec![0u32; depth_first.len()];
    for (rank, cell) in rank.iter_mut().zip(depth_first) {
        let next = &mut next[cell.level as usize];
        *rank = *next;
        *next += 1;
    }
    let mut cells = depth_first.to_vec();
    for (number, cell) in depth_first.iter().enumerate() {
        let parent = cell.parent;
        let parent = if parent == NO_PARENT { parent } else { rank[parent as usize] };
        cells[rank[number] as usize] = Cell { parent, ..*cell };
    }
    // Levels are consecutive and siblings adjacent.
    for number in 0..cells.len() {
        let parent = cells[number].parent as usize;
        if let Some(parent) = cells.get_mut(parent) {
            if parent.children == 0 {
                parent.child = number as u32;
            }
            parent.children += 1;
        }
    }
    Cells { cells, levels }
}
