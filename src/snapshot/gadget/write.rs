//! Writing GADGET files.

use super::super::bytes::ByteWriter;
use super::super::kinds::{FileBodies, gadget_name, note_components, order, sections, shares};
use super::super::losses::Narrow;
use super::super::{
    Column, ColumnType, Endianness, FormatError, Losses, OutputFiles, Snapshot, WriteOptions,
};
use super::header::{COOLING, GadgetHeader};
use super::info::{BlockShape, bodies_of, present, put_entry, shape_of};
use super::records::put_block;
use super::{
    ALL, DOUBLE_ATTRIBUTE, GAS, IDS_ATTRIBUTE, KINDS, KNOWN_BLOCKS, TYPES, TypeMask, gas_blocks,
    type_of, unknown_block,
};
use crate::error::Result;

pub(super) fn write(
    snapshot: &Snapshot,
    options: &WriteOptions,
    output: &mut OutputFiles,
    losses: &mut Losses,
    format: u8,
) -> Result<()> {
    let mut plan = FileLayout::new(snapshot, options, format, output.files(), losses)
        .map_err(|problem| output.wrong(problem))?;
    for part in 0..output.files() {
        let bytes = plan.file(part, losses).map_err(|problem| output.wrong(problem))?;
        output.put(bytes)?;
    }
    let mut narrowed = plan.narrow.into_iter().chain(plan.narrow_extra);
    let finished = narrowed.try_for_each(|narrow| narrow.finish(losses));
    finished.map_err(|problem| output.wrong(problem))?;
    losses.note_attributes(snapshot, GadgetHeader::holds);
    Ok(())
}

/// The distribution of the bodies and numbers over the files.
struct FileLayout<'a> {
    snapshot: &'a Snapshot,
    format: u8,
    endianness: Endianness,
    /// The type of each body.
    types: Vec<u8>,
    /// Indices of the bodies, grouped by type.
    order: Vec<usize>,
    /// The bodies of each file.
    parts: Vec<FileBodies>,
    /// The header of each file, except for its counts of bodies.
    header: GadgetHeader,
    /// Types whose masses are in a block.
    in_block: TypeMask,
    /// Positions, velocities, ids and masses.
    shapes: [BlockShape; 4],
    extra: Vec<OutgoingBlock<'a>>,
    /// The narrowing of positions, velocities and masses in all files, and of the extra blocks.
    narrow: [Narrow; 3],
    narrow_extra: Vec<Narrow>,
}

impl<'a> FileLayout<'a> {
    fn new(
        snapshot: &'a Snapshot,
        options: &WriteOptions,
        format: u8,
        files: usize,
        losses: &mut Losses,
    ) -> Result<Self, FormatError> {
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
        let six = |part: &FileBodies| part.counts.as_slice().try_into().expect("six counts");
        let counts: Vec<[usize; TYPES]> = parts.iter().map(six).collect();
        let extra = outgoing(snapshot, format, &types, &counts, is_double, losses);
        let (masses, in_block) = mass_table(&bodies.mass, &order, &totals);
        let real = |name| if is_double(name) { ColumnType::F64 } else { ColumnType::F32 };
        let id = if wide_ids(snapshot, options)? { ColumnType::U64 } else { ColumnType::U32 };
        let all = ALL & present(&totals);
        let shapes = [
            BlockShape { types: all, values: 3, kind: real("POS") },
            BlockShape { types: all, values: 3, kind: real("VEL") },
            BlockShape { types: all, values: 1, kind: id },
            BlockShape { types: in_block, values: 1, kind: real("MASS") },
        ];
        let header = GadgetHeader {
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
    fn file(&mut self, part: usize, losses: &mut Losses) -> Result<Vec<u8>, FormatError> {
        let FileBodies { range, counts } = self.parts[part].clone();
        let counts: [usize; TYPES] = counts.try_into().expect("there should be six counts");
        let bodies = &self.snapshot.bodies;
        let capacity = 512 + range.len() * 4 * (9 + self.extra.len());
        let mut file = FileWriter {
            out: ByteWriter::new(self.endianness, capacity),
            format: self.format,
            members: &self.order[range],
            types: &self.types,
        };
        let [positions, velocities, ids, masses] = self.shapes;
        let header = GadgetHeader { counts, ..self.header.clone() };
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
            let OutgoingBlock { name, columns, shape } = block;
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

    fn info(&self, out: &mut ByteWriter) -> Result<(), FormatError> {
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
fn wide_ids(snapshot: &Snapshot, options: &WriteOptions) -> Result<bool, FormatError> {
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
struct FileWriter<'a> {
    out: ByteWriter,
    format: u8,
    /// Its bodies.
    members: &'a [usize],
    /// Types of all bodies.
    types: &'a [u8],
}

impl FileWriter<'_> {
    /// Appends a block of this shape, with the numbers that `put` writes for each body that has it.
    /// Nothing is appended if there are no such bodies.
    fn block(
        &mut self,
        name: &str,
        shape: &BlockShape,
        mut put: impl FnMut(&mut ByteWriter, usize),
    ) -> Result<(), FormatError> {
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
        shape: &BlockShape,
        narrow: &mut Narrow,
        value: impl Fn(usize, usize) -> f64,
    ) -> Result<(), FormatError> {
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
        shape: &BlockShape,
        value: impl Fn(usize, usize) -> u64,
    ) -> Result<(), FormatError> {
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

// Which additional columns become which blocks.

const OWN_BLOCKS: [&str; 6] = ["HEAD", "POS", "VEL", "ID", "MASS", "INFO"];

/// The name of the column for value `k` of a block with `values` values per body.
pub(in crate::snapshot) fn column_name(block: &str, k: usize, values: usize) -> String {
    match values {
        1 => block.into(),
        3 => format!("{block}.{}", ["x", "y", "z"][k]),
        _ => format!("{block}.{k}"),
    }
}

/// A block to write.
pub(super) struct OutgoingBlock<'a> {
    pub name: String,
    /// None for a block of zeros.
    pub columns: Vec<&'a Column>,
    pub shape: BlockShape,
}

/// The blocks made of the additional columns, in the order of the file; columns that fit into no
/// block are noted. `type_of` is the type of each body, `counts` the number of bodies of each type
/// in each file.
pub(super) fn outgoing<'a>(
    snapshot: &'a Snapshot,
    format: u8,
    type_of: &[u8],
    counts: &[[usize; TYPES]],
    is_double: impl Fn(&str) -> bool,
    losses: &mut Losses,
) -> Vec<OutgoingBlock<'a>> {
    let (mut found, mut lost) = (Vec::new(), Vec::new());
    let mut rounded = Vec::new();
    for name in snapshot.extra.keys() {
        match block_of(snapshot, name) {
            Some((block, names)) if names[0] == *name => {
                let columns: Vec<&Column> =
                    names.iter().map(|name| &snapshot.extra[name]).collect();
                let types = types_with_values(&columns, type_of);
                let kind = kind_of(&columns, is_double(&block));
                let shape = BlockShape { types, values: columns.len(), kind };
                let taken = found.iter().any(|other: &OutgoingBlock| other.name == block);
                if types == 0 || taken {
                    lost.extend(names);
                } else {
                    if kind.is_float() && columns.iter().any(|column| !column.kind().is_float()) {
                        rounded.push((name.as_str(), kind));
                    }
                    found.push(OutgoingBlock { name: block, columns, shape });
                }
            }
            Some(_) => {}
            None => lost.push(name.clone()),
        }
    }
    if type_of.contains(&0) {
        let needed = gas_blocks(format == 1 && snapshot.attributes.contains_key(COOLING)).iter();
        let has = |name: &str| found.iter().any(|block: &OutgoingBlock| block.name == name);
        let missing: Vec<&str> = needed.copied().filter(|name| !has(name)).collect();
        losses.note_zeros_of_gas(&missing, "blocks");
        found.extend(missing.into_iter().map(|name| {
            let kind = if is_double(name) { ColumnType::F64 } else { ColumnType::F32 };
            let shape = BlockShape { types: GAS, values: 1, kind };
            OutgoingBlock { name: name.to_owned(), columns: Vec::new(), shape }
        }));
    }
    found.sort_by_key(|block| {
        KNOWN_BLOCKS.iter().position(|(known, _)| *known == block.name).unwrap_or(usize::MAX)
    });
    if format == 1 {
        let mut order = Format1Order::new(snapshot, counts, is_double("POS"));
        found.retain(|block| {
            let accepted = order.accepts(block);
            if !accepted {
                lost.push(block.name.clone());
            }
            accepted
        });
        losses.note_columns(&lost, " (format 1 has no names; gadget2 may hold them)");
    } else {
        losses.note_columns(&lost, " (no values, or no block name of four characters)");
    }
    for kind in [ColumnType::F64, ColumnType::F32] {
        let names = rounded.iter().filter(|(_, found)| *found == kind).map(|(name, _)| *name);
        losses.note_integers(names, kind.name());
    }
    found
}

/// The quantity that a column belongs to, and all columns of it in order: `ACCE` and its three for
/// `ACCE.x`, or the column itself.
pub(in crate::snapshot) fn grouped<'a>(
    snapshot: &Snapshot,
    column: &'a str,
) -> (&'a str, Vec<String>) {
    let has = |name: &String| snapshot.extra.contains_key(name);
    let mut block = (column, vec![column.to_owned()]);
    if let Some((base, last)) = column.rsplit_once('.') {
        let vector: Vec<_> = (0..3).map(|k| column_name(base, k, 3)).collect();
        let listed: Vec<_> = (0..).map(|k| column_name(base, k, 0)).take_while(has).collect();
        if ["x", "y", "z"].contains(&last) && vector.iter().all(has) {
            block = (base, vector);
        } else if listed.iter().any(|name| name == column) && ![1, 3].contains(&listed.len()) {
            block = (base, listed);
        }
    }
    block
}

/// The block that a column belongs to, and all columns of that block in order.
fn block_of(snapshot: &Snapshot, column: &str) -> Option<(String, Vec<String>)> {
    let block = grouped(snapshot, column);
    let name = gadget_name(block.0).unwrap_or(block.0);
    let printable = name.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let fits = (1..=4).contains(&name.len()) && printable && !name.ends_with(' ');
    // Readers would not split more values.
    (fits && !OWN_BLOCKS.contains(&name) && block.1.len() <= 16).then(|| (name.to_owned(), block.1))
}

/// The type of a block of these columns. Floating-point blocks are f64 only if `double` or if
/// integers go into them.
fn kind_of(columns: &[&Column], double: bool) -> ColumnType {
    let all = |kind| columns.iter().all(|column| column.kind() == kind);
    let has_sign = |column: &&Column| match column {
        Column::I64(values) => values.iter().any(|value| *value < 0),
        _ => false,
    };
    if columns.iter().all(|column| !column.kind().is_float()) {
        match all(ColumnType::U32) {
            true => ColumnType::U32,
            false if columns.iter().any(has_sign) => ColumnType::F64,
            false => ColumnType::U64,
        }
    } else if double || columns.iter().any(|column| !column.kind().is_float()) {
        ColumnType::F64
    } else {
        ColumnType::F32
    }
}

/// The types with at least one body that has a value in one of the columns.
fn types_with_values(columns: &[&Column], type_of: &[u8]) -> TypeMask {
    let mut types = 0;
    for (i, t) in type_of.iter().enumerate() {
        if columns.iter().any(|column| column.has_value(i)) {
            types |= 1 << t;
        }
    }
    types
}

/// The part of the file that the order of blocks in format 1 can express: the gas blocks up to the
/// first missing one, then unnamed blocks (as read from format 1) that are recognisable by length.
struct Format1Order<'a> {
    counts: &'a [[usize; TYPES]],
    gas_blocks: std::slice::Iter<'static, &'static str>,
    double: bool,
    unknown: usize,
}

impl<'a> Format1Order<'a> {
    fn new(snapshot: &Snapshot, counts: &'a [[usize; TYPES]], double: bool) -> Self {
        let gas_blocks = gas_blocks(snapshot.attributes.contains_key(COOLING)).iter();
        Self { counts, gas_blocks, double, unknown: 0 }
    }

    /// Whether this block may come next.
    fn accepts(&mut self, block: &OutgoingBlock) -> bool {
        let shape = &block.shape;
        let scalar_of_gas = shape.types == GAS && shape.values == 1 && shape.kind.is_float();
        let next_of_gas = self.gas_blocks.as_slice().first();
        if self.unknown == 0 && scalar_of_gas && next_of_gas == Some(&block.name.as_str()) {
            self.gas_blocks.next();
            return true;
        }
        let length = |counts| bodies_of(shape.types, counts) * shape.width();
        let lengths: Vec<_> = self.counts.iter().map(|counts| (length(counts), *counts)).collect();
        let looks_like_gas = |(length, counts): &(u64, [usize; TYPES])| {
            let gas = counts[0] as u64;
            gas > 0 && (*length == 4 * gas || *length == 8 * gas)
        };
        let taken_for_gas =
            self.unknown == 0 && next_of_gas.is_some() && lengths.iter().any(looks_like_gas);
        let name = unknown_block(self.unknown + 1);
        let guess = shape_of(&name, &lengths, None, self.double);
        // In a file without the block, the next one would get its name.
        let everywhere = lengths.iter().all(|(length, _)| *length > 0);
        let is_numbered =
            block.name == name && !taken_for_gas && everywhere && guess.as_ref() == Some(shape);
        self.unknown += usize::from(is_numbered);
        is_numbered
    }
}
