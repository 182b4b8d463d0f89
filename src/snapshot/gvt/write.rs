//! Writing `.gvt` files.

use super::super::bytes::Writer;
use super::super::{Column, ColumnType, Endianness, Problem, Snapshot};
use super::{COLUMNS, EXTRA, F64, HEADER_BYTES, MAGIC, TEXTS, U8, U64, VERSION_1, VERSION_2};

/// Loses nothing; fails only for names longer than 65,535 bytes and texts too long for their length
/// field.
pub(super) fn write(snapshot: &Snapshot) -> Result<Vec<u8>, Problem> {
    let bodies = &snapshot.bodies;
    let n = bodies.len();
    let capacity = n * (8 * (8 + snapshot.extra.len()) + 1) + 4096;
    let mut file = Fields { out: Writer::new(Endianness::Little, capacity), count: 0 };
    file.out.raw(&[0; HEADER_BYTES]);

    file.f64s("time", 1, 1, &[snapshot.time])?;
    file.f64s("gravitational_constant", 1, 1, &[snapshot.units.gravitational_constant])?;
    let units = &snapshot.units;
    file.texts("units", &[&units.length, &units.mass, &units.time])?;
    let attributes: Vec<&str> =
        snapshot.attributes.iter().flat_map(|(key, value)| [key.as_str(), value]).collect();
    file.texts("attributes", &attributes)?;
    let components: Vec<&str> =
        bodies.components.iter().flat_map(|c| [c.name.as_str(), c.role.name()]).collect();
    file.texts("components", &components)?;
    file.field("id", U64, 1, n, 8 * n, |out| out.u64s(&bodies.id))?;
    file.f64s("mass", n, 1, &bodies.mass)?;
    file.f64s("position", n, 3, bytemuck::cast_slice(&bodies.position))?;
    file.f64s("velocity", n, 3, bytemuck::cast_slice(&bodies.velocity))?;
    file.field("component", U8, 1, n, n, |out| out.raw(&bodies.component))?;
    for (name, column) in &snapshot.extra {
        file.column(&format!("{EXTRA}{name}"), column)?;
    }
    let is_plain = |column: &Column| column.kind() == ColumnType::F64;
    let version = if snapshot.extra.values().all(is_plain) { VERSION_1 } else { VERSION_2 };
    Ok(file.finish(version))
}

struct Fields {
    out: Writer,
    count: u32,
}

impl Fields {
    /// Writes one field; `data` writes `length` bytes: `count` elements of `width` values.
    fn field(
        &mut self,
        name: &str,
        kind: u8,
        width: u8,
        count: usize,
        length: usize,
        data: impl FnOnce(&mut Writer),
    ) -> Result<(), Problem> {
        let name_length = u16::try_from(name.len()).map_err(|_| {
            format!("a column's name has {} bytes, but at most 65535 are allowed", name.len())
        })?;
        let start = self.out.bytes.len();
        self.out.u16(name_length);
        self.out.raw(&[kind, width]);
        self.out.u32(0);
        self.out.u64(count as u64);
        self.out.u64(length as u64);
        self.out.raw(name.as_bytes());
        self.pad();
        let data_start = self.out.bytes.len();
        data(&mut self.out);
        debug_assert_eq!(self.out.bytes.len() - data_start, length, "length of field {name}");
        self.pad();
        let crc = crc32fast::hash(&self.out.bytes[start..]);
        self.out.u32(crc);
        self.out.u32(0);
        self.count += 1;
        Ok(())
    }

    fn f64s(&mut self, name: &str, count: usize, width: u8, values: &[f64]) -> Result<(), Problem> {
        self.field(name, F64, width, count, count * width as usize * 8, |out| {
            out.f64s(values);
        })
    }

    fn column(&mut self, name: &str, column: &Column) -> Result<(), Problem> {
        let (kind, n) = (column.kind(), column.len());
        let code = COLUMNS.iter().find(|(known, _)| *known == kind).map(|(_, code)| *code);
        let code = code.ok_or_else(|| format!("it has no columns of {}", kind.name()))?;
        self.field(name, code, 1, n, n * kind.bytes(), |out| out.column(column))
    }

    fn texts(&mut self, name: &str, texts: &[&str]) -> Result<(), Problem> {
        if let Some(text) = texts.iter().find(|text| u32::try_from(text.len()).is_err()) {
            return Err(format!("a text in {name} has {} bytes, which is too long", text.len()));
        }
        let length = texts.iter().map(|text| 4 + text.len()).sum();
        self.field(name, TEXTS, 1, texts.len(), length, |out| {
            for text in texts {
                out.u32(text.len() as u32);
                out.raw(text.as_bytes());
            }
        })
    }

    fn pad(&mut self) {
        self.out.bytes.resize(self.out.bytes.len().next_multiple_of(8), 0);
    }

    /// The header, written last because it has the number of fields and the length.
    fn finish(self, version: u32) -> Vec<u8> {
        let mut header = Writer::new(Endianness::Little, HEADER_BYTES);
        header.raw(&MAGIC);
        header.u32(version);
        header.u32(self.count);
        header.u64(self.out.bytes.len() as u64);
        header.u32(0);
        header.u32(crc32fast::hash(&header.bytes));
        let mut bytes = self.out.bytes;
        bytes[..HEADER_BYTES].copy_from_slice(&header.bytes);
        bytes
    }
}
