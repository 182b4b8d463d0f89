//! The project's own format, `.gvt`: holds everything in a [`Snapshot`], bit for bit.
//!
//! # The file, for other programs
//! All numbers are little-endian; sizes are in bytes.
//!
//! ```text
//! header, 32 bytes
//!   0  8  magic: 89 47 56 54 0D 0A 1A 0A  (\x89 G V T \r \n \x1a \n)
//!   8  4  u32  version: 2 if an extra column is of another type than f64, else 1
//!  12  4  u32  number of fields
//!  16  8  u64  length of the whole file
//!  24  4  u32  zero
//!  28  4  u32  CRC-32 of bytes 0 to 27
//! then the fields, each
//!   0  2  u16  length of the name, L
//!   2  1  u8   type: 1 = u8, 2 = u32, 3 = u64, 4 = f64, 5 = texts, 6 = f32, 7 = i64
//!   3  1  u8   width: values per element (3 for positions, else 1)
//!   4  4  u32  zero
//!   8  8  u64  number of elements
//!  16  8  u64  length of the data, D
//!  24  L       name, UTF-8; then zeros up to a multiple of 8
//!      D       data; then zeros up to a multiple of 8
//!      4  u32  CRC-32 of this field from its first byte up to here
//!      4  u32  zero
//! ```
//! Data is not compressed: of a million bodies of `galaxy-collision`, byte shuffle and zstd at level 1
//! leave 0.64 of the file, lz4 0.69. Positions and velocities, whose last digits are random, keep
//! 0.87, and one core compresses 0.7 GB/s. Files in HDF5 are compressed.
//!
//! Texts are UTF-8, each preceded by its length as u32. CRC-32 is that of zlib and PNG (IEEE
//! 802.3). Every field and its data begin at a multiple of 8, and a reader skips a field it does
//! not know by its lengths.
//!
//! | field | type | elements | content |
//! |---|---|---|---|
//! | `time` | f64 | 1 | time of the snapshot |
//! | `gravitational_constant` | f64 | 1 | G in the units of the numbers |
//! | `units` | texts | 3 | names of the units of length, mass and time |
//! | `attributes` | texts | 2 k | key, value, key, value, ... |
//! | `components` | texts | 2 k | name, role (`star`, `disk`, `bulge`, `halo`, `gas`), name, role, ... |
//! | `id` | u64 | n | |
//! | `mass` | f64 | n | |
//! | `position`, `velocity` | f64 x 3 | n | x, y, z of body 0, then of body 1, ... |
//! | `component` | u8 | n | which of the components, from 0 |
//! | `extra/NAME` | f64, f32, u64, u32, i64 | n | an additional column; NaN if a body has no value |
//!
//! All but `units`, `attributes` and the extra columns are required; none may occur twice. The
//! version is raised only when older readers would misread a file, or reject it without saying why;
//! a file is written in the lowest version possible.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

use crc32fast::Hasher;
use glam::DVec3;
use rayon::prelude::*;

use super::bytes::{Reader, Writer};
use super::column::each;
use super::{Column, ColumnType, Confidence, Endianness, Format, Output, Problem, Snapshot};
use crate::bodies::{Bodies, Component, Role};
use crate::error::Result;
use crate::messages;
use crate::units::Units;

/// The format's entry in the registry.
pub(super) const FORMAT: Format = Format {
    name: "gravitile",
    summary: "the project's own: self-describing, checked, restarts bit for bit",
    holds: "everything",
    extensions: &["gvt"],
    units: None,
    modifiers: &[],
    recognise,
    files: None,
    series: None,
    read: |input, _| input.whole(read),
    write: Some(|snapshot, _, output, _| write(snapshot, output)),
};

/// Like PNG's: reveals a transfer that cut the eighth bit or changed line ends.
const MAGIC: [u8; 8] = *b"\x89GVT\r\n\x1a\n";
/// All extra columns are f64.
const VERSION_1: u32 = 1;
/// Extra columns have types.
const VERSION_2: u32 = 2;
const HEADER_BYTES: usize = 32;
const EXTRA: &str = "extra/";

const U8: u8 = 1;
const U64: u8 = 3;
const F64: u8 = 4;
const TEXTS: u8 = 5;

/// The field type of each column type.
const COLUMNS: [(ColumnType, u8); 5] = [
    (ColumnType::F64, F64),
    (ColumnType::F32, 6),
    (ColumnType::U64, U64),
    (ColumnType::U32, 2),
    (ColumnType::I64, 7),
];

/// Bytes that one core copies or sums; a multiple of the size of every number.
const SHARE: usize = 256 << 10;

/// CRC-32 of `bytes`, by all cores.
fn checksum(bytes: &[u8]) -> Hasher {
    let of_share = |share: &[u8]| {
        let mut sum = Hasher::new();
        sum.update(share);
        sum
    };
    let shares: Vec<Hasher> = bytes.par_chunks(SHARE).map(of_share).collect();
    let mut sum = Hasher::new();
    shares.iter().for_each(|share| sum.combine(share));
    sum
}

fn recognise(head: &[u8], _length: u64) -> Confidence {
    if head.starts_with(&MAGIC) { Confidence::Sure } else { Confidence::No }
}

// Reading `.gvt` files: every checksum, length and type is checked before data is used.

const ORDER: Endianness = Endianness::Little;

fn read(bytes: &[u8]) -> Result<Snapshot, Problem> {
    let mut reader = Reader::new(bytes, ORDER);
    let (version, count) = header(&mut reader, bytes)?;
    let mut fields = BTreeMap::new();
    for _ in 0..count {
        let field = Field::next(&mut reader, bytes)?;
        let (name, at) = (field.name, field.at);
        if fields.insert(name, field).is_some() {
            let name = messages::piece(name);
            return Err(format!("the field '{name}' at byte {at} is present twice"));
        }
    }
    if reader.left() > 0 {
        return Err(format!(
            "has {} bytes after its last field, which ends at byte {}",
            reader.left(),
            reader.at()
        ));
    }
    build(&fields, version)
}

/// Checks the header; returns the version and the number of fields.
fn header(reader: &mut Reader, bytes: &[u8]) -> Result<(u32, u32), Problem> {
    let magic = reader.take(8, "the magic of a gravitile snapshot")?;
    if magic != MAGIC {
        return Err(format!(
            "is not a gravitile snapshot: it begins with '{}', but '{}' was expected",
            magic.escape_ascii(),
            MAGIC.escape_ascii()
        ));
    }
    let version = reader.u32("the version")?;
    let count = reader.u32("the number of fields")?;
    let length = reader.u64("the length of the file")?;
    reader.u32("the header")?;
    let crc = reader.u32("the header's checksum")?;
    if crc != crc32fast::hash(&bytes[..HEADER_BYTES - 4]) {
        return Err("is damaged: the checksum of its header (bytes 0 to 27) does not match".into());
    }
    if !(VERSION_1..=VERSION_2).contains(&version) {
        return Err(format!(
            "is of version {version}, but this program reads versions {VERSION_1} to {VERSION_2}"
        ));
    }
    if length != bytes.len() as u64 {
        return Err(format!("has {} bytes, but was written with {length}", bytes.len()));
    }
    Ok((version, count))
}

/// A field as it is in the file.
struct Field<'a> {
    name: &'a str,
    kind: u8,
    width: u8,
    count: u64,
    data: &'a [u8],
    at: usize,
}

impl<'a> Field<'a> {
    fn next(reader: &mut Reader<'a>, bytes: &'a [u8]) -> Result<Self, Problem> {
        let at = reader.at();
        let what = format!("the field at byte {at}");
        let name_length = u64::from(reader.u16(&what)?);
        let kind_and_width = reader.take(2, &what)?;
        reader.u32(&what)?;
        let count = reader.u64(&what)?;
        let length = reader.u64(&what)?;
        let name = reader.take(name_length, &what)?;
        pad(reader, &what)?;
        let data = reader.take(length, &what)?;
        pad(reader, &what)?;
        let end = reader.at();
        let crc = reader.u32(&what)?;
        reader.u32(&what)?;
        if crc != checksum(&bytes[at..end]).finalize() {
            return Err(format!("is damaged: the checksum of {what} does not match"));
        }
        let name = std::str::from_utf8(name)
            .map_err(|_| format!("the name of {what} is not UTF-8 text"))?;
        Ok(Self { name, kind: kind_and_width[0], width: kind_and_width[1], count, data, at })
    }

    /// The data, if the field has this type and width and its lengths agree.
    fn typed(&self, kind: u8, width: u8, value_bytes: u64) -> Result<&'a [u8], Problem> {
        if (self.kind, self.width) != (kind, width) {
            return Err(self.wrong(format!(
                "is of type {} and width {}, but type {kind} and width {width} were expected",
                self.kind, self.width
            )));
        }
        if self.count.checked_mul(value_bytes * u64::from(width)) != Some(self.data.len() as u64) {
            return Err(self.wrong(format!(
                "has {} bytes of data, which does not fit its {} elements",
                self.data.len(),
                self.count
            )));
        }
        Ok(self.data)
    }

    fn f64s(&self) -> Result<Vec<f64>, Problem> {
        Ok(values(self.typed(F64, 1, 8)?, 8))
    }

    /// Reads a column of any type that files of this version have.
    fn column(&self, version: u32) -> Result<Column, Problem> {
        let is_of = |(_, code): &&(_, u8)| *code == self.kind && version >= VERSION_2;
        // A type that no column has is rejected as a wrong f64 column.
        let &(kind, code) = COLUMNS.iter().find(is_of).unwrap_or(&COLUMNS[0]);
        let bytes = self.typed(code, 1, kind.bytes() as u64)?;
        Ok(match kind {
            ColumnType::F64 => Column::F64(values(bytes, 8)),
            ColumnType::F32 => Column::F32(values(bytes, 4)),
            ColumnType::U64 => Column::U64(values(bytes, 8)),
            ColumnType::U32 => Column::U32(values(bytes, 4)),
            ColumnType::I64 => Column::I64(values(bytes, 8)),
        })
    }

    fn one_f64(&self) -> Result<f64, Problem> {
        match self.f64s()?[..] {
            [value] => Ok(value),
            _ => Err(self.wrong(format!("has {} values, but one was expected", self.count))),
        }
    }

    fn vectors(&self) -> Result<Vec<DVec3>, Problem> {
        Ok(values(self.typed(F64, 3, 8)?, 8))
    }

    fn texts(&self) -> Result<Vec<&'a str>, Problem> {
        if (self.kind, self.width) != (TEXTS, 1) {
            return Err(self.wrong(format!("is of type {}, but texts were expected", self.kind)));
        }
        let mut reader = Reader::new(self.data, ORDER);
        let mut texts = Vec::new();
        while reader.left() > 0 {
            let bad = |problem| self.wrong(format!("is broken: its data {problem}"));
            let length = reader.u32("a text's length").map_err(bad)?;
            let text = reader.take(length.into(), "a text").map_err(bad)?;
            let text = std::str::from_utf8(text);
            texts.push(text.map_err(|_| self.wrong("holds a text that is not UTF-8"))?);
        }
        if texts.len() as u64 != self.count {
            let (found, count) = (texts.len(), self.count);
            return Err(self.wrong(format!("holds {found} texts, but says {count}")));
        }
        Ok(texts)
    }

    /// The texts in pairs.
    fn pairs(&self) -> Result<Vec<(&'a str, &'a str)>, Problem> {
        let texts = self.texts()?;
        if !texts.len().is_multiple_of(2) {
            return Err(self.wrong(format!("holds {} texts, but pairs were expected", texts.len())));
        }
        Ok(texts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
    }

    fn wrong(&self, problem: impl AsRef<str>) -> Problem {
        let name = messages::piece(self.name);
        format!("the field '{name}' at byte {} {}", self.at, problem.as_ref())
    }
}

/// The values in little-endian `bytes`, whose numbers have `width` bytes, copied by all cores.
fn values<T: bytemuck::Pod>(bytes: &[u8], width: usize) -> Vec<T> {
    let mut values = bytemuck::zeroed_vec::<T>(bytes.len() / size_of::<T>());
    let raw: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
    raw.par_chunks_mut(SHARE).zip(bytes.par_chunks(SHARE)).for_each(|(to, from)| {
        to.copy_from_slice(from);
        if cfg!(target_endian = "big") {
            to.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
    });
    values
}

fn pad(reader: &mut Reader, what: &str) -> Result<(), Problem> {
    let zeros = reader.at().next_multiple_of(8) - reader.at();
    reader.take(zeros as u64, what).map(|_| ())
}

fn build(fields: &BTreeMap<&str, Field>, version: u32) -> Result<Snapshot, Problem> {
    let field = |name| fields.get(name).ok_or_else(|| format!("has no field '{name}'"));
    let mut units = Units {
        gravitational_constant: field("gravitational_constant")?.one_f64()?,
        ..Units::default()
    };
    if let Some(field) = fields.get("units") {
        let [length, mass, time] = field.texts()?[..] else {
            return Err(field.wrong("should hold three names: of length, mass and time"));
        };
        (units.length, units.mass, units.time) = (length.into(), mass.into(), time.into());
    }
    let mut snapshot = Snapshot { time: field("time")?.one_f64()?, units, ..Snapshot::default() };
    if let Some(field) = fields.get("attributes") {
        for (key, value) in field.pairs()? {
            snapshot.attributes.insert(key.into(), value.into());
        }
    }
    let components = field("components")?;
    let role = |name: &str| {
        Role::from_name(name).ok_or_else(|| {
            let known = Role::ALL.map(|(_, name)| name).join(", ");
            let name = messages::piece(name);
            components.wrong(format!("has an unknown role '{name}'; known are: {known}"))
        })
    };
    let components = components
        .pairs()?
        .iter()
        .map(|(name, r)| Ok(Component::new(*name, role(r)?)))
        .collect::<Result<_, Problem>>()?;
    snapshot.bodies = Bodies {
        id: values(field("id")?.typed(U64, 1, 8)?, 8),
        mass: field("mass")?.f64s()?,
        position: field("position")?.vectors()?,
        velocity: field("velocity")?.vectors()?,
        component: values(field("component")?.typed(U8, 1, 1)?, 1),
        components,
    };
    for (name, field) in fields {
        if let Some(column) = name.strip_prefix(EXTRA) {
            snapshot.extra.insert(column.into(), field.column(version)?);
        }
    }
    if let Some(newton) = snapshot.units.contradiction() {
        let units = &snapshot.units;
        snapshot.notes.push(format!(
            "states {units}, but G is {newton:.6} in these units: the stated G is used"
        ));
    }
    snapshot.checked()
}

// Writing `.gvt` files straight from the bodies' arrays: nothing is encoded first, and while a
// piece is written other cores compute its checksum.

/// Bytes of one write.
const PIECE: usize = 8 << 20;

/// Loses nothing; fails only for names longer than 65,535 bytes and texts too long for their length
/// field, before anything is written.
fn write(snapshot: &Snapshot, output: &mut Output) -> Result<()> {
    let fields = fields(snapshot).map_err(|problem| output.wrong(problem))?;
    let is_plain = |column: &Column| column.kind() == ColumnType::F64;
    let version = if snapshot.extra.values().all(is_plain) { VERSION_1 } else { VERSION_2 };
    let length = HEADER_BYTES + fields.iter().map(Outgoing::length).sum::<usize>();
    output.stream(length, |file| {
        file.write_all(&head_of_file(version, fields.len() as u32, length as u64))?;
        fields.iter().try_for_each(|field| field.write(file))
    })
}

fn head_of_file(version: u32, count: u32, length: u64) -> Vec<u8> {
    let mut header = Writer::new(ORDER, HEADER_BYTES);
    header.raw(&MAGIC);
    header.u32(version);
    header.u32(count);
    header.u64(length);
    header.u32(0);
    header.u32(crc32fast::hash(&header.bytes));
    header.bytes
}

fn fields(snapshot: &Snapshot) -> Result<Vec<Outgoing<'_>>, Problem> {
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
        Outgoing::new("id", U64, 1, n, raw(&bodies.id))?,
        Outgoing::new("mass", F64, 1, n, raw(&bodies.mass))?,
        Outgoing::new("position", F64, 3, n, raw::<f64>(bytemuck::cast_slice(&bodies.position)))?,
        Outgoing::new("velocity", F64, 3, n, raw::<f64>(bytemuck::cast_slice(&bodies.velocity)))?,
        Outgoing::new("component", U8, 1, n, raw(&bodies.component))?,
    ];
    for (name, column) in &snapshot.extra {
        let (kind, n) = (column.kind(), column.len());
        let code = COLUMNS.iter().find(|(known, _)| *known == kind).map(|(_, code)| *code);
        let code = code.ok_or_else(|| format!("it has no columns of {}", kind.name()))?;
        let data = each!(column, values => raw(values));
        fields.push(Outgoing::new(format!("{EXTRA}{name}"), code, 1, n, data)?);
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

fn one_f64<'a>(name: &'static str, value: f64) -> Result<Outgoing<'a>, Problem> {
    Outgoing::new(name, F64, 1, 1, Cow::Owned(value.to_le_bytes().to_vec()))
}

fn texts<'a>(name: &'static str, texts: &[&str]) -> Result<Outgoing<'a>, Problem> {
    if let Some(text) = texts.iter().find(|text| u32::try_from(text.len()).is_err()) {
        return Err(format!("a text in {name} has {} bytes, which is too long", text.len()));
    }
    let mut data = Writer::new(ORDER, texts.iter().map(|text| 4 + text.len()).sum());
    for text in texts {
        data.u32(text.len() as u32);
        data.raw(text.as_bytes());
    }
    Outgoing::new(name, TEXTS, 1, texts.len(), Cow::Owned(data.bytes))
}

/// A field of the file.
struct Outgoing<'a> {
    /// All before the data.
    head: Vec<u8>,
    data: Cow<'a, [u8]>,
}

impl<'a> Outgoing<'a> {
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
