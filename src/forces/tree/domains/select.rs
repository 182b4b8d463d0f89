//! Which cells of a part the groups of another rank open.

use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use super::super::Cells;

/// The box around sinks, and the reach that the opening rule gives them
/// ([`Opening::reach`](super::super::Opening::reach)).
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct SinkBox {
    /// The lower corner.
    pub lower: [f32; 3],
    /// The upper corner.
    pub upper: [f32; 3],
    /// The least reach of the sinks.
    pub reach: f32,
}

impl SinkBox {
    /// The box around both. A cell that it accepts is accepted by both: its distance to a cell is
    /// at most theirs, and its reach is their minimum.
    fn with(self, other: Self) -> Self {
        Self {
            lower: std::array::from_fn(|axis| self.lower[axis].min(other.lower[axis])),
            upper: std::array::from_fn(|axis| self.upper[axis].max(other.upper[axis])),
            reach: self.reach.min(other.reach),
        }
    }

    /// The square of its diagonal, whose bits have the order of the numbers.
    fn size(&self) -> u32 {
        let squared = |axis: usize| (self.upper[axis] - self.lower[axis]).powi(2);
        (squared(0) + squared(1) + squared(2)).to_bits()
    }
}

/// At most `most` boxes that cover `groups`, which are in the order of the curve: the largest box
/// is divided first. (Boxes of equal numbers of groups select three to seven times as many cells,
/// since those of the outskirts enclose the core.)
pub fn boxes(groups: &[SinkBox], most: usize) -> Vec<SinkBox> {
    if groups.len() <= most {
        return groups.to_vec();
    }
    // Boxes around 1, 2, 4, ... consecutive groups.
    let mut heights = vec![groups.to_vec()];
    while heights[heights.len() - 1].len() > 1 {
        let below = &heights[heights.len() - 1];
        heights.push(below.chunks(2).map(|pair| pair[0].with(pair[pair.len() - 1])).collect());
    }
    let mut largest = BinaryHeap::from([(u32::MAX, heights.len() - 1, 0)]);
    let mut whole = Vec::new();
    while largest.len() + whole.len() < most
        && let Some((_, height, number)) = largest.pop()
    {
        match height.checked_sub(1) {
            None => whole.push(heights[0][number]),
            Some(below) => {
                let children = heights[below].iter().enumerate().skip(2 * number).take(2);
                largest.extend(children.map(|(child, sinks)| (sinks.size(), below, child)));
            }
        }
    }
    whole.extend(largest.into_iter().map(|(_, height, number)| heights[height][number]));
    whole
}

/// For each cell of a part whether one of `boxes` opens it. `opens` is the test of a cell's number
/// and a box; no descendant of a cell that is not opened is opened.
pub fn select(
    cells: &Cells,
    boxes: &[SinkBox],
    opens: impl Fn(usize, &SinkBox) -> bool + Sync,
) -> Vec<bool> {
    let opened: Vec<AtomicBool> = cells.cells.iter().map(|_| AtomicBool::new(false)).collect();
    let roots: Vec<u32> = cells.roots().collect();
    let all: Vec<&SinkBox> = boxes.iter().collect();
    roots.par_iter().for_each(|root| visit(cells, *root, &all, &opens, &opened));
    opened.into_iter().map(AtomicBool::into_inner).collect()
}

/// Tests a cell and those inside it; `boxes` are those that open its parent.
fn visit(
    cells: &Cells,
    number: u32,
    boxes: &[&SinkBox],
    opens: &(impl Fn(usize, &SinkBox) -> bool + Sync),
    opened: &[AtomicBool],
) {
    let opening: Vec<&SinkBox> =
        boxes.iter().copied().filter(|sinks| opens(number as usize, sinks)).collect();
    if opening.is_empty() {
        return;
    }
    opened[number as usize].store(true, Relaxed);
    let cell = &cells.cells[number as usize];
    if !cell.is_leaf() {
        for child in cell.child..cell.child + cell.children {
            visit(cells, child, &opening, opens, opened);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_enclose_groups_and_largest_is_divided_first() {
        let at = |x: f32, reach: f32| SinkBox { lower: [x; 3], upper: [x + 1.0; 3], reach };
        // Two dense runs, far from each other.
        let groups: Vec<SinkBox> = (0..100u8)
            .map(|i| at(f32::from(i) + if i < 37 { 0.0 } else { 1e4 }, 1.0 / (1.0 + f32::from(i))))
            .collect();
        for most in [1, 2, 7, 50, 99, 100, 200] {
            let found = boxes(&groups, most);
            assert!(found.len() <= most && found.len() >= most.min(100) - 1, "{}", found.len());
            for group in &groups {
                assert!(found.iter().any(|found| found.with(*group) == *found));
            }
        }
        let wide =
            |found: &[SinkBox]| found.iter().filter(|b| b.upper[0] - b.lower[0] > 1e3).count();
        assert_eq!(wide(&boxes(&groups, 1)), 1);
        assert_eq!(wide(&boxes(&groups, 12)), 0);
        assert!(boxes(&[], 5).is_empty());
    }
}
