//! Drawing bodies by all cores: each block of them has a random stream of its own, so that the
//! bodies do not depend on the number of cores.

use glam::DVec3;
use rayon::prelude::*;

use super::rng::{Even, Stream};

/// Number of bodies that are drawn from one stream.
pub(crate) const BLOCK: usize = 4096;

/// The random streams of one part of a scene, one for each block of its bodies. Parts of one seed
/// are independent, so that more bodies in one part do not change those of another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streams {
    seed: u64,
    part: u32,
    has_even: bool,
}

impl Streams {
    /// The streams of part number `part` of `seed`.
    pub fn new(seed: u64, part: u32) -> Self {
        Self { seed, part, has_even: false }
    }

    /// The streams, and one even sequence for all blocks together.
    pub fn with_even(seed: u64, part: u32) -> (Self, Even) {
        let streams = Self::new(seed, part);
        (Self { has_even: true, ..streams }, Even::new(&mut streams.block(0)))
    }

    /// The stream of block number `k`. The stream of the first block begins with the start of the
    /// even sequence, if there is one; the same numbers are left out of all others.
    pub fn block(self, k: usize) -> Stream {
        let mut stream = Stream::new(self.seed, u64::from(self.part) | (k as u64) << 32);
        if self.has_even {
            Even::new(&mut stream);
        }
        stream
    }

    /// What `draw` makes of each number from 0 to `n`, in their order.
    pub fn drawn<T: Send>(self, n: usize, draw: impl Fn(usize, &mut Stream) -> T + Sync) -> Vec<T> {
        let block = |b: usize| {
            let mut stream = self.block(b);
            let end = n.min((b + 1) * BLOCK);
            (b * BLOCK..end).map(|k| draw(k, &mut stream)).collect::<Vec<T>>()
        };
        (0..n.div_ceil(BLOCK)).into_par_iter().flat_map_iter(block).collect()
    }

    /// Fills the positions and velocities of the bodies from number `first` on, in groups of K:
    /// `of(k, stream)` makes group k, one after another from the beginning of a block. K divides
    /// [`BLOCK`]; the first and the last group may be cut.
    pub fn fill_motions<const K: usize>(
        self,
        first: usize,
        (position, velocity): (&mut [DVec3], &mut [DVec3]),
        of: impl Fn(usize, &mut Stream) -> [(DVec3, DVec3); K] + Sync,
    ) {
        const { assert!(BLOCK.is_multiple_of(K)) };
        let head = (first.next_multiple_of(BLOCK) - first).min(position.len());
        let (head_x, position) = position.split_at_mut(head);
        let (head_v, velocity) = velocity.split_at_mut(head);
        let fill = |begin: usize, position: &mut [DVec3], velocity: &mut [DVec3]| {
            let mut stream = self.block(begin / BLOCK);
            let first_of_block = begin / BLOCK * BLOCK;
            for row in (first_of_block..begin + position.len()).step_by(K) {
                for (k, (x, v)) in of(row / K, &mut stream).into_iter().enumerate() {
                    let at = (row + k).wrapping_sub(begin);
                    if at < position.len() {
                        (position[at], velocity[at]) = (x, v);
                    }
                }
            }
        };
        if head > 0 {
            fill(first, head_x, head_v);
        }
        let blocks = position.par_chunks_mut(BLOCK).zip(velocity.par_chunks_mut(BLOCK));
        blocks.enumerate().for_each(|(block, (position, velocity))| {
            fill(first + head + block * BLOCK, position, velocity);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn motions(n: usize) -> Vec<DVec3> {
        let [mut position, mut velocity] = motions_of(0..n);
        position.append(&mut velocity);
        position
    }

    fn motions_of(rows: std::ops::Range<usize>) -> [Vec<DVec3>; 2] {
        let first = rows.start;
        let [mut position, mut velocity] = [(); 2].map(|()| vec![DVec3::ZERO; rows.len()]);
        Streams::new(3, 1).fill_motions(first, (&mut position, &mut velocity), |k, stream| {
            let x = stream.in_ball() + DVec3::splat(k as f64);
            [(x, stream.direction()), (-x, DVec3::X)]
        });
        [position, velocity]
    }

    #[test]
    fn drawn_bodies_do_not_depend_on_threads_and_more_keep_the_first() {
        let n = 3 * BLOCK + 7;
        let all = motions(n);
        for threads in [1, 2, 7] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| motions(n)), all, "{threads} threads");
        }
        assert_eq!(motions(BLOCK + 1)[..=BLOCK], all[..=BLOCK]);
        // Group k of a pair begins at body 2 k, also in later blocks.
        assert!((all[2 * BLOCK] - DVec3::splat(BLOCK as f64)).length() <= 1.0);
        assert_eq!(all[2 * BLOCK + 1], -all[2 * BLOCK]);
        for rows in [0..n, 5..6, 17..BLOCK, BLOCK - 1..2 * BLOCK + 3, 2 * BLOCK..n, n..n] {
            let [x, v] = motions_of(rows.clone());
            assert_eq!((&x[..], &v[..]), (&all[rows.clone()], &all[n + rows.start..n + rows.end]));
        }
    }

    #[test]
    fn blocks_parts_and_seeds_have_different_streams() {
        let first = |seed, part, block| Streams::new(seed, part).block(block).uniform();
        let all = [first(1, 0, 0), first(1, 0, 1), first(1, 1, 0), first(2, 0, 0), first(1, 1, 1)];
        for (k, one) in all.iter().enumerate() {
            assert!(all[..k].iter().all(|other| other != one), "{all:?}");
        }
        // The even sequence takes numbers that no block uses.
        let (streams, _) = Streams::with_even(1, 0);
        let mut plain = Streams::new(1, 0).block(0);
        Even::new(&mut plain);
        assert_eq!(streams.block(0).uniform(), plain.uniform());
        assert_ne!(streams.block(0).uniform(), streams.block(1).uniform());
    }
}
