//! Motion records in the device's format, and the test whether a body still fits their frame.

use glam::DVec3;

use super::frame::{MASS_HEADROOM, TierFrame};
use super::records::Wide;
use super::rows::{Row, Word, halves, halves_of, in_units, three_parts, wide_words};
use crate::forces::{Arrivals, Goal, Precision, ToJerk};

/// Largest number of words of a record.
pub(super) const MOST_WORDS: usize = 12;

/// Words of a record up to the jerk, the same for pairs of f32 and f64.
pub(super) const WORDS_TO_JERK: usize = 8;

/// Vectors of a body's motion, from position to crackle.
const ROWS: usize = 6;

/// A body farther from the origin than this in units of length, or heavier than the heaviest by
/// this factor, requires a new frame.
const FAR: f64 = 8.0;

/// Factors for making records, computed once for many.
pub(super) struct RecordScale {
    precision: Precision,
    origin: DVec3,
    drift: DVec3,
    /// Factor of each row; powers of two, as are all units but the mass.
    per_unit: [f64; ROWS],
    per_time: f64,
    mass: f64,
    heaviest: f64,
    /// Origins and factors of the rows up to the jerk, as vectors; their fourth component needs no
    /// scaling.
    origins: [Row; 4],
    per_units: [Row; 4],
    /// For the test of the unit of velocity: factors for the largest velocity and acceleration, and
    /// for the closeness that an acceleration implies.
    per_most: [f64; 2],
    closeness: f64,
}

/// Velocity and acceleration above which the unit of velocity is too small.
const FASTEST: f64 = 256.0;

impl RecordScale {
    /// For this frame, chosen when the heaviest body had the mass `heaviest`.
    pub fn of(precision: Precision, frame: &TierFrame, heaviest: f64) -> Self {
        let inside = &frame.frame;
        let (l, v) = (inside.length, inside.velocity_unit());
        // The unit of time is l / v.
        let mut unit = 1.0 / v;
        let per_unit: [f64; ROWS] = std::array::from_fn(|k| match k {
            0 => 1.0 / l,
            1 => unit,
            _ => {
                unit *= l / v;
                unit
            }
        });
        let row = |[x, y, z]: [f64; 3]| [x, y, z, 0.0];
        Self {
            precision,
            origins: [row(inside.origin), row(inside.velocity), [0.0; 4], [0.0; 4]],
            per_units: std::array::from_fn(|k| [per_unit[k], per_unit[k], per_unit[k], 1.0]),
            origin: DVec3::from(inside.origin),
            drift: DVec3::from(inside.velocity),
            per_unit,
            per_time: v / l,
            mass: inside.mass,
            heaviest,
            per_most: [1.0 / (FASTEST * v), l / (FASTEST * v) / (FASTEST * v)],
            closeness: l * (l / (inside.mass / MASS_HEADROOM)),
        }
    }

    /// Whether this body no longer fits the frame.
    #[inline(always)]
    pub fn is_outgrown_by(&self, moving: &ToJerk) -> bool {
        let position = (moving.motion[0] - self.origin) * self.per_unit[0];
        let heavy = moving.mass > FAR * self.heaviest;
        heavy || position.abs().max_element() > FAR || self.needs_faster_unit(moving)
    }

    /// Whether [`TierFrame::of`] would choose a far larger unit of velocity for this body.
    #[inline(always)]
    fn needs_faster_unit(&self, moving: &ToJerk) -> bool {
        let fastest = (moving.motion[1] - self.drift).abs().max_element() * self.per_most[0];
        let acceleration = moving.motion[2].abs().max_element();
        // No roots: this is evaluated for every body that changes.
        let closeness_squared = acceleration * self.closeness;
        let squared = fastest * fastest;
        let is_close =
            closeness_squared.is_finite() && squared * squared * closeness_squared >= 1.0;
        let is_strong = acceleration * self.per_most[1] >= 1.0;
        self.precision != Precision::Double && (fastest >= 1.0 || is_strong || is_close)
    }

    /// Writes a record, or its first [`WORDS_TO_JERK`] words if `out` is shorter. False if a value
    /// exceeds the range of the tier.
    #[inline(always)]
    pub fn record(&self, moving: &ToJerk, [s, c]: [DVec3; 2], out: &mut [Word]) -> bool {
        let [x, v, a, j] = moving.motion;
        let [per_x, per_v, per_a, per_j, per_s, per_c] = self.per_unit;
        let low = [(x - self.origin) * per_x, (v - self.drift) * per_v, a * per_a, j * per_j];
        let high = [s * per_s, c * per_c];
        let mass = moving.mass / self.mass;
        let time = moving.time * self.per_time;
        let is_whole = out.len() > WORDS_TO_JERK;
        if self.precision == Precision::Double {
            let rows = low.iter().chain(high.iter().filter(|_| is_whole));
            for (k, (row, out)) in rows.zip(out.chunks_exact_mut(2)).enumerate() {
                out.copy_from_slice(&wide_words(*row, [mass, time][k.min(1)]));
            }
            let finite = low.iter().chain(&high).all(|row| row.is_finite());
            return finite && mass.is_finite() && time.is_finite();
        }
        let Some((begin, rest)) = out.split_first_chunk_mut::<WORDS_TO_JERK>() else {
            return false;
        };
        let fits = self.record_to_jerk(moving, begin);
        let mut nothing = [0.0; 4];
        if let Some(rest) = rest.first_chunk_mut::<3>() {
            [rest[0], rest[1]] = halves(high[0], 0.0, &mut nothing);
            [rest[2], _] = halves(high[1], 0.0, &mut nothing);
        }
        fits && nothing == [0.0; 4]
    }

    /// Writes the first words of a record in pairs of f32. False if a value exceeds their range.
    #[inline(always)]
    pub fn record_to_jerk(&self, moving: &ToJerk, out: &mut [Word; WORDS_TO_JERK]) -> bool {
        let time = moving.time * self.per_time;
        let last = [moving.mass / self.mass, time, f64::from(three_parts(time)[2]), 0.0];
        // The low part is finite if the high part is.
        let mut nothing = [0.0; 4];
        let rows = moving.motion.iter().zip(last).zip(self.origins.iter().zip(&self.per_units));
        let (out, _) = out.as_chunks_mut::<2>();
        for (((v, last), (origin, per_unit)), out) in rows.zip(out) {
            let row = in_units([v.x, v.y, v.z, last], origin, per_unit);
            *out = halves_of(row, &mut nothing);
        }
        nothing == [0.0; 4]
    }
}

/// Whether there is a snap or a crackle.
#[inline(always)]
pub(super) fn has_snap(high: [DVec3; 2]) -> bool {
    high != [DVec3::ZERO; 2]
}

/// Changes to be written in upload format, of `each` words: a word with the source's index, then
/// its record.
pub(super) struct Staging<'a> {
    pub scale: &'a RecordScale,
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
        if each == EACH && scale.precision != Precision::Double && sources.high.is_empty() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::TestBodies;

    #[test]
    fn rows_match_scalar_conversion() {
        let bodies = TestBodies::new(60, 3);
        let frame = TierFrame::of(&bodies.sources(60), Precision::DoubleSingle);
        let scale = RecordScale::of(Precision::DoubleSingle, &frame, 1.0);
        for k in 0..60 {
            let (x, v, a) = (bodies.position[k], bodies.velocity[k], bodies.acceleration[k]);
            let time = [0.1, -1e-7, -0.0][k % 3] * (k as f64 + 1.0 / 3.0);
            let moving = ToJerk { time, mass: bodies.mass[k], motion: [x, v, a, -0.3 * v] };
            let mut record = [Word::default(); WORDS_TO_JERK];
            assert!(scale.record_to_jerk(&moving, &mut record));
            let in_units = time * scale.per_time;
            let third = f64::from(three_parts(in_units)[2]);
            let last = [moving.mass / scale.mass, in_units, third, 0.0];
            let from = [scale.origin, scale.drift, DVec3::ZERO, DVec3::ZERO];
            for row in 0..4 {
                let scaled = (moving.motion[row] - from[row]) * scale.per_unit[row];
                let numbers = [scaled.x, scaled.y, scaled.z, last[row]];
                let high = numbers.map(|x| (x as f32).to_bits());
                let low = numbers.map(|x| ((x - f64::from(x as f32)) as f32).to_bits());
                assert_eq!(record[2 * row..2 * row + 2], [high, low], "{k} {row}");
            }
        }
        let mut far = ToJerk::default();
        far.motion[2].y = 1e300;
        assert!(!scale.record_to_jerk(&far, &mut [Word::default(); WORDS_TO_JERK]));
    }
}
