//! Where the curve is cut into parts.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::super::{GROUP, Key};

/// Bodies that all ranks together send to choose the cuts.
const SAMPLES: usize = 1 << 16;

/// The least number of samples per rank.
const FEWEST_SAMPLES: usize = 256;

/// The cost of sorting a body and of building its share of the cells, in interactions.
pub const BUILDING: f32 = 60.0;

/// A body by which cuts are chosen.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Sample {
    /// Its key.
    pub key: Key,
    /// Its cost, in interactions.
    pub cost: f32,
}

/// The stride between the bodies that a rank sends as samples, of the `n` that it has.
pub fn stride(n: usize, ranks: usize) -> usize {
    n.div_ceil((SAMPLES / ranks).max(FEWEST_SAMPLES)).max(1)
}

/// The first key of each part but the first, such that the samples' costs are about equal in all
/// parts.
pub fn cuts(mut samples: Vec<Sample>, parts: usize) -> Vec<Key> {
    samples.sort_unstable_by(|a, b| a.key.cmp(&b.key).then(a.cost.total_cmp(&b.cost)));
    let total: f64 = samples.iter().map(|sample| f64::from(sample.cost)).sum();
    let (mut before, mut next) = (0.0, samples.iter().peekable());
    let cut = |part: usize| {
        while let Some(sample) = next.next_if(|_| before < total * part as f64 / parts as f64) {
            before += f64::from(sample.cost);
        }
        next.peek().map_or(Key::OUTSIDE, |sample| sample.key)
    };
    (1..parts).map(cut).collect()
}

/// The part with this key.
pub fn part_of(cuts: &[Key], key: Key) -> usize {
    cuts.partition_point(|cut| *cut <= key)
}

/// The ranges of bodies along the curve for parts of these lengths, with each end rounded up to a
/// multiple of [`GROUP`]: at most `GROUP - 1` bodies change sides at each cut.
pub fn parts(counts: &[usize]) -> Vec<Range<usize>> {
    let total: usize = counts.iter().sum();
    let mut end = 0;
    let mut begin = 0;
    let range = |count: &usize| {
        end += count;
        let range = begin..end.next_multiple_of(GROUP).min(total);
        begin = range.end;
        range
    };
    counts.iter().map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(hi: u32) -> Key {
        Key { hi, lo: 0 }
    }

    #[test]
    fn parts_have_equal_costs() {
        let sample = |i: u32| Sample { key: key(i), cost: 1.0 + (i / 500) as f32 };
        let samples: Vec<_> = (0..1000).rev().map(sample).collect();
        let cuts = cuts(samples, 3);
        // 500 of cost 1, 500 of cost 2: thirds end after 500 and 750.
        assert_eq!(cuts, [key(500), key(750)]);
        assert_eq!(
            [0, 499, 500, 749, 750, 999].map(|i| part_of(&cuts, key(i))),
            [0, 0, 1, 1, 2, 2]
        );
        assert_eq!(super::cuts(Vec::new(), 3), [Key::OUTSIDE; 2]);
    }

    #[test]
    fn parts_end_at_whole_groups() {
        assert_eq!(parts(&[10, 0, 60, 100]), [0..64, 64..64, 64..128, 128..170]);
        assert_eq!(parts(&[0, 3, 0]), [0..0, 0..3, 3..3]);
        assert_eq!(parts(&[64, 64]), [0..64, 64..128]);
    }
}
