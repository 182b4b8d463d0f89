//! Which additional columns become which blocks.

use super::super::kinds::gadget_name;
use super::super::{Column, ColumnType, Losses, Snapshot};
use super::blocks::{bodies_of, shape_of};
use super::header::COOLING;
use super::info::Shape;
use super::{GAS, KNOWN_BLOCKS, TYPES, TypeMask, gas_blocks, unknown_block};

const OWN_BLOCKS: [&str; 6] = ["HEAD", "POS", "VEL", "ID", "MASS", "INFO"];

/// The name of the column for value `k` of a block with `values` values per body.
pub(in crate::snapshot) fn name(block: &str, k: usize, values: usize) -> String {
    match values {
        1 => block.into(),
        3 => format!("{block}.{}", ["x", "y", "z"][k]),
        _ => format!("{block}.{k}"),
    }
}

/// A block to write.
pub(super) struct Outgoing<'a> {
    pub name: String,
    /// None for a block of zeros.
    pub columns: Vec<&'a Column>,
    pub shape: Shape,
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
) -> Vec<Outgoing<'a>> {
    let (mut found, mut lost) = (Vec::new(), Vec::new());
    let mut rounded = Vec::new();
    for name in snapshot.extra.keys() {
        match block_of(snapshot, name) {
            Some((block, names)) if names[0] == *name => {
                let columns: Vec<&Column> =
                    names.iter().map(|name| &snapshot.extra[name]).collect();
                let types = types_with_values(&columns, type_of);
                let kind = kind_of(&columns, is_double(&block));
                let shape = Shape { types, values: columns.len(), kind };
                let taken = found.iter().any(|other: &Outgoing| other.name == block);
                if types == 0 || taken {
                    lost.extend(names);
                } else {
                    if kind.is_float() && columns.iter().any(|column| !column.kind().is_float()) {
                        rounded.push((name.as_str(), kind));
                    }
                    found.push(Outgoing { name: block, columns, shape });
                }
            }
            Some(_) => {}
            None => lost.push(name.clone()),
        }
    }
    if type_of.contains(&0) {
        let needed = gas_blocks(format == 1 && snapshot.attributes.contains_key(COOLING)).iter();
        let has = |name: &str| found.iter().any(|block: &Outgoing| block.name == name);
        let missing: Vec<&str> = needed.copied().filter(|name| !has(name)).collect();
        if !missing.is_empty() {
            losses.note(format!(
                "the gas has no {}: 0 is written, as readers expect these blocks",
                missing.join(", ")
            ));
        }
        found.extend(missing.into_iter().map(|name| {
            let kind = if is_double(name) { ColumnType::F64 } else { ColumnType::F32 };
            let shape = Shape { types: GAS, values: 1, kind };
            Outgoing { name: name.to_owned(), columns: Vec::new(), shape }
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
        let vector: Vec<_> = (0..3).map(|k| name(base, k, 3)).collect();
        let listed: Vec<_> = (0..).map(|k| name(base, k, 0)).take_while(has).collect();
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
    fn accepts(&mut self, block: &Outgoing) -> bool {
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
