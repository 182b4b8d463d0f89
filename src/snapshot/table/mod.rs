//! Tables in text: one body per line, for spreadsheets, scripts and eyes.
//!
//! Two formats that differ in how a line is cut into fields: `text` at blanks (a field in double
//! quotes may hold blanks), `csv` at commas. In both:
//!
//! - `#` begins a comment: anywhere between fields in `text`, at the start of a line in `csv`;
//! - the first line with content may name the columns, in any order: `id`, `m` or `mass`, `x`, `y`,
//!   `z`, `vx`, `vy`, `vz`, `component`; any other name is a further column (`nan` where a body has
//!   no value). Without such a line there are 8 columns, `id m x y z vx vy vz`, or 7, without the id;
//! - bodies without an id are numbered from 0; bodies without a component are in one named `bodies`.
//!   A component named as a role (`disk`) has it, else that of a star, unless the file says more:
//! - comments that begin with `#:` and stand before all else hold the rest of the snapshot (`meta.rs`):
//!   time, units, components with their roles, attributes, types of further columns.
//!
//! Numbers are written with the fewest digits that give the same f64 back, so that nothing is lost.

mod columns;
mod meta;
mod read;
mod write;

use super::{Confidence, Format};

/// The line of blank-separated tables in the registry.
pub(super) const TEXT: Format = Format {
    name: "text",
    summary: "plain text: id m x y z vx vy vz ... in columns between blanks",
    holds: "everything",
    extensions: &["txt", "dat", "tab", "ascii"],
    modifiers: &[],
    recognise: |head, _| recognise(head, false),
    files: None,
    read: |input, options| input.whole(|bytes| read::read_text(bytes, options)),
    write: Some(|snapshot, _, output, losses| output.whole(write::write_text(snapshot, losses))),
};

/// The line of comma-separated tables in the registry.
pub(super) const CSV: Format = Format {
    name: "csv",
    summary: "comma-separated values: id,m,x,y,z,vx,vy,vz,...",
    holds: "everything",
    extensions: &["csv"],
    modifiers: &[],
    recognise: |head, _| recognise(head, true),
    files: None,
    read: |input, options| input.whole(|bytes| read::read_csv(bytes, options)),
    write: Some(|snapshot, _, output, losses| output.whole(write::write_csv(snapshot, losses))),
};

/// Sure if the first line with content is a header or numbers; maybe if it is text at all.
fn recognise(head: &[u8], commas: bool) -> Confidence {
    let is_text = |byte: &u8| *byte >= b' ' && *byte != 0x7f || b"\t\r\n".contains(byte);
    if !head.iter().all(is_text) {
        return Confidence::No;
    }
    let text = String::from_utf8_lossy(head);
    let Some(line) = text.trim_start_matches('\u{feff}').lines().find(|line| has_content(line))
    else {
        return if commas { Confidence::No } else { Confidence::Maybe };
    };
    if line.contains(',') != commas {
        return Confidence::No;
    }
    let fields: Vec<&str> = if commas {
        line.split(',').map(str::trim).collect()
    } else {
        columns::fields(line).collect()
    };
    let numbers = fields.len() >= 7 && fields.iter().all(|field| columns::number(field).is_some());
    let names = ["x", "y", "z"]
        .iter()
        .all(|axis| fields.iter().any(|field| field.trim_matches('"').eq_ignore_ascii_case(axis)));
    if numbers || names { Confidence::Sure } else { Confidence::Maybe }
}

/// True for lines that are neither empty nor a comment.
fn has_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}
