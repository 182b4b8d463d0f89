//! Numbers of records, four at a time: as pairs of f32, or as f64 in words. Plain loops over four
//! become one vector instruction each.

use glam::DVec3;

/// One `vec4<u32>` of a record.
pub(super) type Word = [u32; 4];

/// Splits four numbers into f32 high and low parts. The low part is finite if the high part is:
/// `nothing` stays 0 then, and becomes NaN otherwise.
#[inline(always)]
pub(super) fn halves(v: DVec3, last: f64, nothing: &mut [f32; 4]) -> [Word; 2] {
    halves_of([v.x, v.y, v.z, last], nothing)
}

/// Four numbers processed together: a vector and a fourth component.
pub(super) type Row = [f64; 4];

/// [`halves`] of a row.
#[inline(always)]
pub(super) fn halves_of(row: Row, nothing: &mut [f32; 4]) -> [Word; 2] {
    let (mut high, mut low) = ([0.0f32; 4], [0.0f32; 4]);
    for (high, x) in high.iter_mut().zip(row) {
        *high = x as f32;
    }
    for (nothing, high) in nothing.iter_mut().zip(high) {
        // x times 0 is 0, or NaN if x is infinite or NaN.
        *nothing += high * 0.0;
    }
    for ((low, x), high) in low.iter_mut().zip(row).zip(high) {
        *low = (x - f64::from(high)) as f32;
    }
    [high.map(f32::to_bits), low.map(f32::to_bits)]
}

/// A row less `origin`, in units that are powers of two.
#[inline(always)]
pub(super) fn in_units(mut row: Row, origin: &Row, per_unit: &Row) -> Row {
    for ((x, origin), per_unit) in row.iter_mut().zip(origin).zip(per_unit) {
        *x = (*x - origin) * per_unit;
    }
    row
}

/// A number as an f32 and twice its rounding error.
#[inline(always)]
pub(crate) fn three_parts(value: f64) -> [f32; 3] {
    let (mut rest, mut parts) = (value, [0.0; 3]);
    for part in &mut parts {
        *part = rest as f32;
        rest -= f64::from(*part);
    }
    parts
}

/// A `vec4<f64>`.
pub(super) fn wide_words(v: DVec3, w: f64) -> [Word; 2] {
    let bits = [v.x, v.y, v.z, w].map(f64::to_bits);
    let word = |a: u64, b: u64| [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32];
    [word(bits[0], bits[1]), word(bits[2], bits[3])]
}
