//! Finding out what a block of unknown type and width holds, and reading it into columns.

use super::super::Endianness;
use super::header::Header;
use super::info::Shape;
use super::{ALL, GAS, KNOWN_BLOCKS, TYPES, TypeMask};

/// More values per body than this are not split into columns.
const MOST_VALUES: usize = 16;

/// Number of bodies of the types in `mask`.
pub(super) fn bodies_of(mask: TypeMask, counts: &[usize; TYPES]) -> u64 {
    (0..TYPES).filter(|t| mask >> t & 1 == 1).map(|t| counts[t] as u64).sum()
}

/// The types that have bodies.
pub(super) fn present(counts: &[usize; TYPES]) -> TypeMask {
    (0..TYPES).filter(|&t| counts[t] > 0).fold(0, |mask, t| mask | 1 << t)
}

/// The shape of a block of `length` bytes: what INFO says if that fits, else what is usual for
/// blocks of that name, else the first guess that fits: all bodies before some, one value per body
/// before three, the precision of the positions before the other. `None` if nothing fits.
pub(super) fn shape_of(
    name: &str,
    length: u64,
    header: &Header,
    said: Option<&Shape>,
    double: bool,
) -> Option<Shape> {
    let fits = |shape: &Shape| {
        let bodies = bodies_of(shape.types, &header.counts);
        bodies > 0
            && (1..=MOST_VALUES).contains(&shape.values)
            && bodies.checked_mul(shape.width()) == Some(length)
    };
    if let Some(shape) = said.filter(|shape| fits(shape)) {
        return Some(*shape);
    }
    let known = KNOWN_BLOCKS.iter().find(|(known, _)| *known == name).map(|(_, types)| *types);
    let single = (0..TYPES as u8).map(|t| 1 << t);
    let masks = known.into_iter().chain([ALL, GAS, GAS | 1 << 4]).chain(single).chain(1..ALL);
    for types in masks {
        for (values, double) in [(1, double), (3, double), (1, !double), (3, !double)] {
            let shape = Shape { types: types & present(&header.counts), values, double };
            if fits(&shape) {
                return Some(shape);
            }
        }
    }
    None
}

/// The values of a block whose shape fits its data: one column per value, NaN for bodies without.
pub(super) fn columns(
    data: &[u8],
    shape: &Shape,
    counts: &[usize; TYPES],
    endianness: Endianness,
) -> Vec<Vec<f64>> {
    let n = counts.iter().sum();
    let mut columns = vec![vec![f64::NAN; n]; shape.values];
    let mut bodies = data.chunks_exact(shape.width() as usize);
    let mut first = 0;
    for (t, &count) in counts.iter().enumerate() {
        if shape.types >> t & 1 == 1 {
            for (i, body) in (first..first + count).zip(&mut bodies) {
                for (k, column) in columns.iter_mut().enumerate() {
                    column[i] = number(body, k, shape.double, endianness);
                }
            }
        }
        first += count;
    }
    columns
}

/// Value `k` of a run of f32 or f64.
pub(super) fn number(data: &[u8], k: usize, double: bool, endianness: Endianness) -> f64 {
    if double { endianness.f64(&data[8 * k..]) } else { endianness.f32(&data[4 * k..]).into() }
}
