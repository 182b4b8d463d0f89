//! The common cells: those that reach over a cut, and their children. All ranks have all of them.

use bytemuck::{Pod, Zeroable};

use super::super::{Cell, Cells, Crossing, Key, LEVELS, NO_PARENT, PointMass};

/// A cell that reaches over a cut, as the rank in whose part it begins sends it to all.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Announced {
    /// Key of its first body.
    pub key: Key,
    /// Its level.
    pub level: u32,
    /// Its first body along the whole curve.
    pub first: u32,
}

impl Announced {
    /// The message about `crossing`, a cell of the part that begins at body `begin` of the whole
    /// curve and has these `keys`.
    pub fn of(crossing: Crossing, keys: &[Key], begin: usize) -> Self {
        let Crossing { first, level } = crossing;
        Self { key: keys[first as usize], level, first: first + begin as u32 }
    }

    /// How many bodies of a part, which begins at body `begin` of the whole curve and has these
    /// `keys`, are in the cell.
    pub fn count(&self, keys: &[Key], begin: usize) -> usize {
        let own = (self.first as usize).saturating_sub(begin).min(keys.len());
        keys[own..].partition_point(|other| self.key.shared(*other) >= self.level)
    }

    /// The bodies of such a part that are in the cell.
    pub fn bodies<'a, B>(&self, keys: &[Key], begin: usize, bodies: &'a [B]) -> &'a [B] {
        let own = (self.first as usize).saturating_sub(begin).min(keys.len());
        &bodies[own..][..self.count(keys, begin)]
    }

    /// Whether it is a leaf: `count` is its number of bodies on all ranks, `leaf` the most in a
    /// leaf.
    pub fn is_leaf(&self, count: usize, leaf: usize) -> bool {
        count <= leaf || self.level == LEVELS
    }
}

/// A cell that lies within a part while its parent does not.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Root {
    /// Its first body along the whole curve.
    pub first: u32,
    /// Number of bodies.
    pub count: u32,
    /// Its level.
    pub level: u32,
    /// Number of children.
    pub children: u32,
}

impl Root {
    /// The roots of a part that begins at body `begin` of the whole curve.
    pub fn all(cells: &Cells, begin: usize) -> Vec<Self> {
        let root = |number: u32| {
            let Cell { first, count, level, children, .. } = cells.cells[number as usize];
            Self { first: first + begin as u32, count, level, children }
        };
        cells.roots().map(root).collect()
    }
}

/// The common cells, level by level along the curve.
#[derive(Clone, Debug, Default)]
pub struct Top<M> {
    /// Cells; those of a part, whose children or bodies are not here, have `child` and `first` 0.
    pub cells: Vec<Cell>,
    /// Their payloads.
    pub moments: Vec<M>,
    /// For each cell the rank in whose part it is whole, and its number among the roots there.
    pub owners: Vec<Option<(usize, usize)>>,
    /// The bodies of leaves that cross.
    pub bodies: Vec<PointMass>,
    /// Their positions along the whole curve.
    pub places: Vec<u32>,
}

/// Payloads that can be summed up the tree.
pub trait Summed: Pod {
    /// The payload of a cell with these children, in the order of the curve.
    fn of_children(children: &[Self]) -> Self;

    /// The payload of a leaf with these bodies, in the order of the curve.
    fn of_bodies(bodies: &[PointMass]) -> Self;
}

impl<M: Summed> Top<M> {
    /// The common cells, from the crossing cells of all parts with their numbers of bodies, the
    /// concatenated `bodies` of those that are leaves (of up to `leaf`), and the roots of each part
    /// with their payloads.
    pub fn new(
        crossing: &[(Announced, usize)],
        bodies: Vec<PointMass>,
        roots: &[(Vec<Root>, Vec<M>)],
        leaf: usize,
    ) -> Self {
        let mut found: Vec<(Cell, Option<(usize, usize)>)> = Vec::new();
        let mut along: Vec<u32> = Vec::with_capacity(bodies.len());
        for &(cell, count) in crossing {
            let first = if cell.is_leaf(count, leaf) { along.len() as u32 } else { 0 };
            if cell.is_leaf(count, leaf) {
                along.extend(cell.first..cell.first + count as u32);
            }
            let (level, parent) = (cell.level, NO_PARENT);
            // `child` holds the position on the curve until the cells are sorted by it.
            let cell =
                Cell { first, count: count as u32, level, parent, child: cell.first, children: 0 };
            found.push((cell, None));
        }
        for (rank, (roots, _)) in roots.iter().enumerate() {
            for (number, &Root { first, count, level, children }) in roots.iter().enumerate() {
                let parent = NO_PARENT;
                let cell = Cell { first: 0, count, level, parent, child: first, children };
                found.push((cell, Some((rank, number))));
            }
        }
        found.sort_by_key(|(cell, _)| (cell.level, cell.child));
        let places: Vec<u32> = found.iter().map(|(cell, _)| cell.child).collect();
        let (mut cells, owners): (Vec<Cell>, Vec<_>) = found.into_iter().unzip();
        cells.iter_mut().for_each(|cell| cell.child = 0);
        for number in 0..cells.len() {
            let Cell { count, level, .. } = cells[number];
            let (first, end) = (places[number], places[number] + count);
            let is_leaf = count as usize <= leaf || level == LEVELS;
            if owners[number].is_some() || is_leaf {
                continue;
            }
            let from = cells.partition_point(|cell| cell.level <= level);
            let to = from + cells[from..].partition_point(|cell| cell.level == level + 1);
            let child = from + places[from..to].partition_point(|place| *place < first);
            let behind = from + places[from..to].partition_point(|place| *place < end);
            cells[number].child = child as u32;
            cells[number].children = (behind - child) as u32;
            cells[child..behind].iter_mut().for_each(|cell| cell.parent = number as u32);
        }
        let mut moments = vec![M::zeroed(); cells.len()];
        for number in (0..cells.len()).rev() {
            let Cell { first, count, child, children, .. } = cells[number];
            let range = |first: u32, count: u32| first as usize..(first + count) as usize;
            moments[number] = match owners[number] {
                Some((rank, root)) => roots[rank].1[root],
                None if children > 0 => M::of_children(&moments[range(child, children)]),
                None => M::of_bodies(&bodies[range(first, count)]),
            };
        }
        Self { cells, moments, owners, bodies, places: along }
    }
}
