//! Fields of a line, and the numbers in them.

use std::borrow::Cow;

use super::super::{Column, ColumnType};

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

/// A number with a comma in the place of the point, as spreadsheets write it where commas do not
/// separate columns; any other field as it is.
pub(super) fn with_point(field: &str) -> Cow<'_, str> {
    if field.contains(',') {
        let with_point = field.replacen(',', ".", 1);
        if number(&with_point).is_some() {
            return with_point.into();
        }
    }
    field.into()
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
        let is_valid = value.is_some();
        values.extend(value);
        is_valid
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
