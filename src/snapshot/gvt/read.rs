//! Reading `.gvt` files: every checksum, length and type is checked before data is used.

use std::collections::BTreeMap;

use glam::DVec3;
use rayon::prelude::*;

use super::super::bytes::Reader;
use super::super::{Column, ColumnType, Endianness, Problem, Snapshot};
use super::{
    COLUMNS, EXTRA, F64, HEADER_BYTES, MAGIC, SHARE, TEXTS, U8, U64, VERSION_1, VERSION_2, checksum,
};
use crate::bodies::{Bodies, Component, Role};
use crate::messages;
use crate::units::Units;

const ORDER: Endianness = Endianness::Little;

pub(super) fn read(bytes: &[u8]) -> Result<Snapshot, Problem> {
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
