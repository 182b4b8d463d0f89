//! What came back from the device, in the caller's units.

use glam::DVec3;
use rayon::prelude::*;

use super::frame::Units;
use super::records::MANY;
use super::{DirectVariant, Near};
use crate::forces::{Answers, Lists, NO_SOURCE, Precision};

/// Sums and nearest sources into `out`, which has room for what is wanted.
/// `copied`: words of sums with who is nearest, of lists.
pub(super) fn answers(
    copied: &[Vec<u32>],
    variant: &DirectVariant,
    units: &Units,
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
    fill(&mut out.acceleration, |i| vector(i, 0) * units.acceleration);
    fill(&mut out.potential, |i| value(i, 0, 3) * units.potential);
    fill(&mut out.jerk, |i| vector(i, 1) * units.jerk);
    fill(&mut out.snap, |i| vector(i, 2) * units.snap);
    fill(&mut out.nearest, |i| neighbour(copied, variant, i, 1));
}

/// All of `out`, by all cores where there are many.
pub(super) fn fill<T: Send>(out: &mut [T], value: impl Fn(usize) -> T + Sync) {
    let one = |(i, out): (usize, &mut T)| *out = value(i);
    if out.len() < MANY {
        out.iter_mut().enumerate().for_each(one);
    } else {
        out.par_iter_mut().enumerate().with_min_len(MANY / 8).for_each(one);
    }
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
