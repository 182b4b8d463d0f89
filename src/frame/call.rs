//! The frame of one force evaluation; it depends only on the values passed to it.

use glam::DVec3;

use super::{Frame, exponent, power};

/// The most bodies sampled for the middle.
const SAMPLES: usize = 255;

impl Frame {
    /// The frame for the forces of `sources` with gravitating masses `mass` on `sinks`, softened by `softening`.
    ///
    /// The origin lies among the sources. The farthest body is at 2^15 to 2^16 along an axis, and
    /// the heaviest has a mass of 1 to 2. Then r^-3 does not overflow down to distances of 2^-58 of
    /// the extent, far below f64's own resolution, nor fall under 10^-16, so masses count over 20
    /// orders of magnitude.
    pub fn of_call(sinks: &[DVec3], sources: &[DVec3], mass: &[f64], softening: f64) -> Self {
        let origin = middle(sources);
        let farthest = sinks
            .iter()
            .chain(sources)
            .map(|&p| (p - origin).abs().max_element())
            .fold(softening, f64::max);
        let heaviest = mass.iter().map(|mass| mass.abs()).fold(0.0, f64::max);
        Self {
            origin: origin.into(),
            length: power_below(farthest) * f64::powi(0.5, 15),
            mass: power_below(heaviest),
            ..Self::PLAIN
        }
    }
}

/// The median along each axis of at most 255 positions at even strides: unlike a mean or a bounding
/// box it does not follow a few bodies that fly away.
fn middle(position: &[DVec3]) -> DVec3 {
    let stride = position.len().div_ceil(SAMPLES).max(1);
    let count = position.len().div_ceil(stride);
    if count == 0 {
        return DVec3::ZERO;
    }
    let median = |axis: usize| {
        let mut sample = [0.0; SAMPLES];
        for (value, p) in sample.iter_mut().zip(position.iter().step_by(stride)) {
            *value = p[axis];
        }
        *sample[..count].select_nth_unstable_by(count / 2, f64::total_cmp).1
    };
    DVec3::new(median(0), median(1), median(2))
}

/// The largest power of two not above `value`; 1 if there is none.
pub fn power_below(value: f64) -> f64 {
    if value.is_normal() { power(exponent(value)) } else { 1.0 }
}
