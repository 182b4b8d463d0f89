//! Writing tables.

use std::fmt::Write as _;

use super::super::column::each;
use super::super::{Losses, Problem, Snapshot};
use super::meta::{self, escape};
use super::names::Meaning;

const NAMES: [&str; 8] = ["id", "m", "x", "y", "z", "vx", "vy", "vz"];

pub(super) fn write_text(snapshot: &Snapshot, losses: &mut Losses) -> Result<Vec<u8>, Problem> {
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

pub(super) fn write_csv(snapshot: &Snapshot, losses: &mut Losses) -> Result<Vec<u8>, Problem> {
    let text = meta::comments(snapshot, losses);
    let mut out = csv::WriterBuilder::new().flexible(true).from_writer(text.into_bytes());
    rows(snapshot, losses, |fields| out.write_record(fields).map_err(|error| error.to_string()))?;
    out.into_inner().map_err(|error| error.to_string())
}

/// Calls back with the line of names, then with the line of each body.
fn rows(
    snapshot: &Snapshot,
    losses: &mut Losses,
    mut put: impl FnMut(&[String]) -> Result<(), Problem>,
) -> Result<(), Problem> {
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
