//! Splitting sinks times sources into dispatches that keep a time budget.
//!
//! A large evaluation is cut into chunks of its sources. It is cut into rows of sinks only if a
//! dispatch that takes all sources still fills the device: a dispatch of few workgroups leaves most
//! of a GPU idle, is measured as slow, and would make the next one smaller still. A later chunk
//! continues from the running totals of the earlier one, in the same order, so these cuts do not
//! change the bits (except with [`Rectangle::fixed_chunk`], where the length of chunks is part of
//! the kernel's order).

use std::ops::Range;

/// All sinks and sources of an evaluation, and the units in which its kernel processes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rectangle {
    /// Number of sinks.
    pub sinks: u32,
    /// Number of sources.
    pub sources: u32,
    /// Number of slices of the sources, each with its own workgroups.
    pub slices: u32,
    /// Length of a slice: whole tiles, together at least `sources`.
    pub slice_length: u32,
    /// Sinks per workgroup.
    pub rows: u32,
    /// Sources that a workgroup processes at a time.
    pub tile: u32,
    /// Threads per workgroup.
    pub threads: u32,
    /// Length of a chunk, if it affects the order of the sums: whole tiles. `None` if a later chunk
    /// continues from the totals of the earlier ones, so that any split gives the same bits.
    pub fixed_chunk: Option<u32>,
    /// The longest chunk, if none is fixed: a device may bound the loops of a thread
    /// ([`super::DeviceClass::most_iterations`]).
    pub most_chunk: u32,
}

/// How far an evaluation has come: the next sinks and the next sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    sink: u32,
    /// End of the sinks whose sources are in progress; meaningful if `chunk` > 0.
    sink_end: u32,
    chunk: u32,
}

impl Progress {
    /// The sinks below this one are complete.
    pub fn from_sink(sink: u32) -> Self {
        Self { sink, sink_end: sink, chunk: 0 }
    }
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DispatchChunk {
    /// Its sinks.
    pub sinks: Range<u32>,
    /// Its part of each slice of the sources.
    pub chunk: Range<u32>,
    /// Interactions in it.
    pub interactions: u64,
    /// Workgroups in x; in y there are as many as slices.
    pub workgroups: u32,
    /// Where the next piece begins; `None` if this is the last.
    pub next: Option<Progress>,
}

impl Rectangle {
    /// The piece of about `interactions` interactions that begins at `progress`: at least one tile
    /// for as many workgroups as make `threads_to_fill` threads, at most `most_workgroups`.
    ///
    /// First come workgroups to fill the device, then as many of their sources as the budget
    /// allows; further sinks only if those get all their sources. Fewer workgroups would leave the
    /// device idle, appear slow, and make the next piece even smaller.
    pub fn piece(
        &self,
        progress: Progress,
        interactions: u64,
        threads_to_fill: u32,
        most_workgroups: u32,
    ) -> DispatchChunk {
        let groups_to_fill = (threads_to_fill / (self.threads * self.slices)).max(1);
        let fill = u64::from(groups_to_fill) * u64::from(self.rows);
        let most = u64::from(most_workgroups) * u64::from(self.rows);
        let (sinks, sources) = self.size(interactions, fill);
        let sinks = sinks.min(most).min(u64::from(u32::MAX)) as u32;
        let sink_end = if progress.chunk > 0 {
            progress.sink_end
        } else {
            progress.sink.saturating_add(sinks).min(self.sinks)
        };
        let chunk = progress.chunk..progress.chunk.saturating_add(sources).min(self.slice_length);
        let width = sink_end - progress.sink;
        DispatchChunk {
            sinks: progress.sink..sink_end,
            interactions: u64::from(width) * (self.reached(chunk.end) - self.reached(chunk.start)),
            workgroups: width.div_ceil(self.rows),
            next: self.after(progress.sink, sink_end, chunk.end),
            chunk,
        }
    }

    /// The number of sinks and the chunk length for a budget; `fill` sinks keep the device busy.
    fn size(&self, interactions: u64, fill: u64) -> (u64, u32) {
        let rows_of = |sources: u64| {
            let rows = u64::from(self.rows);
            interactions / sources.max(1) / rows * rows
        };
        if let Some(chunk) = self.fixed_chunk {
            return (rows_of(self.reach(chunk)).max(fill), chunk);
        }
        let longest = self.slice_length.min(self.most_chunk);
        let tiles = |sources: u32| (sources / self.tile * self.tile).max(self.tile);
        let whole_rows = rows_of(u64::from(self.sources));
        if whole_rows >= fill {
            return (whole_rows, tiles(longest));
        }
        let present = fill.min(u64::from(self.sinks)) * u64::from(self.slices);
        let part = (interactions / present.max(1)).min(u64::from(longest)) as u32;
        (fill, tiles(part))
    }

    /// The number of sources up to this place of each slice, over all slices, which fill up one
    /// after another. A partly filled last tile counts only its sources, so that pieces add up to
    /// all pairs however they are split.
    fn reached(&self, place: u32) -> u64 {
        let length = self.slice_length.max(1);
        let (full, rest) = (self.sources / length, self.sources % length);
        u64::from(full) * u64::from(place) + u64::from(place.min(rest))
    }

    /// The most sources in a chunk of this length, over all slices.
    fn reach(&self, chunk: u32) -> u64 {
        (u64::from(chunk) * u64::from(self.slices)).min(u64::from(self.sources))
    }

    fn after(&self, sink: u32, sink_end: u32, chunk_end: u32) -> Option<Progress> {
        if chunk_end < self.slice_length {
            Some(Progress { sink, sink_end, chunk: chunk_end })
        } else if sink_end < self.sinks {
            Some(Progress { sink: sink_end, sink_end, chunk: 0 })
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rectangle(sinks: u32, sources: u32, slices: u32, fixed_chunk: Option<u32>) -> Rectangle {
        let tile = 64;
        Rectangle {
            sinks,
            sources,
            slices,
            slice_length: sources.div_ceil(slices).max(1).next_multiple_of(tile),
            rows: 8,
            tile,
            threads: 64,
            fixed_chunk,
            most_chunk: u32::MAX,
        }
    }

    /// All pieces of an evaluation.
    fn pieces(whole: &Rectangle, budget: u64, fill: u32, most: u32) -> Vec<DispatchChunk> {
        let mut pieces = Vec::new();
        let mut next = Some(Progress::default());
        while let Some(progress) = next {
            let piece = whole.piece(progress, budget, fill, most);
            next = piece.next;
            pieces.push(piece);
        }
        pieces
    }

    /// How often each sink meets each place of a slice.
    fn meetings(whole: &Rectangle, pieces: &[DispatchChunk]) -> Vec<u32> {
        let mut meetings = vec![0; (whole.sinks * whole.slice_length) as usize];
        for piece in pieces {
            for sink in piece.sinks.clone() {
                for place in piece.chunk.clone() {
                    meetings[(sink * whole.slice_length + place) as usize] += 1;
                }
            }
        }
        meetings
    }

    #[test]
    fn chunks_are_no_longer_than_allowed() {
        let whole = Rectangle { most_chunk: 1000, ..rectangle(100, 10_000, 2, None) };
        for budget in [1, 50_000, u64::MAX] {
            let pieces = pieces(&whole, budget, 64, 65_535);
            assert!(meetings(&whole, &pieces).iter().all(|times| *times == 1), "{budget}");
            assert!(pieces.iter().all(|piece| piece.chunk.len() <= 1000), "{budget}");
        }
    }

    #[test]
    fn chunks_cover_every_pair_once_within_budget() {
        for (slices, fixed) in [(1, None), (3, None), (1, Some(256)), (3, Some(128))] {
            let whole = rectangle(37, 3000, slices, fixed);
            for (budget, fill) in
                [1, 5000, 40_000, u64::MAX].into_iter().flat_map(|b| [(b, 64), (b, 1 << 17)])
            {
                let pieces = pieces(&whole, budget, fill, 65_535);
                assert!(meetings(&whole, &pieces).iter().all(|times| *times == 1), "{budget}");
                let groups_to_fill = (fill / (64 * slices)).max(1) * whole.rows;
                let chunk = fixed.unwrap_or(whole.tile);
                let least = u64::from(chunk * slices) * u64::from(groups_to_fill.min(whole.sinks));
                for piece in &pieces {
                    assert!(piece.interactions <= budget.max(least), "{piece:?} for {budget}");
                }
                let last = pieces.last().unwrap();
                assert_eq!((last.sinks.end, last.chunk.end), (whole.sinks, whole.slice_length));
            }
        }
    }

    #[test]
    fn interactions_of_chunks_add_up_to_all_pairs() {
        for (sources, slices) in [(5000, 1), (5000, 3), (300, 1), (129, 7), (10, 3)] {
            for fixed in [None, Some(128)] {
                let whole = rectangle(1000, sources, slices, fixed);
                for budget in [1, 100_000, u64::MAX] {
                    let pieces = pieces(&whole, budget, 256, 65_535);
                    let sum: u64 = pieces.iter().map(|piece| piece.interactions).sum();
                    assert_eq!(sum, 1000 * u64::from(sources), "{whole:?} for {budget}");
                    assert!(pieces.iter().all(|piece| piece.interactions > 0), "{pieces:?}");
                }
            }
        }
    }

    #[test]
    fn small_budget_cuts_sources_before_workgroups() {
        let whole = rectangle(100_000, 100_000, 1, None);
        let piece = whole.piece(Progress::default(), 1 << 20, 1 << 17, 65_535);
        // 2^17 threads are 2,048 workgroups of 8 sinks, which take the share of the sources that
        // the budget allows.
        assert_eq!(piece.workgroups, 2048);
        assert_eq!(piece.chunk, 0..64);
        let piece = whole.piece(Progress::default(), 2_500_000_000, 1 << 17, 65_535);
        assert_eq!((piece.sinks, piece.chunk), (0..25_000, 0..whole.slice_length));
    }

    #[test]
    fn fixed_chunk_does_not_depend_on_budget() {
        let whole = rectangle(5000, 3000, 1, Some(1024));
        for budget in [1, 1 << 20, u64::MAX] {
            for piece in pieces(&whole, budget, 256, 65_535) {
                assert_eq!(piece.chunk.start % 1024, 0);
                let to_the_end = piece.chunk.end == whole.slice_length;
                assert!(to_the_end || piece.chunk.end - piece.chunk.start == 1024, "{piece:?}");
            }
        }
    }

    #[test]
    fn chunks_respect_workgroup_limit() {
        let whole = rectangle(1000, 64, 1, None);
        let pieces = pieces(&whole, u64::MAX, 1 << 17, 16);
        assert_eq!(pieces.iter().map(|piece| piece.workgroups).max(), Some(16));
        assert!(meetings(&whole, &pieces).iter().all(|times| *times == 1));
    }

    #[test]
    fn empty_sets_have_no_interactions() {
        for (sinks, sources) in [(0, 100), (100, 0), (0, 0)] {
            let all = pieces(&rectangle(sinks, sources, 2, None), u64::MAX, 64, 65_535);
            assert_eq!(all.iter().map(|piece| piece.interactions).sum::<u64>(), 0);
        }
    }
}
