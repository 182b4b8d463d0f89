//! Many records at once, by all cores.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::frame::Word;

/// Records from which on it pays to wake threads: that takes as long as a thousand of them, and what other cores have
/// touched is far from the one that goes on.
pub(super) const MANY: usize = 16_384;

/// Makes every record, of `words` words each, by `make`, which tells whether it fits the tier. The first that does not,
/// if any.
pub(super) fn first_refused(
    records: &mut [Word],
    words: usize,
    make: impl Fn((usize, &mut [Word])) -> bool + Sync,
) -> Option<usize> {
    if records.len() < MANY * words {
        return records.chunks_exact_mut(words).enumerate().position(|one| !make(one));
    }
    let first = AtomicUsize::new(usize::MAX);
    records.par_chunks_exact_mut(words).enumerate().with_min_len(MANY / 8).for_each(
        |(k, record)| {
            if !make((k, record)) {
                first.fetch_min(k, Ordering::Relaxed);
            }
        },
    );
    Some(first.into_inner()).filter(|k| *k != usize::MAX)
}
