//! Memory layout of bodies for the SIMD kernels, in the frame of one call.

use crate::forces::Sources;
use crate::frame::Frame;

/// Bodies per [`PackF32`]: a multiple of every kernel's vector width.
pub(in crate::forces) const PACK: usize = 16;

/// 16 sources, ready for vector loads. The last pack is filled up with bodies of mass 0.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct PackF32 {
    pub x: [f32; PACK],
    pub y: [f32; PACK],
    pub z: [f32; PACK],
    pub mass: [f32; PACK],
}

impl PackF32 {
    const EMPTY: PackF32 =
        PackF32 { x: [0.0; PACK], y: [0.0; PACK], z: [0.0; PACK], mass: [0.0; PACK] };

    /// The mass of all 16 bodies, if they have the same.
    pub fn common_mass(&self) -> Option<f32> {
        self.mass.iter().all(|&m| m == self.mass[0]).then_some(self.mass[0])
    }
}

/// One sink: its position, and its index as a source (`u32::MAX`: none).
#[derive(Clone, Copy, Debug)]
pub(super) struct SinkF32 {
    pub x: f32,
    pub y: f32,
    pub z: f32,
    pub itself: u32,
}

impl SinkF32 {
    /// Marks a sink that is not a source.
    pub const NONE: u32 = u32::MAX;
}

/// (2^-42)^2: with it added, r^-3 of two bodies at the same position is finite, and times a
/// distance of 0 it gives 0. It does not change any r^2 above 2^-60.
pub(super) const FLOOR_SQUARED: f32 = f32::from_bits((127 - 84) << 23);

/// eps^2 in units of the frame's length^2, at least [`FLOOR_SQUARED`].
pub(in crate::forces) fn softening_squared(frame: &Frame, softening: f64) -> f32 {
    let eps = softening / frame.length;
    ((eps * eps) as f32).max(FLOOR_SQUARED)
}

/// Narrows the sources into `packs`.
pub(super) fn pack(frame: &Frame, sources: &Sources, packs: &mut Vec<PackF32>) {
    packs.resize(sources.position.len().div_ceil(PACK), PackF32::EMPTY);
    // The units are powers of two: their reciprocals round nothing, and are faster than dividing.
    // The reciprocal of a length below 2^-1023 is infinite: such a frame is made larger by 2^64,
    // and what is narrowed in it too.
    let more = if frame.length < f64::MIN_POSITIVE { f64::powi(2.0, 64) } else { 1.0 };
    let (origin, length, unit) = (frame.origin, (frame.length * more).recip(), frame.mass.recip());
    let chunks = sources.position.chunks(PACK).zip(sources.mass.chunks(PACK));
    for (pack, (position, mass)) in packs.iter_mut().zip(chunks) {
        if position.len() < PACK {
            *pack = PackF32::EMPTY;
        }
        for (lane, (position, mass)) in position.iter().zip(mass).enumerate() {
            pack.x[lane] = ((position.x - origin[0]) * more * length) as f32;
            pack.y[lane] = ((position.y - origin[1]) * more * length) as f32;
            pack.z[lane] = ((position.z - origin[2]) * more * length) as f32;
            pack.mass[lane] = (mass * unit) as f32;
        }
    }
}
