//! Random draws for many bodies by all cores: blocks of bodies, each with its own stream.

use rayon::prelude::*;

use super::rng::Stream;

/// Bodies per stream.
const BLOCK: usize = 4096;

/// What `draw` makes of each number from 0 to `n`, in their order. Block b has the stream
/// `first + b` of `seed`, so the result does not depend on the number of cores.
pub(crate) fn drawn<T: Send>(
    n: usize,
    seed: u64,
    first: u64,
    draw: impl Fn(usize, &mut Stream) -> T + Sync,
) -> Vec<T> {
    let block = |b: usize| {
        let mut stream = Stream::new(seed, first + b as u64);
        let end = n.min((b + 1) * BLOCK);
        (b * BLOCK..end).map(|k| draw(k, &mut stream)).collect::<Vec<T>>()
    };
    (0..n.div_ceil(BLOCK)).into_par_iter().flat_map_iter(block).collect()
}
