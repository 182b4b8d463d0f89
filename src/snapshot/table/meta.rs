//! The rest of a snapshot, in comments before the table: one `#: key = value` each.
//!
//! Keys: `time`; `unit.length`, `unit.mass`, `unit.time`; `gravitational_constant`;
//! `component.NAME` with the role, in the order of the components; `attribute.NAME`; `column.NAME`
//! with the type of an additional column that is not f64. Unknown keys are skipped. In names and
//! values, ambiguous characters (`=`, `"`, line ends, blanks at an end) are written as `\u{HEX}`,
//! and `\` as `\\`.

use std::collections::BTreeMap;

use super::super::{ColumnType, Losses, Problem, Snapshot};
use super::columns;
use super::has_content;
use crate::bodies::{Component, Role};
use crate::messages;
use crate::units::Units;

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
            || (c == '#' && at == 0);
        match c {
            '\\' => escaped.push_str("\\\\"),
            c if misleads => escaped.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The inverse of [`escape`]; anything that is not an escape is kept.
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
    for (key, name) in [("unit.length", length), ("unit.mass", mass), ("unit.time", time)] {
        if !name.is_empty() {
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

/// Reads the comments before the first line with content into `snapshot`, replacing its components
/// if any are declared; returns the types of additional columns by name. Errors name the line.
pub(super) fn read(
    text: &str,
    snapshot: &mut Snapshot,
) -> Result<BTreeMap<String, ColumnType>, Problem> {
    let mut types = BTreeMap::new();
    let comments = text.lines().enumerate().take_while(|(_, line)| !has_content(line));
    for (number, line) in comments {
        let Some((key, value)) = line
            .trim_start()
            .strip_prefix(MARK)
            .and_then(|entry| entry.split_once('='))
            .map(|(key, value)| (key.trim(), value.trim()))
        else {
            continue;
        };
        let wrong = |expected: &str| {
            let (key, value) = (messages::piece(key), messages::piece(value));
            format!("line {}: {key} is '{value}', but {expected}", number + 1)
        };
        let real = || columns::number(value).ok_or_else(|| wrong("a number was expected"));
        let units = &mut snapshot.units;
        match key {
            "time" => snapshot.time = real()?,
            "gravitational_constant" => units.gravitational_constant = real()?,
            "unit.length" => units.length = unescape(value),
            "unit.mass" => units.mass = unescape(value),
            "unit.time" => units.time = unescape(value),
            _ => {
                if let Some(name) = key.strip_prefix("attribute.") {
                    snapshot.attributes.insert(unescape(name), unescape(value));
                } else if let Some(name) = key.strip_prefix("column.") {
                    let kind = ColumnType::from_name(value).ok_or_else(|| {
                        let known = ColumnType::ALL.map(ColumnType::name).join(", ");
                        wrong(&format!("a type was expected, one of: {known}"))
                    })?;
                    types.insert(unescape(name), kind);
                } else if let Some(name) = key.strip_prefix("component.") {
                    let role = Role::from_name(value).ok_or_else(|| {
                        let known = Role::ALL.map(|(_, name)| name).join(", ");
                        wrong(&format!("a role was expected, one of: {known}"))
                    })?;
                    let name = unescape(name);
                    let components = &mut snapshot.bodies.components;
                    if !components.iter().any(|known| known.name == name) {
                        components.push(Component::new(name, role));
                    }
                }
            }
        }
    }
    Ok(types)
}
