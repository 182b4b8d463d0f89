//! Many records at once, by all cores.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::rows::Word;

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

/// Work on many records that is compiled twice. What it calls is compiled along with it only where it is inlined, and a
/// closure, which is called from both, is not: so this is no closure.
pub(super) trait Wide {
    type Done;

    /// Does it. To be `#[inline(always)]`, as all that does the work.
    fn work(self) -> Self::Done;
}

/// Does `work` compiled for registers of four f64, where the processor has them: a record is rows of four. The same
/// operations in the same order, so the same bits.
pub(super) fn in_wide_registers<W: Wide>(work: W) -> W::Done {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide<W: Wide>(work: W) -> W::Done {
            work.work()
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has them.
            return unsafe { wide(work) };
        }
    }
    work.work()
}
