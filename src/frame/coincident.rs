//! Counts bodies that f32 can hardly tell apart.

use glam::DVec3;
use rayon::prelude::*;

use super::Frame;

/// A direction along which neither planes nor lattices of bodies line up.
const ALONG: DVec3 = DVec3::new(0.619_721_3, 0.530_497_1, 0.578_306_9);

/// The number of bodies at `position` (at the time of the frame's epoch) that have another so near
/// that along every axis the two differ by at most the spacing of f32 coordinates: their distance,
/// and so their attraction, is then mostly rounding error.
///
/// The bodies are sorted along a direction, where such pairs are adjacent.
pub fn coincident(frame: &Frame, position: &[DVec3]) -> usize {
    let place = |i: usize| ((position[i] - DVec3::from(frame.origin)).dot(ALONG), i as u32);
    let mut order: Vec<(f64, u32)> = (0..position.len()).into_par_iter().map(place).collect();
    order.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let has_near = |k: usize| {
        let here = position[order[k].1 as usize];
        let spacing = frame.spacing(here);
        // A bound on the projection of a cube with edges of two spacings: each component of ALONG
        // is below 1.
        let reach = 3.0 * spacing;
        let within = |&&(along, _): &&(f64, u32)| (along - order[k].0).abs() <= reach;
        let is_near =
            |&(_, j): &(f64, u32)| (position[j as usize] - here).abs().max_element() <= spacing;
        order[k + 1..].iter().take_while(within).any(is_near)
            || order[..k].iter().rev().take_while(within).any(is_near)
    };
    (0..order.len()).into_par_iter().filter(|&k| has_near(k)).count()
}
