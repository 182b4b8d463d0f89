//! Finding out what a block of unknown type and width holds.

use super::super::ColumnType;
use super::info::Shape;
use super::{ALL, GAS, KNOWN_BLOCKS, TYPES, TypeMask};

/// The most values per body that are split into columns.
const MOST_VALUES: usize = 16;

/// Number of bodies of the types in `mask`.
pub(super) fn bodies_of(mask: TypeMask, counts: &[usize; TYPES]) -> u64 {
    (0..TYPES).filter(|t| mask >> t & 1 == 1).map(|t| counts[t] as u64).sum()
}

/// The types that have bodies.
pub(super) fn present(counts: &[usize; TYPES]) -> TypeMask {
    (0..TYPES).filter(|&t| counts[t] > 0).fold(0, |mask, t| mask | 1 << t)
}

/// The shape of a block: that of INFO if it fits, else the known one for this name, else the first
/// guess that fits: all bodies before some, one value per body before three, floating-point numbers
/// of the positions' precision before the other. `None` if nothing fits. `parts` gives, for each
/// file of the snapshot, the block's length in bytes (0 if absent) and the bodies by type.
pub(super) fn shape_of(
    name: &str,
    parts: &[(u64, [usize; TYPES])],
    stated: Option<&Shape>,
    double: bool,
) -> Option<Shape> {
    let fits = |shape: &Shape| {
        let bytes = |counts| bodies_of(shape.types, counts).checked_mul(shape.width());
        parts.iter().any(|(_, counts)| bodies_of(shape.types, counts) > 0)
            && (1..=MOST_VALUES).contains(&shape.values)
            && parts.iter().all(|(length, counts)| bytes(counts) == Some(*length))
    };
    if let Some(shape) = stated.filter(|shape| fits(shape)) {
        return Some(*shape);
    }
    let known = KNOWN_BLOCKS.iter().find(|(known, _)| *known == name).map(|(_, types)| *types);
    let single = (0..TYPES as u8).map(|t| 1 << t);
    let masks = known.into_iter().chain([ALL, GAS, GAS | 1 << 4]).chain(single).chain(1..ALL);
    let present = parts.iter().fold(0, |mask, (_, counts)| mask | present(counts));
    let (default, other) = match double {
        true => (ColumnType::F64, ColumnType::F32),
        false => (ColumnType::F32, ColumnType::F64),
    };
    for types in masks {
        for (values, kind) in [(1, default), (3, default), (1, other), (3, other)] {
            let shape = Shape { types: types & present, values, kind };
            if fits(&shape) {
                return Some(shape);
            }
        }
    }
    None
}
