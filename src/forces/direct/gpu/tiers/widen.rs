//! What came back from the device, in the caller's units.

use glam::DVec3;
use rayon::prelude::*;

use super::frame::Units;
use super::records::MANY;
use super::{DirectVariant, Near};
use crate::forces::{Answers, Lists, NO_SOURCE, Precision};

/// Sums and nearest sources into `out`, which has room for what is wanted.
/// `copied`: words of sums with who is nearest, of lists. `distance_of` tells how far a sink is from its nearest.
pub(super) fn answers(
    copied: &[Vec<u32>],
    variant: &DirectVariant,
    units: &Units,
    distance_of: impl Fn(usize, u32) -> f64 + Sync,
    out: &mut Answers,
) {
    let words = &copied[0];
    let single = |at: usize| f64::from(f32::from_bits(words[at]));
    let value = |i: usize, sum: usize, axis: usize| -> f64 {
        match variant.precision {
            Precision::Single => single((i * variant.results() + sum) * 4 + axis),
            Precision::DoubleSingle => {
                let at = (i * variant.results() + 2 * sum) * 4 + axis;
                single(at) + single(at + 4)
            }
            Precision::Double => double(words, ((i * variant.results() + sum) * 4 + axis) * 2),
        }
    };
    let vector = |i, sum| DVec3::new(value(i, sum, 0), value(i, sum, 1), value(i, sum, 2));
    let Answers { acceleration, jerk, snap, potential, nearest, nearest_distance, .. } = out;
    // All of a part of the sinks at once: to wake other threads takes as long as several hundred of them.
    let mut parts: Vec<Part> = Vec::new();
    let (mut jerk, mut snap) = (jerk.chunks_mut(PART), snap.chunks_mut(PART));
    let (mut potential, mut nearest) = (potential.chunks_mut(PART), nearest.chunks_mut(PART));
    let mut distance = nearest_distance.chunks_mut(PART);
    for (k, acceleration) in acceleration.chunks_mut(PART).enumerate() {
        parts.push(Part {
            first: k * PART,
            acceleration,
            jerk: jerk.next().unwrap_or_default(),
            snap: snap.next().unwrap_or_default(),
            potential: potential.next().unwrap_or_default(),
            nearest: nearest.next().unwrap_or_default(),
            distance: distance.next().unwrap_or_default(),
        });
    }
    let one = |part: Part| {
        let sinks = part.first..part.first + part.acceleration.len();
        let each = |sum: usize, unit: f64, out: &mut [DVec3]| {
            let sinks = sinks.clone();
            out.iter_mut().zip(sinks).for_each(|(out, i)| *out = vector(i, sum) * unit);
        };
        each(0, units.acceleration, part.acceleration);
        each(1, units.jerk, part.jerk);
        each(2, units.snap, part.snap);
        for (out, i) in part.potential.iter_mut().zip(sinks.clone()) {
            *out = value(i, 0, 3) * units.potential;
        }
        for (out, i) in part.nearest.iter_mut().zip(sinks.clone()) {
            *out = neighbour(copied, variant, i, 1);
        }
        for ((out, nearest), i) in part.distance.iter_mut().zip(part.nearest).zip(sinks) {
            *out = distance_of(i, *nearest);
        }
    };
    if parts.len() < MANY.div_ceil(PART) {
        parts.into_iter().for_each(one);
    } else {
        parts.into_par_iter().for_each(one);
    }
}

/// Sinks of a part.
const PART: usize = 256;

/// The answers for some sinks; what is not wanted is empty.
struct Part<'a> {
    first: usize,
    acceleration: &'a mut [DVec3],
    jerk: &'a mut [DVec3],
    snap: &'a mut [DVec3],
    potential: &'a mut [f64],
    nearest: &'a mut [u32],
    distance: &'a mut [f64],
}

/// The nearest source (1) or the number of sources within the radius (2) of sink `i`.
fn neighbour(copied: &[Vec<u32>], variant: &DirectVariant, i: usize, which: usize) -> u32 {
    if variant.near == Near::Nothing {
        return NO_SOURCE;
    }
    let at = 4 * (i * variant.results() + variant.sums()) + which;
    match variant.precision {
        Precision::Double => double(&copied[0], 2 * at) as u32,
        _ => copied[0][at],
    }
}

fn double(words: &[u32], at: usize) -> f64 {
    f64::from_bits(u64::from(words[at]) | u64::from(words[at + 1]) << 32)
}

/// The lists of `n` sinks, `each` entries apart, of which `asked` at most were wanted. The device lists whom it
/// cannot tell from one within: those that are not are struck out, and not counted.
pub(super) fn lists(
    copied: &[Vec<u32>],
    variant: &DirectVariant,
    n: usize,
    (each, asked): (usize, usize),
    is_within: impl Fn(usize, u32) -> bool,
    out: &mut Lists,
) {
    let mut kept = Vec::new();
    for i in 0..n {
        let listed = neighbour(copied, variant, i, 2);
        let length = (listed as usize).min(each);
        kept.clear();
        kept.extend_from_slice(&copied[1][i * each..i * each + length]);
        kept.retain(|&j| is_within(i, j));
        let found = listed - (length - kept.len()) as u32;
        // Segment by segment so far.
        kept.sort_unstable();
        kept.truncate(asked);
        out.push(&kept, found);
    }
}
