//! What came back from the device, in the caller's units.

use glam::DVec3;

use super::DirectVariant;
use super::frame::Units;
use crate::forces::{Answers, Lists, NO_SOURCE, Precision};

/// Sums and nearest sources into `out`, which has room for what is wanted.
/// `copied`: words of sums, of nearest sources, of lists.
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
            Precision::Single => single((i * variant.sums() + sum) * 4 + axis),
            Precision::DoubleSingle => {
                let at = (i * variant.sums() + 2 * sum) * 4 + axis;
                single(at) + single(at + 4)
            }
            Precision::Double => double(words, ((i * variant.sums() + sum) * 4 + axis) * 2),
        }
    };
    let vector = |i, sum| DVec3::new(value(i, sum, 0), value(i, sum, 1), value(i, sum, 2));
    for (i, a) in out.acceleration.iter_mut().enumerate() {
        *a = vector(i, 0) * units.acceleration;
    }
    for (i, phi) in out.potential.iter_mut().enumerate() {
        *phi = value(i, 0, 3) * units.potential;
    }
    for (i, jerk) in out.jerk.iter_mut().enumerate() {
        *jerk = vector(i, 1) * units.jerk;
    }
    for (i, snap) in out.snap.iter_mut().enumerate() {
        *snap = vector(i, 2) * units.snap;
    }
    for (i, nearest) in out.nearest.iter_mut().enumerate() {
        *nearest = neighbour(copied, variant, i, 1);
    }
}

/// The nearest source (1) or the number of sources within the radius (2) of sink `i`.
fn neighbour(copied: &[Vec<u32>], variant: &DirectVariant, i: usize, which: usize) -> u32 {
    let Some(words) = copied.get(1) else { return NO_SOURCE };
    if variant.precision == Precision::Double {
        double(words, (4 * i + which) * 2) as u32
    } else {
        words[4 * i + which]
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
        kept.extend_from_slice(&copied[2][i * each..i * each + length]);
        kept.retain(|&j| is_within(i, j));
        let found = listed - (length - kept.len()) as u32;
        // Segment by segment so far.
        kept.sort_unstable();
        kept.truncate(asked);
        out.push(&kept, found);
    }
}
