//! Reading and writing numbers in bytes: either byte order, checked bounds, errors that say where.

use rayon::prelude::*;

use super::{Column, Endianness, FormatError};

/// Numbers that one task decodes at least.
pub(super) const SHARE: usize = 1 << 14;

impl Endianness {
    pub(super) fn u16(self, bytes: &[u8]) -> u16 {
        let raw = array(bytes);
        if self == Self::Little { u16::from_le_bytes(raw) } else { u16::from_be_bytes(raw) }
    }

    pub(super) fn u32(self, bytes: &[u8]) -> u32 {
        let raw = array(bytes);
        if self == Self::Little { u32::from_le_bytes(raw) } else { u32::from_be_bytes(raw) }
    }

    pub(super) fn u64(self, bytes: &[u8]) -> u64 {
        let raw = array(bytes);
        if self == Self::Little { u64::from_le_bytes(raw) } else { u64::from_be_bytes(raw) }
    }

    pub(super) fn i32(self, bytes: &[u8]) -> i32 {
        self.u32(bytes) as i32
    }

    pub(super) fn f32(self, bytes: &[u8]) -> f32 {
        f32::from_bits(self.u32(bytes))
    }

    pub(super) fn f64(self, bytes: &[u8]) -> f64 {
        f64::from_bits(self.u64(bytes))
    }

    /// Appends one value per piece of `bytes`, read at offset `at` in the piece. Pieces are
    /// `stride` bytes long; an incomplete last piece is ignored.
    pub(super) fn extend(self, column: &mut Column, bytes: &[u8], stride: usize, at: usize) {
        let pieces = bytes.par_chunks_exact(stride).with_min_len(SHARE).map(|piece| &piece[at..]);
        match column {
            Column::F64(values) => values.par_extend(pieces.map(|value| self.f64(value))),
            Column::F32(values) => values.par_extend(pieces.map(|value| self.f32(value))),
            Column::U64(values) => values.par_extend(pieces.map(|value| self.u64(value))),
            Column::U32(values) => values.par_extend(pieces.map(|value| self.u32(value))),
            Column::I64(values) => values.par_extend(pieces.map(|value| self.u64(value) as i64)),
        }
    }
}

/// The first N of `bytes`. Callers take slices of known length from a [`ByteReader`] first.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes[..N].try_into().expect("a slice of N bytes should be an array of N bytes")
}

/// Reads through the bytes of a file and keeps track of the offset.
pub(super) struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Byte order of what is read next.
    pub endianness: Endianness,
}

impl<'a> ByteReader<'a> {
    pub fn new(bytes: &'a [u8], endianness: Endianness) -> Self {
        Self { bytes, at: 0, endianness }
    }

    /// Offset of the next byte.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Number of bytes that are left.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// All bytes that are left.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// The next `count` bytes; `what` names them in the error, which says where the file ends.
    pub fn take(&mut self, count: u64, what: &str) -> Result<&'a [u8], FormatError> {
        match usize::try_from(count) {
            Ok(count) if count <= self.left() => {
                let taken = &self.bytes[self.at..self.at + count];
                self.at += count;
                Ok(taken)
            }
            _ => Err(format!(
                "ends too early, after {} bytes: {what} should take {count} bytes from byte {} on",
                self.bytes.len(),
                self.at
            )),
        }
    }

    pub fn u16(&mut self, what: &str) -> Result<u16, FormatError> {
        let endianness = self.endianness;
        self.take(2, what).map(|bytes| endianness.u16(bytes))
    }

    pub fn u32(&mut self, what: &str) -> Result<u32, FormatError> {
        let endianness = self.endianness;
        self.take(4, what).map(|bytes| endianness.u32(bytes))
    }

    pub fn u64(&mut self, what: &str) -> Result<u64, FormatError> {
        let endianness = self.endianness;
        self.take(8, what).map(|bytes| endianness.u64(bytes))
    }
}

/// Collects the bytes of a file.
pub(super) struct ByteWriter {
    pub bytes: Vec<u8>,
    endianness: Endianness,
}

impl ByteWriter {
    pub fn new(endianness: Endianness, capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity), endianness }
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn u16(&mut self, value: u16) {
        self.either(value.to_le_bytes(), value.to_be_bytes());
    }

    pub fn u32(&mut self, value: u32) {
        self.either(value.to_le_bytes(), value.to_be_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.either(value.to_le_bytes(), value.to_be_bytes());
    }

    pub fn f32(&mut self, value: f32) {
        self.u32(value.to_bits());
    }

    pub fn f64(&mut self, value: f64) {
        self.u64(value.to_bits());
    }

    /// Many values.
    pub fn u64s(&mut self, values: &[u64]) {
        if self.is_native() {
            return self.raw(bytemuck::cast_slice(values));
        }
        values.iter().for_each(|value| self.u64(*value));
    }

    /// Many values.
    pub fn f64s(&mut self, values: &[f64]) {
        self.u64s(bytemuck::cast_slice(values));
    }

    /// Whether numbers in memory have the byte order to write.
    fn is_native(&self) -> bool {
        (self.endianness == Endianness::Little) == cfg!(target_endian = "little")
    }

    fn either<const N: usize>(&mut self, little: [u8; N], big: [u8; N]) {
        self.raw(if self.endianness == Endianness::Little { &little } else { &big });
    }
}
