//! The INFO block of format 2: 40 bytes per block with name (4 characters), type (8 characters:
//! `FLOAT`, `DOUBLE`, or `LONG`, `LLONG` for integers of 32 and 64 bits, followed by N for
//! vectors), values per body (i32), and for each type whether it has the block (6 i32).

use std::collections::BTreeMap;

use super::super::bytes::Writer;
use super::super::{ColumnType, Endianness};
use super::{TYPES, TypeMask};

const ENTRY_BYTES: usize = 40;

/// What a block holds, and for which bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Types that have it.
    pub types: TypeMask,
    /// Values per body.
    pub values: usize,
    /// Their type.
    pub kind: ColumnType,
}

impl Shape {
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
pub(super) fn parse(data: &[u8], endianness: Endianness) -> BTreeMap<String, Shape> {
    let mut shapes = BTreeMap::new();
    for entry in data.chunks_exact(ENTRY_BYTES) {
        let text = |from, to| String::from_utf8_lossy(&entry[from..to]).trim_end().to_owned();
        let written = text(4, 12);
        let name = written.strip_suffix('N').unwrap_or(&written);
        let Some((_, kind)) = KINDS.iter().find(|(known, _)| *known == name) else { continue };
        let present = |t: usize| endianness.i32(&entry[16 + 4 * t..]) != 0;
        let types = (0..TYPES).filter(|&t| present(t)).fold(0, |mask, t| mask | 1 << t);
        let values = endianness.u32(&entry[12..]) as usize;
        shapes.insert(text(0, 4), Shape { types, values, kind: *kind });
    }
    shapes
}

/// Appends the entry of a block. Signed integers have no type name there.
pub(super) fn put_entry(out: &mut Writer, name: &str, shape: &Shape) {
    let kind = KINDS.iter().find(|(_, kind)| *kind == shape.kind).map_or("", |(name, _)| name);
    let vector = if shape.values > 1 { "N" } else { "" };
    out.raw(format!("{name:<4}{:<8}", format!("{kind}{vector}")).as_bytes());
    out.u32(shape.values as u32);
    for t in 0..TYPES {
        out.u32((shape.types >> t & 1).into());
    }
}
