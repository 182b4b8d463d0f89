//! Text tables: one body per line, for spreadsheets, scripts and people.
//!
//! Two formats that differ in how a line is split into fields: `text` at blanks (a field in double
//! quotes may contain blanks), `csv` at commas. In both:
//!
//! - `#` begins a comment: anywhere between fields in `text`, at the start of a line in `csv`;
//! - the first line with content may name the columns, in any order: `id`, `m` or `mass`, `x`, `y`,
//!   `z`, `vx`, `vy`, `vz`, `component`; any other name is an additional column (`nan` if a body
//!   has no value). Without such a line there are 8 columns, `id m x y z vx vy vz`, or 7 without
//!   the id;
//! - bodies without an id are numbered from 0; bodies without a component belong to one named
//!   `bodies`. A component named like a role (`disk`) has that role, others that of a star, unless
//!   the file says more:
//! - comments at the very beginning that start with `#:` hold the rest of the snapshot (`meta.rs`):
//!   time, units, components with their roles, attributes, types of additional columns.
//!
//! Numbers are written with the fewest digits that read back as the same f64, so nothing is lost.

mod columns;
mod meta;
mod names;
mod read;
mod write;

use super::{Confidence, Format};

/// The entry of blank-separated tables in the registry.
pub(super) const TEXT: Format = Format {
    name: "text",
    summary: "plain text: id m x y z vx vy vz ... in columns between blanks",
    holds: "everything",
    extensions: &["txt", "dat", "tab", "ascii"],
    units: None,
    modifiers: &[],
    recognise: |head, _| recognise(head, false),
    files: None,
    series: None,
    read: |input, options| input.whole(|bytes| read::read_text(bytes, options)),
    write: Some(|snapshot, _, output, losses| output.whole(write::write_text(snapshot, losses))),
};

/// The entry of comma-separated tables in the registry.
pub(super) const CSV: Format = Format {
    name: "csv",
    summary: "comma-separated values: id,m,x,y,z,vx,vy,vz,...",
    holds: "everything",
    extensions: &["csv"],
    units: None,
    modifiers: &[],
    recognise: |head, _| recognise(head, true),
    files: None,
    series: None,
    read: |input, options| input.whole(|bytes| read::read_csv(bytes, options)),
    write: Some(|snapshot, _, output, losses| output.whole(write::write_csv(snapshot, losses))),
};

/// Sure if the first line with content is a header or numbers; maybe if the file is text at all.
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
    let separator = separator(line);
    if separator.is_some() != commas {
        return Confidence::No;
    }
    let fields: Vec<&str> = match separator {
        Some(separator) => line.split(separator).map(str::trim).collect(),
        None => columns::fields(line).collect(),
    };
    let is_number = |field: &&str| match separator {
        Some(';') => columns::number(&columns::with_point(field)).is_some(),
        _ => columns::number(field).is_some(),
    };
    let numbers = fields.len() >= 7 && fields.iter().all(is_number);
    let names = names::name_positions(fields.iter().map(|field| field.trim_matches('"')));
    if numbers || names { Confidence::Sure } else { Confidence::Maybe }
}

/// What separates the fields of a line in `csv`: semicolons, as spreadsheets write them where the
/// comma is the decimal sign, if they make enough columns; `None` for a line in `text`.
fn separator(line: &str) -> Option<char> {
    match line.split(';').count() >= 7 {
        true => Some(';'),
        false => line.contains(',').then_some(','),
    }
}

/// Whether a line is neither empty nor a comment.
fn has_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}
