//! The project's own format, `.gvt`: holds everything in a [`Snapshot`], bit for bit.
//!
//! # The file, for other programs
//! All numbers are little-endian; sizes are in bytes.
//!
//! ```text
//! header, 32 bytes
//!   0  8  magic: 89 47 56 54 0D 0A 1A 0A  (\x89 G V T \r \n \x1a \n)
//!   8  4  u32  version: 3 for an index, 2 if an extra column is of another type than f64, else 1
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
//! Data is not compressed: of a million bodies of `galaxy-collision`, byte shuffle and zstd at
//! level 1 leave 0.64 of the file, lz4 0.69. Positions and velocities, whose last digits are
//! random, keep 0.87, and one core compresses 0.7 GB/s. Files in HDF5 are compressed.
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
//!
//! # Several files
//! `snap.gvt` may be the index of `snap.0.gvt`, `snap.1.gvt`, ..., each of which is a file as above
//! with consecutive bodies. Its first field is `file`. The index has the fields of the table above
//! the bodies' own, and these:
//!
//! | field | in | type | elements | content |
//! |---|---|---|---|---|
//! | `file` | a file | u64 | 4 | its number from 0, number of files, first body, bodies in all files |
//! | `files` | the index | u64 x 4 | files | first body, number of bodies, length in bytes, check sum |
//! | `bodies` | the index | u64 | 1 | bodies in all files |
//!
//! The check sum is the CRC-32 of the CRC-32s of the header and of each field, as they are in the
//! file. The index is written last, so files without one are not a snapshot.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use glam::DVec3;
use rayon::prelude::*;

use super::bytes::{ByteReader, ByteWriter};
use super::column::{append, each};
use super::source::InputFile;
use super::{
    Column, ColumnType, Confidence, Endianness, Format, FormatError, InputFiles, OutputFiles,
    ReadOptions, Several, Snapshot,
};
use crate::bodies::{Component, Role};
use crate::error::{Error, Result};
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
    files: Some(Several { count, is_index: Some(is_index) }),
    series: None,
    read: |input, options| match input.is_listed() {
        true => read_files(input, options),
        false => input.whole(read),
    },
    write: Some(|snapshot, _, output, _| write(snapshot, output)),
};

/// Like PNG's: reveals a transfer that cut the eighth bit or changed line ends.
const MAGIC: [u8; 8] = *b"\x89GVT\r\n\x1a\n";
/// All extra columns are f64.
const VERSION_1: u32 = 1;
/// Extra columns have types.
const VERSION_2: u32 = 2;
/// The index of several files.
const INDEX: u32 = 3;
const HEADER_BYTES: usize = 32;
const EXTRA: &str = "extra/";
/// The field of one file of several.
const FILE: &str = "file";
/// The least bytes of a body: id, mass, position, velocity, component.
const BODY_BYTES: u64 = 8 + 8 + 24 + 24 + 1;
/// The fields of an index.
const FILES: &str = "files";
const BODIES: &str = "bodies";

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

fn read(bytes: &[u8]) -> Result<Snapshot, FormatError> {
    let file = Parsed::of(bytes)?;
    let mut snapshot = file.without_bodies()?;
    file.bodies(&mut snapshot, 0)?;
    snapshot.checked()
}

/// A file whose checksums and lengths fit.
struct Parsed<'a> {
    version: u32,
    fields: BTreeMap<&'a str, GvtField<'a>>,
    /// The check sum by which an index lists it.
    checksum: u32,
}

impl<'a> Parsed<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, FormatError> {
        let mut reader = ByteReader::new(bytes, ORDER);
        let (version, count, crc) = header(&mut reader, bytes)?;
        let mut sum = Hasher::new();
        sum.update(&crc.to_le_bytes());
        let mut fields = BTreeMap::new();
        for _ in 0..count {
            let field = GvtField::next(&mut reader, bytes)?;
            sum.update(&field.crc.to_le_bytes());
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
        Ok(Self { version, fields, checksum: sum.finalize() })
    }

    fn field(&self, name: &str) -> Result<&GvtField<'a>, FormatError> {
        self.fields.get(name).ok_or_else(|| format!("has no field '{name}'"))
    }
}

/// Checks the header; returns the version, the number of fields and the header's checksum.
fn header(reader: &mut ByteReader, bytes: &[u8]) -> Result<(u32, u32, u32), FormatError> {
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
    if !(VERSION_1..=INDEX).contains(&version) {
        return Err(format!(
            "is of version {version}, but this program reads versions {VERSION_1} to {INDEX}"
        ));
    }
    if length != bytes.len() as u64 {
        return Err(format!("has {} bytes, but was written with {length}", bytes.len()));
    }
    Ok((version, count, crc))
}

/// A field as it is in the file.
struct GvtField<'a> {
    name: &'a str,
    kind: u8,
    width: u8,
    count: u64,
    data: &'a [u8],
    at: usize,
    crc: u32,
}

impl<'a> GvtField<'a> {
    fn next(reader: &mut ByteReader<'a>, bytes: &'a [u8]) -> Result<Self, FormatError> {
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
        Ok(Self { name, kind: kind_and_width[0], width: kind_and_width[1], count, data, at, crc })
    }

    /// The data, if the field has this type and width and its lengths agree.
    fn typed(&self, kind: u8, width: u8, value_bytes: u64) -> Result<&'a [u8], FormatError> {
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

    fn f64s(&self) -> Result<Vec<f64>, FormatError> {
        Ok(values(self.typed(F64, 1, 8)?, 8))
    }

    /// Reads a column of any type that files of this version have.
    fn column(&self, version: u32) -> Result<Column, FormatError> {
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

    fn one_f64(&self) -> Result<f64, FormatError> {
        match self.f64s()?[..] {
            [value] => Ok(value),
            _ => Err(self.wrong(format!("has {} values, but one was expected", self.count))),
        }
    }

    fn vectors(&self) -> Result<Vec<DVec3>, FormatError> {
        Ok(values(self.typed(F64, 3, 8)?, 8))
    }

    fn texts(&self) -> Result<Vec<&'a str>, FormatError> {
        if (self.kind, self.width) != (TEXTS, 1) {
            return Err(self.wrong(format!("is of type {}, but texts were expected", self.kind)));
        }
        let mut reader = ByteReader::new(self.data, ORDER);
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
    fn pairs(&self) -> Result<Vec<(&'a str, &'a str)>, FormatError> {
        let texts = self.texts()?;
        if !texts.len().is_multiple_of(2) {
            return Err(self.wrong(format!("holds {} texts, but pairs were expected", texts.len())));
        }
        Ok(texts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
    }

    fn wrong(&self, problem: impl AsRef<str>) -> FormatError {
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

fn pad(reader: &mut ByteReader, what: &str) -> Result<(), FormatError> {
    let zeros = reader.at().next_multiple_of(8) - reader.at();
    reader.take(zeros as u64, what).map(|_| ())
}

impl Parsed<'_> {
    /// All but the bodies and their columns.
    fn without_bodies(&self) -> Result<Snapshot, FormatError> {
        let mut units = Units {
            gravitational_constant: self.field("gravitational_constant")?.one_f64()?,
            ..Units::default()
        };
        if let Some(field) = self.fields.get("units") {
            let [length, mass, time] = field.texts()?[..] else {
                return Err(field.wrong("should hold three names: of length, mass and time"));
            };
            (units.length, units.mass, units.time) = (length.into(), mass.into(), time.into());
        }
        let time = self.field("time")?.one_f64()?;
        let mut snapshot = Snapshot { time, units, ..Snapshot::default() };
        if let Some(field) = self.fields.get("attributes") {
            for (key, value) in field.pairs()? {
                snapshot.attributes.insert(key.into(), value.into());
            }
        }
        let components = self.field("components")?;
        let role = |name: &str| {
            Role::from_name(name).ok_or_else(|| {
                let known = Role::ALL.map(|(_, name)| name).join(", ");
                let name = messages::piece(name);
                components.wrong(format!("has an unknown role '{name}'; known are: {known}"))
            })
        };
        snapshot.bodies.components = components
            .pairs()?
            .iter()
            .map(|(name, r)| Ok(Component::new(*name, role(r)?)))
            .collect::<Result<_, FormatError>>()?;
        if let Some(newton) = snapshot.units.contradiction() {
            let units = &snapshot.units;
            snapshot.notes.push(format!(
                "states {units}, but G is {} in these units: the stated G is used",
                messages::number(newton)
            ));
        }
        Ok(snapshot)
    }

    /// Appends the bodies and their columns; returns their number. New columns get room for `room`.
    fn bodies(&self, to: &mut Snapshot, room: usize) -> Result<usize, FormatError> {
        let begun = to.bodies.len();
        let bodies = &mut to.bodies;
        append(&mut bodies.id, values(self.field("id")?.typed(U64, 1, 8)?, 8));
        append(&mut bodies.mass, self.field("mass")?.f64s()?);
        append(&mut bodies.position, self.field("position")?.vectors()?);
        append(&mut bodies.velocity, self.field("velocity")?.vectors()?);
        append(&mut bodies.component, values(self.field("component")?.typed(U8, 1, 1)?, 1));
        let count = to.bodies.len() - begun;
        for (name, field) in &self.fields {
            let Some(column) = name.strip_prefix(EXTRA) else { continue };
            let read = field.column(self.version)?;
            // A column that not all files have is too short at the end.
            let empty = || Column::with_capacity(read.kind(), room);
            let there = to.extra.entry(column.into()).or_insert_with(empty);
            there.append(read).ok_or_else(|| field.wrong("is of another type elsewhere"))?;
        }
        Ok(count)
    }
}

// Several files.

/// A file of a snapshot in several, as the index lists it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub(crate) struct ListedFile {
    first: u64,
    bodies: u64,
    bytes: u64,
    checksum: u64,
}

impl ListedFile {
    /// The number of its first body.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The numbers of its bodies.
    fn range(&self) -> Range<u64> {
        self.first..self.first.saturating_add(self.bodies)
    }
}

/// Bodies in words, the last one included.
fn in_words(range: Range<u64>) -> String {
    match range.end.saturating_sub(range.start) {
        0 => "no bodies".to_owned(),
        1 => format!("body {}", range.start),
        _ => format!("bodies {} to {}", range.start, range.end - 1),
    }
}

fn is_index(head: &[u8]) -> bool {
    head.len() > 12 && head.starts_with(&MAGIC) && ORDER.u32(&head[8..]) == INDEX
}

/// The number of files of the snapshot; 1 for a file of its own.
fn count(input: &mut InputFiles) -> Result<u64> {
    if is_index(input.head()?) {
        let (path, bytes) = input.load_first()?;
        let index = Parsed::of(bytes).and_then(|index| index.listed());
        return index
            .map(|(listed, _)| listed.len() as u64)
            .map_err(|problem| Error::file(path, problem));
    }
    // The field is the first one, so that no more than the head is read.
    let head = input.head()?;
    let mut reader = ByteReader::new(head, ORDER);
    let field = reader
        .take(HEADER_BYTES as u64, "the header")
        .and_then(|_| GvtField::next(&mut reader, head));
    Ok(field.ok().and_then(|field| field.file().ok()).map_or(1, |[_, files, ..]| files))
}

impl GvtField<'_> {
    /// The four numbers of the field `file`.
    fn file(&self) -> Result<[u64; 4], FormatError> {
        if self.name != FILE {
            return Err(format!("has no field '{FILE}'"));
        }
        let numbers: Vec<u64> = values(self.typed(U64, 1, 8)?, 8);
        <[u64; 4]>::try_from(numbers)
            .map_err(|numbers| self.wrong(format!("has {} numbers instead of 4", numbers.len())))
    }
}

impl Parsed<'_> {
    /// The files of an index, and the number of bodies in all of them. Each body is in one file.
    fn listed(&self) -> Result<(Vec<ListedFile>, u64), FormatError> {
        if self.version != INDEX {
            return Err(
                "is a snapshot of its own, but the index of several files was expected".into()
            );
        }
        let numbers: Vec<u64> = values(self.field(FILES)?.typed(U64, 4, 8)?, 8);
        let listed: Vec<ListedFile> = bytemuck::cast_slice(&numbers).to_vec();
        let bodies: Vec<u64> = values(self.field(BODIES)?.typed(U64, 1, 8)?, 8);
        let [bodies] = bodies[..] else {
            return Err(self.field(BODIES)?.wrong("should hold one number"));
        };
        if listed.len() < 2 {
            return Err(format!("lists {} files, but at least 2 were expected", listed.len()));
        }
        let mut next = 0;
        for (k, file) in listed.iter().enumerate() {
            let is = file.range();
            if is.start != next {
                let (what, twice) = match is.start < next {
                    true => (is.start..next.min(is.end), "twice"),
                    false => (next..is.start, "in no file"),
                };
                let what = in_words(what);
                return Err(format!(
                    "lists {what} {twice}: file {k} should begin at body {next}, but it lists {}",
                    in_words(is)
                ));
            }
            next = is.end;
        }
        if next != bodies {
            return Err(format!("lists {next} bodies in its files, but {bodies} in all"));
        }
        Ok((listed, bodies))
    }
}

/// Reads the files that an index lists, or the one of `options.part`.
fn read_files(input: &mut InputFiles, options: &ReadOptions) -> Result<Snapshot> {
    let (path, bytes) = input.load_first()?;
    let wrong = |problem: FormatError| Error::file(path, problem);
    let index = Parsed::of(bytes).map_err(wrong)?;
    let (listed, bodies) = index.listed().map_err(wrong)?;
    let mut snapshot = index.without_bodies().map_err(wrong)?;
    let name = messages::path(path, messages::PIECE);
    let path = path.to_owned();
    // What the index says is believed as far as there are bytes.
    let is_possible = |n: &usize| *n as u64 <= input.length() / BODY_BYTES;
    let room = usize::try_from(bodies).ok().filter(is_possible).filter(|_| options.part.is_none());
    let room = room.unwrap_or(0);
    snapshot.bodies.reserve(room);
    input.load_others(|place, bytes| {
        let k = options.part.map_or(place, |part| part as usize);
        let file = Parsed::of(bytes)?;
        let others = "they belong to different snapshots";
        let (expected, files) = (&listed[k], listed.len() as u64);
        let [number, of, first, all] = match file.fields.get(FILE) {
            Some(field) => field.file()?,
            None => return Err(format!("is a snapshot of its own, but {name} lists it as file {k} of {files}")),
        };
        if [number, of, first, all] != [k as u64, files, expected.first, bodies] {
            return Err(format!(
                "is file {number} of {of} and begins at body {first} of {all}, but {name} lists file {k} of {files}, which begins at body {} of {bodies}: {others}",
                expected.first
            ));
        }
        let time = file.field("time")?.one_f64()?;
        if time.to_bits() != snapshot.time.to_bits() {
            return Err(format!("says the time is {time:?}, but {name} says {:?}: {others}", snapshot.time));
        }
        if bytes.len() as u64 != expected.bytes {
            return Err(format!("has {} bytes, but {name} lists {}", bytes.len(), expected.bytes));
        }
        if u64::from(file.checksum) != expected.checksum {
            return Err(format!(
                "has the check sum {:08x}, but {name} lists {:08x}: it is whole, but from another run or step",
                file.checksum, expected.checksum
            ));
        }
        let found = file.bodies(&mut snapshot, room)? as u64;
        match found == expected.bodies {
            true => Ok(()),
            false => Err(format!("has {found} bodies, but {name} lists {}", expected.bodies)),
        }
    })?;
    snapshot.checked().map_err(|problem| Error::file(&path, problem))
}

/// The number of bodies of the snapshot at `path`, and those in `rows`. Of a snapshot in several
/// files, only those that have such bodies are read.
///
/// # Errors
/// As [`super::read_with`].
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn read_rows(path: &Path, rows: &Range<usize>) -> Result<(usize, Snapshot)> {
    let mut index = InputFiles::new(vec![InputFile::on_disk(path.to_owned())?], 1);
    if !is_index(index.head()?) {
        let mut whole = super::read(path)?;
        let n = whole.bodies.len();
        whole.keep(&(rows.start.min(n)..rows.end.min(n)));
        return Ok((n, whole));
    }
    let (path, bytes) = index.load_first()?;
    let wrong = |problem: FormatError| Error::file(path, problem);
    let (listed, n) = Parsed::of(bytes).and_then(|index| index.listed()).map_err(wrong)?;
    let has_rows = |file: &ListedFile| {
        let Range { start, end } = file.range();
        start < rows.end as u64 && end > rows.start as u64
    };
    let read = |k: usize| {
        super::read_with(path, &ReadOptions { part: Some(k as u64), ..ReadOptions::default() })
    };
    let first = listed.iter().position(has_rows).unwrap_or(0);
    let mut found = read(first)?;
    for (k, _) in listed.iter().enumerate().skip(first + 1).filter(|(_, file)| has_rows(file)) {
        let more = read(k)?;
        found.bodies.append(&more.bodies)?;
        for (name, column) in more.extra {
            let own = found.extra.get_mut(&name).and_then(|own| own.append(column));
            own.ok_or_else(|| {
                wrong(format!(
                    "lists file {k}, whose column '{name}' is of another type than in file {first}"
                ))
            })?;
        }
    }
    let begin = listed[first].first as usize;
    let end = begin + found.bodies.len();
    let within = |row: usize| row.clamp(begin, end) - begin;
    found.keep(&(within(rows.start)..within(rows.end)));
    Ok((n as usize, found))
}

/// What a file on disk is in a snapshot of several files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    /// The index of this many files.
    Index(u64),
    /// One of the files.
    File,
    /// A snapshot of its own.
    Whole,
}

/// What the file `path` is, by its first bytes; `None` if it cannot be read or is damaged.
pub(crate) fn listing(path: &Path) -> Option<Listing> {
    let mut input = InputFiles::new(vec![InputFile::on_disk(path.to_owned()).ok()?], 1);
    let is_index = is_index(input.head().ok()?);
    let is_own = input.head().ok()?.starts_with(&MAGIC);
    match count(&mut input).ok()? {
        files if is_index => Some(Listing::Index(files)),
        2.. => Some(Listing::File),
        _ => is_own.then_some(Listing::Whole),
    }
}

/// The index of the snapshot to which a file in `.gvt` belongs, if that is on disk.
pub fn index_of(path: &Path) -> Option<PathBuf> {
    let (whole, number) = super::source::file_of(path)?;
    let is_listed = matches!(listing(&whole), Some(Listing::Index(files)) if number < files);
    (is_listed && listing(path) == Some(Listing::File)).then_some(whole)
}

/// The files on disk that the index `path` lists; none if it is no index.
pub fn listed_files(path: &Path) -> Vec<PathBuf> {
    let files = match listing(path) {
        Some(Listing::Index(files)) => files,
        _ => 0,
    };
    let names = (0..files).map(|k| super::source::nth(path, k));
    names.filter(|file| listing(file) == Some(Listing::File)).collect()
}

/// The bodies of file `k` of `files`.
pub(crate) fn share(n: usize, k: usize, files: usize) -> Range<usize> {
    let begin = |k: usize| (n as u128 * k as u128 / files as u128) as usize;
    begin(k)..begin(k + 1)
}

/// Writes file `k` of `files` of the valid snapshot with the name `path`, for [`write_index`].
/// `snapshot` has at least the bodies of that file, from number `first` on, of `n`.
///
/// # Errors
/// As [`super::write()`].
pub(crate) fn write_file(
    path: &std::path::Path,
    snapshot: &Snapshot,
    (k, files): (usize, usize),
    (first, n): (usize, usize),
) -> Result<ListedFile> {
    let path = super::source::nth(path, k as u64);
    let file = Outfile::one(snapshot, (k, files), (first, n))
        .map_err(|problem| cannot(&path, &problem))?;
    let mut checksum = 0;
    crate::files::replace_with(&path, |to| {
        checksum = file.write(to)?;
        Ok(())
    })?;
    Ok(file.listed(checksum))
}

/// Writes the index of the `listed` files of a snapshot, once all are on disk; of the bodies of
/// `snapshot` there may be some. Its name may be changed to theirs later.
///
/// # Errors
/// As [`super::write()`].
pub(crate) fn write_index(
    path: &std::path::Path,
    snapshot: &Snapshot,
    listed: &[ListedFile],
) -> Result<()> {
    snapshot
        .validate()
        .map_err(|error| Error::file(path, format!("cannot be written: {error}")))?;
    let file = Outfile::index(snapshot, listed).map_err(|problem| cannot(path, &problem))?;
    crate::files::replace_with(path, |to| file.write(to).map(|_| ()))
}

fn cannot(path: &std::path::Path, problem: &str) -> Error {
    Error::file(path, format!("cannot be written: {problem}"))
}

// Writing `.gvt` files straight from the bodies' arrays: nothing is encoded first, and while a
// piece is written other cores compute its checksum.

/// Bytes of one write.
const PIECE: usize = 8 << 20;

/// Loses nothing; fails only for names longer than 65,535 bytes and texts too long for their length
/// field, before anything is written.
fn write(snapshot: &Snapshot, output: &mut OutputFiles) -> Result<()> {
    let files = output.files();
    let mut listed = Vec::new();
    for k in 0..files {
        let all = (0, snapshot.bodies.len());
        let file =
            Outfile::one(snapshot, (k, files), all).map_err(|problem| output.wrong(problem))?;
        let mut checksum = 0;
        output.stream(file.length, |to| {
            checksum = file.write(to)?;
            Ok(())
        })?;
        listed.push(file.listed(checksum));
    }
    if files > 1 {
        let index = Outfile::index(snapshot, &listed).map_err(|problem| output.wrong(problem))?;
        output.stream(index.length, |to| index.write(to).map(|_| ()))?;
    }
    Ok(())
}

/// A file to be written.
struct Outfile<'a> {
    version: u32,
    fields: Vec<Outgoing<'a>>,
    length: usize,
    bodies: Range<usize>,
}

impl<'a> Outfile<'a> {
    fn new(version: u32, fields: Vec<Outgoing<'a>>, bodies: Range<usize>) -> Self {
        let length = HEADER_BYTES + fields.iter().map(Outgoing::length).sum::<usize>();
        Self { version, fields, length, bodies }
    }

    /// File `k` of `files`. The first body of `snapshot` is number `first` of `n`.
    fn one(
        snapshot: &'a Snapshot,
        (k, files): (usize, usize),
        (first, n): (usize, usize),
    ) -> Result<Self, FormatError> {
        let bodies = share(n, k, files);
        let mut fields = Vec::new();
        if files > 1 {
            fields.push(integers(FILE, 1, &[k, files, bodies.start, n].map(|of| of as u64))?);
        }
        fields.extend(without_bodies(snapshot)?);
        fields.extend(of_bodies(snapshot, bodies.start - first..bodies.end - first)?);
        let is_plain = |column: &Column| column.kind() == ColumnType::F64;
        let version = if snapshot.extra.values().all(is_plain) { VERSION_1 } else { VERSION_2 };
        Ok(Self::new(version, fields, bodies))
    }

    fn index(snapshot: &'a Snapshot, listed: &[ListedFile]) -> Result<Self, FormatError> {
        let mut fields = without_bodies(snapshot)?;
        fields.push(integers(FILES, 4, bytemuck::cast_slice(listed))?);
        let n = listed.iter().map(|file| file.bodies).sum();
        fields.push(integers(BODIES, 1, &[n])?);
        Ok(Self::new(INDEX, fields, 0..0))
    }

    /// Writes it; returns the check sum by which an index lists it.
    fn write(&self, to: &mut dyn Write) -> std::io::Result<u32> {
        let head = head_of_file(self.version, self.fields.len() as u32, self.length as u64);
        to.write_all(&head)?;
        let mut sum = Hasher::new();
        sum.update(&head[HEADER_BYTES - 4..]);
        for field in &self.fields {
            sum.update(&field.write(to)?.to_le_bytes());
        }
        Ok(sum.finalize())
    }

    fn listed(&self, checksum: u32) -> ListedFile {
        let [first, bodies] = [self.bodies.start, self.bodies.len()].map(|of| of as u64);
        ListedFile { first, bodies, bytes: self.length as u64, checksum: checksum.into() }
    }
}

fn head_of_file(version: u32, count: u32, length: u64) -> Vec<u8> {
    let mut header = ByteWriter::new(ORDER, HEADER_BYTES);
    header.raw(&MAGIC);
    header.u32(version);
    header.u32(count);
    header.u64(length);
    header.u32(0);
    header.u32(crc32fast::hash(&header.bytes));
    header.bytes
}

fn without_bodies(snapshot: &Snapshot) -> Result<Vec<Outgoing<'_>>, FormatError> {
    let units = &snapshot.units;
    let attributes: Vec<&str> =
        snapshot.attributes.iter().flat_map(|(key, value)| [key.as_str(), value]).collect();
    let components = &snapshot.bodies.components;
    let components: Vec<&str> =
        components.iter().flat_map(|c| [c.name.as_str(), c.role.name()]).collect();
    Ok(vec![
        one_f64("time", snapshot.time)?,
        one_f64("gravitational_constant", snapshot.units.gravitational_constant)?,
        texts("units", &[&units.length, &units.mass, &units.time])?,
        texts("attributes", &attributes)?,
        texts("components", &components)?,
    ])
}

fn of_bodies(snapshot: &Snapshot, range: Range<usize>) -> Result<Vec<Outgoing<'_>>, FormatError> {
    let (bodies, n) = (&snapshot.bodies, range.len());
    let [position, velocity] = [&bodies.position, &bodies.velocity]
        .map(|vectors| raw::<f64>(bytemuck::cast_slice(&vectors[range.clone()])));
    let mut fields = vec![
        Outgoing::new("id", U64, 1, n, raw(&bodies.id[range.clone()]))?,
        Outgoing::new("mass", F64, 1, n, raw(&bodies.mass[range.clone()]))?,
        Outgoing::new("position", F64, 3, n, position)?,
        Outgoing::new("velocity", F64, 3, n, velocity)?,
        Outgoing::new("component", U8, 1, n, raw(&bodies.component[range.clone()]))?,
    ];
    for (name, column) in &snapshot.extra {
        let kind = column.kind();
        let code = COLUMNS.iter().find(|(known, _)| *known == kind).map(|(_, code)| *code);
        let code = code.ok_or_else(|| format!("it has no columns of {}", kind.name()))?;
        let data = each!(column, values => raw(&values[range.clone()]));
        fields.push(Outgoing::new(format!("{EXTRA}{name}"), code, 1, n, data)?);
    }
    Ok(fields)
}

fn integers<'a>(
    name: &'static str,
    width: u8,
    values: &[u64],
) -> Result<Outgoing<'a>, FormatError> {
    let count = values.len() / usize::from(width);
    Outgoing::new(name, U64, width, count, Cow::Owned(raw(values).into_owned()))
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

fn one_f64<'a>(name: &'static str, value: f64) -> Result<Outgoing<'a>, FormatError> {
    Outgoing::new(name, F64, 1, 1, Cow::Owned(value.to_le_bytes().to_vec()))
}

fn texts<'a>(name: &'static str, texts: &[&str]) -> Result<Outgoing<'a>, FormatError> {
    if let Some(text) = texts.iter().find(|text| u32::try_from(text.len()).is_err()) {
        return Err(format!("a text in {name} has {} bytes, which is too long", text.len()));
    }
    let mut data = ByteWriter::new(ORDER, texts.iter().map(|text| 4 + text.len()).sum());
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
    ) -> Result<Self, FormatError> {
        let name = name.as_ref();
        let name_length = u16::try_from(name.len()).map_err(|_| {
            format!("a column's name has {} bytes, but at most 65535 are allowed", name.len())
        })?;
        let mut head = ByteWriter::new(ORDER, 32 + name.len());
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

    /// Writes it; returns its checksum.
    fn write(&self, file: &mut dyn Write) -> std::io::Result<u32> {
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
        let sum = sum.finalize();
        file.write_all(&sum.to_le_bytes())?;
        file.write_all(&[0; 4])?;
        Ok(sum)
    }
}

/// Zeros up to a multiple of 8.
fn padding(length: usize) -> &'static [u8] {
    &[0; 8][..length.next_multiple_of(8) - length]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Spread, test_bodies};
    use crate::snapshot::{self, WriteOptions};

    #[test]
    fn rows_of_several_files_are_those_of_the_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut whole = Snapshot::new(test_bodies(1000, Spread::Even), 1.5);
        whole.extra.insert("phi".into(), Column::F32((0..1000).map(|k| k as f32).collect()));
        for files in [1, 3, 7] {
            let path = folder.path().join(format!("of{files}.gvt"));
            let options = WriteOptions { files: Some(files), ..WriteOptions::default() };
            snapshot::write(&path, &whole, &options).unwrap();
            for rows in [0..1000, 0..1, 140..145, 142..143, 300..720, 999..1000, 500..500, 0..0] {
                let mut own = whole.clone();
                own.keep(&rows);
                assert_eq!(read_rows(&path, &rows).unwrap(), (1000, own), "{rows:?} of {files}");
            }
        }
        // Files without such bodies are not read.
        std::fs::write(folder.path().join("of3.2.gvt"), "no snapshot").unwrap();
        let path = folder.path().join("of3.gvt");
        assert_eq!(read_rows(&path, &(0..600)).unwrap().1.bodies.len(), 600);
        let refused = read_rows(&path, &(600..700)).unwrap_err().to_string();
        assert!(refused.contains("of3.2.gvt"), "{refused}");
    }
}
