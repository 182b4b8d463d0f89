//! Makes many records in parallel.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::rows::Word;

/// Records from which on threads are worthwhile: waking them costs as much as a thousand records,
/// and the results end up in the caches of other cores.
pub(super) const MANY: usize = 16_384;

/// Makes all records, of `words` words each, by `make`, which returns whether the record fits the
/// tier. Returns the first that does not.
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

/// Work on many records that is compiled twice, for different instruction sets. Only inlined
/// callees are compiled with the caller's instructions, and a closure called from both versions is
/// not inlined: hence a trait.
pub(super) trait Wide {
    type Done;

    /// Runs it. Must be `#[inline(always)]`, and so must its callees.
    fn work(self) -> Self::Done;
}

/// Runs `work` compiled for registers of four f64 if the processor has them, since a record
/// consists of rows of four. The same operations in the same order give the same bits.
pub(super) fn in_wide_registers<W: Wide>(work: W) -> W::Done {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide<W: Wide>(work: W) -> W::Done {
            work.work()
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the instructions were detected above.
            return unsafe { wide(work) };
        }
    }
    work.work()
}
