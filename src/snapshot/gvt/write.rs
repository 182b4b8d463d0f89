//! Writing `.gvt` files straight from the bodies' arrays: nothing is encoded first, and while a
//! piece is written other cores compute its checksum.

use std::borrow::Cow;
use std::io::Write;

use crc32fast::Hasher;

use super::super::bytes::Writer;
use super::super::column::each;
use super::super::{Column, ColumnType, Endianness, Output, Problem, Snapshot};
use super::{
    COLUMNS, EXTRA, F64, HEADER_BYTES, MAGIC, SHARE, TEXTS, U8, U64, VERSION_1, VERSION_2, checksum,
};
use crate::error::Result;

const ORDER: Endianness = Endianness::Little;
/// Bytes of one write.
const PIECE: usize = 8 << 20;

/// Loses nothing; fails only for names longer than 65,535 bytes and texts too long for their length
/// field, before anything is written.
pub(super) fn write(snapshot: &Snapshot, output: &mut Output) -> Result<()> {
    let fields = fields(snapshot).map_err(|problem| output.wrong(problem))?;
    let is_plain = |column: &Column| column.kind() == ColumnType::F64;
    let version = if snapshot.extra.values().all(is_plain) { VERSION_1 } else { VERSION_2 };
    let length = HEADER_BYTES + fields.iter().map(Field::length).sum::<usize>();
    output.stream(length, |file| {
        file.write_all(&header(version, fields.len() as u32, length as u64))?;
        fields.iter().try_for_each(|field| field.write(file))
    })
}

fn header(version: u32, count: u32, length: u64) -> Vec<u8> {
    let mut header = Writer::new(ORDER, HEADER_BYTES);
    header.raw(&MAGIC);
    header.u32(version);
    header.u32(count);
    header.u64(length);
    header.u32(0);
    header.u32(crc32fast::hash(&header.bytes));
    header.bytes
}

fn fields(snapshot: &Snapshot) -> Result<Vec<Field<'_>>, Problem> {
    let bodies = &snapshot.bodies;
    let n = bodies.len();
    let units = &snapshot.units;
    let attributes: Vec<&str> =
        snapshot.attributes.iter().flat_map(|(key, value)| [key.as_str(), value]).collect();
    let components: Vec<&str> =
        bodies.components.iter().flat_map(|c| [c.name.as_str(), c.role.name()]).collect();
    let mut fields = vec![
        one_f64("time", snapshot.time)?,
        one_f64("gravitational_constant", snapshot.units.gravitational_constant)?,
        texts("units", &[&units.length, &units.mass, &units.time])?,
        texts("attributes", &attributes)?,
        texts("components", &components)?,
        Field::new("id", U64, 1, n, raw(&bodies.id))?,
        Field::new("mass", F64, 1, n, raw(&bodies.mass))?,
        Field::new("position", F64, 3, n, raw::<f64>(bytemuck::cast_slice(&bodies.position)))?,
        Field::new("velocity", F64, 3, n, raw::<f64>(bytemuck::cast_slice(&bodies.velocity)))?,
        Field::new("component", U8, 1, n, raw(&bodies.component))?,
    ];
    for (name, column) in &snapshot.extra {
        let (kind, n) = (column.kind(), column.len());
        let code = COLUMNS.iter().find(|(known, _)| *known == kind).map(|(_, code)| *code);
        let code = code.ok_or_else(|| format!("it has no columns of {}", kind.name()))?;
        let data = each!(column, values => raw(values));
        fields.push(Field::new(format!("{EXTRA}{name}"), code, 1, n, data)?);
    }
    Ok(fields)
}

/// The values in little-endian bytes; a copy only where memory has the other order.
fn raw<T: bytemuck::NoUninit>(values: &[T]) -> Cow<'_, [u8]> {
    let bytes: &[u8] = bytemuck::cast_slice(values);
    if cfg!(target_endian = "little") {
        return Cow::Borrowed(bytes);
    }
    Cow::Owned(
        bytes.chunks_exact(size_of::<T>()).flat_map(|one| one.iter().rev()).copied().collect(),
    )
}

fn one_f64<'a>(name: &'static str, value: f64) -> Result<Field<'a>, Problem> {
    Field::new(name, F64, 1, 1, Cow::Owned(value.to_le_bytes().to_vec()))
}

fn texts<'a>(name: &'static str, texts: &[&str]) -> Result<Field<'a>, Problem> {
    if let Some(text) = texts.iter().find(|text| u32::try_from(text.len()).is_err()) {
        return Err(format!("a text in {name} has {} bytes, which is too long", text.len()));
    }
    let mut data = Writer::new(ORDER, texts.iter().map(|text| 4 + text.len()).sum());
    for text in texts {
        data.u32(text.len() as u32);
        data.raw(text.as_bytes());
    }
    Field::new(name, TEXTS, 1, texts.len(), Cow::Owned(data.bytes))
}

/// A field of the file.
struct Field<'a> {
    /// All before the data.
    head: Vec<u8>,
    data: Cow<'a, [u8]>,
}

impl<'a> Field<'a> {
    /// `count` elements of `width` values.
    fn new(
        name: impl AsRef<str>,
        kind: u8,
        width: u8,
        count: usize,
        data: Cow<'a, [u8]>,
    ) -> Result<Self, Problem> {
        let name = name.as_ref();
        let name_length = u16::try_from(name.len()).map_err(|_| {
            format!("a column's name has {} bytes, but at most 65535 are allowed", name.len())
        })?;
        let mut head = Writer::new(ORDER, 32 + name.len());
        head.u16(name_length);
        head.raw(&[kind, width]);
        head.u32(0);
        head.u64(count as u64);
        head.u64(data.len() as u64);
        head.raw(name.as_bytes());
        head.raw(padding(name.len()));
        Ok(Self { head: head.bytes, data })
    }

    /// Its length in the file.
    fn length(&self) -> usize {
        self.head.len() + self.data.len().next_multiple_of(8) + 8
    }

    fn write(&self, file: &mut dyn Write) -> std::io::Result<()> {
        let mut sum = Hasher::new();
        sum.update(&self.head);
        file.write_all(&self.head)?;
        for piece in self.data.chunks(PIECE) {
            let mut of_piece = Hasher::new();
            rayon::in_place_scope(|scope| {
                match piece.len() > SHARE {
                    true => scope.spawn(|_| of_piece = checksum(piece)),
                    false => of_piece.update(piece),
                }
                file.write_all(piece)
            })?;
            sum.combine(&of_piece);
        }
        let padding = padding(self.data.len());
        sum.update(padding);
        file.write_all(padding)?;
        file.write_all(&sum.finalize().to_le_bytes())?;
        file.write_all(&[0; 4])
    }
}

/// Zeros up to a multiple of 8.
fn padding(length: usize) -> &'static [u8] {
    &[0; 8][..length.next_multiple_of(8) - length]
}
