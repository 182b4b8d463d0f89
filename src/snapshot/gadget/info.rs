//! The INFO block of format 2: 40 bytes for each block: name (4 characters), type (8 characters:
//! `FLOAT`, `DOUBLE`, with an N behind for vectors; `LONG`, `LLONG`), values per body (i32), and for
//! each type whether it has the block (6 i32).

use std::collections::BTreeMap;

use super::super::Endianness;
use super::super::bytes::Writer;
use super::{TYPES, TypeMask};

const ENTRY_BYTES: usize = 40;

/// What a block holds and for which bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Types that have it.
    pub types: TypeMask,
    /// Values per body.
    pub values: usize,
    /// f64 instead of f32.
    pub double: bool,
}

impl Shape {
    /// Bytes per body.
    pub fn width(&self) -> u64 {
        self.values as u64 * if self.double { 8 } else { 4 }
    }
}

/// Entries of floating-point blocks by name; anything else is left out.
pub(super) fn parse(data: &[u8], endianness: Endianness) -> BTreeMap<String, Shape> {
    let mut shapes = BTreeMap::new();
    for entry in data.chunks_exact(ENTRY_BYTES) {
        let text = |from, to| String::from_utf8_lossy(&entry[from..to]).trim_end().to_owned();
        let double = match text(4, 12).as_str() {
            "FLOAT" | "FLOATN" => false,
            "DOUBLE" | "DOUBLEN" => true,
            _ => continue,
        };
        let present = |t: usize| endianness.i32(&entry[16 + 4 * t..]) != 0;
        let types = (0..TYPES).filter(|&t| present(t)).fold(0, |mask, t| mask | 1 << t);
        let values = endianness.u32(&entry[12..]) as usize;
        shapes.insert(text(0, 4), Shape { types, values, double });
    }
    shapes
}

/// Appends the entry of one block. `kind` is `FLOAT`, `DOUBLE`, `LONG` or `LLONG`.
pub(super) fn put_entry(out: &mut Writer, name: &str, kind: &str, values: usize, types: TypeMask) {
    let vector = if values > 1 { "N" } else { "" };
    out.raw(format!("{name:<4}{:<8}", format!("{kind}{vector}")).as_bytes());
    out.u32(values as u32);
    for t in 0..TYPES {
        out.u32((types >> t & 1).into());
    }
}
