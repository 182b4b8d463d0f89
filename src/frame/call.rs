//! The frame of one force evaluation; it depends only on the values passed to it.

use glam::DVec3;

use super::{Frame, exponent, power, sampled_of_all};
use crate::bodies::Rows;
use crate::error::{Error, Result};
use crate::math::AllReduce;

/// Largest number of bodies sampled for the middle.
const SAMPLES: usize = 255;

impl Frame {
    /// The frame for the forces of `sources` with gravitating masses `mass` on `sinks`, softened by
    /// `softening`.
    ///
    /// The origin lies among the sources. The farthest body is at 2^15 to 2^16 along an axis, and
    /// the heaviest has a mass of 1 to 2. Then r^-3 does not overflow down to distances of 2^-58 of
    /// the extent, far below f64's own resolution, nor fall under 10^-16, so masses count over 20
    /// orders of magnitude.
    pub fn of_call(sinks: &[DVec3], sources: &[DVec3], mass: &[f64], softening: f64) -> Self {
        Extent::of(sources, mass).frame(sinks, softening)
    }

    /// Refuses sources of which one is so far away that the others, most of them nearer to the
    /// origin than 2^-58 of that, have no distances in f32.
    ///
    /// # Errors
    /// Names the farthest source; or a sink or the softening, if those exceed the range.
    pub fn check_reach(&self, sources: &[DVec3]) -> Result<()> {
        let (mut sample, count) = sampled(sources, |p| self.away(p));
        let Some(typical) = self.too_small(&mut sample[..count]) else { return Ok(()) };
        let most = sources.iter().map(|p| self.away(p)).fold(0.0, larger);
        self.refuse(typical, most, sources)
    }

    /// [`Frame::of_call`] for the bodies of all processes on themselves, of which this one has
    /// those at `position`.
    ///
    /// # Errors
    /// [`Frame::check_reach`] on all processes, of which the one with the farthest body names it;
    /// as of [`AllReduce`].
    pub(crate) fn of_call_all(
        all: &dyn AllReduce,
        rows: &Rows,
        position: &[DVec3],
        mass: &[f64],
        softening: f64,
    ) -> Result<Self> {
        let sample = sampled_of_all(all, rows, position, SAMPLES)?;
        let origin = middle(&sample);
        let mut most = [farthest(position, origin), largest(mass, [0.0; 12])];
        all.maxima(&mut most)?;
        let [farthest, heaviest] = most;
        let frame = Extent { origin, farthest, heaviest }.frame(&[], softening);
        let mut sample: Vec<f64> = sample.iter().map(|p| frame.away(p)).collect();
        if let Some(typical) = frame.too_small(&mut sample) {
            frame.refuse(typical, farthest, position)?;
            return Err(Error::Member("another rank has a body out of reach".to_owned()));
        }
        Ok(frame)
    }

    /// The largest distance from the origin along an axis.
    fn away(&self, p: &DVec3) -> f64 {
        (*p - DVec3::from(self.origin)).abs().max_element()
    }

    /// The typical one of the distances of some sources, if it is too small in this frame.
    fn too_small(&self, sample: &mut [f64]) -> Option<f64> {
        let middle = sample.len().checked_sub(1)?.div_ceil(2);
        let typical = *sample.select_nth_unstable_by(middle, f64::total_cmp).1;
        (typical != 0.0 && typical < self.length * f64::powi(0.5, 42)).then_some(typical)
    }

    /// The error for sources of which the farthest are `most` away, if one of these `sources` is.
    fn refuse(&self, typical: f64, most: f64, sources: &[DVec3]) -> Result<()> {
        if typical >= most * f64::powi(0.5, 57) {
            let what = "the distance of the farthest sink (or the softening)";
            let allowed = format!(
                "within 2^58 (2.9e17) times the extent of most sources, {typical:.1e}, in single precision"
            );
            let most = self.length * f64::powi(2.0, 15);
            return Err(Error::value(what, format!("{most:.1e} or more"), allowed));
        }
        let Some(index) = sources.iter().rposition(|p| self.away(p) == most) else { return Ok(()) };
        let [x, y, z] = sources[index].to_array();
        let problem = format!(
            "its position [{x:.3e}, {y:.3e}, {z:.3e}] is not within 2^58 (2.9e17) times the extent of most bodies, \
             {typical:.1e}, which single precision needs; engines in double precision take more"
        );
        Err(Error::Body { index, id: index as u64, problem })
    }
}

/// The properties of the sources that determine the frame of a call: computed once for several
/// calls.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    origin: DVec3,
    farthest: f64,
    heaviest: f64,
}

impl Extent {
    /// The extent of `sources` with gravitating masses `mass`.
    pub fn of(sources: &[DVec3], mass: &[f64]) -> Self {
        let origin = middle(sources);
        Self { origin, farthest: farthest(sources, origin), heaviest: largest(mass, [0.0; 12]) }
    }

    /// [`Frame::of_call`] with these sources.
    pub fn frame(&self, sinks: &[DVec3], softening: f64) -> Frame {
        let farthest = larger(larger(softening, self.farthest), farthest(sinks, self.origin));
        Frame {
            origin: self.origin.into(),
            length: power_below(farthest) * f64::powi(0.5, 15),
            mass: power_below(self.heaviest),
            ..Frame::PLAIN
        }
    }
}

/// The values of at most 255 positions at even strides, and their number.
fn sampled(position: &[DVec3], value: impl Fn(&DVec3) -> f64) -> ([f64; SAMPLES], usize) {
    let stride = position.len().div_ceil(SAMPLES).max(1);
    let mut sample = [0.0; SAMPLES];
    for (sample, p) in sample.iter_mut().zip(position.iter().step_by(stride)) {
        *sample = value(p);
    }
    (sample, position.len().div_ceil(stride))
}

/// The larger of two numbers, `most` if `other` is NaN: one instruction, unlike `f64::max`.
fn larger(most: f64, other: f64) -> f64 {
    if other > most { other } else { most }
}

/// The largest distance along an axis from `origin`.
fn farthest(positions: &[DVec3], origin: DVec3) -> f64 {
    let [x, y, z] = origin.to_array();
    largest(bytemuck::cast_slice(positions), [x, y, z, x, y, z, x, y, z, x, y, z])
}

/// The largest |number - from|, with `from` repeated. Twelve running maxima, so that the loop is
/// vectorised.
fn largest(numbers: &[f64], from: [f64; 12]) -> f64 {
    let mut most = [0.0; 12];
    let (rows, rest) = numbers.as_chunks::<12>();
    for row in rows {
        for k in 0..12 {
            most[k] = larger(most[k], (row[k] - from[k]).abs());
        }
    }
    let rest = rest.iter().zip(from).map(|(x, from)| (x - from).abs());
    most.into_iter().chain(rest).fold(0.0, larger)
}

/// The median along each axis of at most 255 positions at even strides: unlike a mean or a bounding
/// box it does not follow a few bodies that fly away.
fn middle(position: &[DVec3]) -> DVec3 {
    if position.is_empty() {
        return DVec3::ZERO;
    }
    let median = |axis: usize| {
        let (mut sample, count) = sampled(position, |p| p[axis]);
        *sample[..count].select_nth_unstable_by(count / 2, f64::total_cmp).1
    };
    DVec3::new(median(0), median(1), median(2))
}

/// The largest power of two not above `value`; 1 if there is none.
pub fn power_below(value: f64) -> f64 {
    if value.is_normal() { power(exponent(value)) } else { 1.0 }
}
