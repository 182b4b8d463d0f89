//! Names of columns, also in comments and with units.

use std::collections::HashSet;

use super::meta::unescape;
use crate::messages;
use crate::units::{Measure, Quantity, StatedUnits};

/// The meaning of a column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

/// The order of columns without names.
const CUSTOMARY: [&str; 8] = ["id", "m", "x", "y", "z", "vx", "vy", "vz"];

impl Meaning {
    /// The column with this name, ignoring case except in names of additional columns.
    pub fn from_name(name: &str) -> Self {
        let known = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map_or_else(|| Self::Extra(name.into()), |(_, column)| column.clone())
    }

    /// The column that has this name in other codes: `PosX`, `pos_x`, `particle_position_x`,
    /// `iord`.
    fn alias(name: &str) -> Option<Self> {
        let plain: String = name.chars().filter(|c| !"_-. ".contains(*c)).collect();
        let plain = plain.to_ascii_lowercase();
        let bare = plain.strip_prefix("particle").unwrap_or(&plain);
        let axis = bare.chars().next_back().and_then(|axis| "xyz".find(axis));
        match (bare, axis) {
            ("m" | "mass" | "masses", _) => Some(Self::Mass),
            ("id" | "ids" | "iord" | "pid", _) => Some(Self::Id),
            ("index", _) if bare != plain => Some(Self::Id),
            (_, Some(axis)) => match &bare[..bare.len() - 1] {
                "" | "pos" | "position" | "coordinates" => Some(Self::Position(axis)),
                "v" | "vel" | "velocity" | "velocities" => Some(Self::Velocity(axis)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The column that has this name in other codes, and its unit if the name ends with one: `x
    /// [pc]`, `x(pc)`, `x_pc`.
    fn parse(name: &str) -> Option<(Self, Option<&str>)> {
        let (bare, unit) = split_unit(name);
        if let Some(found) = Self::alias(bare) {
            return Some((found, unit));
        }
        let (bare, unit) = name.rsplit_once('_')?;
        let found = Self::alias(bare)?;
        let is_unit = Measure::of(unit).si(found.quantity()?).is_some();
        is_unit.then_some((found, Some(unit)))
    }

    /// The name in messages.
    pub fn name(&self) -> &str {
        match self {
            Self::Extra(name) => name,
            known => NAMES.iter().find(|(_, column)| column == known).map_or("", |(name, _)| name),
        }
    }

    /// The quantity in whose unit its numbers are.
    fn quantity(&self) -> Option<Quantity> {
        match self {
            Self::Mass => Some(Quantity::Mass),
            Self::Position(_) => Some(Quantity::Length),
            Self::Velocity(_) => Some(Quantity::Velocity),
            Self::Id | Self::Component | Self::Extra(_) => None,
        }
    }

    /// The columns of a table without names; `None` unless there are 7 or 8.
    pub fn customary(count: usize) -> Option<Vec<Self>> {
        let names = match count {
            7 => &CUSTOMARY[1..],
            8 => &CUSTOMARY[..],
            _ => return None,
        };
        Some(names.iter().map(|name| Self::from_name(name)).collect())
    }

    /// The columns of these names. Names as this program writes them come before those of other
    /// codes, and before those with a unit.
    ///
    /// # Errors
    ///
    /// A missing or repeated column, or units that differ.
    pub fn from_names(names: &[String], stated: &mut StatedUnits) -> Result<Vec<Self>, String> {
        let mut columns: Vec<_> = names.iter().map(|name| Self::from_name(name)).collect();
        let plain: HashSet<Self> = columns.iter().cloned().collect();
        for (column, name) in columns.iter_mut().zip(names) {
            let Self::Extra(_) = column else { continue };
            let Some((found, unit)) = Self::parse(name) else { continue };
            if plain.contains(&found) {
                continue;
            }
            if let (Some(unit), Some(of)) = (unit, found.quantity()) {
                stated.unit(
                    of,
                    unit,
                    &format!("column '{}'", messages::piece(split_unit(name).0)),
                )?;
            }
            *column = found;
        }
        let mut before = HashSet::new();
        for (k, column) in columns.iter().enumerate() {
            if !before.insert(column) {
                let name = messages::piece(&names[k]);
                return Err(format!("column {} names '{name}' for the second time", k + 1));
            }
        }
        let missing: Vec<_> = CUSTOMARY[1..]
            .iter()
            .copied()
            .filter(|name| !before.contains(&Self::from_name(name)))
            .collect();
        if !missing.is_empty() {
            return Err(format!(
                "the columns are named '{}', but {} missing; needed are: m (or mass) x y z vx vy vz",
                messages::list(names, " "),
                match missing[..] {
                    [one] => format!("{one} is"),
                    _ => format!("{} are", missing.join(" ")),
                }
            ));
        }
        Ok(columns)
    }
}

/// A name without its unit, and the unit: `x [pc]`, `x(pc)`.
fn split_unit(name: &str) -> (&str, Option<&str>) {
    let split = [('[', ']'), ('(', ')')].into_iter().find_map(|(open, close)| {
        let (bare, unit) = name.trim_end().strip_suffix(close)?.split_once(open)?;
        Some((bare.trim_end(), unit.trim()))
    });
    match split {
        Some((bare, unit)) if !unit.is_empty() => (bare, Some(unit)),
        _ => (name, None),
    }
}

/// A name without quotes, and without its number as gnuplot writes it: `1:x`.
fn bare_name(name: &str) -> &str {
    let name = name.trim_matches('"');
    match name.split_once(':') {
        Some((number, rest)) if number.parse::<u32>().is_ok() && !rest.is_empty() => rest,
        _ => name,
    }
}

/// Names of columns from the fields of a line: a unit after a blank belongs to the name before it.
pub(super) fn names<'a>(fields: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for field in fields {
        match names.last_mut() {
            Some(name) if field.starts_with(['[', '(']) => *name += &format!(" {field}"),
            _ => names.push(field.to_owned()),
        }
    }
    names.iter().map(|name| unescape(name)).collect()
}

/// Whether these names are those of positions, in any order and among others.
pub(super) fn name_positions<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let found: HashSet<_> = names.filter_map(Meaning::parse).map(|(found, _)| found).collect();
    (0..3).all(|axis| found.contains(&Meaning::Position(axis)))
}

/// The columns that the comments before a table of `count` columns name: the last comment that
/// names positions and velocities, also after other words (`# Columns: x, y, ...`). A comment after
/// it may have their units, as AMUSE writes them. `None` if there is no such comment.
///
/// # Errors
///
/// As [`Meaning::from_names`]; names of another number of columns, or of which only some are known.
pub(super) fn in_comments(
    comments: &[(usize, &str)],
    count: usize,
    stated: &mut StatedUnits,
) -> Result<Option<Vec<Meaning>>, String> {
    let split = |line: &str| {
        let text = line.trim_start_matches(['#', ' ', '\t']).trim_end();
        let text = text.rsplit_once(": ").map_or(text, |(_, after)| after);
        match text.chars().find(|c| ",;|".contains(*c)) {
            Some(separator) => names(text.split(separator).map(|name| bare_name(name.trim()))),
            None => names(text.split_whitespace().map(bare_name)),
        }
    };
    let known = |names: &[String]| -> HashSet<Meaning> {
        names.iter().filter_map(|name| Meaning::parse(name)).map(|(found, _)| found).collect()
    };
    let named = |names: &[String]| {
        let found = known(names);
        (0..3)
            .all(|k| [Meaning::Position(k), Meaning::Velocity(k)].iter().all(|m| found.contains(m)))
    };
    let all: Vec<_> = comments.iter().map(|(line, text)| (line, split(text))).collect();
    let Some(at) = all.iter().rposition(|(_, names)| named(names)) else {
        // As many words as columns, most of them names: another order than the customary one.
        let is_partly_known =
            |names: &[String]| names.len() == count && 2 * known(names).len() > count;
        return match all.iter().rfind(|(_, names)| is_partly_known(names)) {
            None => Ok(None),
            Some((line, names)) => Err(format!(
                "line {line}: the comment seems to name the columns ({}), but not all of x y z vx vy vz are among them",
                messages::list(names, " ")
            )),
        };
    };
    let (line, names) = &all[at];
    let wrong = |problem: String| format!("line {}: {problem}", **line);
    // Words may come before the names.
    let columns = match names.len().checked_sub(count) {
        Some(words) if words == 0 || named(&names[words..]) => {
            Meaning::from_names(&names[words..], stated).map_err(wrong)?
        }
        _ => {
            return Err(wrong(format!(
                "the comment names {} columns ({}), but the table has {count}",
                names.len(),
                messages::list(names, " ")
            )));
        }
    };
    if let Some((line, units)) = all.get(at + 1).filter(|(_, units)| units.len() == count) {
        let units = || {
            let quantities = columns.iter().zip(units);
            quantities.filter_map(|(column, unit)| Some((column, column.quantity()?, unit)))
        };
        if units().all(|(_, of, unit)| Measure::of(unit).si(of).is_some()) {
            for (column, of, unit) in units() {
                let origin = format!("line {line}, {}", column.name());
                stated.unit(of, unit, &origin)?;
            }
        }
    }
    Ok(Some(columns))
}
