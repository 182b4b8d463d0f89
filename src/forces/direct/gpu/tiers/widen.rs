//! Converts device results to the caller's units.

use glam::DVec3;
use rayon::prelude::*;

use super::frame::ResultUnits;
use super::records::{MANY, Wide, in_wide_registers};
use super::{DirectVariant, NeighbourOutput};
use crate::forces::{Forces, NO_SOURCE, NeighbourLists, Precision};

/// Converts sums and nearest sources into `out`, which has space for the requested outputs.
/// `words`: sums with nearest sources. `distance_of` returns the distance of a sink from its
/// nearest source.
pub(super) fn answers(
    words: &[u32],
    variant: &DirectVariant,
    units: &ResultUnits,
    distance_of: impl Fn(usize, u32) -> f64 + Sync,
    out: &mut Forces,
) {
    let Forces { acceleration, jerk, snap, potential, nearest, nearest_distance, .. } = out;
    // A task takes 256 sinks: waking other threads takes as long as several hundred.
    let mut tasks: Vec<SinkOutputs<_>> = Vec::new();
    let (mut jerk, mut snap) = (jerk.chunks_mut(EACH), snap.chunks_mut(EACH));
    let (mut potential, mut nearest) = (potential.chunks_mut(EACH), nearest.chunks_mut(EACH));
    let mut distance = nearest_distance.chunks_mut(EACH);
    let is_large = acceleration.len() >= MANY;
    let words = words.chunks(EACH * words_of(variant));
    for (k, (acceleration, words)) in acceleration.chunks_mut(EACH).zip(words).enumerate() {
        let task = SinkOutputs {
            variant,
            units,
            distance_of: &distance_of,
            first: k * EACH,
            words,
            acceleration,
            jerk: jerk.next().unwrap_or_default(),
            snap: snap.next().unwrap_or_default(),
            potential: potential.next().unwrap_or_default(),
            nearest: nearest.next().unwrap_or_default(),
            distance: distance.next().unwrap_or_default(),
        };
        match is_large {
            true => tasks.push(task),
            false => in_wide_registers(task),
        }
    }
    tasks.into_par_iter().for_each(in_wide_registers);
}

/// Sinks per task.
const EACH: usize = 256;

/// Outputs to be filled for some sinks; those not requested are empty.
struct SinkOutputs<'a, D> {
    variant: &'a DirectVariant,
    units: &'a ResultUnits,
    distance_of: &'a D,
    first: usize,
    words: &'a [u32],
    acceleration: &'a mut [DVec3],
    jerk: &'a mut [DVec3],
    snap: &'a mut [DVec3],
    potential: &'a mut [f64],
    nearest: &'a mut [u32],
    distance: &'a mut [f64],
}

impl<D: Fn(usize, u32) -> f64> Wide for SinkOutputs<'_, D> {
    type Done = ();

    #[inline(always)]
    fn work(self) {
        match self.variant.precision {
            Precision::Single => self.fill::<4>(single),
            Precision::DoubleSingle => self.fill::<8>(pair),
            Precision::Double => self.fill::<8>(double),
        }
    }
}

/// Words of a sink's sums, with its nearest source.
fn words_of(variant: &DirectVariant) -> usize {
    variant.results() * variant.vector_bytes() as usize / size_of::<u32>()
}

impl<D: Fn(usize, u32) -> f64> SinkOutputs<'_, D> {
    /// `values` decodes the four components of a sum from its words.
    #[inline(always)]
    fn fill<const WORDS: usize>(self, values: impl Fn(&[u32; WORDS]) -> [f64; 4]) {
        let Self { variant, units, distance_of, .. } = self;
        let each = words_of(variant);
        for (i, row) in self.words.chunks_exact(each).enumerate() {
            let (sums, _) = row.as_chunks::<WORDS>();
            if let (Some(sum), Some(out)) = (sums.first(), self.acceleration.get_mut(i)) {
                let a = units.acceleration;
                let [x, y, z, potential] = times(values(sum), [a, a, a, units.potential]);
                *out = DVec3::new(x, y, z);
                if let Some(out) = self.potential.get_mut(i) {
                    *out = potential;
                }
            }
            if let (Some(sum), Some(out)) = (sums.get(1), self.jerk.get_mut(i)) {
                let [x, y, z, _] = times(values(sum), [units.jerk; 4]);
                *out = DVec3::new(x, y, z);
            }
            if let (Some(sum), Some(out)) = (sums.get(2), self.snap.get_mut(i)) {
                let [x, y, z, _] = times(values(sum), [units.snap; 4]);
                *out = DVec3::new(x, y, z);
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

#[inline(always)]
fn times(mut row: [f64; 4], units: [f64; 4]) -> [f64; 4] {
    row.iter_mut().zip(units).for_each(|(x, unit)| *x *= unit);
    row
}

#[inline(always)]
fn single(sum: &[u32; 4]) -> [f64; 4] {
    sum.map(|bits| f64::from(f32::from_bits(bits)))
}

#[inline(always)]
fn pair(sum: &[u32; 8]) -> [f64; 4] {
    let value = |k: usize| f64::from(f32::from_bits(sum[k]));
    std::array::from_fn(|k| value(k) + value(k + 4))
}

#[inline(always)]
fn double(sum: &[u32; 8]) -> [f64; 4] {
    std::array::from_fn(|k| wide(sum, k))
}

/// The f64 at an index among the words.
#[inline(always)]
fn wide(words: &[u32], at: usize) -> f64 {
    f64::from_bits(u64::from(words[2 * at]) | u64::from(words[2 * at + 1]) << 32)
}

/// The nearest source (1) or the number of sources within the radius (2) from this sink's words.
#[inline(always)]
fn neighbour(row: &[u32], variant: &DirectVariant, which: usize) -> u32 {
    if variant.near == NeighbourOutput::Nothing {
        return NO_SOURCE;
    }
    let at = 4 * variant.sums() + which;
    match variant.precision {
        Precision::Double => wide(row, at) as u32,
        _ => row[at],
    }
}

/// The lists of `n` sinks, at a stride of `each` entries, of which `requested` at most were
/// requested. The device also lists sources whose distance rounds to the radius; those outside are
/// removed and not counted.
pub(super) fn lists(
    copied: &[&[u32]],
    variant: &DirectVariant,
    n: usize,
    (each, requested): (usize, usize),
    is_within: impl Fn(usize, u32) -> bool,
    out: &mut NeighbourLists,
) {
    let mut list = Vec::new();
    for (i, row) in copied[0].chunks_exact(words_of(variant)).take(n).enumerate() {
        let listed = neighbour(row, variant, 2);
        let length = (listed as usize).min(each);
        list.clear();
        list.extend_from_slice(&copied[1][i * each..i * each + length]);
        list.retain(|&j| is_within(i, j));
        let found = listed - (length - list.len()) as u32;
        // So far in the order of segments.
        list.sort_unstable();
        list.truncate(requested);
        out.push(&list, found);
    }
}
