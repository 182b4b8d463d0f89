//! Counts bodies that f32 can hardly tell apart.

use glam::DVec3;
use rayon::prelude::*;

use super::Frame;

/// A direction along which neither planes nor lattices of bodies line up.
const ALONG: DVec3 = DVec3::new(0.619_721_3, 0.530_497_1, 0.578_306_9);
/// Another one, across the first.
const ACROSS: DVec3 = DVec3::new(0.743_290_1, -0.623_890_3, -0.241_706_7);

/// A body's projections, and its number. Sixteen bytes: a hundred million of them are sorted.
struct Place {
    along: f64,
    /// In units of the frame, in f32.
    across: f32,
    body: u32,
}

/// The number of bodies at `position` (at the time of the frame's epoch) that have another so near
/// that along every axis the two differ by at most the spacing of f32 coordinates: their distance,
/// and so their attraction, is then mostly rounding error.
///
/// The bodies are sorted along a direction, where such pairs are near each other. Of a hundred
/// million bodies some dozens are within the reach of each along that direction; a second one
/// excludes nearly all of these without a look at their positions.
pub fn coincident(frame: &Frame, position: &[DVec3]) -> usize {
    let place = |i: usize| {
        let from_origin = position[i] - DVec3::from(frame.origin);
        Place {
            along: from_origin.dot(ALONG),
            across: (from_origin / frame.length).dot(ACROSS) as f32,
            body: i as u32,
        }
    };
    let mut order: Vec<Place> = (0..position.len()).into_par_iter().map(place).collect();
    order.par_sort_unstable_by(|a, b| a.along.total_cmp(&b.along));
    let has_near = |k: usize| {
        let Place { along, across, body } = order[k];
        let here = position[body as usize];
        let spacing = frame.spacing(here);
        // A bound on the projection of a cube with edges of two spacings: each component of ALONG
        // is below 1.
        let reach = 3.0 * spacing;
        // The same across, and the rounding of both projections to f32: they are below four times
        // the largest coordinate, so that is at most four spacings each.
        let reach_across = (11.0 * spacing / frame.length) as f32;
        let within = |other: &&Place| (other.along - along).abs() <= reach;
        let is_near = |other: &Place| {
            // Not finite if f32 does not hold the projections: such bodies are compared.
            let is_apart = (other.across - across).abs() > reach_across;
            let apart = || (position[other.body as usize] - here).abs().max_element();
            !is_apart && apart() <= spacing
        };
        order[k + 1..].iter().take_while(within).any(is_near)
            || order[..k].iter().rev().take_while(within).any(is_near)
    };
    (0..order.len()).into_par_iter().filter(|&k| has_near(k)).count()
}
