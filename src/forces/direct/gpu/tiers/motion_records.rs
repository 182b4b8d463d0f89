//! Records of motion as the device has them, and whether a body still suits the frame that they are in.

use glam::DVec3;

use super::frame::{ROOM, TierFrame, Word, halves, three_parts, wide_words};
use crate::forces::{Moving, Precision, ToJerk};

/// Words of a record at most.
pub(super) const MOST_WORDS: usize = 12;

/// Words of a record up to the jerk: in pairs of f32 as in f64.
pub(super) const WORDS_TO_JERK: usize = 8;

/// Vectors of a body's motion, from position to crackle.
const ROWS: usize = 6;

/// A body so many units of length away, or so much heavier than the heaviest was, asks for another frame.
const FAR: f64 = 8.0;

/// What records are made with, worked out once for many.
pub(super) struct Scale {
    precision: Precision,
    origin: DVec3,
    drift: DVec3,
    /// By row; powers of two, as all units but the mass are.
    per_unit: [f64; ROWS],
    per_time: f64,
    mass: f64,
    heaviest: f64,
    /// For how fast a body may be: by the largest velocity and acceleration that the unit of velocity is not far too small
    /// for, and by how close a body is as its acceleration tells.
    per_most: [f64; 2],
    closeness: f64,
}

/// Units of velocity that a body may be fast, or its acceleration strong.
const FASTEST: f64 = 256.0;

impl Scale {
    /// In this frame, which was chosen when the heaviest body weighed that much.
    pub fn of(precision: Precision, frame: &TierFrame, heaviest: f64) -> Self {
        let inside = &frame.frame;
        let (l, v) = (inside.length, inside.velocity_unit());
        // The unit of time is l / v.
        let mut unit = 1.0 / v;
        let per_unit = std::array::from_fn(|k| match k {
            0 => 1.0 / l,
            1 => unit,
            _ => {
                unit *= l / v;
                unit
            }
        });
        Self {
            precision,
            origin: DVec3::from(inside.origin),
            drift: DVec3::from(inside.velocity),
            per_unit,
            per_time: v / l,
            mass: inside.mass,
            heaviest,
            per_most: [1.0 / (FASTEST * v), l / (FASTEST * v) / (FASTEST * v)],
            closeness: l * (l / (inside.mass / ROOM)),
        }
    }

    /// Whether the frame does not suit this body.
    #[inline(always)]
    pub fn is_outgrown_by(&self, moving: &ToJerk) -> bool {
        let position = (moving.motion[0] - self.origin) * self.per_unit[0];
        let heavy = moving.mass > FAR * self.heaviest;
        heavy || position.abs().max_element() > FAR || self.is_outrun_by(moving)
    }

    /// Whether the unit of velocity that would be chosen for this body ([`TierFrame::of`]) is far above the one there is.
    #[inline(always)]
    fn is_outrun_by(&self, moving: &ToJerk) -> bool {
        let fastest = (moving.motion[1] - self.drift).abs().max_element() * self.per_most[0];
        let acceleration = moving.motion[2].abs().max_element();
        // Without roots: this is asked of every body that changes.
        let closeness_squared = acceleration * self.closeness;
        let squared = fastest * fastest;
        let is_close =
            closeness_squared.is_finite() && squared * squared * closeness_squared >= 1.0;
        let is_strong = acceleration * self.per_most[1] >= 1.0;
        self.precision != Precision::Double && (fastest >= 1.0 || is_strong || is_close)
    }

    /// Makes a record, or its first [`WORDS_TO_JERK`] words, as `out` has room. False if a number of it leaves the range of
    /// the tier.
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
        let third = f64::from(three_parts(time)[2]);
        let Some((begin, rest)) = out.split_first_chunk_mut::<WORDS_TO_JERK>() else {
            return false;
        };
        // What an f32 lacks of a number is one if the f32 is.
        let mut nothing = [0.0; 4];
        for (k, (row, last)) in low.into_iter().zip([mass, time, third, 0.0]).enumerate() {
            [begin[2 * k], begin[2 * k + 1]] = halves(row, last, &mut nothing);
        }
        if let Some(rest) = rest.first_chunk_mut::<3>() {
            [rest[0], rest[1]] = halves(high[0], 0.0, &mut nothing);
            [rest[2], _] = halves(high[1], 0.0, &mut nothing);
        }
        nothing == [0.0; 4]
    }
}

/// Snap and crackle.
pub(super) fn high_of(moving: &Moving) -> [DVec3; 2] {
    let [.., s, c] = moving.motion;
    [s, c]
}

/// Whether there is a snap or a crackle.
#[inline(always)]
pub(super) fn has_snap(high: [DVec3; 2]) -> bool {
    high != [DVec3::ZERO; 2]
}
