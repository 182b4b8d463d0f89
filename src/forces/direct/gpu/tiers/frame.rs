//! The numbers of a tier: the units suited to derivatives of forces, and the device records of
//! bodies in these units.

use glam::DVec3;

use super::rows::{Word, halves, halves_of, in_units, three_parts, wide_words};
use crate::forces::{Precision, Sources};
use crate::frame::Frame;

/// Origin and units in which the device computes.
///
/// Lengths and velocities are in units of powers of two, so scaling is exact. The unit of mass is
/// 2^32 times the heaviest source (up to a power of two): equal masses become a power of two and
/// lose nothing. The origin stays at (0, 0, 0) if the bodies surround it; otherwise it lies among
/// them, which preserves their precision. With distances of at most about 1 and m at most 2^-32, m
/// / R^3 holds down to R = 1e-16. Snaps are m / R^3 times accelerations and v^2 / R: the unit of
/// velocity is chosen so that these are at most about 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TierFrame {
    pub precision: Precision,
    /// The origin is fixed during a call. The common velocity of all sources is subtracted: no
    /// derivative of a force depends on it. G is not 1 in these units.
    pub frame: Frame,
}

/// Position and motion of a source or sink, and the fourth component of its first word.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyMotion {
    pub position: DVec3,
    pub velocity: DVec3,
    pub acceleration: DVec3,
    /// Gravitating mass of a source; radius of a sink's list, negative for none.
    pub last: f64,
}

/// Origins away from 0 are multiples of `length / GRAIN`, so that the origin is stable across
/// calls.
const GRAIN: f64 = 16.0;

/// Factor by which the unit of mass in f32 tiers exceeds the heaviest source.
pub(super) const MASS_HEADROOM: f64 = (1u64 << 32) as f64;

/// Words of a record in pairs of f32 up to the velocity.
pub(super) const WORDS_TO_VELOCITY: usize = 4;

/// Units of the device's results.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ResultUnits {
    pub acceleration: f64,
    pub potential: f64,
    pub jerk: f64,
    pub snap: f64,
}

/// A power of two above `x`; 1 for 0.
fn power_above(x: f64) -> f64 {
    if !(x > 0.0 && x.is_finite()) {
        return 1.0;
    }
    let exponent = ((x.to_bits() >> 52) & 0x7ff).clamp(1, 2045);
    f64::from_bits((exponent + 1) << 52)
}

/// The largest component of `vectors` from `from`.
fn largest(vectors: &[DVec3], from: DVec3) -> f64 {
    vectors.iter().map(|v| (*v - from).abs().max_element()).fold(0.0, f64::max)
}

/// The unit of velocity in which v^2 / R and accelerations of the closest pair are at most about 1,
/// with `length` as the unit of length.
fn velocity_unit(sources: &Sources, drift: DVec3, length: f64, heaviest: f64) -> f64 {
    let fastest = largest(sources.velocity, drift);
    velocity_unit_for(fastest, largest(sources.acceleration, DVec3::ZERO), length, heaviest)
}

/// [`velocity_unit`] from the fastest velocity and the strongest acceleration, each by its largest
/// component.
fn velocity_unit_for(fastest: f64, acceleration: f64, length: f64, heaviest: f64) -> f64 {
    let strongest = acceleration * length;
    // The closest pair's m / R^2, from its acceleration, over that of the extent: (length / R)^2 at
    // most.
    let closeness = (strongest * (length / heaviest)).sqrt();
    let closeness = if closeness.is_finite() { closeness.max(1.0) } else { 1.0 };
    power_above(strongest.sqrt().max(fastest * closeness.sqrt()))
}

/// The mean velocity, if it exceeds the largest deviation from it; else 0, which leaves velocities
/// unchanged.
fn common_motion(velocity: &[DVec3]) -> DVec3 {
    let mean = velocity.iter().sum::<DVec3>() / velocity.len().max(1) as f64;
    let is_common = mean.is_finite() && mean.abs().max_element() > largest(velocity, mean);
    if is_common { mean } else { DVec3::ZERO }
}

impl TierFrame {
    /// The frame for `sources`.
    pub fn of(sources: &Sources, precision: Precision) -> Self {
        let n = sources.position.len().max(1) as f64;
        let middle = sources.position.iter().sum::<DVec3>() / n;
        // f64 gains nothing from another origin.
        let moves = precision != Precision::Double && middle.is_finite();
        let middle = if moves { middle } else { DVec3::ZERO };
        let drift = if moves { common_motion(sources.velocity) } else { DVec3::ZERO };
        Self::moving(middle, drift, sources, precision)
    }

    /// The frame for `sources` with its origin near `middle`. For an origin at 0 the results have
    /// the same bits whatever the units of length and velocity.
    pub fn around(middle: DVec3, sources: &Sources, precision: Precision) -> Self {
        Self::moving(middle, DVec3::ZERO, sources, precision)
    }

    fn moving(middle: DVec3, drift: DVec3, sources: &Sources, precision: Precision) -> Self {
        let length = power_above(largest(sources.position, middle));
        let heaviest = sources.mass.iter().copied().fold(0.0, f64::max);
        let mass = match precision {
            Precision::Double => power_above(heaviest),
            _ if heaviest > 0.0 && (heaviest * MASS_HEADROOM).is_finite() => {
                heaviest * MASS_HEADROOM
            }
            _ => 1.0,
        };
        // Bodies around 0 keep the origin 0, and with it the last bits of their f64 positions.
        let is_around_zero = (middle / length).round() == DVec3::ZERO;
        let origin = if is_around_zero {
            DVec3::ZERO
        } else {
            (middle * (GRAIN / length)).round() * (length / GRAIN)
        };
        let time = length / velocity_unit(sources, drift, length, heaviest);
        let (origin, velocity) = (origin.into(), drift.into());
        Self { precision, frame: Frame { origin, velocity, length, mass, time, ..Frame::PLAIN } }
    }

    /// If `later` sources need a smaller unit of time: that unit, and the factor for velocities of
    /// existing records.
    pub(super) fn wider(&self, later: &Sources) -> Option<(f64, f64)> {
        let Frame { velocity, length, mass, .. } = self.frame;
        let unit = velocity_unit(later, velocity.into(), length, mass / MASS_HEADROOM);
        let present = self.frame.velocity_unit();
        let needed = self.precision != Precision::Double && unit > present * 256.0;
        needed.then_some((length / unit, present / unit))
    }

    /// Words of a record.
    pub fn words(precision: Precision) -> usize {
        match precision {
            Precision::Single => 4,
            Precision::DoubleSingle | Precision::Double => 6,
        }
    }

    /// Words of a record without acceleration, where that can be left out.
    pub fn words_to_velocity(precision: Precision) -> usize {
        match precision {
            // The low part of the position comes after it; leaving that out in f64 gained nothing
            // measurable.
            Precision::Single | Precision::Double => Self::words(precision),
            Precision::DoubleSingle => WORDS_TO_VELOCITY,
        }
    }

    /// Factors for positions, velocities and accelerations: powers of two, so that the product
    /// equals the quotient.
    pub(super) fn per_unit(&self) -> [f64; 3] {
        let (length, unit) = (self.frame.length, self.frame.velocity_unit());
        [1.0 / length, 1.0 / unit, length / (unit * unit)]
    }

    /// Writes the record of a source. False if a value exceeds the range of the tier.
    #[inline(always)]
    pub(super) fn source(&self, entry: &BodyMotion, out: &mut [Word]) -> bool {
        self.record(self.per_unit(), entry, entry.last / self.frame.mass, out)
    }

    /// Writes the record of a sink, with [`TierFrame::per_unit`] computed by the caller.
    #[inline(always)]
    pub(super) fn sink(&self, per_unit: [f64; 3], entry: &BodyMotion, out: &mut [Word]) -> bool {
        self.record(per_unit, entry, self.radius_squared(per_unit, entry.last), out)
    }

    /// The square of a radius in a sink's record: enlarged by more than the tier's rounding of
    /// distances. The host filters the candidates exactly.
    #[inline(always)]
    fn radius_squared(&self, per_unit: [f64; 3], radius: f64) -> f64 {
        let (share, least) = match self.precision {
            Precision::Double => (1e-12, 0.0),
            _ => (1e-6, 2f64.powi(-44)),
        };
        let radius = radius * per_unit[0];
        let longer = radius * (1.0 + share) + least;
        if radius < 0.0 { -1.0 } else { longer * longer }
    }

    /// [`TierFrame::sink`] of many sinks, each with a radius or -1, for the most frequent case
    /// only: pairs of f32 up to the velocity. Returns the first sink outside the range of the tier.
    #[inline(always)]
    pub(super) fn brief_sinks(
        &self,
        (position, velocity): (&[DVec3], &[DVec3]),
        radius: impl Fn(usize) -> f64,
        records: &mut [Word],
    ) -> Option<usize> {
        let per_unit = self.per_unit();
        let [x, y, z] = self.frame.origin;
        let [u, v, w] = self.frame.velocity;
        let (origin, drift) = ([x, y, z, 0.0], [u, v, w, 0.0]);
        let [per_length, per_velocity] =
            [per_unit[0], per_unit[1]].map(|per_unit| [per_unit, per_unit, per_unit, 1.0]);
        let (records, _) = records.as_chunks_mut::<WORDS_TO_VELOCITY>();
        for (k, ((at, speed), out)) in position.iter().zip(velocity).zip(records).enumerate() {
            let mut nothing = [0.0; 4];
            let last = self.radius_squared(per_unit, radius(k));
            let row = in_units([at.x, at.y, at.z, last], &origin, &per_length);
            [out[0], out[1]] = halves_of(row, &mut nothing);
            let row = in_units([speed.x, speed.y, speed.z, 0.0], &drift, &per_velocity);
            [out[2], out[3]] = halves_of(row, &mut nothing);
            if nothing != [0.0; 4] {
                return Some(k);
            }
        }
        None
    }

    #[inline(always)]
    fn record(&self, per_unit: [f64; 3], entry: &BodyMotion, last: f64, out: &mut [Word]) -> bool {
        let [per_length, per_velocity, per_acceleration] = per_unit;
        let position = (entry.position - DVec3::from(self.frame.origin)) * per_length;
        let velocity = (entry.velocity - DVec3::from(self.frame.velocity)) * per_velocity;
        let acceleration = entry.acceleration * per_acceleration;
        if self.precision == Precision::Double {
            let rows = [(position, last), (velocity, 0.0), (acceleration, 0.0)];
            for ((v, w), out) in rows.into_iter().zip(out.chunks_exact_mut(2)) {
                out.copy_from_slice(&wide_words(v, w));
            }
            let numbers = [position, velocity, acceleration];
            return numbers.iter().all(|v| v.is_finite()) && last.is_finite();
        }
        let mut nothing = [0.0; 4];
        let [first, second] = halves(position, last, &mut nothing);
        let [third, fourth] = halves(velocity, 0.0, &mut nothing);
        let is_brief = self.precision != Precision::Single && out.len() == WORDS_TO_VELOCITY;
        let [fifth, sixth] = match is_brief && entry.acceleration == DVec3::ZERO {
            true => [Word::default(); 2],
            false => halves(acceleration, 0.0, &mut nothing),
        };
        match self.precision {
            Precision::Single => {
                let [x, y, z, _] = second;
                out.copy_from_slice(&[first, third, fifth, [x, y, z, 0]]);
            }
            // Without snaps the record has no space for accelerations, and no kernel reads them.
            _ => {
                let Some((brief, rest)) = out.split_first_chunk_mut::<WORDS_TO_VELOCITY>() else {
                    return false;
                };
                *brief = [first, second, third, fourth];
                if let Some(rest) = rest.first_chunk_mut::<2>() {
                    *rest = [fifth, sixth];
                }
            }
        }
        nothing == [0.0; 4]
    }

    /// eps^2 as `DirectParams` has it: an f32, and twice its rounding error.
    pub fn softening_squared(&self, softening: f64) -> [f32; 3] {
        let eps = softening / self.frame.length;
        three_parts(eps * eps)
    }

    /// Whether the softening is large enough that no pair has the distance 0.
    pub fn is_softened(&self, softening: f64) -> bool {
        self.softening_squared(softening)[0] >= f32::MIN_POSITIVE
    }

    /// Units of the results.
    pub(super) fn units(&self) -> ResultUnits {
        let (acceleration, per_time) = (self.frame.acceleration_unit(), 1.0 / self.frame.time);
        ResultUnits {
            acceleration,
            potential: self.frame.potential_unit(),
            jerk: acceleration * per_time,
            snap: acceleration * per_time * per_time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(position: &[DVec3], mass: &[f64], precision: Precision) -> TierFrame {
        TierFrame::of(&Sources { position, mass, ..Sources::default() }, precision)
    }

    #[test]
    fn pairs_preserve_precision_lost_in_single() {
        let position = [DVec3::new(1000.1, 0.3, -7.0), DVec3::new(1000.3, 0.1, -7.5)];
        let frame = frame(&position, &[0.25, 0.25], Precision::DoubleSingle);
        let mut out = vec![[0; 4]; TierFrame::words(Precision::DoubleSingle)];
        let entry = BodyMotion {
            position: position[0],
            velocity: DVec3::new(0.1, 0.2, 0.3),
            acceleration: DVec3::ZERO,
            last: 0.25,
        };
        assert!(frame.source(&entry, &mut out));
        let value = |word: usize, axis: usize| f64::from(f32::from_bits(out[word][axis]));
        let x = (value(0, 0) + value(1, 0)) * frame.frame.length + frame.frame.origin[0];
        assert!((x - 1000.1).abs() < 1e-13, "{x}");
        assert!((value(2, 1) + value(3, 1) - 0.2).abs() < 1e-15);
        assert_eq!(value(0, 3), 1.0 / MASS_HEADROOM);
        assert!((value(0, 0) * frame.frame.length + frame.frame.origin[0] - 1000.1).abs() > 1e-12);
    }

    /// The pull of a pair is 1e18, its second derivative 1e27 times that: both are at most 1 / R^3.
    #[test]
    fn units_keep_close_pairs_in_range() {
        let near = 1e-9;
        let position = [DVec3::ZERO, DVec3::X * near, DVec3::Y];
        let velocity = [DVec3::X, DVec3::Y, DVec3::ZERO];
        let acceleration = [DVec3::X / (near * near), DVec3::X / (near * near), DVec3::Y];
        let mass = [1.0; 3];
        let sources = Sources {
            position: &position,
            velocity: &velocity,
            acceleration: &acceleration,
            mass: &mass,
        };
        let frame = TierFrame::around(DVec3::ZERO, &sources, Precision::DoubleSingle).frame;
        let pull = mass[0] / frame.mass * (frame.length / near).powi(3);
        let bent = acceleration[0].x * frame.length / frame.velocity_unit().powi(2);
        let speed = 2.0 / frame.velocity_unit();
        assert!(bent <= 1.0 && speed * speed * frame.length / near <= 2.0, "{frame:?}");
        assert!(pull * 30.0 < f64::from(f32::MAX), "{pull:e}");
        // Powers of two above the largest position and velocity.
        assert_eq!((frame.length, frame.velocity_unit().log2().fract()), (2.0, 0.0));
        let slow = Sources { acceleration: &[], ..sources };
        let plain = TierFrame::around(DVec3::ZERO, &slow, Precision::DoubleSingle).frame;
        assert_eq!(plain.velocity_unit(), 2.0);
    }

    #[test]
    fn only_common_motion_is_subtracted() {
        let position = [DVec3::X, DVec3::Y];
        let fast = [DVec3::new(1e6, 1e5, 0.25), DVec3::new(1e6, 1e5, -0.5)];
        let slow = [DVec3::X, DVec3::new(-0.5, 0.25, 0.0)];
        for (velocity, unit) in [(fast, 0.5), (slow, 2.0)] {
            let sources = Sources {
                position: &position,
                velocity: &velocity,
                mass: &[1.0; 2],
                ..Sources::default()
            };
            let frame = TierFrame::of(&sources, Precision::Single);
            assert_eq!(frame.frame.velocity == [0.0; 3], velocity == slow);
            assert_eq!(frame.frame.velocity_unit(), unit);
            assert_eq!(TierFrame::of(&sources, Precision::Double).frame.velocity, [0.0; 3]);
            assert_eq!(
                TierFrame::around(DVec3::ZERO, &sources, Precision::Single).frame.velocity,
                [0.0; 3]
            );
        }
    }

    #[test]
    fn origin_stays_at_zero_and_out_of_range_is_detected() {
        let position = [DVec3::new(1.0, 0.0, 0.0), DVec3::new(-0.5, 0.25, 0.0)];
        for (precision, _) in Precision::ALL {
            let frame = frame(&position, &[3.0, 1.0], precision);
            assert_eq!(frame.frame.origin, [0.0; 3]);
            let far = BodyMotion {
                position: DVec3::splat(1e300),
                velocity: DVec3::ZERO,
                acceleration: DVec3::ZERO,
                last: -1.0,
            };
            let mut out = vec![[0; 4]; TierFrame::words(precision)];
            assert_eq!(
                frame.sink(frame.per_unit(), &far, &mut out),
                precision == Precision::Double
            );
        }
        assert_eq!([0.0, 1.0, 1.5, 3.0, f64::NAN].map(power_above), [1.0, 2.0, 2.0, 4.0, 1.0]);
    }

    #[test]
    fn records_of_many_sinks_match_single_ones() {
        let position: Vec<DVec3> =
            (0..40).map(|k| DVec3::new(0.1, -0.2, 1e-9) * f64::from(k)).collect();
        let velocity: Vec<DVec3> = position.iter().map(|x| DVec3::splat(0.7) - *x).collect();
        let mut frame = frame(&position, &[1.0; 40], Precision::DoubleSingle);
        frame.frame.velocity = [0.25, 0.0, -0.5];
        let radius = |k: usize| if k.is_multiple_of(3) { -1.0 } else { 0.1 * k as f64 };
        let mut records = vec![[0; 4]; 40 * WORDS_TO_VELOCITY];
        let refused = frame.brief_sinks((&position, &velocity), radius, &mut records);
        assert_eq!(refused, None);
        for (k, found) in records.chunks_exact(WORDS_TO_VELOCITY).enumerate() {
            let (position, velocity, last) = (position[k], velocity[k], radius(k));
            let entry = BodyMotion { position, velocity, acceleration: DVec3::ZERO, last };
            let mut record = [[0; 4]; WORDS_TO_VELOCITY];
            assert!(frame.sink(frame.per_unit(), &entry, &mut record));
            assert_eq!(found, record, "{k}");
        }
        let mut far = velocity.clone();
        far[7].z = 1e300;
        assert_eq!(frame.brief_sinks((&position, &far), radius, &mut records), Some(7));
    }
}
