//! Counts bodies that f32 can hardly tell apart.

use glam::DVec3;
use rayon::prelude::*;

use super::Frame;
use crate::error::Result;
use crate::exchange::Ranks;
use crate::math::AllReduce;

/// A direction along which neither planes nor lattices of bodies line up.
const ALONG: DVec3 = DVec3::new(0.619_721_3, 0.530_497_1, 0.578_306_9);
/// Another one, across the first.
const ACROSS: DVec3 = DVec3::new(0.743_290_1, -0.623_890_3, -0.241_706_7);

/// In units of the spacing at a body, a bound on the projection of a cube with edges of two
/// spacings: each component of ALONG is below 1.
const REACH: f64 = 3.0;

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
    coincident_among(frame, position, position.len())
}

/// [`coincident`] of the bodies of all ranks, of which this one has those at `position`. A rank
/// counts those in a range along the direction, and is sent its halo, those just outside.
///
/// # Errors
/// A rank is gone.
pub(crate) fn coincident_of_all(ranks: &Ranks, frame: &Frame, position: &[DVec3]) -> Result<usize> {
    const SAMPLES: usize = 1024;
    const CHUNK: usize = 1 << 16;
    let of = |i: usize| along(frame, position[i]);
    let samples = (0..position.len()).step_by(position.len().div_ceil(SAMPLES).max(1));
    let mut sampled: Vec<f64> =
        ranks.gather(&samples.map(of).collect::<Vec<_>>())?.into_iter().flatten().collect();
    sampled.sort_unstable_by(f64::total_cmp);
    let part = sampled.len().div_ceil(ranks.size()).max(1);
    let ends: Vec<f64> = sampled.chunks(part).skip(1).map(|samples| samples[0]).collect();
    let part_of = |along: f64| ends.partition_point(|end| *end <= along);
    // Of each chunk of the bodies: those that each rank counts, and those in its halo. Two bodies
    // at most a spacing apart have spacings that differ by a factor of at most 2.
    let of_chunk = |chunk: &[DVec3]| {
        let (mut own, mut halo) = (vec![Vec::new(); ranks.size()], vec![Vec::new(); ranks.size()]);
        for place in chunk {
            let reach = 2.0 * REACH * frame.spacing(*place);
            let (along, place) = (along(frame, *place), place.to_array());
            let part = part_of(along);
            own[part].push(place);
            let near = part_of(along - reach)..=part_of(along + reach);
            near.filter(|near| *near != part).for_each(|near| halo[near].push(place));
        }
        [own, halo]
    };
    let chunks: Vec<_> = position.par_chunks(CHUNK).map(of_chunk).collect();
    let [own, halo] = [0, 1].map(|which| {
        let of =
            |rank: usize| chunks.iter().flat_map(|chunk| &chunk[which][rank]).copied().collect();
        (0..ranks.size()).into_par_iter().map(of).collect::<Vec<Vec<[f64; 3]>>>()
    });
    drop(chunks);
    let exchange = |sent: Vec<Vec<[f64; 3]>>| -> Result<Vec<DVec3>> {
        let received = ranks.send_each(&sent)?;
        drop(sent);
        Ok(received.into_iter().flatten().map(DVec3::from).collect())
    };
    let mut places = exchange(own)?;
    let counted = places.len();
    places.extend(exchange(halo)?);
    let mut count = [coincident_among(frame, &places, counted) as i128];
    ranks.integers(&mut count)?;
    Ok(count[0] as usize)
}

fn along(frame: &Frame, position: DVec3) -> f64 {
    (position - DVec3::from(frame.origin)).dot(ALONG)
}

/// How many of the first `counted` bodies have another so near, among all.
fn coincident_among(frame: &Frame, position: &[DVec3], counted: usize) -> usize {
    let place = |i: usize| {
        let from_origin = position[i] - DVec3::from(frame.origin);
        Place {
            along: along(frame, position[i]),
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
        let reach = REACH * spacing;
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
    let is_counted = |k: &usize| (order[*k].body as usize) < counted;
    (0..order.len()).into_par_iter().filter(is_counted).filter(|&k| has_near(k)).count()
}
