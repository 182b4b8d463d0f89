//! Reading GADGET files, each by itself, up to the numbers in its blocks.

use std::collections::{BTreeMap, BTreeSet};

use glam::DVec3;
use rayon::prelude::*;

use super::super::bytes::SHARE;
use super::super::kinds::{agree, index_of};
use super::super::{
    Column, ColumnType, Endianness, FormatError, InputFiles, ReadOptions, Snapshot,
};
use super::header::{COOLING, GadgetHeader};
use super::info::{self, BlockShape, bodies_of, present, shape_of};
use super::records::{self, RecordBlock};
use super::{
    ALL, DOUBLE_ATTRIBUTE, IDS_ATTRIBUTE, KINDS, TYPES, TypeMask, gas_blocks, header, unknown_block,
};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::messages;

/// Far more than any code writes; blocks are looked up one by one.
const MOST_BLOCKS: usize = 1024;

pub(super) fn read(input: &mut InputFiles, options: &ReadOptions) -> Result<Snapshot> {
    let (name, files) = (input.name(), input.files());
    let loaded = input.load()?;
    let parsed = loaded
        .iter()
        .map(|(path, bytes)| {
            let file = ParsedFile::parse(bytes, options.renumber);
            file.map(|file| (*path, file)).map_err(|problem| Error::file(path, problem))
        })
        .collect::<Result<Vec<_>>>()?;
    let parsed_files: Vec<&ParsedFile> = parsed.iter().map(|(_, file)| file).collect();
    let stated: Vec<_> = parsed.iter().map(|(path, file)| (*path, file.header.stated())).collect();
    agree(&stated, files, KINDS)?;
    merge(&parsed_files).map_err(|problem| Error::file(&name, problem))
}

/// Names the blocks of format 1 by their order.
fn name_by_order(blocks: &mut [RecordBlock], header: &GadgetHeader) {
    let mut names = vec!["POS", "VEL", "ID"];
    if masses_in_block(header) != 0 {
        names.push("MASS");
    }
    let mut gas_names = gas_blocks(header.facts.contains_key(COOLING)).iter();
    let gas = header.counts[0] as u64;
    let mut unknown = 0;
    for (k, block) in blocks.iter_mut().enumerate() {
        let length = block.data.len() as u64;
        block.name = match names.get(k) {
            Some(name) => (*name).into(),
            // The gas blocks come first and end with the first block of another size.
            None if gas > 0 && unknown == 0 && (length == 4 * gas || length == 8 * gas) => {
                gas_names.next().map_or_else(String::new, |name| (*name).into())
            }
            None => String::new(),
        };
        if block.name.is_empty() {
            unknown += 1;
            block.name = unknown_block(unknown);
        }
    }
}

/// The types whose masses are in the MASS block.
pub(super) fn masses_in_block(header: &GadgetHeader) -> TypeMask {
    (0..TYPES)
        .filter(|&t| header.counts[t] > 0 && header.masses[t] == 0.0)
        .fold(0, |mask, t| mask | 1 << t)
}

/// A parsed file, in which the length of every block fits the bodies of its header.
pub(super) struct ParsedFile<'a> {
    pub header: GadgetHeader,
    pub blocks: Vec<RecordBlock<'a>>,
    pub endianness: Endianness,
    pub positions: BlockNumbers<'a>,
    pub velocities: BlockNumbers<'a>,
    /// `None` if ids are not read.
    pub ids: Option<BlockNumbers<'a>>,
    /// `None` if the header has all masses.
    pub masses: Option<BlockNumbers<'a>>,
}

/// The data of a required block.
#[derive(Clone, Copy)]
pub(super) struct BlockNumbers<'a> {
    /// Types that have it.
    pub types: TypeMask,
    /// Numbers per body.
    pub values: usize,
    /// 8 bytes per number; otherwise 4.
    pub double: bool,
    pub data: &'a [u8],
}

impl<'a> ParsedFile<'a> {
    fn parse(bytes: &'a [u8], renumber: bool) -> Result<Self, FormatError> {
        let (mut blocks, endianness, format) = records::blocks(bytes)?;
        let header = blocks.remove(0);
        let header = GadgetHeader::parse(header.data, header.at, endianness)?;
        if blocks.len() > MOST_BLOCKS {
            return Err(format!("has {} blocks, but at most {MOST_BLOCKS} are read", blocks.len()));
        }
        if format == 1 {
            name_by_order(&mut blocks, &header);
        }
        for (k, block) in blocks.iter().enumerate() {
            if blocks[..k].iter().any(|earlier| earlier.name == block.name) {
                let RecordBlock { name, at, .. } = block;
                return Err(format!("block {name} at byte {at} is present twice"));
            }
        }
        // Numbers are located within POS and the other blocks, so no count is trusted without the
        // bytes for it.
        let find = |name, types, values| numbers(&header, &blocks, name, types, values);
        let positions = find("POS", ALL, 3)?;
        let velocities = find("VEL", ALL, 3)?;
        let ids = if renumber { None } else { Some(find("ID", ALL, 1)?) };
        let by_block = masses_in_block(&header);
        let masses = if by_block == 0 { None } else { Some(find("MASS", by_block, 1)?) };
        Ok(Self { header, blocks, endianness, positions, velocities, ids, masses })
    }

    pub fn block(&self, name: &str) -> Option<&RecordBlock<'a>> {
        self.blocks.iter().find(|block| block.name == name)
    }
}

/// A required block of `values` numbers of 4 or 8 bytes for each body of `types`.
fn numbers<'a>(
    header: &GadgetHeader,
    blocks: &[RecordBlock<'a>],
    name: &str,
    types: TypeMask,
    values: usize,
) -> Result<BlockNumbers<'a>, FormatError> {
    // One of several files may have no bodies.
    if header.files > 1 && header.total() == 0 {
        return Ok(BlockNumbers { types, values, double: false, data: &[] });
    }
    let names = || {
        let types = types & present(&header.counts);
        let kinds = (0..TYPES).filter(|t| types >> t & 1 == 1);
        kinds.map(|t| KINDS[t].name).collect::<Vec<_>>().join(", ")
    };
    let block = blocks.iter().find(|block| block.name == name).ok_or_else(|| {
        let why = match name {
            "MASS" => ", whose masses in the header are 0",
            "ID" => " (--renumber reads without, and numbers them from 0)",
            _ => "",
        };
        format!("has no block {name}, but there should be one for {}{why}", names())
    })?;
    let bodies = bodies_of(types, &header.counts);
    let numbers = bodies * values as u64;
    let double = match block.data.len() as u64 {
        length if length == 4 * numbers => false,
        length if length == 8 * numbers => true,
        length => {
            return Err(format!(
                "block {name} at byte {} has {length} bytes, but {} (or {}) were expected for the {bodies} bodies that the header says ({})",
                block.at,
                4 * numbers,
                8 * numbers,
                names()
            ));
        }
    };
    Ok(BlockNumbers { types, values, double, data: block.data })
}

// Merging the numbers of a snapshot's files into the order that a single file would have: the
// bodies of a type from each file in turn, then those of the next type.

/// The largest number of columns read: each costs 8 bytes per body, however short its block.
const MOST_COLUMNS: usize = 64;

/// Attribute that lists the blocks that were skipped.
const SKIPPED: &str = "gadget.skipped";

/// Blocks that do not become columns.
const TAKEN: [&str; 5] = ["POS", "VEL", "ID", "MASS", "INFO"];

/// The snapshot made of the files, of which there must be at least one.
pub(super) fn merge(files: &[&ParsedFile]) -> Result<Snapshot, FormatError> {
    let Some(first) = files.first() else { return Err("has no files".into()) };
    let mut snapshot = Snapshot {
        bodies: bodies(files),
        time: first.header.time,
        attributes: first.header.facts.clone(),
        ..Snapshot::default()
    };
    snapshot.units = header::units(&snapshot);
    let assumed = &snapshot.units;
    snapshot.notes.push(format!("does not state its units: {assumed} are assumed"));
    let any = |is: fn(&ParsedFile) -> bool| files.iter().any(|file| is(file));
    if any(|file| file.ids.is_some_and(|ids| ids.double)) {
        snapshot.attributes.insert(IDS_ATTRIBUTE.into(), "64".into());
    }
    let pos_double = any(|file| file.positions.double);
    let mut double = Vec::new();
    double.extend(pos_double.then_some("POS"));
    double.extend(any(|file| file.velocities.double).then_some("VEL"));
    double.extend(any(|file| file.masses.is_some_and(|masses| masses.double)).then_some("MASS"));
    double.extend(columns(files, pos_double, &mut snapshot));
    if !double.is_empty() {
        snapshot.attributes.insert(DOUBLE_ATTRIBUTE.into(), double.join(","));
    }
    snapshot.checked()
}

fn bodies(files: &[&ParsedFile]) -> Bodies {
    let n = files.iter().map(|file| file.header.total() as usize).sum();
    let mut bodies = Bodies::with_capacity(n);
    bodies.components.clear();
    for (t, kind) in KINDS.iter().enumerate() {
        let mut component = None;
        for file in files.iter().filter(|file| file.header.counts[t] > 0) {
            let component = index_of(&mut component, kind, &mut bodies.components);
            add(&mut bodies, file, t, component);
        }
    }
    if files.iter().any(|file| file.ids.is_none()) {
        bodies.id = (0..n as u64).collect();
    }
    bodies
}

/// Appends the bodies of type `t` of one file.
fn add(bodies: &mut Bodies, file: &ParsedFile, t: usize, component: u8) {
    let (count, order) = (file.header.counts[t], file.endianness);
    bodies.component.resize(bodies.component.len() + count, component);
    bodies.position.par_extend(file.positions.vectors(file, t));
    bodies.velocity.par_extend(file.velocities.vectors(file, t));
    match &file.masses {
        Some(masses) if masses_in_block(&file.header) >> t & 1 == 1 => {
            let numbers = masses.each_of_type(file, t);
            bodies.mass.par_extend(numbers.map(|mass| real(mass, 0, masses.double, order)));
        }
        _ => bodies.mass.resize(bodies.mass.len() + count, file.header.masses[t]),
    }
    if let Some(ids) = &file.ids {
        bodies.id.par_extend(ids.each_of_type(file, t).map(|id| match ids.double {
            true => order.u64(id),
            false => order.u32(id).into(),
        }));
    }
}

impl<'a> BlockNumbers<'a> {
    /// Bytes of one number.
    fn bytes(&self) -> usize {
        if self.double { 8 } else { 4 }
    }

    /// The numbers of each body of type `t`.
    fn each_of_type(
        &self,
        file: &ParsedFile,
        t: usize,
    ) -> impl IndexedParallelIterator<Item = &'a [u8]> {
        let width = self.values * self.bytes();
        let numbers = of_type(self.data, self.types, width, &file.header.counts, t);
        numbers.par_chunks_exact(width).with_min_len(SHARE)
    }

    fn vectors(&self, file: &ParsedFile, t: usize) -> impl IndexedParallelIterator<Item = DVec3> {
        let (double, order) = (self.double, file.endianness);
        let vector = move |v: &[u8]| [0, 1, 2].map(|k| real(v, k, double, order)).into();
        self.each_of_type(file, t).map(vector)
    }
}

/// Value `k` of a run of f32 or f64.
fn real(data: &[u8], k: usize, double: bool, endianness: Endianness) -> f64 {
    if double { endianness.f64(&data[8 * k..]) } else { endianness.f32(&data[4 * k..]).into() }
}

/// The part of a block that belongs to the bodies of type `t`; the block has `width` bytes for each
/// body of `types`.
fn of_type<'a>(
    data: &'a [u8],
    types: TypeMask,
    width: usize,
    counts: &[usize; TYPES],
    t: usize,
) -> &'a [u8] {
    if types >> t & 1 == 0 {
        return &[];
    }
    let before = bodies_of(types & ((1 << t) - 1), counts) as usize;
    &data[before * width..(before + counts[t]) * width]
}

/// Reads the other blocks into columns; returns the names of the f64 ones.
fn columns<'a>(files: &[&'a ParsedFile], double: bool, snapshot: &mut Snapshot) -> Vec<&'a str> {
    let stated: BTreeMap<String, BlockShape> = files
        .iter()
        .filter_map(|file| Some(info::parse(file.block("INFO")?.data, file.endianness)))
        .reduce(unite)
        .unwrap_or_default();
    let (mut doubles, mut skipped, mut handled) = (Vec::new(), Vec::new(), BTreeSet::from(TAKEN));
    for block in files.iter().flat_map(|file| &file.blocks) {
        if !handled.insert(block.name.as_str()) {
            continue;
        }
        let name = block.name.as_str();
        let data: Vec<&[u8]> =
            files.iter().map(|file| file.block(name).map_or(&[][..], |block| block.data)).collect();
        let lengths: Vec<_> = data
            .iter()
            .zip(files)
            .map(|(data, file)| (data.len() as u64, file.header.counts))
            .collect();
        let found = shape_of(name, &lengths, stated.get(name), double)
            .filter(|shape| snapshot.extra.len() + shape.values <= MOST_COLUMNS)
            .and_then(|shape| Some((shape, values(files, &data, &shape)?)));
        let Some((shape, columns)) = found else {
            let length: u64 = lengths.iter().map(|(length, _)| length).sum();
            skipped.push(format!("{name} ({length} bytes at byte {})", block.at));
            continue;
        };
        // Writing restores zeros of the gas.
        if gas_blocks(true).contains(&name) && columns.iter().all(Column::is_zero) {
            continue;
        }
        // Integers that only some bodies have are f64 here; f32 would round them.
        if columns.iter().any(|column| column.kind() == ColumnType::F64) {
            doubles.push(name);
        }
        for (k, column) in columns.into_iter().enumerate() {
            snapshot.extra.insert(super::write::column_name(name, k, shape.values), column);
        }
    }
    if !skipped.is_empty() {
        let list = messages::list(&skipped, ", ");
        snapshot.notes.push(format!("blocks that fit no group of bodies are left out: {list}"));
        snapshot.attributes.insert(SKIPPED.into(), skipped.join(", "));
    }
    doubles
}

/// Combines the INFO blocks of two files: each may lack types that it has no bodies of.
fn unite(
    mut one: BTreeMap<String, BlockShape>,
    other: BTreeMap<String, BlockShape>,
) -> BTreeMap<String, BlockShape> {
    for (name, shape) in other {
        one.entry(name).and_modify(|known| known.types |= shape.types).or_insert(shape);
    }
    one
}

/// The values of a block whose shape fits its `data` in each file: one column per value. Bodies
/// without a value get NaN. Integers have no NaN and then become f64; `None` if that would round
/// one.
fn values(files: &[&ParsedFile], data: &[&[u8]], shape: &BlockShape) -> Option<Vec<Column>> {
    let n = files.iter().map(|file| file.header.total() as usize).sum();
    let is_for_all =
        files.iter().all(|file| bodies_of(ALL & !shape.types, &file.header.counts) == 0);
    let kind = if is_for_all || shape.kind.is_float() { shape.kind } else { ColumnType::F64 };
    let (size, width) = (shape.kind.bytes(), shape.width() as usize);
    let mut columns: Vec<Column> =
        (0..shape.values).map(|_| Column::with_capacity(kind, n)).collect();
    for t in 0..TYPES {
        for (file, data) in files.iter().zip(data) {
            let counts = &file.header.counts;
            let bytes = of_type(data, shape.types, width, counts, t);
            for (k, column) in columns.iter_mut().enumerate() {
                if shape.types >> t & 1 == 0 {
                    column.extend_missing(counts[t]);
                } else if kind == shape.kind {
                    file.endianness.extend(column, bytes, width, k * size);
                } else {
                    add_rounded(column, bytes, shape, k, file.endianness)?;
                }
            }
        }
    }
    Some(columns)
}

/// Appends integers to a column of f64; `None` if f64 cannot hold one exactly.
fn add_rounded(
    column: &mut Column,
    bytes: &[u8],
    shape: &BlockShape,
    k: usize,
    endianness: Endianness,
) -> Option<()> {
    let Column::F64(values) = column else { return None };
    let size = shape.kind.bytes();
    for body in bytes.chunks_exact(shape.width() as usize) {
        let value = match size {
            8 => endianness.u64(&body[8 * k..]),
            _ => endianness.u32(&body[4 * k..]).into(),
        };
        if value > 1 << 53 {
            return None;
        }
        values.push(value as f64);
    }
    Some(())
}
