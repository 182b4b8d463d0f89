//! What came back from the device, in the caller's units.

use glam::DVec3;
use rayon::prelude::*;

use super::frame::Units;
use super::records::MANY;
use super::{DirectVariant, Near};
use crate::forces::{Answers, Lists, NO_SOURCE, Precision};

/// Sums and nearest sources into `out`, which has room for what is wanted.
/// `words`: of sums with who is nearest. `distance_of` tells how far a sink is from its nearest.
pub(super) fn answers(
    words: &[u32],
    variant: &DirectVariant,
    units: &Units,
    distance_of: impl Fn(usize, u32) -> f64 + Sync,
    out: &mut Answers,
) {
    let Answers { acceleration, jerk, snap, potential, nearest, nearest_distance, .. } = out;
    // All of a part of the sinks at once: to wake other threads takes as long as several hundred of them.
    let mut parts: Vec<Part> = Vec::new();
    let (mut jerk, mut snap) = (jerk.chunks_mut(PART), snap.chunks_mut(PART));
    let (mut potential, mut nearest) = (potential.chunks_mut(PART), nearest.chunks_mut(PART));
    let mut distance = nearest_distance.chunks_mut(PART);
    let each = words_of(variant);
    let is_large = acceleration.len() >= MANY;
    let one = |part: Part| match variant.precision {
        Precision::Single => part.fill::<false>(variant, units, &distance_of, single),
        Precision::DoubleSingle => part.fill::<true>(variant, units, &distance_of, pair),
        Precision::Double => part.fill::<false>(variant, units, &distance_of, double),
    };
    let all = acceleration.chunks_mut(PART).zip(words.chunks(PART * each)).enumerate();
    for (k, (acceleration, words)) in all {
        let part = Part {
            first: k * PART,
            words,
            acceleration,
            jerk: jerk.next().unwrap_or_default(),
            snap: snap.next().unwrap_or_default(),
            potential: potential.next().unwrap_or_default(),
            nearest: nearest.next().unwrap_or_default(),
            distance: distance.next().unwrap_or_default(),
        };
        match is_large {
            true => parts.push(part),
            false => one(part),
        }
    }
    parts.into_par_iter().for_each(one);
}

/// Sinks of a part.
const PART: usize = 256;

/// The answers for some sinks; what is not wanted is empty.
struct Part<'a> {
    first: usize,
    words: &'a [u32],
    acceleration: &'a mut [DVec3],
    jerk: &'a mut [DVec3],
    snap: &'a mut [DVec3],
    potential: &'a mut [f64],
    nearest: &'a mut [u32],
    distance: &'a mut [f64],
}

/// Words of a sink's sums, with who is nearest.
fn words_of(variant: &DirectVariant) -> usize {
    variant.results() * variant.vector_bytes() as usize / size_of::<u32>()
}

impl Part<'_> {
    /// `value` reads one number of a sum.
    fn fill<const PAIRS: bool>(
        self,
        variant: &DirectVariant,
        units: &Units,
        distance_of: &impl Fn(usize, u32) -> f64,
        value: impl Fn(&[u32], usize) -> f64,
    ) {
        let each = words_of(variant);
        let sum_words = if PAIRS { 8 } else { variant.vector_bytes() as usize / 4 };
        let vector = |sum: &[u32]| DVec3::new(value(sum, 0), value(sum, 1), value(sum, 2));
        for (i, row) in self.words.chunks_exact(each).enumerate() {
            let mut sums = row.chunks_exact(sum_words);
            if let (Some(sum), Some(out)) = (sums.next(), self.acceleration.get_mut(i)) {
                *out = vector(sum) * units.acceleration;
                if let Some(out) = self.potential.get_mut(i) {
                    *out = value(sum, 3) * units.potential;
                }
            }
            if let Some(out) = self.jerk.get_mut(i) {
                *out = sums.next().map_or(DVec3::NAN, &vector) * units.jerk;
            }
            if let Some(out) = self.snap.get_mut(i) {
                *out = sums.next().map_or(DVec3::NAN, &vector) * units.snap;
            }
            if let Some(out) = self.nearest.get_mut(i) {
                *out = neighbour(row, variant, 1);
                if let Some(distance) = self.distance.get_mut(i) {
                    *distance = distance_of(self.first + i, *out);
                }
            }
        }
    }
}

fn single(sum: &[u32], axis: usize) -> f64 {
    f64::from(f32::from_bits(sum[axis]))
}

fn pair(sum: &[u32], axis: usize) -> f64 {
    single(sum, axis) + single(sum, axis + 4)
}

fn double(words: &[u32], at: usize) -> f64 {
    f64::from_bits(u64::from(words[2 * at]) | u64::from(words[2 * at + 1]) << 32)
}

/// The nearest source (1) or the number of sources within the radius (2) of the sink with these words.
fn neighbour(row: &[u32], variant: &DirectVariant, which: usize) -> u32 {
    if variant.near == Near::Nothing {
        return NO_SOURCE;
    }
    let at = 4 * variant.sums() + which;
    match variant.precision {
        Precision::Double => double(row, at) as u32,
        _ => row[at],
    }
}

/// The lists of `n` sinks, `each` entries apart, of which `asked` at most were wanted. The device lists whom it
/// cannot tell from one within: those that are not are struck out, and not counted.
pub(super) fn lists(
    copied: &[&[u32]],
    variant: &DirectVariant,
    n: usize,
    (each, asked): (usize, usize),
    is_within: impl Fn(usize, u32) -> bool,
    out: &mut Lists,
) {
    let mut kept = Vec::new();
    for (i, row) in copied[0].chunks_exact(words_of(variant)).take(n).enumerate() {
        let listed = neighbour(row, variant, 2);
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
