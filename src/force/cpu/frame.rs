//! The one place where f64 bodies become f32: the frame of a call, and how bodies lie in memory.

use glam::DVec3;

use crate::force::{Sinks, Sources};

/// Bodies per [`Pack`]: a multiple of every kernel's vector width.
pub(super) const PACK: usize = 16;

/// 16 sources, ready for vector loads. The last pack is filled up with bodies of mass 0.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct Pack {
    pub x: [f32; PACK],
    pub y: [f32; PACK],
    pub z: [f32; PACK],
    pub mass: [f32; PACK],
}

impl Pack {
    const EMPTY: Pack = Pack { x: [0.0; PACK], y: [0.0; PACK], z: [0.0; PACK], mass: [0.0; PACK] };

    /// The mass that all 16 bodies have, if they do.
    pub fn common_mass(&self) -> Option<f32> {
        self.mass.iter().all(|&m| m == self.mass[0]).then_some(self.mass[0])
    }
}

/// One sink: where it is, and which source it is (`u32::MAX`: none).
#[derive(Clone, Copy, Debug)]
pub(super) struct Sink {
    pub x: f32,
    pub y: f32,
    pub z: f32,
    pub itself: u32,
}

impl Sink {
    /// Says that a sink is no source.
    pub const NONE: u32 = u32::MAX;
}

/// Where the f32 coordinates have their origin, and their units of length and mass.
///
/// The origin lies among the bodies, so that those far from (0, 0, 0) keep their precision. Units are
/// powers of two, so that scaling is exact: the farthest body is at 2^15 to 2^16 along an axis and
/// the heaviest has a mass of 1 to 2. r^-3 then neither overflows down to distances of 2^-58 of the
/// extent, far below f64's own resolution, nor falls under 10^-16, so that masses count over
/// 20 orders of magnitude.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    origin: DVec3,
    /// Of one unit, in the caller's length.
    length: f64,
    /// Of one unit, in the caller's mass.
    mass: f64,
    /// eps^2 in units of length^2, at least [`FLOOR_SQUARED`].
    pub softening_squared: f32,
}

/// (2^-42)^2: with it added, r^-3 of two bodies in one place is finite, and times a distance of 0
/// that is 0. It changes no r^2 above 2^-60.
pub(super) const FLOOR_SQUARED: f32 = f32::from_bits((127 - 84) << 23);

/// Bodies looked at to find the middle.
const SAMPLES: usize = 255;

impl Frame {
    /// The frame for these bodies: depends on their values only.
    pub fn new(sinks: &Sinks, sources: &Sources, softening: f64) -> Self {
        let origin = middle(sources.position);
        let farthest = sinks
            .position
            .iter()
            .chain(sources.position)
            .map(|&p| (p - origin).abs().max_element())
            .fold(softening, f64::max);
        let heaviest = sources.mass.iter().copied().fold(0.0, f64::max);
        let length = power_of_two_below(farthest) * f64::powi(0.5, 15);
        let eps = softening / length;
        Self {
            origin,
            length,
            mass: power_of_two_below(heaviest),
            softening_squared: ((eps * eps) as f32).max(FLOOR_SQUARED),
        }
    }

    /// Narrows one position.
    pub fn position(&self, position: DVec3) -> [f32; 3] {
        ((position - self.origin) / self.length).as_vec3().to_array()
    }

    /// Narrows the sources into `packs`.
    pub fn pack(&self, sources: &Sources, packs: &mut Vec<Pack>) {
        packs.clear();
        packs.resize(sources.position.len().div_ceil(PACK), Pack::EMPTY);
        for (j, (&position, &mass)) in sources.position.iter().zip(sources.mass).enumerate() {
            let (pack, lane) = (&mut packs[j / PACK], j % PACK);
            [pack.x[lane], pack.y[lane], pack.z[lane]] = self.position(position);
            pack.mass[lane] = (mass / self.mass) as f32;
        }
    }

    /// What an acceleration in the frame's units is in the caller's.
    pub fn acceleration_unit(&self) -> f64 {
        self.mass / self.length / self.length
    }

    /// What a potential in the frame's units is in the caller's.
    pub fn potential_unit(&self) -> f64 {
        self.mass / self.length
    }
}

/// The median, axis by axis, of at most 255 positions taken at even strides: unlike a mean or a
/// bounding box it does not follow a few bodies that fly away.
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

/// The largest power of two not above `value`; 1 where there is none.
fn power_of_two_below(value: f64) -> f64 {
    if value.is_normal() { f64::from_bits(value.to_bits() & (0x7ff << 52)) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::super::super::Identity;
    use super::*;

    fn frame(position: &[DVec3], mass: &[f64], softening: f64) -> Frame {
        let sinks = Sinks { position, identity: Identity::Foreign };
        Frame::new(&sinks, &Sources { position, mass }, softening)
    }

    #[test]
    fn units_are_powers_of_two_and_the_extent_is_in_range() {
        for scale in [1e-6, 0.3, 1.0, 1e6] {
            let position = [DVec3::ZERO, DVec3::new(scale, 0.0, 0.0), DVec3::new(0.0, -scale, 0.0)];
            let f = frame(&position, &[3e12, 1.0, 0.0], 0.01 * scale);
            let far = position
                .iter()
                .flat_map(|&p| f.position(p))
                .fold(0.0f32, |far, value| far.max(value.abs()));
            assert!((32768.0..=65536.0).contains(&far), "{far} at scale {scale}");
            for unit in [f.length, f.mass] {
                assert_eq!(unit.to_bits() << 12, 0, "{unit} is no power of two");
            }
        }
    }

    #[test]
    fn a_body_that_flew_away_does_not_carry_the_origin_with_it() {
        let mut position: Vec<DVec3> = (0..99).map(|k| DVec3::splat(f64::from(k) / 99.0)).collect();
        position.push(DVec3::splat(1e6));
        assert!(frame(&position, &[1.0; 100], 0.0).origin.max_element() <= 1.0);
    }

    #[test]
    fn nothing_at_all_has_a_frame() {
        let f = frame(&[], &[], 0.0);
        assert_eq!((f.origin, f.mass, f.softening_squared), (DVec3::ZERO, 1.0, FLOOR_SQUARED));
    }
}
