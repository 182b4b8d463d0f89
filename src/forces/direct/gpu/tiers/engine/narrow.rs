//! Conversion of sinks to device records.

use std::ops::Range;

use super::super::frame::{BodyMotion, TierFrame, WORDS_TO_VELOCITY};
use super::super::records::{MANY, Wide, first_refused, in_wide_registers};
use super::super::rows::Word;
use super::GpuTiers;
use super::evaluation::Evaluation;
use crate::error::{Error, Result};
use crate::forces::{Identity, NO_SOURCE, Outputs, Precision, Sinks};
use crate::gpu::layout::{FOREIGN, VEC4};

// Source indices are uploaded unchanged.
const _: () = assert!(FOREIGN == NO_SOURCE);

impl GpuTiers {
    /// Writes records of some of the sinks into the batch.
    pub(super) fn narrow(
        &mut self,
        evaluation: &mut Evaluation,
        part: Range<usize>,
        sinks: &Sinks<'_>,
        outputs: &Outputs<'_>,
    ) -> Result<()> {
        let (begin, n, words) = (part.start, part.len(), evaluation.variant.words());
        let frame = *self.sources.frame();
        let per_unit = frame.per_unit();
        let make = |(k, out): (usize, &mut [Word])| {
            frame.sink(per_unit, &entry(sinks, outputs, begin + k), out)
        };
        let (sinks_at, records) = self.batch.part::<Word>(n * words);
        let refused = match n < MANY {
            true => in_wide_registers(Few { frame: &frame, sinks, outputs, begin, words, records }),
            false => first_refused(records, words, make),
        };
        if let Some(k) = refused {
            let i = begin + k;
            return Err(Error::Body {
                index: i,
                id: i as u64,
                problem: format!(
                    "as a sink, its position {}, velocity, acceleration or neighbour radius leaves the range of the tier '{}'",
                    sinks.position[i],
                    self.precision.name()
                ),
            });
        }
        let (itself_at, itself) = self.batch.part::<u32>(n);
        match sinks.identity {
            Identity::Each(all) => itself.copy_from_slice(&all[part.clone()]),
            other => {
                let number = |i: usize| other.of(i).map_or(FOREIGN, |j| j as u32);
                part.clone().zip(itself).for_each(|(i, itself)| *itself = number(i));
            }
        }
        // A `vec4` of f64 is 32 bytes; allocations are aligned to that. Kernels index from the
        // first of all sinks, and later ranges lie behind its place.
        let before = (begin * words) as u64 * VEC4;
        let at = u64::from(sinks_at) - before;
        evaluation.whole.sinks_at = (at / evaluation.variant.vector_bytes()) as u32;
        evaluation.whole.itself_at = itself_at / size_of::<u32>() as u32 - begin as u32;
        Ok(())
    }
}

/// Records of few sinks, from `begin` on.
struct Few<'a, 'b> {
    frame: &'a TierFrame,
    sinks: &'a Sinks<'b>,
    outputs: &'a Outputs<'b>,
    begin: usize,
    words: usize,
    records: &'a mut [Word],
}

impl Wide for Few<'_, '_> {
    /// The first sink that exceeds the range of the tier.
    type Done = Option<usize>;

    #[inline(always)]
    fn work(self) -> Option<usize> {
        let Sinks { position, velocity, acceleration, .. } = *self.sinks;
        let is_brief =
            self.frame.precision == Precision::DoubleSingle && self.words == WORDS_TO_VELOCITY;
        if is_brief && acceleration.is_empty() && velocity.len() == position.len() {
            let radius =
                |k: usize| self.outputs.within.map_or(-1.0, |within| within.radius[self.begin + k]);
            let moving = (&position[self.begin..], &velocity[self.begin..]);
            return self.frame.brief_sinks(moving, radius, self.records);
        }
        let per_unit = self.frame.per_unit();
        for (k, out) in self.records.chunks_exact_mut(self.words).enumerate() {
            let entry = entry(self.sinks, self.outputs, self.begin + k);
            if !self.frame.sink(per_unit, &entry, out) {
                return Some(k);
            }
        }
        None
    }
}

/// The fields of sink `i` that its record is made from.
#[inline(always)]
fn entry(sinks: &Sinks<'_>, outputs: &Outputs<'_>, i: usize) -> BodyMotion {
    let or_zero = |of: &[glam::DVec3]| of.get(i).copied().unwrap_or_default();
    BodyMotion {
        position: sinks.position[i],
        velocity: or_zero(sinks.velocity),
        acceleration: or_zero(sinks.acceleration),
        last: outputs.within.map_or(-1.0, |within| within.radius[i]),
    }
}
