//! Writing GADGET files.

use super::super::bytes::Writer;
use super::super::kinds::{Share, note_components, order, sections, shares};
use super::super::losses::Narrow;
use super::super::{ColumnType, Endianness, Losses, Output, Problem, Snapshot, WriteOptions};
use super::blocks::present;
use super::columns::{Outgoing, outgoing};
use super::header::Header;
use super::info::{Shape, put_entry};
use super::records::put_block;
use super::{ALL, DOUBLE_ATTRIBUTE, IDS_ATTRIBUTE, KINDS, TYPES, TypeMask, type_of};
use crate::error::Result;

pub(super) fn write(
    snapshot: &Snapshot,
    options: &WriteOptions,
    output: &mut Output,
    losses: &mut Losses,
    format: u8,
) -> Result<()> {
    let mut plan = Plan::new(snapshot, options, format, output.files(), losses)
        .map_err(|problem| output.wrong(problem))?;
    for part in 0..output.files() {
        let bytes = plan.file(part, losses).map_err(|problem| output.wrong(problem))?;
        output.put(bytes)?;
    }
    let mut narrowed = plan.narrow.into_iter().chain(plan.narrow_extra);
    let finished = narrowed.try_for_each(|narrow| narrow.finish(losses));
    finished.map_err(|problem| output.wrong(problem))?;
    losses.note_attributes(snapshot, Header::holds);
    Ok(())
}

/// The distribution of the bodies and numbers over the files.
struct Plan<'a> {
    snapshot: &'a Snapshot,
    format: u8,
    endianness: Endianness,
    /// The type of each body.
    types: Vec<u8>,
    /// Indices of the bodies, grouped by type.
    order: Vec<usize>,
    /// The bodies of each file.
    parts: Vec<Share>,
    /// The header of each file, except for its counts of bodies.
    header: Header,
    /// Types whose masses are in a block.
    in_block: TypeMask,
    /// Positions, velocities, ids and masses.
    shapes: [Shape; 4],
    extra: Vec<Outgoing<'a>>,
    /// The narrowing of positions, velocities and masses in all files, and of the extra blocks.
    narrow: [Narrow; 3],
    narrow_extra: Vec<Narrow>,
}

impl<'a> Plan<'a> {
    fn new(
        snapshot: &'a Snapshot,
        options: &WriteOptions,
        format: u8,
        files: usize,
        losses: &mut Losses,
    ) -> Result<Self, Problem> {
        let bodies = &snapshot.bodies;
        let type_of_component: Vec<u8> = bodies.components.iter().map(type_of).collect();
        let types: Vec<u8> =
            bodies.component.iter().map(|&c| type_of_component[c as usize]).collect();
        let (order, totals) = order(bodies, TYPES, |i| types[i] as usize);
        let totals: [usize; TYPES] = totals.try_into().expect("there should be six counts");
        let parts = shares(&order, files, TYPES, |i| types[i] as usize);
        let largest = parts.iter().map(|part| part.range.len()).max().unwrap_or_default();
        if i32::try_from(largest).is_err() {
            return Err(format!(
                "{largest} bodies do not fit into its 31-bit counts; several files may hold them"
            ));
        }
        note_components(bodies, KINDS, |component| type_of(component) as usize, losses);

        let was_double: Vec<&str> = snapshot
            .attributes
            .get(DOUBLE_ATTRIBUTE)
            .map_or(vec![], |names| names.split(',').collect());
        let is_double = |name: &str| options.double.unwrap_or_else(|| was_double.contains(&name));
        let six = |part: &Share| part.counts.as_slice().try_into().expect("six counts");
        let counts: Vec<[usize; TYPES]> = parts.iter().map(six).collect();
        let extra = outgoing(snapshot, format, &types, &counts, is_double, losses);
        let (masses, in_block) = mass_table(&bodies.mass, &order, &totals);
        let real = |name| if is_double(name) { ColumnType::F64 } else { ColumnType::F32 };
        let id = if wide_ids(snapshot, options)? { ColumnType::U64 } else { ColumnType::U32 };
        let all = ALL & present(&totals);
        let shapes = [
            Shape { types: all, values: 3, kind: real("POS") },
            Shape { types: all, values: 3, kind: real("VEL") },
            Shape { types: all, values: 1, kind: id },
            Shape { types: in_block, values: 1, kind: real("MASS") },
        ];
        let header = Header {
            counts: [0; TYPES],
            totals: totals.map(|count| count as u64),
            files: files as u64,
            masses,
            time: snapshot.time,
            facts: snapshot.attributes.clone(),
        };
        let narrow_extra = extra.iter().map(|b| Narrow::new(format!("values of {}", b.name)));
        let narrow_extra = narrow_extra.collect();
        let endianness = options.endianness.unwrap_or_default();
        Ok(Self {
            snapshot,
            format,
            endianness,
            types,
            order,
            parts,
            header,
            in_block,
            shapes,
            extra,
            narrow: ["positions", "velocities", "masses"].map(Narrow::new),
            narrow_extra,
        })
    }

    /// The bytes of file number `part`.
    fn file(&mut self, part: usize, losses: &mut Losses) -> Result<Vec<u8>, Problem> {
        let Share { range, counts } = self.parts[part].clone();
        let counts: [usize; TYPES] = counts.try_into().expect("there should be six counts");
        let bodies = &self.snapshot.bodies;
        let capacity = 512 + range.len() * 4 * (9 + self.extra.len());
        let mut file = File {
            out: Writer::new(self.endianness, capacity),
            format: self.format,
            members: &self.order[range],
            types: &self.types,
        };
        let [positions, velocities, ids, masses] = self.shapes;
        let header = Header { counts, ..self.header.clone() };
        // All files have the same attributes, so problems with them are noted once.
        let mut repeated = Losses::default();
        let losses = if part == 0 { losses } else { &mut repeated };
        let header = header.bytes(self.endianness, positions.kind == ColumnType::F64, losses);
        put_block(&mut file.out, self.format, "HEAD", header.len(), |out| out.raw(&header))?;
        let narrow = &mut self.narrow;
        file.reals("POS", &positions, &mut narrow[0], |i, k| bodies.position[i][k])?;
        file.reals("VEL", &velocities, &mut narrow[1], |i, k| bodies.velocity[i][k])?;
        file.wholes("ID", &ids, |i, _| bodies.id[i])?;
        file.reals("MASS", &masses, &mut narrow[2], |i, _| bodies.mass[i])?;
        for (block, narrow) in self.extra.iter().zip(&mut self.narrow_extra) {
            let Outgoing { name, columns, shape } = block;
            match shape.kind.is_float() {
                true => {
                    let value = |i, k: usize| columns.get(k).map_or(0.0, |c| c.value(i));
                    file.reals(name, shape, narrow, value)?;
                }
                false => file.wholes(name, shape, |i, k| columns[k].whole(i).unwrap_or(0))?,
            }
        }
        if self.format == 2 && !self.extra.is_empty() {
            self.info(&mut file.out)?;
        }
        Ok(file.out.bytes)
    }

    fn info(&self, out: &mut Writer) -> Result<(), Problem> {
        let own = ["POS", "VEL", "ID", "MASS"].into_iter().zip(&self.shapes);
        let own = own.filter(|(name, _)| *name != "MASS" || self.in_block != 0);
        let extra = self.extra.iter().map(|block| (block.name.as_str(), &block.shape));
        let entries: Vec<_> = own.chain(extra).collect();
        put_block(out, self.format, "INFO", 40 * entries.len(), |out| {
            entries.iter().for_each(|(name, shape)| put_entry(out, name, shape));
        })
    }
}

/// The header's table of masses, and the types that need a MASS block: those whose masses differ or
/// are 0, which the table cannot express.
fn mass_table(mass: &[f64], order: &[usize], counts: &[usize; TYPES]) -> ([f64; TYPES], u8) {
    let (mut table, mut in_block) = ([0.0; TYPES], 0);
    for (t, members) in sections(order, counts).enumerate() {
        if let Some(&one) = members.first() {
            if mass[one] != 0.0 && members.iter().all(|&i| mass[i] == mass[one]) {
                table[t] = mass[one];
            } else {
                in_block |= 1 << t;
            }
        }
    }
    (table, in_block)
}

/// Whether ids take 64 bits.
fn wide_ids(snapshot: &Snapshot, options: &WriteOptions) -> Result<bool, Problem> {
    let misfits = || snapshot.bodies.id.iter().filter(|&&id| u32::try_from(id).is_err());
    match options.wide_ids {
        Some(true) => Ok(true),
        Some(false) => match misfits().max() {
            None => Ok(false),
            Some(largest) => Err(format!(
                "{} ids do not fit into 32 bits (the largest is {largest}); ids of 64 bits (-id64) would hold them",
                misfits().count()
            )),
        },
        None => {
            let was_wide = snapshot.attributes.get(IDS_ATTRIBUTE).is_some_and(|bits| bits == "64");
            Ok(was_wide || misfits().next().is_some())
        }
    }
}

/// A file being written.
struct File<'a> {
    out: Writer,
    format: u8,
    /// Its bodies.
    members: &'a [usize],
    /// Types of all bodies.
    types: &'a [u8],
}

impl File<'_> {
    /// Appends a block of this shape, with the numbers that `put` writes for each body that has it.
    /// Nothing is appended if there are no such bodies.
    fn block(
        &mut self,
        name: &str,
        shape: &Shape,
        mut put: impl FnMut(&mut Writer, usize),
    ) -> Result<(), Problem> {
        let has = |i: &&usize| shape.types >> self.types[**i] & 1 == 1;
        let length = self.members.iter().filter(has).count() * shape.width() as usize;
        if length == 0 {
            return Ok(());
        }
        put_block(&mut self.out, self.format, name, length, |out| {
            self.members.iter().filter(has).for_each(|&i| put(out, i));
        })
    }

    fn reals(
        &mut self,
        name: &str,
        shape: &Shape,
        narrow: &mut Narrow,
        value: impl Fn(usize, usize) -> f64,
    ) -> Result<(), Problem> {
        self.block(name, shape, |out, i| {
            for k in 0..shape.values {
                match shape.kind {
                    ColumnType::F64 => out.f64(value(i, k)),
                    _ => out.f32(narrow.f32(value(i, k), i)),
                }
            }
        })
    }

    fn wholes(
        &mut self,
        name: &str,
        shape: &Shape,
        value: impl Fn(usize, usize) -> u64,
    ) -> Result<(), Problem> {
        self.block(name, shape, |out, i| {
            for k in 0..shape.values {
                match shape.kind {
                    ColumnType::U64 => out.u64(value(i, k)),
                    _ => out.u32(value(i, k) as u32),
                }
            }
        })
    }
}
