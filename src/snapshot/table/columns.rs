//! Fields of a line, the numbers in them, and the meaning of columns.

use super::super::{Column, ColumnType};
use crate::messages;

/// Splits a line at blanks. A field that begins with `"` extends to the next `"`; a `#` where a
/// field would begin ends the line.
pub(super) fn fields(line: &str) -> impl Iterator<Item = &str> + Clone {
    let mut rest = line;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() || rest.starts_with('#') {
            return None;
        }
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        rest = after;
        Some(field)
    })
}

/// A number; Fortran's exponent D is accepted.
pub(super) fn number(field: &str) -> Option<f64> {
    let fortran = || field.replace(['d', 'D'], "e").parse().ok();
    field.parse().ok().or_else(fortran)
}

/// An id: a whole number, also in the floating-point form that some scripts write (`7.0e+00`).
pub(super) fn id(field: &str) -> Option<u64> {
    // Beyond 2^53 a floating-point number may stand for a neighbouring id.
    let whole =
        |number: &f64| (0.0..=9_007_199_254_740_992.0).contains(number) && number.fract() == 0.0;
    field.parse().ok().or_else(|| number(field).filter(whole).map(|number| number as u64))
}

/// Appends the value of an additional column; false if the field does not hold one of its type.
/// Spreadsheets write an empty field for no value.
pub(super) fn push(column: &mut Column, field: &str) -> bool {
    fn put<T>(values: &mut Vec<T>, value: Option<T>) -> bool {
        let is_there = value.is_some();
        values.extend(value);
        is_there
    }
    match column {
        Column::F64(values) if field.is_empty() => put(values, Some(f64::NAN)),
        Column::F32(values) if field.is_empty() => put(values, Some(f32::NAN)),
        Column::F64(values) => put(values, number(field)),
        // Parsed as f32: going through f64 would round twice.
        Column::F32(values) => {
            put(values, field.parse().ok().or_else(|| Some(number(field)? as f32)))
        }
        Column::U64(values) => put(values, id(field)),
        Column::U32(values) => put(values, id(field).and_then(|id| id.try_into().ok())),
        Column::I64(values) => put(values, field.parse().ok()),
    }
}

/// What a field of this type must be, for messages.
pub(super) fn expected(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::F64 | ColumnType::F32 => "a number",
        ColumnType::U64 => "a whole number from 0 to 18446744073709551615",
        ColumnType::U32 => "a whole number from 0 to 4294967295",
        ColumnType::I64 => "a whole number from -9223372036854775808 to 9223372036854775807",
    }
}

/// The meaning of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Id,
    Mass,
    /// Axis 0 to 2.
    Position(usize),
    Velocity(usize),
    Component,
    /// An additional column with this name.
    Extra(String),
}

const NAMES: [(&str, Meaning); 10] = [
    ("id", Meaning::Id),
    ("m", Meaning::Mass),
    ("mass", Meaning::Mass),
    ("x", Meaning::Position(0)),
    ("y", Meaning::Position(1)),
    ("z", Meaning::Position(2)),
    ("vx", Meaning::Velocity(0)),
    ("vy", Meaning::Velocity(1)),
    ("vz", Meaning::Velocity(2)),
    ("component", Meaning::Component),
];

impl Meaning {
    /// The column with this name, ignoring case except in names of additional columns.
    pub fn from_name(name: &str) -> Self {
        let known = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map_or_else(|| Self::Extra(name.into()), |(_, column)| column.clone())
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        match self {
            Self::Extra(name) => name,
            known => NAMES.iter().find(|(_, column)| column == known).map_or("", |(name, _)| name),
        }
    }

    /// The columns of a table without a line of names; `None` unless there are 7 or 8.
    pub fn customary(count: usize) -> Option<Vec<Self>> {
        let names = ["id", "m", "x", "y", "z", "vx", "vy", "vz"];
        match count {
            7 => Some(names[1..].iter().map(|name| Self::from_name(name)).collect()),
            8 => Some(names.iter().map(|name| Self::from_name(name)).collect()),
            _ => None,
        }
    }

    /// The columns named by a line of names.
    ///
    /// Errors: a missing or repeated column.
    pub fn from_names(names: Vec<String>) -> Result<Vec<Self>, String> {
        let columns: Vec<_> = names.iter().map(|name| Self::from_name(name)).collect();
        for (k, column) in columns.iter().enumerate() {
            if columns[..k].contains(column) {
                let name = messages::piece(&names[k]);
                return Err(format!("column {} names '{name}' for the second time", k + 1));
            }
        }
        let required = ["m", "x", "y", "z", "vx", "vy", "vz"];
        let missing: Vec<_> =
            required.into_iter().filter(|name| !columns.contains(&Self::from_name(name))).collect();
        if !missing.is_empty() {
            return Err(format!(
                "the columns are named '{}', but {} missing; needed are: m (or mass) x y z vx vy vz",
                messages::list(&names, " "),
                match missing[..] {
                    [one] => format!("{one} is"),
                    _ => format!("{} are", missing.join(" ")),
                }
            ));
        }
        Ok(columns)
    }
}
