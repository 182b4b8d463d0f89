//! The only conversion from f64 to f32: the origin of f32 coordinates, its motion, and their units.
//!
//! f32 resolves one part in 16 million and reaches from 1e-38 to 1e38. Bodies far from (0, 0, 0),
//! or in metres and kilograms, exceed both. So everything that computes in f32 does so in a frame
//! among the bodies: coordinates count from an origin near them, which may move uniformly, in units
//! in which lengths, masses and speeds are of order one and G is 1. The units are powers of two, so
//! converting rounds nothing, and results have the same bits in any units that differ by such
//! factors.
//!
//! The frame of a run is chosen from its first state and stored in `run.toml`. Pictures use it as
//! the scale of their points, and the camera is converted to f32 in it.
//!
//! On a device, leapfrog's positions and velocities have five bits more than f32 (`gpu/fine.rs`).
//! If the origin lies elsewhere, an f64 coordinate counted from (0, 0, 0) can be too short for the
//! last of these bits. A snapshot then stores the missing digits in extra columns ([`Rests`]), so
//! that a restart gives the same bits.

use std::fmt;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::bodies::{Bodies, Rows};
use crate::error::{Error, Result};
use crate::math::{AllReduce, Alone, all_largest_of, all_sums_of};

mod call;
mod coincident;
mod rests;

pub use call::{Extent, power_below};
pub use coincident::coincident;
pub(crate) use coincident::coincident_of_all;
pub use rests::{PREFIX, Rests};

/// An origin and units, all given in the caller's units.
///
/// `length`, `mass` and `time` are powers of two. In the frame of a run length^3 = mass * time^2,
/// so that G is 1; the frame of a single force evaluation does not use `time`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Position of the origin at the time `epoch`.
    pub origin: [f64; 3],
    /// Velocity of the origin.
    pub velocity: [f64; 3],
    /// The time at which the origin is at `origin`.
    pub epoch: f64,
    /// The unit of length.
    pub length: f64,
    /// The unit of gravitating mass, G m.
    pub mass: f64,
    /// The unit of time.
    pub time: f64,
}

impl Default for Frame {
    fn default() -> Self {
        Self::PLAIN
    }
}

/// An origin this close to the centre of mass, as a fraction of the bodies' extent, is as good as
/// the centre.
const NEAR: f64 = 1.0 / 16.0;

/// If the centre of mass moves slower than this fraction of the bodies' own speeds, the frame does
/// not move.
const SLOW: f64 = 1e-6;

/// A run's unit of length is 2 to at most this power, about 1e102, so that its cube fits f64.
const MOST_EXPONENT: i32 = 340;

impl Frame {
    /// The caller's numbers, narrowed without a change of origin or units.
    pub const PLAIN: Self = Self {
        origin: [0.0; 3],
        velocity: [0.0; 3],
        epoch: 0.0,
        length: 1.0,
        mass: 1.0,
        time: 1.0,
    };

    /// The frame for a run of `bodies` that begins at the time `now` with G =
    /// `gravitational_constant`. The origin moves with the centre of mass; half of the bodies are
    /// within one to two units of length of it, and the total mass is between a half and two.
    ///
    /// Bodies that are already centred on (0, 0, 0), or at rest as a whole, keep that. If a few far
    /// or fast bodies draw the centre of mass away from the others, the origin stays with the
    /// others.
    pub fn of(bodies: &Bodies, gravitational_constant: f64, now: f64) -> Self {
        let rows = Rows::all(bodies.len());
        Alone::always(Self::of_all(&Alone, &rows, bodies, gravitational_constant, now))
    }

    /// [`Frame::of`] for the bodies of all processes, of which this one has `bodies`.
    ///
    /// # Errors
    /// As of [`AllReduce`].
    pub(crate) fn of_all(
        all: &dyn AllReduce,
        rows: &Rows,
        bodies: &Bodies,
        gravitational_constant: f64,
        now: f64,
    ) -> Result<Self> {
        let heaviest = all_largest_of(all, bodies.len(), |i| bodies.mass[i])?;
        // Masses relative to the heaviest, so that their sums and moments fit f64 in any units.
        let weight = |i: usize| if heaviest > 0.0 { bodies.mass[i] / heaviest } else { 1.0 };
        let [total] = all_sums_of(all, bodies.len(), |i| [weight(i)])?;
        let centre = Spread::of((all, rows), &bodies.position, &weight, total)?;
        let drift = Spread::of((all, rows), &bodies.velocity, &weight, total)?;
        let origin = centre.unless_within(NEAR);
        let velocity = drift.unless_within(SLOW);

        let alone = centre.middle.length();
        let length = exponent(if centre.extent > 0.0 { centre.extent } else { alone });
        let gravitating = total * heaviest * gravitational_constant.abs();
        // Without gravity the bodies' own speeds set the unit of time.
        let time = if gravitating > 0.0 {
            (3 * length - exponent(gravitating)).div_euclid(2)
        } else if drift.extent > 0.0 {
            length - exponent(drift.extent)
        } else {
            0
        };
        let units = units(length, time);
        Ok(Self { origin: origin.into(), velocity: velocity.into(), epoch: now, ..units })
    }

    /// The same frame with its origin moved to where it is at the time `now`.
    #[must_use]
    pub fn at(&self, now: f64) -> Self {
        if self.velocity == [0.0; 3] {
            return Self { epoch: now, ..*self };
        }
        let origin = DVec3::from(self.origin) + DVec3::from(self.velocity) * (now - self.epoch);
        Self { origin: origin.into(), epoch: now, ..*self }
    }

    /// Whether the origin stays at (0, 0, 0).
    pub fn is_central(&self) -> bool {
        self.origin == [0.0; 3] && self.velocity == [0.0; 3]
    }

    /// A position at the time `epoch`, relative to the origin, in units of length.
    pub fn scaled_position(&self, position: DVec3) -> DVec3 {
        (position - DVec3::from(self.origin)) / self.length
    }

    /// A velocity relative to the origin's, in units of length and time.
    pub fn scaled_velocity(&self, velocity: DVec3) -> DVec3 {
        (velocity - DVec3::from(self.velocity)) / self.velocity_unit()
    }

    /// A position at the time `epoch`, in f32.
    pub fn position(&self, position: DVec3) -> [f32; 3] {
        narrow(self.scaled_position(position))
    }

    /// A velocity in f32.
    pub fn velocity(&self, velocity: DVec3) -> [f32; 3] {
        narrow(self.scaled_velocity(velocity))
    }

    /// An acceleration in f32.
    pub fn acceleration(&self, acceleration: DVec3) -> [f32; 3] {
        narrow(acceleration / self.acceleration_unit())
    }

    /// A position at the time `epoch`, from f32.
    pub fn wide_position(&self, position: [f32; 3]) -> DVec3 {
        DVec3::from(self.origin) + wide(position) * self.length
    }

    /// A velocity from f32.
    pub fn wide_velocity(&self, velocity: [f32; 3]) -> DVec3 {
        DVec3::from(self.velocity) + wide(velocity) * self.velocity_unit()
    }

    /// An acceleration from f32.
    pub fn wide_acceleration(&self, acceleration: [f32; 3]) -> DVec3 {
        wide(acceleration) * self.acceleration_unit()
    }

    /// One unit of velocity in the caller's units.
    pub fn velocity_unit(&self) -> f64 {
        self.length / self.time
    }

    /// One unit of acceleration in the caller's units.
    pub fn acceleration_unit(&self) -> f64 {
        self.mass / self.length / self.length
    }

    /// One unit of potential in the caller's units.
    pub fn potential_unit(&self) -> f64 {
        self.mass / self.length
    }

    /// The time step `dt` in the frame's unit of time.
    ///
    /// # Errors
    /// A step outside the range of f32 in this unit.
    pub fn dt(&self, dt: f64) -> Result<f64> {
        let inside = dt / self.time;
        if dt == 0.0 || (inside as f32).is_normal() {
            return Ok(inside);
        }
        let (least, most) = (f64::from(f32::MIN_POSITIVE), f64::from(f32::MAX));
        let allowed = format!(
            "{:.1e} to {:.1e} for these bodies, whose own unit of time is {:.1e}, in f32",
            least * self.time,
            most * self.time,
            self.time
        );
        Err(Error::value("the time step dt", dt, allowed))
    }

    /// The smallest difference between f32 coordinates of a body at `position`, in the caller's
    /// length: rounding moves the body by at most half of it.
    pub fn spacing(&self, position: DVec3) -> f64 {
        let [x, y, z] = self.position(position);
        let largest = x.abs().max(y.abs()).max(z.abs());
        let ulp = f32::from_bits(largest.to_bits() + 1) - largest;
        f64::from(ulp) * self.length
    }

    /// Checks that origin and velocity are finite, and that the units are powers of two and make G
    /// 1.
    ///
    /// # Errors
    /// The first of these that does not hold.
    pub fn validate(&self) -> Result<()> {
        for (what, values) in [("origin", self.origin), ("velocity", self.velocity)] {
            if let Some(value) = values.iter().find(|value| !value.is_finite()) {
                return Err(Error::value(format!("the {what} of the frame"), value, "finite"));
            }
        }
        if !self.epoch.is_finite() {
            return Err(Error::value("the epoch of the frame", self.epoch, "finite"));
        }
        for (what, unit) in [("length", self.length), ("mass", self.mass), ("time", self.time)] {
            let is_power = unit.is_normal() && unit > 0.0 && unit == power(exponent(unit));
            if !is_power {
                let what = format!("the unit of {what} of the frame");
                return Err(Error::value(what, unit, "a power of two"));
            }
        }
        let exponents = [self.length, self.mass, self.time].map(exponent);
        if 3 * exponents[0] != exponents[1] + 2 * exponents[2] {
            let allowed = "length^3 / time^2, so that G is 1";
            return Err(Error::value("the unit of mass of the frame", self.mass, allowed));
        }
        Ok(())
    }
}

impl fmt::Display for Frame {
    /// Formats it in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let vector = |[x, y, z]: [f64; 3]| format!("({x}, {y}, {z})");
        write!(f, "origin {}", vector(self.origin))?;
        if self.velocity != [0.0; 3] {
            write!(f, " at t = {}, moving with {}", self.epoch, vector(self.velocity))?;
        }
        let [length, mass, time] = [self.length, self.mass, self.time].map(exponent);
        write!(f, "; units 2^{length} of length, 2^{mass} of G m, 2^{time} of time")
    }
}

/// A frame of units from the exponents of length and time; the exponent of mass follows.
fn units(length: i32, time: i32) -> Frame {
    let length = length.clamp(-MOST_EXPONENT, MOST_EXPONENT);
    // Keeps the exponent of mass within 1000.
    let time = time.clamp((3 * length - 1000).div_euclid(2) + 1, (3 * length + 1000).div_euclid(2));
    Frame {
        length: power(length),
        mass: power(3 * length - 2 * time),
        time: power(time),
        ..Frame::PLAIN
    }
}

/// 2^exponent, for the exponents of normal numbers.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023).clamp(1, 2046) as u64) << 52)
}

/// The exponent of the largest power of two not above `x`; 0 unless `x` is a number above 0.
fn exponent(x: f64) -> i32 {
    if !(x > 0.0 && x.is_finite()) {
        return 0;
    }
    ((x.to_bits() >> 52) as i32).max(1) - 1023
}

/// A vector in f32: the only conversion from f64 to f32.
pub fn narrow(vector: DVec3) -> [f32; 3] {
    vector.as_vec3().to_array()
}

fn wide(vector: [f32; 3]) -> DVec3 {
    DVec3::from(vector.map(f64::from))
}

/// The location and the extent of a set of vectors.
struct Spread {
    /// Their weighted mean, or their median if the mean is not among them.
    middle: DVec3,
    /// Their median distance from the median, without those that lie on it; 0 if all do.
    extent: f64,
}

/// Number of vectors sampled for the median, which a few distant ones do not move.
const SAMPLES: usize = 1023;

impl Spread {
    fn of(
        (all, rows): (&dyn AllReduce, &Rows),
        vectors: &[DVec3],
        weight: &(dyn Fn(usize) -> f64 + Sync),
        total: f64,
    ) -> Result<Self> {
        let sample = sampled_of_all(all, rows, vectors, SAMPLES)?;
        let along = |axis: usize| median(sample.iter().map(|vector| vector[axis]).collect());
        let typical = DVec3::new(along(0), along(1), along(2));
        let distances = sample.iter().map(|vector| length(*vector - typical));
        let extent = median(distances.filter(|distance| *distance > 0.0).collect());
        // Relative to one of them, so that a large common offset cancels before the sum.
        let moment = |i: usize| ((vectors[i] - typical) * (weight(i) / total)).to_array();
        let mean = typical + DVec3::from(all_sums_of(all, vectors.len(), moment)?);
        let is_among = length(mean - typical) <= extent;
        Ok(Self { middle: if is_among { mean } else { typical }, extent })
    }

    /// The middle, or 0 if that is within a fraction `part` of the extent and so as good.
    fn unless_within(&self, part: f64) -> DVec3 {
        if length(self.middle) > part * self.extent { self.middle } else { DVec3::ZERO }
    }
}

/// At most `most` vectors of all processes at even strides.
fn sampled_of_all(
    all: &dyn AllReduce,
    rows: &Rows,
    vectors: &[DVec3],
    most: usize,
) -> Result<Vec<DVec3>> {
    let own: Vec<f64> = rows.sampled(most).flat_map(|i| vectors[i].to_array()).collect();
    let gathered = all.gather(&own)?;
    Ok(gathered.as_chunks::<3>().0.iter().copied().map(DVec3::from).collect())
}

/// The middle one of `values`, or 0 if there is none.
fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() {
        return 0.0;
    }
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// The length of a vector whose square may overflow or underflow f64.
fn length(vector: DVec3) -> f64 {
    let largest = vector.abs().max_element();
    if largest > 0.0 && largest.is_finite() {
        largest * (vector / largest).length()
    } else {
        largest
    }
}

#[cfg(test)]
mod tests;
