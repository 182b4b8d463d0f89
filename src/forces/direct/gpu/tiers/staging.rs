//! Changes in upload format: each a word with the source's index, then its record.

use super::motion_records::{Scale, WORDS_TO_JERK, has_snap};
use super::records::Wide;
use super::rows::Word;
use crate::forces::{Arrivals, Goal};

/// Changes to be written, of `each` words.
pub(super) struct Staging<'a> {
    pub scale: &'a Scale,
    pub with_snap: bool,
    pub sources: Arrivals<'a>,
    pub staging: &'a mut [Word],
    pub each: usize,
}

impl Wide for Staging<'_> {
    /// Whether all sources fit the frame and the record length.
    type Done = bool;

    #[inline(always)]
    fn work(self) -> bool {
        let Self { scale, with_snap, sources, staging, each } = self;
        let mut fits = true;
        const EACH: usize = WORDS_TO_JERK + 1;
        if each == EACH && scale.has_pairs() && sources.high.is_empty() {
            // The common record length, as a constant.
            let (staging, _) = staging.as_chunks_mut::<EACH>();
            for ((Goal { at, .. }, low), out) in sources.places.iter().zip(sources.low).zip(staging)
            {
                let [head, record @ ..] = out;
                *head = [*at, 0, 0, 0];
                fits &= scale.record_to_jerk(low, record);
                fits &= !scale.is_outgrown_by(low);
            }
            return fits;
        }
        let all = sources.places.iter().zip(sources.low).zip(staging.chunks_exact_mut(each));
        for (k, ((Goal { at, .. }, low), out)) in all.enumerate() {
            let (head, record) = out.split_at_mut(1);
            head[0] = [*at, 0, 0, 0];
            let high = sources.high(k);
            fits &= scale.record(low, high, record);
            fits &= with_snap || !has_snap(high);
            fits &= !scale.is_outgrown_by(low);
        }
        fits
    }
}
