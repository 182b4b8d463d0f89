//! Reading tipsy files.

use std::collections::BTreeMap;

use glam::DVec3;
use rayon::prelude::*;

use super::super::bytes::{Reader, SHARE};
use super::super::{Column, Confidence, Endianness, Problem, Snapshot};
use super::{
    COLUMNS, ID_RANGES, IDS_ATTRIBUTE, KIND_BULGE, KIND_DISK, KINDS, KINDS_WITH_IDS, SECTION_DARK,
    SECTION_GAS, record_bytes,
};
use crate::bodies::Bodies;

/// The header's 28 bytes.
struct Header {
    endianness: Endianness,
    time: f64,
    total: i32,
    counts: [i32; 3],
}

impl Header {
    /// The header in this byte order; `None` if its number of dimensions is then not 3.
    fn parse(head: &[u8], endianness: Endianness) -> Option<Self> {
        let number = |at| endianness.i32(&head[at..]);
        (number(12) == 3).then(|| Self {
            endianness,
            time: endianness.f64(head),
            total: number(8),
            counts: [number(16), number(20), number(24)],
        })
    }

    fn find(head: &[u8]) -> Option<Self> {
        Self::parse(head, Endianness::Little).or_else(|| Self::parse(head, Endianness::Big))
    }

    fn counts_fit(&self) -> bool {
        let sum: i64 = self.counts.iter().map(|&count| i64::from(count)).sum();
        self.counts.iter().all(|&count| count >= 0) && sum == i64::from(self.total)
    }

    /// The records of gas, dark and star bodies, one section after another in `records`.
    fn sections<'a>(&self, mut records: &'a [u8]) -> [&'a [u8]; 3] {
        [0, 1, 2].map(|section| {
            let length = self.counts[section] as usize * record_bytes(section);
            let (of_section, after) = records.split_at(length);
            records = after;
            of_section
        })
    }

    /// Length of all records; at most 3 * 2^31 * 48, so it cannot overflow.
    fn records_length(&self) -> u64 {
        (0..3).map(|s| self.counts[s].max(0) as u64 * record_bytes(s) as u64).sum()
    }
}

pub(super) fn recognise(head: &[u8], length: u64) -> Confidence {
    let Some(header) = head.get(..28).and_then(Header::find) else { return Confidence::No };
    let records = header.records_length();
    match header.counts_fit() {
        true if length == 28 + records || length == 32 + records => Confidence::Sure,
        true => Confidence::Maybe,
        false => Confidence::No,
    }
}

pub(super) fn read(bytes: &[u8]) -> Result<Snapshot, Problem> {
    let head = Reader::new(bytes, Endianness::Little).take(28, "a tipsy header")?;
    let header = Header::find(head).ok_or_else(|| {
        format!(
            "is not a tipsy file: the number of dimensions at byte 12 is {} (little-endian) or {} (big-endian), but must be 3",
            Endianness::Little.i32(&head[12..]),
            Endianness::Big.i32(&head[12..])
        )
    })?;
    let [gas, dark, star] = header.counts;
    if !header.counts_fit() {
        return Err(format!(
            "the tipsy header says {} bodies at byte 8, but {gas} gas, {dark} dark and {star} star bodies from byte 16 on, which do not add up",
            header.total
        ));
    }
    let (length, records) = (bytes.len() as u64, header.records_length());
    if length != 28 + records && length != 32 + records {
        return Err(format!(
            "has {length} bytes, but a tipsy file of {gas} gas, {dark} dark and {star} star bodies has {} (or {} with a header of 28 bytes)",
            32 + records,
            28 + records
        ));
    }
    if looks_cut(bytes) {
        return Err(format!(
            "has {length} bytes, which fits a tipsy file of {gas} gas, {dark} dark and {star} star bodies with a header of 28 bytes, but no body has a mass there: a file with the usual header of 32 bytes has lost its last 4"
        ));
    }
    build(&header, header.sections(&bytes[(length - records) as usize..]))
}

fn build(header: &Header, sections: [&[u8]; 3]) -> Result<Snapshot, Problem> {
    let value = |record: &[u8], k: usize| header.endianness.f32(&record[4 * k..]);
    let number = |record: &[u8], k: usize| f64::from(value(record, k));
    let with_ids = have_ids(header.endianness, &sections);
    let kinds = if with_ids { KINDS_WITH_IDS } else { KINDS };
    let n = header.total as usize;
    let mut bodies = Bodies::with_capacity(n);
    let mut component_of_kind = vec![None; kinds.len()];
    bodies.components.clear();
    let mut extra: BTreeMap<String, Vec<f32>> = BTreeMap::new();
    for (section, records) in sections.into_iter().enumerate() {
        let first = bodies.len();
        let each = || records.par_chunks_exact(record_bytes(section)).with_min_len(SHARE);
        let vector =
            |record: &[u8], k: usize| DVec3::from([0, 1, 2].map(|axis| number(record, k + axis)));
        bodies.mass.par_extend(each().map(|record| number(record, 0)));
        bodies.position.par_extend(each().map(|record| vector(record, 1)));
        bodies.velocity.par_extend(each().map(|record| vector(record, 4)));
        for record in records.chunks_exact(record_bytes(section)) {
            let i = bodies.id.len();
            let (kind, id) = match (with_ids, section) {
                (false, _) => (section, i as u64),
                (true, SECTION_GAS) => (section, ID_RANGES[SECTION_GAS].0 + i as u64),
                (true, _) => {
                    let id = u64::from(last_word(header.endianness, record));
                    let bulge = id >= ID_RANGES[KIND_BULGE].0;
                    let star = if bulge { KIND_BULGE } else { KIND_DISK };
                    (if section == SECTION_DARK { section } else { star }, id)
                }
            };
            let component = *component_of_kind[kind].get_or_insert_with(|| {
                bodies.components.push(kinds[kind].component());
                (bodies.components.len() - 1) as u8
            });
            bodies.component.push(component);
            bodies.id.push(id);
        }
        for (k, name) in COLUMNS[section].iter().enumerate() {
            if with_ids && section != SECTION_GAS && *name == "phi" {
                continue;
            }
            let values = || {
                let records = records.chunks_exact(record_bytes(section));
                records.map(|record| value(record, 7 + k))
            };
            // -0 does not count as zero: only columns that writing restores exactly may be left
            // out.
            if values().any(|value| value.to_bits() != 0) || extra.contains_key(*name) {
                let column = extra.entry(name.to_string()).or_insert_with(|| {
                    let mut column = vec![f32::NAN; n];
                    // In sections read earlier, the column was all zeros.
                    fill_zeros(&mut column, header, section, name);
                    column
                });
                column[first..].iter_mut().zip(values()).for_each(|(to, value)| *to = value);
            }
        }
    }
    let extra = extra.into_iter().map(|(name, column)| (name, Column::F32(column))).collect();
    let mut snapshot = Snapshot { bodies, time: header.time, extra, ..Snapshot::default() };
    if with_ids {
        snapshot.attributes.insert(IDS_ATTRIBUTE.into(), "integer".into());
    }
    snapshot.checked()
}

fn fill_zeros(column: &mut [f32], header: &Header, sections: usize, name: &str) {
    let mut first = 0;
    for (columns, count) in COLUMNS.iter().zip(header.counts).take(sections) {
        let count = count as usize;
        if columns.contains(&name) {
            column[first..first + count].fill(0.0);
        }
        first += count;
    }
}

/// Whether the file's length says 28 bytes of header, but the masses say 32 with the last 4 bytes
/// of the file missing. The values read as masses are then padding (0 or bytes that do not form a
/// number) and the last words of the records: potentials or ids.
pub(super) fn looks_cut(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(..28).and_then(Header::find) else { return false };
    if !header.counts_fit() || bytes.len() as u64 != 28 + header.records_length() {
        return false;
    }
    // The last words of the previous section; the first is preceded by the padding.
    let mut before = None;
    for (section, records) in header.sections(&bytes[28..]).into_iter().enumerate() {
        for record in records.chunks_exact(record_bytes(section)) {
            let word = header.endianness.u32(record);
            let negative = word >> 31 == 1;
            let no_mass = match before {
                None => f32::from_bits(word).abs() < f32::MIN_POSITIVE,
                Some(SECTION_DARK) => negative || u64::from(word) < ID_RANGES[SECTION_DARK].1,
                Some(_) => negative || u64::from(word) < ID_RANGES[KIND_BULGE].1,
            };
            if !no_mass {
                return false;
            }
            before = Some(section);
        }
    }
    before.is_some()
}

fn last_word(endianness: Endianness, record: &[u8]) -> u32 {
    endianness.u32(&record[record.len() - 4..])
}

/// Whether the last words of all dark and star records can only be ids.
fn have_ids(endianness: Endianness, sections: &[&[u8]; 3]) -> bool {
    let words = |section: usize| {
        sections[section]
            .chunks_exact(record_bytes(section))
            .map(move |record| (section, u64::from(last_word(endianness, record))))
    };
    let words = || words(1).chain(words(2));
    let range = |section| match section {
        SECTION_DARK => ID_RANGES[SECTION_DARK],
        _ => (ID_RANGES[KIND_DISK].0, ID_RANGES[KIND_BULGE].1),
    };
    words().all(|(section, id)| (range(section).0..range(section).1).contains(&id))
        && words().any(|(_, id)| id != 0)
}
