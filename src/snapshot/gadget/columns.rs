//! Which extra columns become which blocks.

use super::super::{Losses, Snapshot};
use super::header::COOLING;
use super::info::Shape;
use super::{GAS, KNOWN_BLOCKS, TypeMask};

/// Tipsy's names of the same quantities, in case the snapshot comes from there.
const ALIASES: [(&str, &str); 5] =
    [("rho", "RHO"), ("hsmooth", "HSML"), ("metals", "Z"), ("tform", "AGE"), ("phi", "POT")];

const OWN_BLOCKS: [&str; 6] = ["HEAD", "POS", "VEL", "ID", "MASS", "INFO"];

/// The column of value `k` of a block of `values` per body.
pub(super) fn name(block: &str, k: usize, values: usize) -> String {
    match values {
        1 => block.into(),
        3 => format!("{block}.{}", ["x", "y", "z"][k]),
        _ => format!("{block}.{k}"),
    }
}

/// A block to write.
pub(super) struct Outgoing<'a> {
    pub name: String,
    pub columns: Vec<&'a [f64]>,
    pub shape: Shape,
}

/// The blocks that the extra columns make, in the order of the file; what fits into none is noted.
/// `type_of` gives the type of each body.
pub(super) fn outgoing<'a>(
    snapshot: &'a Snapshot,
    format: u8,
    type_of: &[u8],
    is_double: impl Fn(&str) -> bool,
    losses: &mut Losses,
) -> Vec<Outgoing<'a>> {
    let (mut found, mut lost) = (Vec::new(), Vec::new());
    for name in snapshot.extra.keys() {
        match block_of(snapshot, name) {
            Some((block, columns)) if columns[0] == name => {
                let columns: Vec<&[f64]> =
                    columns.iter().map(|name| snapshot.extra[name].as_slice()).collect();
                let types = types_with_values(&columns, type_of);
                let shape =
                    Shape { types, values: columns.len(), double: is_double(&block) };
                let taken = found.iter().any(|other: &Outgoing| other.name == block);
                if types == 0 || taken {
                    lost.push(name.clone());
                } else {
                    found.push(Outgoing { name: block, columns, shape });
                }
            }
            Some(_) => {}
            None => lost.push(name.clone()),
        }
    }
    found.sort_by_key(|block| {
        KNOWN_BLOCKS.iter().position(|(known, _)| *known == block.name).unwrap_or(usize::MAX)
    });
    if format == 1 {
        let kept = kept_by_order(&found, snapshot.attributes.contains_key(COOLING));
        for block in found.split_off(kept) {
            lost.push(block.name);
        }
        losses.note_columns(&lost, " (format 1 has no names; gadget2 may hold them)");
    } else {
        losses.note_columns(&lost, " (no values, or no block name of four characters)");
    }
    found
}

/// The block that a column belongs to, and all columns of that block in order.
fn block_of(snapshot: &Snapshot, column: &str) -> Option<(String, Vec<String>)> {
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
    let alias = ALIASES.iter().find(|(theirs, _)| *theirs == block.0).map(|(_, ours)| *ours);
    let name = alias.unwrap_or(block.0);
    let printable = name.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let fits = (1..=4).contains(&name.len()) && printable && !name.ends_with(' ');
    // More values than the reader splits would not come back.
    (fits && !OWN_BLOCKS.contains(&name) && block.1.len() <= 16).then(|| (name.to_owned(), block.1))
}

/// The types of which at least one body has a value in one of the columns.
fn types_with_values(columns: &[&[f64]], type_of: &[u8]) -> TypeMask {
    let mut types = 0;
    for (i, t) in type_of.iter().enumerate() {
        if columns.iter().any(|column| !column[i].is_nan()) {
            types |= 1 << t;
        }
    }
    types
}

/// How many of the blocks, from the first, format 1 can tell by their order: the gas blocks as far
/// as none is missing.
fn kept_by_order(blocks: &[Outgoing], cooling: bool) -> usize {
    let order: &[&str] =
        if cooling { &["U", "RHO", "NE", "NH", "HSML"] } else { &["U", "RHO", "HSML"] };
    let fits = |block: &Outgoing, name: &str| {
        block.name == name && block.shape.types == GAS && block.shape.values == 1
    };
    blocks.iter().zip(order).take_while(|(block, name)| fits(block, name)).count()
}
