//! Reading: what the files hold is surveyed first, so that everything is allocated once and no
//! number of bodies is believed without the bytes for it.

use std::collections::BTreeMap;

use glam::DVec3;
use hdf5_reader::Dataset;
use hdf5_reader::group::Group;

use super::super::kinds::{agree, index_of};
use super::super::{Column, ColumnType, FormatError, InputFiles, ReadOptions, Snapshot, Stored};
use super::header::{Described, Hdf5Header};
use super::names::{self, COMPONENT, COORDINATES, IDS, MASSES, VELOCITIES};
use super::numbers::{child, column, column_type};
use super::open::{OpenFile, budget, describe, open};
use super::own::GravitileGroup;
use super::{KINDS, SWIFT_KINDS, TYPES, units};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::messages;
use crate::snapshot::gadget::{column_name, gas_blocks};

/// Most columns read: each takes 4 or 8 bytes per body.
const MOST_COLUMNS: usize = 64;
/// Most numbers per body that are split into columns.
const MOST_VALUES: usize = 16;
/// Bytes of a body without columns.
const BODY_BYTES: u64 = 65;
/// Files that stay open; more are opened twice.
const MOST_OPEN: usize = 256;
/// AREPO's tracers, which have no position.
const TRACER: &str = "TracerID";

/// The number of files of the snapshot.
pub(super) fn files(input: &mut InputFiles) -> Result<u64> {
    let first = input.stored()?[0];
    let described = open(first).and_then(|file| Described::of(&file.root));
    described.map(|described| described.files()).map_err(|problem| Error::file(first.path, problem))
}

pub(super) fn read(input: &mut InputFiles, options: &ReadOptions) -> Result<Snapshot> {
    let (name, files) = (input.name(), input.files());
    let sources = input.stored()?;
    let few = sources.len() <= MOST_OPEN;
    let (mut parts, mut opened) = (Vec::new(), Vec::new());
    for source in &sources {
        let (part, file) = FileContent::survey(*source, options.renumber)
            .map_err(|problem| Error::file(source.path, problem))?;
        parts.push(part);
        opened.push(few.then_some(file));
    }
    let stated = parts.iter().map(|part| part.header.stated.clone());
    let stated: Vec<_> = sources.iter().map(|source| source.path).zip(stated).collect();
    agree(&stated, files, KINDS)?;
    let mut plan = PartialSnapshot::new(&parts).map_err(|problem| Error::file(&name, problem))?;
    for (k, (source, file)) in sources.into_iter().zip(opened).enumerate() {
        let file = file.map_or_else(|| open(source), Ok);
        let filled = file.and_then(|file| plan.fill(k, &parts[k], &file.root, options.renumber));
        filled.map_err(|problem| Error::file(source.path, problem))?;
    }
    plan.finish(options.renumber).map_err(|problem| Error::file(&name, problem))
}

/// A dataset besides the bodies' own.
struct Set {
    dataset: String,
    /// Numbers per body.
    values: usize,
    kind: ColumnType,
}

/// What one file holds.
struct FileContent {
    header: Hdf5Header,
    is_swift: bool,
    /// Length of the file in bytes.
    length: u64,
    /// Bodies by type, without those that are left out.
    counts: [u64; TYPES],
    /// The other datasets of each type.
    sets: [Vec<Set>; TYPES],
    /// Whether bodies of each type name their component.
    own_components: [bool; TYPES],
    own: GravitileGroup,
    units: (crate::units::Units, Option<String>),
    notes: Vec<String>,
}

impl FileContent {
    /// Looks at every group and the shape of every dataset that is to be read.
    fn survey(source: Stored, renumber: bool) -> Result<(Self, OpenFile), FormatError> {
        let file = open(source)?;
        let described = Described::of(&file.root)?;
        let header = Hdf5Header::parse(&described)?;
        let own = GravitileGroup::read(&file.root)?;
        let attributes = Snapshot {
            time: header.stated.time,
            attributes: header.facts.clone(),
            ..Snapshot::default()
        };
        let units = match &own.units {
            Some(units) => (units.clone(), None),
            None => units::read(&described, &attributes),
        };
        let mut part = Self {
            is_swift: described.is_swift(),
            length: file.length,
            counts: [0; TYPES],
            sets: Default::default(),
            own_components: [false; TYPES],
            notes: header.notes.clone(),
            header,
            own,
            units,
        };
        for t in 0..TYPES {
            part.survey_type(&file.root, t, renumber)?;
        }
        Ok((part, file))
    }

    fn survey_type(&mut self, root: &Group, t: usize, renumber: bool) -> Result<(), FormatError> {
        let name = format!("PartType{t}");
        let count = self.header.stated.counts[t];
        let group = match child(root, &name)? {
            Some(group) => group,
            None if count == 0 => return Ok(()),
            None => {
                let kind = KINDS[t].name;
                return Err(format!(
                    "has no group {name}, but its header says {count} bodies of type {t} ({kind})"
                ));
            }
        };
        let (_, members) = group.member_names().map_err(|e| format!("{name} {}", describe(e)))?;
        let has = |name: &str| members.iter().any(|member| member == name);
        if count == 0 && !has(COORDINATES) {
            return Ok(());
        }
        if has(TRACER) && !has(COORDINATES) {
            self.notes
                .push(format!("{count} tracers of type {t}, which have no position, are left out"));
            return Ok(());
        }
        self.counts[t] = count;
        let mut required = vec![(COORDINATES, 3), (VELOCITIES, 3)];
        required.extend((!renumber).then_some((IDS, 1)));
        required.extend(MASSES.iter().find(|name| has(name)).map(|name| (*name, 1)));
        for (dataset, values) in required {
            let found = find(&group, &name, dataset)?;
            let rows = found.shape().first().copied().unwrap_or(0);
            if rows != count || per_body(&found) != Some(values) {
                let shape = found.shape();
                return Err(format!(
                    "{name}/{dataset} has the shape {shape:?}, but its header says {count} bodies of type {t}, {values} number{} each",
                    if values == 1 { "" } else { "s" }
                ));
            }
        }
        if count > 0 && !MASSES.iter().any(|name| has(name)) && self.header.masses[t] == 0.0 {
            let kind = KINDS[t].name;
            return Err(format!(
                "has no {name}/{}, and the mass of type {t} ({kind}) in the MassTable of its header is 0",
                MASSES[0]
            ));
        }
        self.own_components[t] = has(COMPONENT) && !self.own.components.is_empty();
        let is_taken = |name: &str| {
            [COORDINATES, VELOCITIES, IDS, COMPONENT].contains(&name) || MASSES.contains(&name)
        };
        let mut left = Vec::new();
        for dataset in members.iter().filter(|name| !is_taken(name)) {
            let found = group.dataset(dataset).ok();
            let set = found
                .as_ref()
                .filter(|found| found.shape().first() == Some(&count))
                .and_then(|found| {
                    let values = per_body(found).filter(|values| *values <= MOST_VALUES)?;
                    Some(Set {
                        dataset: dataset.clone(),
                        values,
                        kind: column_type(found.dtype())?,
                    })
                });
            match set {
                Some(set) => self.sets[t].push(set),
                None => left.push(format!("{name}/{dataset}")),
            }
        }
        self.note_left(&left);
        Ok(())
    }

    fn note_left(&mut self, left: &[String]) {
        if !left.is_empty() {
            let left = messages::list(left, ", ");
            self.notes
                .push(format!("datasets without 1 to 16 numbers per body are left out: {left}"));
        }
    }
}

/// The dataset `group`/`name` with numbers.
fn find(group: &Group, path: &str, name: &str) -> Result<Dataset, FormatError> {
    let found = group.dataset(name).map_err(|error| match error {
        hdf5_reader::error::Error::DatasetNotFound(_) => {
            let why = if name == IDS {
                " (--renumber reads without, and numbers them from 0)"
            } else {
                ""
            };
            format!("has no dataset {path}/{name}{why}")
        }
        error => format!("{path}/{name} {}", describe(error)),
    })?;
    match column_type(found.dtype()).is_some() {
        true => Ok(found),
        false => Err(format!("{path}/{name} does not hold numbers of 8 to 64 bits")),
    }
}

/// Numbers per row of a dataset with one or two dimensions.
fn per_body(dataset: &Dataset) -> Option<usize> {
    match *dataset.shape() {
        [_] => Some(1),
        [_, values] => usize::try_from(values).ok().filter(|values| *values > 0),
        _ => None,
    }
}

/// The snapshot to be filled.
struct PartialSnapshot {
    snapshot: Snapshot,
    /// Index of the first body of each type in each file.
    starts: Vec<[usize; TYPES]>,
    /// The columns of each quantity, by the name of its dataset.
    columns: BTreeMap<String, Vec<String>>,
}

impl PartialSnapshot {
    fn new(parts: &[FileContent]) -> Result<Self, FormatError> {
        let Some(first) = parts.first() else { return Err("has no files".into()) };
        let mut total = 0_u64;
        let mut starts = vec![[0; TYPES]; parts.len()];
        for t in 0..TYPES {
            for (part, starts) in parts.iter().zip(&mut starts) {
                starts[t] = usize::try_from(total).unwrap_or(usize::MAX);
                total = total.saturating_add(part.counts[t]);
            }
        }
        let mut notes: Vec<String> = Vec::new();
        for note in parts.iter().flat_map(|part| &part.notes).chain(&first.units.1) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        let (kinds, dropped) = columns(parts);
        if !dropped.is_empty() {
            let dropped = messages::list(&dropped, ", ");
            notes.push(format!("datasets beyond {MOST_COLUMNS} columns, or of several shapes, are left out: {dropped}"));
        }
        let each = kinds.values().map(|(values, kind)| (values * kind.bytes()) as u64);
        let needed = total.saturating_mul(BODY_BYTES + each.sum::<u64>());
        let allowed: u64 =
            parts.iter().map(|part| budget(part.length)).fold(0, u64::saturating_add);
        let free = crate::memory::available().unwrap_or(u64::MAX);
        if needed > allowed {
            return Err(format!(
                "says {total} bodies in its header, which would take {needed} bytes, but its length allows {allowed}"
            ));
        }
        let n = usize::try_from(total).ok().filter(|_| needed <= free).ok_or_else(|| {
            format!(
                "is too large for this machine's memory: its {total} bodies take {needed} bytes"
            )
        })?;
        let mut snapshot = Snapshot {
            bodies: bodies(parts, &starts, n),
            time: first.header.stated.time,
            units: first.units.0.clone(),
            attributes: first.header.facts.clone(),
            notes,
            ..Snapshot::default()
        };
        snapshot.attributes.extend(first.own.attributes.iter().cloned());
        let mut columns = BTreeMap::new();
        for (dataset, (values, kind)) in kinds {
            let quantity = names::column(&dataset);
            let names: Vec<_> = (0..values).map(|k| column_name(quantity, k, values)).collect();
            for name in &names {
                let mut column = Column::with_capacity(kind, n);
                column.extend_missing(n);
                snapshot.extra.insert(name.clone(), column);
            }
            columns.insert(dataset, names);
        }
        Ok(Self { snapshot, starts, columns })
    }

    /// Reads the numbers of file `k`.
    fn fill(
        &mut self,
        k: usize,
        part: &FileContent,
        root: &Group,
        renumber: bool,
    ) -> Result<(), FormatError> {
        for t in (0..TYPES).filter(|&t| part.counts[t] > 0) {
            let path = format!("PartType{t}");
            let group = child(root, &path)?.ok_or_else(|| format!("has no group {path}"))?;
            let start = self.starts[k][t];
            let range = start..start + part.counts[t] as usize;
            let wrong = |dataset: &str, problem| format!("{path}/{dataset} {problem}");
            let numbers = |dataset: &str, values: usize| {
                let found = find(&group, &path, dataset)?;
                let column = column(&found).map_err(|problem| wrong(dataset, problem))?;
                match column.len() == range.len() * values {
                    true => Ok(column),
                    false => Err(wrong(dataset, "has changed while it was read".into())),
                }
            };
            let bodies = &mut self.snapshot.bodies;
            vectors(&numbers(COORDINATES, 3)?, 1.0, &mut bodies.position[range.clone()]);
            let factor = part.header.velocity;
            vectors(&numbers(VELOCITIES, 3)?, factor, &mut bodies.velocity[range.clone()]);
            let names = group.member_names().map_err(describe)?.1;
            match MASSES.iter().find(|name| names.iter().any(|member| member == *name)) {
                Some(name) => {
                    let masses = numbers(name, 1)?;
                    bodies.mass[range.clone()].copy_from_slice(&masses.to_f64());
                }
                None => bodies.mass[range.clone()].fill(part.header.masses[t]),
            }
            if !renumber {
                let ids = numbers(IDS, 1)?;
                let into = &mut bodies.id[range.clone()];
                if let Column::U64(ids) = &ids {
                    into.copy_from_slice(ids);
                } else {
                    for (i, id) in into.iter_mut().enumerate() {
                        *id = whole(&ids, i).map_err(|problem| wrong(IDS, problem))?;
                    }
                }
            }
            if part.own_components[t] {
                let own = numbers(COMPONENT, 1)?;
                let components = bodies.components.len();
                for (i, component) in bodies.component[range.clone()].iter_mut().enumerate() {
                    let found = whole(&own, i).ok().filter(|c| (*c as usize) < components);
                    *component = found.ok_or_else(|| {
                        wrong(COMPONENT, format!("names a component beyond the {components}"))
                    })? as u8;
                }
            }
            for set in &part.sets[t] {
                let Some(names) = self.columns.get(&set.dataset) else { continue };
                let found = numbers(&set.dataset, set.values)?;
                for (v, name) in names.iter().enumerate() {
                    let Some(column) = self.snapshot.extra.get_mut(name) else { continue };
                    copy(&found, v, set.values, column, range.clone()).ok_or_else(|| {
                        wrong(&set.dataset, "has integers beyond 2^53 for some bodies only".into())
                    })?;
                }
            }
        }
        Ok(())
    }

    fn finish(mut self, renumber: bool) -> Result<Snapshot, FormatError> {
        if renumber {
            self.snapshot.renumber();
        }
        // Writing restores zeros of the gas.
        self.snapshot.extra.retain(|name, column| {
            !gas_blocks(false).contains(&name.as_str()) || !column.is_zero()
        });
        self.snapshot.checked()
    }
}

/// The quantities of all files with their numbers per body and types, and those that are left out.
/// If only some bodies have a quantity, integers become f64, with NaN for the others.
fn columns(parts: &[FileContent]) -> (BTreeMap<String, (usize, ColumnType)>, Vec<String>) {
    let mut found: BTreeMap<String, (usize, ColumnType)> = BTreeMap::new();
    let mut bodies: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut dropped, mut quantities) = (Vec::new(), BTreeMap::new());
    for part in parts {
        for (sets, count) in part.sets.iter().zip(part.counts) {
            for set in sets {
                let name = set.dataset.as_str();
                let quantity = quantities.entry(names::column(name)).or_insert(name);
                let entry = found.entry(name.into()).or_insert((set.values, set.kind));
                let fits = entry.0 == set.values && *quantity == name;
                if entry.1 != set.kind {
                    entry.1 = ColumnType::F64;
                }
                *bodies.entry(name).or_default() += count;
                if !fits && !dropped.contains(&set.dataset) {
                    dropped.push(set.dataset.clone());
                }
            }
        }
    }
    found.retain(|name, _| !dropped.contains(name));
    let total: u64 = parts.iter().flat_map(|part| part.counts).fold(0, u64::saturating_add);
    let mut all = 0;
    found.retain(|name, (values, kind)| {
        if bodies.get(name.as_str()) != Some(&total) && !kind.is_float() {
            *kind = ColumnType::F64;
        }
        all += *values;
        let fits = all <= MOST_COLUMNS;
        dropped.extend((!fits).then(|| name.clone()));
        fits
    });
    (found, dropped)
}

/// Bodies whose numbers are still to be filled in, with their components.
fn bodies(parts: &[FileContent], starts: &[[usize; TYPES]], n: usize) -> Bodies {
    let mut component = vec![0; n];
    let own =
        parts.iter().all(|part| (0..TYPES).all(|t| part.own_components[t] || part.counts[t] == 0));
    let mut components = parts[0].own.components.clone();
    if !own || components.is_empty() || components.len() > 256 {
        components.clear();
        let kinds = if parts[0].is_swift { SWIFT_KINDS } else { KINDS };
        for (t, kind) in kinds.iter().enumerate() {
            let mut index = None;
            for (part, starts) in parts.iter().zip(starts).filter(|(part, _)| part.counts[t] > 0) {
                let index = index_of(&mut index, kind, &mut components);
                component[starts[t]..starts[t] + part.counts[t] as usize].fill(index);
            }
        }
    }
    Bodies {
        id: vec![0; n],
        mass: vec![0.0; n],
        position: vec![DVec3::ZERO; n],
        velocity: vec![DVec3::ZERO; n],
        component,
        components,
    }
}

/// Three numbers per vector, each times `factor`.
fn vectors(numbers: &Column, factor: f64, into: &mut [DVec3]) {
    if let Column::F32(numbers) = numbers {
        for (vector, numbers) in into.iter_mut().zip(numbers.chunks_exact(3)) {
            *vector = DVec3::new(numbers[0].into(), numbers[1].into(), numbers[2].into());
        }
    } else {
        for (vector, numbers) in into.iter_mut().zip(numbers.to_f64().chunks_exact(3)) {
            *vector = DVec3::from_slice(numbers);
        }
    }
    if factor != 1.0 {
        into.iter_mut().for_each(|vector| *vector *= factor);
    }
}

/// Number `i` as an integer from 0 on.
fn whole(numbers: &Column, i: usize) -> Result<u64, FormatError> {
    let value = numbers.value(i);
    let exact = value >= 0.0 && value <= 2_f64.powi(53) && value.fract() == 0.0;
    match numbers.whole(i) {
        Some(whole) if value >= 0.0 => Ok(whole),
        None if exact => Ok(value as u64),
        _ => Err(format!("has {value} in row {i}, but a whole number from 0 on was expected")),
    }
}

/// Copies number `v` of `values` of each body; `None` if an integer does not fit.
fn copy(
    from: &Column,
    v: usize,
    values: usize,
    into: &mut Column,
    range: std::ops::Range<usize>,
) -> Option<()> {
    if from.kind() != into.kind() {
        let Column::F64(into) = into else { return None };
        for (i, place) in into[range].iter_mut().enumerate() {
            *place = from.value(i * values + v);
            if from.kind().is_float() || place.abs() <= 2_f64.powi(53) {
                continue;
            }
            return None;
        }
        return Some(());
    }
    macro_rules! same {
        ($($kind:ident),*) => {
            match (from, into) {
                $((Column::$kind(from), Column::$kind(into)) => {
                    let from = from.iter().skip(v).step_by(values);
                    into[range].iter_mut().zip(from).for_each(|(place, value)| *place = *value);
                })*
                _ => return None,
            }
        };
    }
    same!(F64, F32, U64, U32, I64);
    Some(())
}
