//! Writing of GADGET files.

use super::super::bytes::Writer;
use super::super::kinds::{note_components, order};
use super::super::losses::Narrow;
use super::super::{Losses, Problem, Snapshot, WriteOptions};
use super::blocks::present;
use super::columns::{Outgoing, outgoing};
use super::header::Header;
use super::info::put_entry;
use super::records::put_block;
use super::{ALL, DOUBLE_ATTRIBUTE, IDS_ATTRIBUTE, KINDS, TYPE_BOUNDARY, TYPES};
use crate::bodies::{Component, Role};
use crate::units::Units;

pub(super) fn write_1(
    snapshot: &Snapshot,
    options: &WriteOptions,
    losses: &mut Losses,
) -> Result<Vec<u8>, Problem> {
    write(snapshot, options, losses, 1)
}

pub(super) fn write_2(
    snapshot: &Snapshot,
    options: &WriteOptions,
    losses: &mut Losses,
) -> Result<Vec<u8>, Problem> {
    write(snapshot, options, losses, 2)
}

fn write(
    snapshot: &Snapshot,
    options: &WriteOptions,
    losses: &mut Losses,
    format: u8,
) -> Result<Vec<u8>, Problem> {
    let bodies = &snapshot.bodies;
    let type_of_component: Vec<u8> = bodies.components.iter().map(type_of).collect();
    let types: Vec<u8> = bodies.component.iter().map(|&c| type_of_component[c as usize]).collect();
    let (order, counts) = order(bodies, TYPES, |i| types[i] as usize);
    let counts: [usize; TYPES] = counts.try_into().expect("there should be six counts");
    if i32::try_from(bodies.len()).is_err() {
        return Err(format!("{} bodies do not fit into its 31-bit counts", bodies.len()));
    }
    note_components(bodies, KINDS, |component| type_of(component) as usize, losses);

    let was_double: Vec<&str> = snapshot
        .attributes
        .get(DOUBLE_ATTRIBUTE)
        .map_or(vec![], |names| names.split(',').collect());
    let is_double = |name: &str| options.double.unwrap_or_else(|| was_double.contains(&name));
    let extra = outgoing(snapshot, format, &types, &counts, is_double, losses);
    let (masses, in_block) = mass_table(&bodies.mass, &order, &counts);
    let wide_ids = wide_ids(snapshot, options)?;

    let header = Header { counts, masses, time: snapshot.time, facts: snapshot.attributes.clone() };
    let endianness = options.endianness.unwrap_or_default();
    let capacity = 512 + bodies.len() * 4 * (9 + extra.len());
    let mut file = File { out: Writer::new(endianness, capacity), format, order: &order, losses };
    let header = header.bytes(endianness, is_double("POS"), file.losses);
    put_block(&mut file.out, format, "HEAD", header.len(), |out| out.raw(&header))?;
    let position = |i: usize, k: usize| bodies.position[i][k];
    file.numbers("POS", "positions", is_double("POS"), 3, |_| true, position)?;
    let velocity = |i: usize, k: usize| bodies.velocity[i][k];
    file.numbers("VEL", "velocities", is_double("VEL"), 3, |_| true, velocity)?;
    file.ids(&bodies.id, wide_ids)?;
    if in_block != 0 {
        let has = |i: usize| in_block >> types[i] & 1 == 1;
        file.numbers("MASS", "masses", is_double("MASS"), 1, has, |i, _| bodies.mass[i])?;
    }
    for Outgoing { name, columns, shape } in &extra {
        let has = |i: usize| shape.types >> types[i] & 1 == 1;
        let what = format!("values of {name}");
        file.numbers(name, &what, shape.double, shape.values, has, |i, k| columns[k][i])?;
    }
    if format == 2 && !extra.is_empty() {
        let float = |double| if double { "DOUBLE" } else { "FLOAT" };
        let length = 40 * (3 + usize::from(in_block != 0) + extra.len());
        put_block(&mut file.out, format, "INFO", length, |out| {
            let present = present(&counts);
            put_entry(out, "POS", float(is_double("POS")), 3, ALL & present);
            put_entry(out, "VEL", float(is_double("VEL")), 3, ALL & present);
            put_entry(out, "ID", if wide_ids { "LLONG" } else { "LONG" }, 1, ALL & present);
            if in_block != 0 {
                put_entry(out, "MASS", float(is_double("MASS")), 1, in_block);
            }
            for Outgoing { name, shape, .. } in &extra {
                put_entry(out, name, float(shape.double), shape.values, shape.types);
            }
        })?;
    }
    let bytes = file.out.bytes;
    losses.note_units(&snapshot.units, &Units::gadget());
    losses.note_attributes(snapshot, Header::holds);
    Ok(bytes)
}

fn type_of(component: &Component) -> u8 {
    match component.role {
        Role::Gas => 0,
        Role::Halo => 1,
        Role::Disk => 2,
        Role::Bulge => 3,
        // Stars and boundary bodies share a role; the name tells.
        Role::Star if component.name == KINDS[TYPE_BOUNDARY].name => TYPE_BOUNDARY as u8,
        Role::Star => 4,
    }
}

/// The header's table of masses, and the types that need the MASS block: those whose masses differ
/// or are 0, which the table cannot say.
fn mass_table(mass: &[f64], order: &[usize], counts: &[usize; TYPES]) -> ([f64; TYPES], u8) {
    let (mut table, mut in_block, mut first) = ([0.0; TYPES], 0, 0);
    for (t, &count) in counts.iter().enumerate() {
        let members = &order[first..first + count];
        first += count;
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

struct File<'a> {
    out: Writer,
    format: u8,
    order: &'a [usize],
    losses: &'a mut Losses,
}

impl File<'_> {
    /// Appends a block of `values` numbers for each body that `has` it, in the file's order.
    fn numbers(
        &mut self,
        name: &str,
        what: &str,
        double: bool,
        values: usize,
        has: impl Fn(usize) -> bool,
        value: impl Fn(usize, usize) -> f64,
    ) -> Result<(), Problem> {
        let members = || self.order.iter().copied().filter(|&i| has(i));
        let length = members().count() * values * if double { 8 } else { 4 };
        let mut narrow = Narrow::new(what);
        put_block(&mut self.out, self.format, name, length, |out| {
            for i in members() {
                for k in 0..values {
                    match double {
                        true => out.f64(value(i, k)),
                        false => out.f32(narrow.f32(value(i, k), i)),
                    }
                }
            }
        })?;
        narrow.finish(self.losses)
    }

    fn ids(&mut self, ids: &[u64], wide: bool) -> Result<(), Problem> {
        let length = ids.len() * if wide { 8 } else { 4 };
        put_block(&mut self.out, self.format, "ID", length, |out| {
            for &i in self.order {
                match wide {
                    true => out.u64(ids[i]),
                    false => out.u32(ids[i] as u32),
                }
            }
        })
    }
}
