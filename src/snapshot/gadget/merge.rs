//! Merging the numbers of a snapshot's files into the order that a single file would have: the
//! bodies of a type from each file in turn, then those of the next type.

use std::collections::{BTreeMap, BTreeSet};

use glam::DVec3;
use rayon::prelude::*;

use super::super::bytes::SHARE;
use super::super::{Column, ColumnType, Endianness, Problem, Snapshot};
use super::blocks::{bodies_of, shape_of};
use super::header;
use super::info::{self, Shape};
use super::read::{File, Numbers, masses_in_block};
use super::{ALL, DOUBLE_ATTRIBUTE, IDS_ATTRIBUTE, KINDS, TYPES, TypeMask, gas_blocks};
use crate::bodies::Bodies;
use crate::messages;

/// The largest number of columns read: each costs 8 bytes per body, however short its block.
const MOST_COLUMNS: usize = 64;

/// Attribute that lists the blocks that were skipped.
const SKIPPED: &str = "gadget.skipped";

/// Blocks that do not become columns.
const TAKEN: [&str; 5] = ["POS", "VEL", "ID", "MASS", "INFO"];

/// The snapshot made of the files, of which there must be at least one.
pub(super) fn merge(files: &[&File]) -> Result<Snapshot, Problem> {
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
    let any = |is: fn(&File) -> bool| files.iter().any(|file| is(file));
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

fn bodies(files: &[&File]) -> Bodies {
    let n = files.iter().map(|file| file.header.total() as usize).sum();
    let mut bodies = Bodies::with_capacity(n);
    bodies.components.clear();
    for (t, kind) in KINDS.iter().enumerate() {
        let mut component = None;
        for file in files.iter().filter(|file| file.header.counts[t] > 0) {
            let component = *component.get_or_insert_with(|| {
                bodies.components.push(kind.component());
                (bodies.components.len() - 1) as u8
            });
            add(&mut bodies, file, t, component);
        }
    }
    if files.iter().any(|file| file.ids.is_none()) {
        bodies.id = (0..n as u64).collect();
    }
    bodies
}

/// Appends the bodies of type `t` of one file.
fn add(bodies: &mut Bodies, file: &File, t: usize, component: u8) {
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

impl<'a> Numbers<'a> {
    /// Bytes of one number.
    fn bytes(&self) -> usize {
        if self.double { 8 } else { 4 }
    }

    /// The numbers of each body of type `t`.
    fn each_of_type(&self, file: &File, t: usize) -> impl IndexedParallelIterator<Item = &'a [u8]> {
        let width = self.values * self.bytes();
        let numbers = of_type(self.data, self.types, width, &file.header.counts, t);
        numbers.par_chunks_exact(width).with_min_len(SHARE)
    }

    fn vectors(&self, file: &File, t: usize) -> impl IndexedParallelIterator<Item = DVec3> {
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
fn columns<'a>(files: &[&'a File], double: bool, snapshot: &mut Snapshot) -> Vec<&'a str> {
    let stated: BTreeMap<String, Shape> = files
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
        let is_all_zero = |column: &Column| {
            (0..column.len()).all(|i| !column.has_value(i) || column.value(i).to_bits() == 0)
        };
        if gas_blocks(true).contains(&name) && columns.iter().all(is_all_zero) {
            continue;
        }
        // Integers that only some bodies have are f64 here; f32 would round them.
        if columns.iter().any(|column| column.kind() == ColumnType::F64) {
            doubles.push(name);
        }
        for (k, column) in columns.into_iter().enumerate() {
            snapshot.extra.insert(super::columns::name(name, k, shape.values), column);
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
    mut one: BTreeMap<String, Shape>,
    other: BTreeMap<String, Shape>,
) -> BTreeMap<String, Shape> {
    for (name, shape) in other {
        one.entry(name).and_modify(|known| known.types |= shape.types).or_insert(shape);
    }
    one
}

/// The values of a block whose shape fits its `data` in each file: one column per value. Bodies
/// without a value get NaN. Integers have no NaN and then become f64; `None` if that would round
/// one.
fn values(files: &[&File], data: &[&[u8]], shape: &Shape) -> Option<Vec<Column>> {
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
                    add_missing(column, counts[t]);
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

fn add_missing(column: &mut Column, count: usize) {
    match column {
        Column::F64(values) => values.resize(values.len() + count, f64::NAN),
        Column::F32(values) => values.resize(values.len() + count, f32::NAN),
        // Integer columns have a value for every body.
        Column::U64(_) | Column::U32(_) | Column::I64(_) => debug_assert_eq!(count, 0),
    }
}

/// Appends integers to a column of f64; `None` if f64 cannot hold one exactly.
fn add_rounded(
    column: &mut Column,
    bytes: &[u8],
    shape: &Shape,
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
