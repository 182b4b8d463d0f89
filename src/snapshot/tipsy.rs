//! Tipsy, the format of the TIPSY viewer and of GASOLINE, ChaNGa, Bonsai and NVIDIA's samples.
//!
//! A header (time f64; number of bodies, dimensions, gas, dark and star bodies as i32: 28 bytes,
//! usually followed by 4 of padding for alignment) and three runs of records:
//!
//! | kind | bytes | f32 each |
//! |---|---|---|
//! | gas | 48 | mass, position, velocity, rho, temp, hsmooth, metals, phi |
//! | dark | 36 | mass, position, velocity, eps, phi |
//! | star | 44 | mass, position, velocity, metals, tform, eps, phi |
//!
//! `Standard` files are big-endian (XDR), `native` ones have the writer's byte order; the number of
//! dimensions, 3, determines which. The kinds become the components `gas`, `halo` and `stars`; the
//! other columns go to [`Snapshot::extra`] under the names above (a column of zeros is left out, as
//! writing restores it). Tipsy has no ids: the bodies are numbered from 0.
//!
//! NVIDIA's and Bonsai's files have an integer id in place of phi in dark and star records: dark
//! ids from 200,000,000, disk stars below 100,000,000, bulge stars between. This variant is
//! recognised if all ids lie in these ranges (dark ones below 800,000,000) and are not all 0: as
//! potentials they would all be positive and below 1e-9. Its stars become the components `disk` and
//! `bulge`. Its gas bodies have no ids and are numbered from 1,000,000,000.
//!
//! A file with the long header that has lost its last 4 bytes has the length of one with the short
//! header. It is detected, and rejected, because it has no masses where they should be.
//!
//! Writing groups the bodies into gas, dark and star and keeps their order within each. Numbers are
//! narrowed to f32; time stays f64. The padding has no meaning and is not stored.

use std::collections::BTreeMap;

use glam::DVec3;
use rayon::prelude::*;

use super::bytes::{ByteReader, ByteWriter, SHARE};
use super::kinds::{BodyType, gadget_name, index_of, note_components, order, sections};
use super::losses::Narrow;
use super::{
    BIG_ENDIAN, Column, Confidence, Endianness, Format, FormatError, LITTLE_ENDIAN, Losses,
    Modifier, RAW_UNITS, Snapshot, WriteOptions,
};
use crate::bodies::{Bodies, Component, Role};
use crate::units::Units;

/// The format's entry in the registry.
pub(super) const FORMAT: Format = Format {
    name: "tipsy",
    summary: "TIPSY, GASOLINE, ChaNGa; with integer ids NVIDIA's samples and Bonsai",
    holds: "time, f32 masses, positions, velocities; gas, dark and star; rho, temp, hsmooth, metals, tform, eps, phi; no units; ids only with -id, which has no phi",
    extensions: &["tipsy", "tip", "bin"],
    units: Some(|snapshot| snapshot.units.with_g_one()),
    modifiers: &[
        LITTLE_ENDIAN,
        Modifier { summary: "big-endian, tipsy's standard", ..BIG_ENDIAN },
        Modifier {
            suffix: "28",
            summary: "header of 28 bytes, without padding",
            apply: |options| options.short_header = Some(true),
        },
        Modifier {
            suffix: "id",
            summary: "integer ids in the place of the potential",
            apply: |options| options.integer_ids = Some(true),
        },
        Modifier {
            suffix: "phi",
            summary: "potentials, no ids",
            apply: |options| options.integer_ids = Some(false),
        },
        RAW_UNITS,
    ],
    recognise,
    files: None,
    series: None,
    read: |input, _| input.whole(read),
    write: Some(|snapshot, options, output, losses| output.whole(write(snapshot, options, losses))),
};

/// Columns after mass, position and velocity, by section: gas, dark, star.
const COLUMNS: [&[&str]; 3] = [
    &["rho", "temp", "hsmooth", "metals", "phi"],
    &["eps", "phi"],
    &["metals", "tform", "eps", "phi"],
];

/// Names of the sections in messages.
const SECTIONS: [&str; 3] = ["gas", "dark", "star"];

const SECTION_GAS: usize = 0;
const SECTION_DARK: usize = 1;

/// The components of a plain file's bodies, by section.
const KINDS: &[BodyType] = &[
    BodyType { name: "gas", role: Role::Gas },
    BodyType { name: "halo", role: Role::Halo },
    BodyType { name: "stars", role: Role::Star },
];

/// The components of the bodies of a file with ids.
const KINDS_WITH_IDS: &[BodyType] = &[
    BodyType { name: "gas", role: Role::Gas },
    BodyType { name: "halo", role: Role::Halo },
    BodyType { name: "disk", role: Role::Disk },
    BodyType { name: "bulge", role: Role::Bulge },
];

const KIND_DISK: usize = 2;
const KIND_BULGE: usize = 3;

/// First id and end of the range, by kind of [`KINDS_WITH_IDS`].
const ID_RANGES: [(u64, u64); 4] = [
    (1_000_000_000, u64::MAX),
    (200_000_000, 800_000_000),
    (0, 100_000_000),
    (100_000_000, 200_000_000),
];

/// The attribute that records the variant of a file.
const IDS_ATTRIBUTE: &str = "layout.tipsy.ids";

/// Bytes of one record of a section.
const fn record_bytes(section: usize) -> usize {
    4 * (7 + COLUMNS[section].len())
}

// Reading tipsy files.

/// The header's 28 bytes.
struct TipsyHeader {
    endianness: Endianness,
    time: f64,
    total: i32,
    counts: [i32; 3],
}

impl TipsyHeader {
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

fn recognise(head: &[u8], length: u64) -> Confidence {
    let Some(header) = head.get(..28).and_then(TipsyHeader::find) else { return Confidence::No };
    let records = header.records_length();
    match header.counts_fit() {
        true if length == 28 + records || length == 32 + records => Confidence::Sure,
        true => Confidence::Maybe,
        false => Confidence::No,
    }
}

fn read(bytes: &[u8]) -> Result<Snapshot, FormatError> {
    let head = ByteReader::new(bytes, Endianness::Little).take(28, "a tipsy header")?;
    let header = TipsyHeader::find(head).ok_or_else(|| {
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

fn build(header: &TipsyHeader, sections: [&[u8]; 3]) -> Result<Snapshot, FormatError> {
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
            let known = &mut component_of_kind[kind];
            let component = index_of(known, &kinds[kind], &mut bodies.components);
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

fn fill_zeros(column: &mut [f32], header: &TipsyHeader, sections: usize, name: &str) {
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
fn looks_cut(bytes: &[u8]) -> bool {
    let Some(header) = bytes.get(..28).and_then(TipsyHeader::find) else { return false };
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

// Writing tipsy files.

const SOFTENING: &str = "softening";

fn write(
    snapshot: &Snapshot,
    options: &WriteOptions,
    losses: &mut Losses,
) -> Result<Vec<u8>, FormatError> {
    let bodies = &snapshot.bodies;
    let with_ids = options.integer_ids.unwrap_or_else(|| {
        snapshot.attributes.get(IDS_ATTRIBUTE).is_some_and(|value| value == "integer")
    });
    let section = |i: usize| section_of(&bodies.components[bodies.component[i] as usize]);
    let (order, counts) = order(bodies, 3, section);
    if i32::try_from(bodies.len()).is_err() {
        return Err(format!("{} bodies do not fit into its 31-bit counts", bodies.len()));
    }
    if with_ids {
        note_components(bodies, KINDS_WITH_IDS, kind_with_ids, losses);
    } else {
        note_components(bodies, KINDS, section_of, losses);
    }
    let ids = if with_ids {
        Some(fitting_ids(bodies, &order, losses)?)
    } else {
        if !order.iter().enumerate().all(|(place, &i)| bodies.id[i] == place as u64) {
            losses.note("ids are not held (tipsy-id holds them, in the place of the potential)");
        }
        None
    };

    let header_bytes = if options.short_header == Some(true) { 28 } else { 32 };
    let length: usize = (0..3).map(|s| counts[s] * record_bytes(s)).sum();
    let mut out = ByteWriter::new(options.endianness.unwrap_or_default(), header_bytes + length);
    out.f64(snapshot.time);
    for number in [bodies.len(), 3, counts[0], counts[1], counts[2]] {
        out.u32(number as u32);
    }
    out.raw(&[0; 4][..header_bytes - 28]);

    let columns = TipsyColumns::new(snapshot, &order, &counts, with_ids, losses);
    let mut narrow = ["masses", "positions", "velocities", "extra columns"].map(Narrow::new);
    let [mass, position, velocity, extra] = &mut narrow;
    for &i in &order {
        out.f32(mass.f32(bodies.mass[i], i));
        for x in bodies.position[i].to_array() {
            out.f32(position.f32(x, i));
        }
        for v in bodies.velocity[i].to_array() {
            out.f32(velocity.f32(v, i));
        }
        let section = section(i);
        for (k, name) in COLUMNS[section].iter().enumerate() {
            match &ids {
                Some(ids) if section != SECTION_GAS && *name == "phi" => out.u32(ids[i]),
                _ => out.f32(extra.f32(columns.value(section, k, i), i)),
            }
        }
    }
    narrow.into_iter().try_for_each(|narrow| narrow.finish(losses))?;
    if looks_cut(&out.bytes) {
        return Err("without masses, the header of 28 bytes would make it look like a file of 32 that was cut off; write the usual header".into());
    }
    losses.note_units(&snapshot.units, &Units::default());
    losses.note_attributes(snapshot, |key| key == SOFTENING && columns.softening.is_some());
    Ok(out.bytes)
}

fn section_of(component: &Component) -> usize {
    match component.role {
        Role::Gas => 0,
        Role::Halo => 1,
        Role::Star | Role::Disk | Role::Bulge => 2,
    }
}

fn kind_with_ids(component: &Component) -> usize {
    match component.role {
        Role::Bulge => KIND_BULGE,
        Role::Star | Role::Disk => KIND_DISK,
        Role::Gas | Role::Halo => section_of(component),
    }
}

/// The ids as the variant requires: unchanged for kinds whose ids all lie in their range, otherwise
/// numbered from its start.
fn fitting_ids(
    bodies: &Bodies,
    order: &[usize],
    losses: &mut Losses,
) -> Result<Vec<u32>, FormatError> {
    let mut ids = vec![0; bodies.len()];
    for (k, (first, end)) in ID_RANGES.into_iter().enumerate() {
        let of_kind =
            |i: &&usize| kind_with_ids(&bodies.components[bodies.component[**i] as usize]) == k;
        let members: Vec<usize> = order.iter().filter(of_kind).copied().collect();
        let name = KINDS_WITH_IDS[k].name;
        if k == SECTION_GAS {
            // This kind stores no ids; reading numbers them.
            let numbered = |(place, &i): (usize, &usize)| bodies.id[i] == first + place as u64;
            if !members.iter().enumerate().all(numbered) {
                losses.note(format!("ids of {} {name} bodies are not held", members.len()));
            }
            continue;
        }
        if members.len() as u64 > end - first {
            return Err(format!(
                "{} bodies of the {name} do not fit into its ids, {first} to {}",
                members.len(),
                end - 1
            ));
        }
        let misfits = members.iter().filter(|&&i| !(first..end).contains(&bodies.id[i])).count();
        if misfits > 0 {
            losses.note(format!(
                "{misfits} ids of the {name} lie outside {first} to {}, which mark it: its {} bodies are numbered anew from {first}",
                end - 1,
                members.len()
            ));
        }
        for (place, &i) in members.iter().enumerate() {
            ids[i] = if misfits > 0 { first as u32 + place as u32 } else { bodies.id[i] as u32 };
        }
    }
    Ok(ids)
}

/// Sources of the values after mass, position and velocity.
struct TipsyColumns<'a> {
    /// By section and index in its [`COLUMNS`]; `None` means zero.
    sources: [Vec<Option<&'a Column>>; 3],
    /// Used for eps if no column provides it.
    softening: Option<f64>,
}

impl<'a> TipsyColumns<'a> {
    fn new(
        snapshot: &'a Snapshot,
        order: &[usize],
        counts: &[usize],
        with_ids: bool,
        losses: &mut Losses,
    ) -> Self {
        let find = |name: &str| {
            let mut names = [Some(name), gadget_name(name)].into_iter().flatten();
            names.find_map(|name| snapshot.extra.get_key_value(name))
        };
        let softening = match find("eps") {
            None => snapshot.attributes.get(SOFTENING).and_then(|text| text.parse().ok()),
            Some(_) => None,
        };
        let softening = softening.filter(|eps: &f64| f64::from(*eps as f32).is_finite());
        let mut sources = [vec![], vec![], vec![]];
        let mut used = Vec::new();
        for (section, members) in sections(order, counts).enumerate() {
            for name in COLUMNS[section] {
                let is_stored = !(with_ids && section != SECTION_GAS && *name == "phi");
                let source = find(name).filter(|_| is_stored && !members.is_empty());
                // A kind of body without any value gets zeros, as in files without the column.
                let none = |column: &Column| !members.iter().any(|&i| column.has_value(i));
                let missing = source.is_some_and(|(_, column)| none(column));
                if missing {
                    let kind = SECTIONS[section];
                    losses.note(format!("{name}: the {kind} bodies have no value, 0 is written"));
                }
                used.extend(source.map(|(name, _)| (section, name.as_str())));
                sources[section].push(source.filter(|_| !missing).map(|(_, column)| column));
            }
        }
        note_unused(snapshot, order, counts, &used, losses);
        let whole = used.iter().filter(|(_, name)| !snapshot.extra[*name].kind().is_float());
        losses.note_integers(whole.map(|(_, name)| *name), "f32");
        Self { sources, softening }
    }

    fn value(&self, section: usize, k: usize, i: usize) -> f64 {
        match self.sources[section][k] {
            Some(column) => column.value(i),
            None if COLUMNS[section][k] == "eps" => self.softening.unwrap_or(0.0),
            None => 0.0,
        }
    }
}

/// Notes the columns that the records of some or all kinds of bodies cannot hold.
fn note_unused(
    snapshot: &Snapshot,
    order: &[usize],
    counts: &[usize],
    used: &[(usize, &str)],
    losses: &mut Losses,
) {
    let mut lost = Vec::new();
    for (name, column) in &snapshot.extra {
        if !used.iter().any(|(_, known)| known == name) {
            lost.push(name.clone());
            continue;
        }
        for (section, members) in sections(order, counts).enumerate() {
            let values = members.iter().filter(|&&i| column.has_value(i)).count();
            if values > 0 && !used.contains(&(section, name)) {
                lost.push(format!("{name} of {values} {} bodies", SECTIONS[section]));
            }
        }
    }
    losses.note_columns(&lost, "");
}
