//! One evaluation in dispatches that keep a budget.

use super::Shape;
use crate::gpu::layout::DirectParams;

/// How far an evaluation has come: the next sinks, then the next sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    sink: u32,
    sink_end: u32,
    chunk: u32,
}

/// The next dispatch of about `interactions` interactions, and how many it has; `progress` moves behind
/// it, or is `None` when it was the last.
///
/// As many workgroups as fill the device (`fill` threads), then as many of their sources as the budget
/// allows; more sinks only where those take all their sources. A later chunk of the sources goes on
/// from the sums of the earlier ones: the cut does not change the bits.
pub(super) fn next_piece(
    shape: &Shape,
    whole: &DirectParams,
    progress: &mut Option<Progress>,
    interactions: u64,
    fill: u32,
    most_workgroups: u32,
) -> (DirectParams, u64) {
    let now = progress.unwrap_or_default();
    let (rows, tile) = (u64::from(shape.sinks_per_workgroup()), shape.tile());
    let fill_rows = u64::from((fill / (shape.threads() * shape.slices)).max(1)) * rows;
    let all = u64::from(whole.source_count.max(1));
    let whole_rows = interactions / all / rows * rows;
    let (sinks, sources) = if whole_rows >= fill_rows {
        (whole_rows, whole.slice_length)
    } else {
        let present = fill_rows.min(u64::from(whole.sink_count)) * u64::from(shape.slices);
        let part = (interactions / present.max(1)).min(u64::from(whole.slice_length)) as u32;
        (fill_rows, (part / tile * tile).max(tile))
    };
    let sinks = sinks.min(u64::from(most_workgroups) * rows).min(u64::from(u32::MAX)) as u32;
    let sink_end = if now.chunk > 0 {
        now.sink_end
    } else {
        now.sink.saturating_add(sinks).min(whole.sink_count)
    };
    let params = DirectParams {
        sink_begin: now.sink,
        sink_end,
        chunk_begin: now.chunk,
        chunk_end: now.chunk.saturating_add(sources).min(whole.slice_length),
        ..*whole
    };
    let reach = u64::from(params.chunk_end - params.chunk_begin) * u64::from(shape.slices);
    let done = u64::from(sink_end - now.sink) * reach.min(all);
    *progress = if params.chunk_end < whole.slice_length {
        Some(Progress { sink: now.sink, sink_end, chunk: params.chunk_end })
    } else if sink_end < whole.sink_count {
        Some(Progress { sink: sink_end, sink_end, chunk: 0 })
    } else {
        None
    };
    (params, done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_every_pair_once_and_keep_the_budget() {
        for slices in [1, 3] {
            let shape = Shape { p: 8, q: 8, r: 1, u: 16, l: 2, slices };
            let (sinks, sources) = (37, 3000);
            let length = shape.slice_length(sources);
            let whole = DirectParams {
                sink_end: sinks,
                sink_count: sinks,
                source_count: sources,
                slice_length: length,
                chunk_end: length,
                ..Default::default()
            };
            for budget in [1, 5000, 40_000, u64::MAX] {
                let mut seen = vec![0u32; (sinks * length) as usize];
                let (mut progress, mut first) = (Some(Progress::default()), true);
                while first || progress.is_some() {
                    first = false;
                    let (piece, done) =
                        next_piece(&shape, &whole, &mut progress, budget, 64, 65_535);
                    let least = u64::from(shape.tile() * slices * 8);
                    assert!(done <= budget.max(least), "{done} for {budget}");
                    for sink in piece.sink_begin..piece.sink_end {
                        for j in piece.chunk_begin..piece.chunk_end {
                            seen[(sink * length + j) as usize] += 1;
                        }
                    }
                }
                assert!(seen.iter().all(|times| *times == 1), "{budget}");
            }
        }
    }
}
