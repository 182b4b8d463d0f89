//! A range of the sinks, computed with the workgroup shape for all of them, so that the bits are
//! the same as in an evaluation of all sinks.

use std::ops::Range;

use super::GpuTiers;
use crate::error::{Error, Result};
use crate::forces::{ForceEngine, Forces, Outputs, Sinks, Within};

impl GpuTiers {
    /// [`ForceEngine::begin`] for the sinks `range`, with the same bits as in an evaluation of all.
    pub(in super::super) fn begin_range(
        &mut self,
        sinks: &Sinks,
        range: Range<usize>,
        softening: f64,
        outputs: &Outputs,
    ) -> Result<()> {
        let within = outputs
            .within
            .map(|Within { radius, capacity }| Within { radius: &radius[range.clone()], capacity });
        self.range_of = Some(sinks.position.len());
        let begun =
            self.begin(&sinks.part(range.clone()), softening, &Outputs { within, ..*outputs });
        self.range_of = None;
        begun.map_err(|error| with_index_offset(range.start, error))
    }

    /// [`ForceEngine::begin`] for the range [`Sinks::only`].
    pub(super) fn begin_part(
        &mut self,
        sinks: &Sinks,
        part: Range<usize>,
        softening: f64,
        outputs: &Outputs,
    ) -> Result<()> {
        sinks.check(softening, outputs)?;
        self.begin_range(sinks, part.clone(), softening, outputs)?;
        if let Some(evaluation) = &mut self.begun {
            evaluation.among = Some((part, sinks.position.len()));
        }
        Ok(())
    }
}

/// Shifts the sink number in an error by `first`.
pub fn with_index_offset(first: usize, error: Error) -> Error {
    match error {
        Error::Body { index, problem, .. } => {
            Error::Body { index: first + index, id: (first + index) as u64, problem }
        }
        error => error,
    }
}

/// Moves the outputs of the sinks `range` to their entries among those of `all` sinks. `outputs`
/// and `lists` say what was requested.
pub(super) fn place(
    out: &mut Forces,
    range: &Range<usize>,
    all: usize,
    outputs: &Outputs,
    lists: bool,
) {
    let found = std::mem::take(&mut out.neighbours);
    out.resize(all, outputs);
    move_to(&mut out.acceleration, range);
    move_to(&mut out.jerk, range);
    move_to(&mut out.snap, range);
    move_to(&mut out.potential, range);
    move_to(&mut out.nearest, range);
    move_to(&mut out.nearest_distance, range);
    for i in (0..all).filter(|_| lists) {
        match i.checked_sub(range.start).filter(|k| *k < range.len()) {
            Some(k) => out.neighbours.push(found.of(k), found.found(k) as u32),
            None => out.neighbours.push(&[], 0),
        }
    }
}

/// Moves the first values to the entries of `range`, unless there are no values.
fn move_to<T: Copy>(values: &mut [T], range: &Range<usize>) {
    if !values.is_empty() {
        values.copy_within(..range.len(), range.start);
    }
}
