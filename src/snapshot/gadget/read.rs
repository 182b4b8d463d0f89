//! Reading of GADGET files.

use std::collections::BTreeMap;

use glam::DVec3;

use super::super::{Endianness, Problem, ReadOptions, Snapshot};
use super::blocks::{bodies_of, columns, number, present, shape_of};
use super::header::{COOLING, Header};
use super::info::{self, Shape};
use super::records::{self, Block};
use super::{
    ALL, DOUBLE_ATTRIBUTE, IDS_ATTRIBUTE, KINDS, TYPES, TypeMask, gas_blocks, unknown_block,
};
use crate::bodies::Bodies;
use crate::units::Units;

/// More columns are not kept: each costs 8 bytes per body, however short its block.
const MOST_COLUMNS: usize = 64;

/// Notes the blocks that could not be kept.
const SKIPPED: &str = "gadget.skipped";

pub(super) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Snapshot, Problem> {
    let (mut blocks, endianness, format) = records::blocks(bytes)?;
    let header = blocks.remove(0);
    let header = Header::parse(header.data, header.at, endianness)?;
    if format == 1 {
        name_by_order(&mut blocks, &header);
    }
    for (k, block) in blocks.iter().enumerate() {
        if blocks[..k].iter().any(|earlier| earlier.name == block.name) {
            let Block { name, at, .. } = block;
            return Err(format!("block {name} at byte {at} is there for the second time"));
        }
    }
    let file = File { header, blocks, endianness, renumber: options.renumber };
    file.snapshot()
}

/// Gives the blocks of format 1 the names that their order implies.
fn name_by_order(blocks: &mut [Block], header: &Header) {
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
fn masses_in_block(header: &Header) -> TypeMask {
    (0..TYPES)
        .filter(|&t| header.counts[t] > 0 && header.masses[t] == 0.0)
        .fold(0, |mask, t| mask | 1 << t)
}

struct File<'a> {
    header: Header,
    blocks: Vec<Block<'a>>,
    endianness: Endianness,
    /// Ids are not read.
    renumber: bool,
}

impl File<'_> {
    fn snapshot(self) -> Result<Snapshot, Problem> {
        let header = &self.header;
        // Found in the length of POS, so that no count is believed without bytes behind it.
        let (pos_data, pos_double) = self.floats("POS", ALL, 3)?;
        let (vel_data, vel_double) = self.floats("VEL", ALL, 3)?;
        let id = if self.renumber { None } else { Some(self.floats("ID", ALL, 1)?) };
        let by_block = masses_in_block(header);
        let mut double = Vec::from_iter([("POS", pos_double), ("VEL", vel_double)]);
        let mut masses: Box<dyn Iterator<Item = f64>> = Box::new(std::iter::empty());
        if by_block != 0 {
            let (data, is_double) = self.floats("MASS", by_block, 1)?;
            double.push(("MASS", is_double));
            masses = Box::new(self.numbers(data, is_double));
        }
        let mut double: Vec<&str> =
            double.iter().filter(|(_, double)| *double).map(|(name, _)| *name).collect();

        let n = header.total() as usize;
        let mut bodies = Bodies::with_capacity(n);
        bodies.components.clear();
        for t in present_types(header) {
            let component = bodies.components.len() as u8;
            bodies.components.push(KINDS[t].component());
            bodies.component.resize(bodies.component.len() + header.counts[t], component);
            if by_block >> t & 1 == 1 {
                bodies.mass.extend(masses.by_ref().take(header.counts[t]));
            } else {
                bodies.mass.resize(bodies.mass.len() + header.counts[t], header.masses[t]);
            }
        }
        drop(masses);
        bodies.position = self.vectors(pos_data, pos_double);
        bodies.velocity = self.vectors(vel_data, vel_double);
        let e = self.endianness;
        bodies.id = match id {
            None => (0..n as u64).collect(),
            Some((data, true)) => data.chunks_exact(8).map(|id| e.u64(id)).collect(),
            Some((data, false)) => data.chunks_exact(4).map(|id| e.u32(id).into()).collect(),
        };

        let mut snapshot =
            Snapshot { bodies, time: header.time, units: Units::gadget(), ..Snapshot::default() };
        snapshot.attributes = header.facts.clone();
        if id.is_some_and(|(_, wide)| wide) {
            snapshot.attributes.insert(IDS_ATTRIBUTE.into(), "64".into());
        }
        double.extend(self.extra(pos_double, &mut snapshot));
        if !double.is_empty() {
            snapshot.attributes.insert(DOUBLE_ATTRIBUTE.into(), double.join(","));
        }
        snapshot.checked()
    }

    fn block(&self, name: &str) -> Option<&Block<'_>> {
        self.blocks.iter().find(|block| block.name == name)
    }

    /// The data of a block that must be there, `values` numbers of 4 or 8 bytes for each body of
    /// `types`; and whether it is 8.
    fn floats(&self, name: &str, types: TypeMask, values: u64) -> Result<(&[u8], bool), Problem> {
        let header = &self.header;
        let names = || {
            let types = types & present(&header.counts);
            let kinds = (0..TYPES).filter(|t| types >> t & 1 == 1);
            kinds.map(|t| KINDS[t].name).collect::<Vec<_>>().join(", ")
        };
        let block = self.block(name).ok_or_else(|| {
            let why = match name {
                "MASS" => ", whose masses in the header are 0",
                "ID" => " (--renumber reads without, and numbers them from 0)",
                _ => "",
            };
            format!("has no block {name}, but there should be one for {}{why}", names())
        })?;
        let numbers = bodies_of(types, &header.counts) * values;
        match block.data.len() as u64 {
            length if length == 4 * numbers => Ok((block.data, false)),
            length if length == 8 * numbers => Ok((block.data, true)),
            length => Err(format!(
                "block {name} at byte {} has {length} bytes, but {} (or {}) were expected for the {} bodies that the header says ({})",
                block.at,
                4 * numbers,
                8 * numbers,
                numbers / values,
                names()
            )),
        }
    }

    fn numbers<'a>(&self, data: &'a [u8], double: bool) -> impl Iterator<Item = f64> + use<'a> {
        let endianness = self.endianness;
        data.chunks_exact(if double { 8 } else { 4 })
            .map(move |value| number(value, 0, double, endianness))
    }

    fn vectors(&self, data: &[u8], double: bool) -> Vec<DVec3> {
        data.chunks_exact(if double { 24 } else { 12 })
            .map(|v| DVec3::from_array([0, 1, 2].map(|k| number(v, k, double, self.endianness))))
            .collect()
    }

    /// Reads the further blocks into columns; the names of those of f64.
    fn extra(&self, double: bool, snapshot: &mut Snapshot) -> Vec<&str> {
        let said: BTreeMap<String, Shape> = self
            .block("INFO")
            .map(|block| info::parse(block.data, self.endianness))
            .unwrap_or_default();
        let (mut doubles, mut skipped) = (Vec::new(), Vec::new());
        for Block { name, data, at } in &self.blocks {
            if ["POS", "VEL", "ID", "MASS", "INFO"].contains(&name.as_str()) {
                continue;
            }
            let length = data.len() as u64;
            let shape = shape_of(name, length, &self.header, said.get(name), double)
                .filter(|shape| snapshot.extra.len() + shape.values <= MOST_COLUMNS);
            let Some(shape) = shape else {
                skipped.push(format!("{name} ({length} bytes at byte {at})"));
                continue;
            };
            if shape.double {
                doubles.push(name.as_str());
            }
            let columns = columns(data, &shape, &self.header.counts, self.endianness);
            for (k, column) in columns.into_iter().enumerate() {
                snapshot.extra.insert(super::columns::name(name, k, shape.values), column);
            }
        }
        if !skipped.is_empty() {
            snapshot.attributes.insert(SKIPPED.into(), skipped.join(", "));
        }
        doubles
    }
}

fn present_types(header: &Header) -> impl Iterator<Item = usize> {
    let mask = present(&header.counts);
    (0..TYPES).filter(move |t| mask >> t & 1 == 1)
}
