//! The INFO block of format 2: 40 bytes per block with name (4 characters), type (8 characters:
//! `FLOAT`, `DOUBLE`, or `LONG`, `LLONG` for integers of 32 and 64 bits, followed by N for
//! vectors), values per body (i32), and for each type whether it has the block (6 i32).

use std::collections::BTreeMap;

use super::super::bytes::ByteWriter;
use super::super::{ColumnType, Endianness};
use super::{ALL, GAS, KNOWN_BLOCKS, TYPES, TypeMask};

const ENTRY_BYTES: usize = 40;

/// What a block holds, and for which bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockShape {
    /// Types that have it.
    pub types: TypeMask,
    /// Values per body.
    pub values: usize,
    /// Their type.
    pub kind: ColumnType,
}

impl BlockShape {
    /// Bytes per body.
    pub fn width(&self) -> u64 {
        (self.values * self.kind.bytes()) as u64
    }
}

/// Type names, without the N of vectors.
const KINDS: [(&str, ColumnType); 4] = [
    ("FLOAT", ColumnType::F32),
    ("DOUBLE", ColumnType::F64),
    ("LONG", ColumnType::U32),
    ("LLONG", ColumnType::U64),
];

/// Entries by the names of their blocks; entries of unknown types are left out.
pub(super) fn parse(data: &[u8], endianness: Endianness) -> BTreeMap<String, BlockShape> {
    let mut shapes = BTreeMap::new();
    for entry in data.chunks_exact(ENTRY_BYTES) {
        let text = |from, to| String::from_utf8_lossy(&entry[from..to]).trim_end().to_owned();
        let written = text(4, 12);
        let name = written.strip_suffix('N').unwrap_or(&written);
        let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == name) else { continue };
        let present = |t: usize| endianness.i32(&entry[16 + 4 * t..]) != 0;
        let types = (0..TYPES).filter(|&t| present(t)).fold(0, |mask, t| mask | 1 << t);
        let values = endianness.u32(&entry[12..]) as usize;
        shapes.insert(text(0, 4), BlockShape { types, values, kind: *kind });
    }
    shapes
}

/// Appends the entry of a block. Signed integers have no type name there.
pub(super) fn put_entry(out: &mut ByteWriter, name: &str, shape: &BlockShape) {
    let kind = KINDS.iter().find(|(_, kind)| *kind == shape.kind).map_or("", |(name, _)| name);
    let vector = if shape.values > 1 { "N" } else { "" };
    out.raw(format!("{name:<4}{:<8}", format!("{kind}{vector}")).as_bytes());
    out.u32(shape.values as u32);
    for t in 0..TYPES {
        out.u32((shape.types >> t & 1).into());
    }
}

// Finding out what a block of unknown type and width holds.

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
    stated: Option<&BlockShape>,
    double: bool,
) -> Option<BlockShape> {
    let fits = |shape: &BlockShape| {
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
            let shape = BlockShape { types: types & present, values, kind };
            if fits(&shape) {
                return Some(shape);
            }
        }
    }
    None
}
