//! A part of the sinks, in the shape for all of them: with the bits that they have among all.

use std::ops::Range;

use super::GpuTiers;
use crate::error::{Error, Result};
use crate::forces::{Answers, ForceEngine, InParts, Sinks, Want, Within};

impl GpuTiers {
    /// [`ForceEngine::begin`] for some of `all` sinks: the bits are those that they have among all.
    pub(in super::super) fn begin_some(
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
}

impl InParts for GpuTiers {
    fn begin_part(
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
            self.begin_some(&sinks.part(part.clone()), all, softening, &Want { within, ..*want });
        begun.map_err(|error| counted_from(part.start, error))?;
        if let Some(evaluation) = &mut self.begun {
            evaluation.among = Some(Among::new(part, all, want));
        }
        Ok(())
    }
}

/// An error of a sink that is counted from `first` on.
pub fn counted_from(first: usize, error: Error) -> Error {
    match error {
        Error::Body { index, problem, .. } => {
            Error::Body { index: first + index, id: (first + index) as u64, problem }
        }
        error => error,
    }
}

/// Which of all sinks were asked for.
#[derive(Clone)]
pub struct Among {
    part: Range<usize>,
    all: usize,
    /// What was wanted besides lists, and whether those were.
    want: Want<'static>,
    lists: bool,
}

impl Among {
    fn new(part: Range<usize>, all: usize, want: &Want) -> Self {
        let Want { order, potential, nearest, distance, within } = *want;
        let want = Want { order, potential, nearest, distance, within: None };
        Self { part, all, want, lists: within.is_some() }
    }

    /// Answers of the part become entries among those of all.
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

/// The first values become those of `part`, where there are values at all.
fn move_to<T: Copy>(values: &mut [T], part: &Range<usize>) {
    if !values.is_empty() {
        values.copy_within(..part.len(), part.start);
    }
}
