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

use std::fmt::Write as _;

use meta::escape;
use names::Meaning;

use super::column::each;
use super::{Confidence, Format, FormatError, Losses, Snapshot};

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
    write: Some(|snapshot, _, output, losses| output.whole(write_text(snapshot, losses))),
};

/// The entry of comma-separated tables in the registry.
pub(super) const CSV: Format = Format {
    name: "csv",
    summary: "comma-separated values: id,m,x,y,z,vx,vy,vz,...",
    extensions: &["csv"],
    recognise: |head, _| recognise(head, true),
    read: |input, options| input.whole(|bytes| read::read_csv(bytes, options)),
    write: Some(|snapshot, _, output, losses| output.whole(write_csv(snapshot, losses))),
    ..TEXT
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

// Writing tables.

const NAMES: [&str; 8] = ["id", "m", "x", "y", "z", "vx", "vy", "vz"];

fn write_text(snapshot: &Snapshot, losses: &mut Losses) -> Result<Vec<u8>, FormatError> {
    let mut text = meta::comments(snapshot, losses);
    rows(snapshot, losses, |fields| {
        for (k, field) in fields.iter().enumerate() {
            let blank = if k == 0 { "" } else { " " };
            let quote = if field.is_empty() || field.contains(' ') { "\"" } else { "" };
            write!(text, "{blank}{quote}{field}{quote}").expect("a String should take any text");
        }
        text.push('\n');
        Ok(())
    })?;
    Ok(text.into_bytes())
}

fn write_csv(snapshot: &Snapshot, losses: &mut Losses) -> Result<Vec<u8>, FormatError> {
    let text = meta::comments(snapshot, losses);
    let mut out = csv::WriterBuilder::new().flexible(true).from_writer(text.into_bytes());
    rows(snapshot, losses, |fields| out.write_record(fields).map_err(|error| error.to_string()))?;
    out.into_inner().map_err(|error| error.to_string())
}

/// Calls back with the line of names, then with the line of each body.
fn rows(
    snapshot: &Snapshot,
    losses: &mut Losses,
    mut put: impl FnMut(&[String]) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    let bodies = &snapshot.bodies;
    let with_component = bodies.components.len() > 1;
    let (mut extra, mut lost) = (Vec::new(), Vec::new());
    for (name, column) in &snapshot.extra {
        // An additional column whose name has a meaning here would be misread.
        match Meaning::from_name(name) {
            Meaning::Extra(_) => extra.push((name, column)),
            _ => lost.push(name.clone()),
        }
    }
    losses.note_columns(&lost, " (the names have another meaning here)");
    let mut fields: Vec<String> = NAMES.map(String::from).into();
    if with_component {
        fields.push("component".into());
    }
    // Separators in the line of names would make a table look like another one.
    let plain = |name| escape(name).replace(',', "\\u{2c}").replace(';', "\\u{3b}");
    fields.extend(extra.iter().map(|(name, _)| plain(name)));
    put(&fields)?;
    let component_names: Vec<String> =
        bodies.components.iter().map(|component| escape(&component.name)).collect();
    for i in 0..bodies.len() {
        let (position, velocity) = (bodies.position[i], bodies.velocity[i]);
        let mut next = fields.iter_mut();
        let mut set = |value: &dyn std::fmt::Display| {
            let field = next.next().expect("there should be a field for each column");
            field.clear();
            write!(field, "{value}").expect("a String should take any text");
        };
        set(&bodies.id[i]);
        for value in
            [bodies.mass[i]].into_iter().chain(position.to_array()).chain(velocity.to_array())
        {
            // Debug prints the fewest digits that read back as the same number, with an exponent if
            // that is shorter.
            set(&format_args!("{value:?}"));
        }
        if with_component {
            set(&component_names[bodies.component[i] as usize]);
        }
        for (_, column) in &extra {
            each!(column, values => set(&format_args!("{:?}", values[i])));
        }
        put(&fields)?;
    }
    Ok(())
}
