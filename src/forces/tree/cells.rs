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
        let begins = begins(keys, own.clone(), leaf);
        let next = keys.get(own.end);
        let keys = &keys[own];
        // Depth first; `above` holds the current parents, of which those above `deepest` are open.
        let mut above = [NO_PARENT; LEVELS as usize + 1];
        let mut depth_first: Vec<Cell> = Vec::new();
        let mut crossing = Vec::new();
        let mut deepest = 0;
        let close = |cells: &mut Vec<Cell>, ended: &[u32], end: usize| {
            for &number in ended {
                if let Some(cell) = cells.get_mut(number as usize) {
                    cell.count = end as u32 - cell.first;
                }
            }
        };
        for (i, begin) in begins.iter().enumerate().filter(|(_, begin)| begin.cells > 0) {
            let levels = usize::from(begin.level)..usize::from(begin.level + begin.cells);
            // Where a cell ends, another of its level or of a higher one begins.
            close(&mut depth_first, &above[levels.start.min(deepest)..deepest], i);
            deepest = levels.end;
            for level in levels {
                let (first, number) = (i as u32, level as u32);
                if next.is_some_and(|next| next.shared(keys[i]) >= number) {
                    crossing.push(Crossing { first, level: number });
                    above[level] = NO_PARENT;
                    continue;
                }
                let parent = level.checked_sub(1).map_or(NO_PARENT, |up| above[up]);
                above[level] = depth_first.len() as u32;
                let (level, count, child, children) = (number, 0, 0, 0);
                depth_first.push(Cell { first, count, level, parent, child, children });
            }
        }
        close(&mut depth_first, &above[..deepest], keys.len());
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
    level: u8,
    /// Number of cells, each one level deeper than the one before.
    cells: u8,
}

/// The cells that begin at each body of the part `own` of the curve: levels that it does not share
/// with the body before, down to one below the deepest run around it that holds more than a leaf.
fn begins(keys: &[Key], own: Range<usize>, leaf: usize) -> Vec<Begin> {
    /// Bodies per task, few enough for its arrays to stay in the cache.
    const PART: usize = 1 << 12;
    let of_part = |start: usize| {
        let part = start..own.end.min(start + PART);
        let first = part.start.saturating_sub(leaf);
        // 1 + the level of the deepest cell that contains the bodies k and k + leaf, or 0.
        let reaches =
            |k: usize| keys.get(k + leaf).map_or(0, |other| keys[k].shared(*other) as u8 + 1);
        let mut deepest: Vec<u8> = (first..part.end).map(reaches).collect();
        // The maximum over each body and the `leaf` bodies before it, by windows of doubling
        // length.
        let mut before = 0;
        while before < leaf {
            let by = (before + 1).min(leaf - before);
            let mut larger = deepest.clone();
            for (larger, other) in larger.iter_mut().skip(by).zip(&deepest) {
                *larger = (*larger).max(*other);
            }
            (deepest, before) = (larger, before + by);
        }
        deepest.drain(..part.start - first);
        part.zip(deepest).map(|(i, deepest)| {
            let level = i.checked_sub(1).map_or(0, |last| keys[last].shared(keys[i]) as u8 + 1);
            let cells = (deepest.min(LEVELS as u8) + 1).saturating_sub(level);
            Begin { level, cells }
        })
    };
    let starts: Vec<usize> = own.clone().step_by(PART).collect();
    starts.into_par_iter().flat_map_iter(of_part).collect()
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
