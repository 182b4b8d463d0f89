//! The rest of a snapshot, in comments before the table: one `#: key = value` each.
//!
//! Keys: `time`; `unit.length`, `unit.mass`, `unit.time`, `unit.velocity`;
//! `gravitational_constant`; `component.NAME` with the role, in the order of the components;
//! `attribute.NAME`; `column.NAME` with the type of an additional column that is not f64. Unknown
//! keys are skipped, which is noted, except that other units are refused. In names and values,
//! ambiguous characters (`=`, `"`, line ends, blanks at an end) are written as `\u{HEX}`, and `\`
//! as `\\`.

use std::collections::BTreeMap;

use super::super::{ColumnType, FormatError, Losses, Snapshot};
use super::{columns, has_content};
use crate::bodies::{Component, Role};
use crate::messages;
use crate::units::{Quantity, StatedUnits, Units};

/// The most components of bodies.
pub(super) const MOST_COMPONENTS: usize = 256;

/// Keys with the names of units.
const UNIT_KEYS: [&str; 4] = ["unit.length", "unit.mass", "unit.time", "unit.velocity"];

/// The prefix of such a comment.
const MARK: &str = "#:";

/// `text` with ambiguous characters escaped.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let at_end = at == 0 || at + c.len_utf8() == text.len();
        let misleads = c.is_control()
            || "=\"".contains(c)
            || (c.is_whitespace() && (c != ' ' || at_end))
            || ("#[(".contains(c) && at == 0);
        match c {
            '\\' => escaped.push_str("\\\\"),
            c if misleads => escaped.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The inverse of [`escape`]; anything that is not an escape stays.
pub(super) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        plain.push_str(before);
        let hex = after.strip_prefix("u{").and_then(|hex| hex.split_once('}'));
        let character = hex.and_then(|(hex, after)| {
            let code = u32::from_str_radix(hex, 16).ok()?;
            Some((char::from_u32(code)?, after))
        });
        if let Some((character, after)) = character {
            plain.push(character);
            rest = after;
        } else {
            plain.push('\\');
            rest = after.strip_prefix('\\').unwrap_or(after);
        }
    }
    plain + rest
}

/// The comments for a snapshot.
pub(super) fn comments(snapshot: &Snapshot, losses: &mut Losses) -> String {
    let Units { length, mass, time, gravitational_constant } = &snapshot.units;
    let mut text = String::new();
    let mut put = |key: &str, value: &str| text += &format!("{MARK} {key} = {value}\n");
    put("time", &format!("{:?}", snapshot.time));
    let contradiction = snapshot.units.contradiction();
    if let Some(newton) = contradiction {
        // A reader refuses a table that contradicts itself.
        losses.note(format!(
            "the units {length}, {mass} and {time} are left out: G is {gravitational_constant}, not {}",
            messages::number(newton)
        ));
    }
    for (key, name) in [("unit.length", length), ("unit.mass", mass), ("unit.time", time)] {
        if !name.is_empty() && contradiction.is_none() {
            put(key, &escape(name));
        }
    }
    put("gravitational_constant", &format!("{gravitational_constant:?}"));
    let components = &snapshot.bodies.components;
    for (k, component) in components.iter().enumerate() {
        if components[..k].iter().any(|other| other.name == component.name) {
            losses.note(format!("components of the same name are merged: '{}'", component.name));
        }
        put(&format!("component.{}", escape(&component.name)), component.role.name());
    }
    for (key, value) in &snapshot.attributes {
        put(&format!("attribute.{}", escape(key)), &escape(value));
    }
    for (name, column) in &snapshot.extra {
        if column.kind() != ColumnType::default() {
            put(&format!("column.{}", escape(name)), column.kind().name());
        }
    }
    text
}

/// The content of the comments before a table, without time, attributes and components.
#[derive(Default)]
pub(super) struct Comments<'a> {
    /// Types of additional columns that are not f64, by name.
    pub types: BTreeMap<String, ColumnType>,
    pub units: StatedUnits,
    /// All other comments, with their lines.
    pub others: Vec<(usize, &'a str)>,
}

/// Reads the comments before the first line with content; time, attributes and components go into
/// `snapshot`. Errors name the line.
pub(super) fn read<'a>(
    text: &'a str,
    snapshot: &mut Snapshot,
) -> Result<Comments<'a>, FormatError> {
    let mut found = Comments::default();
    let mut unknown = Vec::new();
    let comments = text.lines().enumerate().take_while(|(_, line)| !has_content(line));
    for (number, line) in comments {
        let entry = line.trim_start().strip_prefix(MARK).and_then(|entry| entry.split_once('='));
        let Some((key, value)) = entry.map(|(key, value)| (key.trim(), value.trim())) else {
            let line = line.trim();
            let text = line.trim_start_matches(['#', ':', ' ', '\t']);
            if UNIT_KEYS.iter().any(|key| text.starts_with(key)) {
                return Err(format!(
                    "line {}: '{}' states a unit, but the form '#: unit.length = pc' was expected",
                    number + 1,
                    messages::piece(line)
                ));
            }
            found.others.push((number + 1, line));
            continue;
        };
        let wrong = |expected: &str| {
            let (key, value) = (messages::piece(key), messages::piece(value));
            format!("line {}: {key} is '{value}', but {expected}", number + 1)
        };
        let real = || columns::number(value).ok_or_else(|| wrong("a number was expected"));
        let mut unit = |of| {
            let stated = found.units.unit(of, &unescape(value), key);
            stated.map_err(|problem| format!("line {}: {problem}", number + 1))
        };
        match (key, key.split_once('.')) {
            ("time", _) => snapshot.time = real()?,
            ("gravitational_constant", _) => found.units.gravity(real()?),
            ("unit.length", _) => unit(Quantity::Length)?,
            ("unit.mass", _) => unit(Quantity::Mass)?,
            ("unit.time", _) => unit(Quantity::Time)?,
            ("unit.velocity", _) => unit(Quantity::Velocity)?,
            (_, Some(("unit", _))) => {
                return Err(format!(
                    "line {}: there is no key '{}'; those of units are: {}",
                    number + 1,
                    messages::piece(key),
                    UNIT_KEYS.join(", ")
                ));
            }
            (_, Some(("attribute", name))) => {
                snapshot.attributes.insert(unescape(name), unescape(value));
            }
            (_, Some(("column", name))) => {
                let kind = ColumnType::from_name(value).ok_or_else(|| {
                    let known = ColumnType::ALL.map(|(_, name)| name).join(", ");
                    wrong(&format!("a type was expected, one of: {known}"))
                })?;
                found.types.insert(unescape(name), kind);
            }
            (_, Some(("component", name))) => {
                let role = Role::from_name(value).ok_or_else(|| {
                    let known = Role::ALL.map(|(_, name)| name).join(", ");
                    wrong(&format!("a role was expected, one of: {known}"))
                })?;
                let name = unescape(name);
                let components = &mut snapshot.bodies.components;
                if components.len() == MOST_COMPONENTS {
                    return Err(wrong(&format!("at most {MOST_COMPONENTS} components are read")));
                }
                if !components.iter().any(|known| known.name == name) {
                    components.push(Component::new(name, role));
                }
            }
            _ => unknown.push(key),
        }
    }
    if !unknown.is_empty() {
        let list = messages::list(&unknown, ", ");
        snapshot.notes.push(format!("unknown keys in its comments are ignored: {list}"));
    }
    Ok(found)
}
