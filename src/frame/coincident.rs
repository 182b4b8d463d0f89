//! Bodies that f32 can hardly tell apart.

use glam::DVec3;
use rayon::prelude::*;

use super::Frame;

/// How many of the bodies at `position` (of the time of the frame's epoch) have another one so near that the
/// two differ by no more than the spacing of f32 coordinates there, along every axis: their distance, and
/// so the pull between them, is mostly rounding.
///
/// Bodies are looked for in eight grids with cells of two spacings, moved by one spacing against each other:
/// any two that are near enough share a cell of one of them.
pub fn coincident(frame: &Frame, position: &[DVec3]) -> usize {
    let spacing: Vec<f64> = position.par_iter().map(|&x| frame.spacing(x)).collect();
    let mut is_near = vec![false; position.len()];
    let mut cells: Vec<([i64; 4], u32)> = Vec::with_capacity(position.len());
    for shift in 0..8u32 {
        let cell = |i: usize| {
            // The spacing doubles from shell to shell: it tells the grid.
            let grid =
                i64::from(spacing[i].to_bits() >> 52 == 0) + (spacing[i].to_bits() >> 52) as i64;
            let at = (position[i] - DVec3::from(frame.origin)) / spacing[i];
            let index = |axis: usize| {
                let moved = at[axis] + f64::from((shift >> axis) & 1);
                (moved / 2.0).floor() as i64
            };
            ([grid, index(0), index(1), index(2)], i as u32)
        };
        cells.clear();
        cells.par_extend((0..position.len()).into_par_iter().map(cell));
        cells.par_sort_unstable();
        for members in cells.chunk_by(|a, b| a.0 == b.0).filter(|members| members.len() > 1) {
            mark(members, position, &spacing, &mut is_near);
        }
    }
    is_near.into_iter().filter(|near| *near).count()
}

/// Members of a cell are looked at two by two, as long as they are few; of many in two spacings nearly each
/// has one within one.
const FEW: usize = 64;

fn mark(members: &[([i64; 4], u32)], position: &[DVec3], spacing: &[f64], is_near: &mut [bool]) {
    for (k, &(_, i)) in members.iter().enumerate() {
        let i = i as usize;
        let near = |j: usize| {
            let apart = (position[i] - position[j]).abs();
            apart.max_element() <= spacing[i]
        };
        let others = members[k + 1..].iter().map(|&(_, j)| j as usize);
        if members.len() > FEW {
            is_near[i] = true;
            continue;
        }
        for j in others {
            if near(j) {
                (is_near[i], is_near[j]) = (true, true);
            }
        }
    }
}
