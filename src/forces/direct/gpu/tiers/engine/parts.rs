//! A range of the sinks, computed with the workgroup shape for all of them, so that the bits are
//! the same as in an evaluation of all sinks.

use std::ops::Range;

use super::GpuTiers;
use crate::error::{Error, Result};
use crate::forces::{Answers, ForceEngine, Sinks, Want, Within};

impl GpuTiers {
    /// [`ForceEngine::begin`] for some of `all` sinks, with the same bits as in an evaluation of
    /// all.
    pub(in super::super) fn begin_range(
        &mut self,
        sinks: &Sinks,
        all: usize,
        softening: f64,
        want: &Want,
    ) -> Result<()> {
        self.part_of = Some(all);
        let begun = self.begin(sinks, softening, want);
        self.part_of = None;
        begun
    }

    /// [`ForceEngine::begin`] for the range [`Sinks::only`].
    pub(super) fn begin_part(
        &mut self,
        sinks: &Sinks,
        part: Range<usize>,
        softening: f64,
        want: &Want,
    ) -> Result<()> {
        sinks.check(softening, want)?;
        let all = sinks.position.len();
        let within = want
            .within
            .map(|Within { radius, capacity }| Within { radius: &radius[part.clone()], capacity });
        let begun =
            self.begin_range(&sinks.part(part.clone()), all, softening, &Want { within, ..*want });
        begun.map_err(|error| with_index_offset(part.start, error))?;
        if let Some(evaluation) = &mut self.begun {
            evaluation.among = Some(Among::new(part, all, want));
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

/// Which of all sinks were requested.
#[derive(Clone)]
pub struct Among {
    part: Range<usize>,
    all: usize,
    /// Requested outputs other than lists, and whether lists were requested.
    want: Want<'static>,
    lists: bool,
}

impl Among {
    fn new(part: Range<usize>, all: usize, want: &Want) -> Self {
        let Want { order, potential, nearest, distance, within } = *want;
        let want = Want { order, potential, nearest, distance, within: None };
        Self { part, all, want, lists: within.is_some() }
    }

    /// Moves the outputs of the range to their entries among those of all sinks.
    pub(super) fn place(&self, out: &mut Answers) {
        let Self { part, all, want, lists } = self;
        let found = std::mem::take(&mut out.neighbours);
        out.resize(*all, want);
        move_to(&mut out.acceleration, part);
        move_to(&mut out.jerk, part);
        move_to(&mut out.snap, part);
        move_to(&mut out.potential, part);
        move_to(&mut out.nearest, part);
        move_to(&mut out.nearest_distance, part);
        for i in (0..*all).filter(|_| *lists) {
            match part.contains(&i) {
                true => {
                    let k = i - part.start;
                    out.neighbours.push(found.of(k), found.found(k) as u32);
                }
                false => out.neighbours.push(&[], 0),
            }
        }
    }
}

/// Moves the first values to the entries of `part`, unless there are no values.
fn move_to<T: Copy>(values: &mut [T], part: &Range<usize>) {
    if !values.is_empty() {
        values.copy_within(..part.len(), part.start);
    }
}
