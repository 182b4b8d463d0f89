//! Reading tables.

use glam::DVec3;

use super::super::{Column, FormatError, ReadOptions, Snapshot};
use super::meta::{self, Comments, MOST_COMPONENTS, unescape};
use super::names::{self, Meaning};
use super::{columns, has_content, separator};
use crate::bodies::{Bodies, Component, Role};
use crate::messages;

pub(super) fn read_text(bytes: &[u8], options: &ReadOptions) -> Result<Snapshot, FormatError> {
    let text = text_of(bytes)?;
    let mut table = GrowingTable::new(text, options)?;
    for (number, line) in text.lines().enumerate() {
        table.row(number as u64 + 1, columns::fields(line))?;
    }
    table.finish()
}

pub(super) fn read_csv(bytes: &[u8], options: &ReadOptions) -> Result<Snapshot, FormatError> {
    let text = text_of(bytes)?;
    let mut table = GrowingTable::new(text, options)?;
    let first = text.lines().find(|line| has_content(line)).and_then(separator);
    let semicolons = first == Some(';');
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(if semicolons { b';' } else { b',' })
        .flexible(true)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    let unreadable = |error| format!("is not a readable table: {error}");
    while reader.read_record(&mut record).map_err(unreadable)? {
        // The reader skips comments itself, so only the record knows its line.
        let line = record.position().map_or(0, csv::Position::line);
        // No name and no number in a table contains a line end.
        if record.iter().any(|field| field.trim().contains('\n')) {
            return Err(format!(
                "line {line}: a quoted field continues beyond the end of its line, as if a closing '\"' were missing"
            ));
        }
        let is_blank = record.len() == 1 && record[0].trim().is_empty();
        if semicolons {
            let fields: Vec<_> =
                record.iter().map(|field| columns::with_point(field.trim())).collect();
            table.row(line, fields.iter().map(AsRef::as_ref))?;
        } else if !is_blank {
            table.row(line, record.iter().map(str::trim))?;
        }
    }
    table.finish()
}

/// The text without its byte order mark.
fn text_of(bytes: &[u8]) -> Result<&str, FormatError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let line = bytes[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
        format!(
            "is not text: line {line} has the byte {:02x} at byte {at}, but UTF-8 was expected",
            bytes[at]
        )
    })?;
    Ok(text.trim_start_matches('\u{feff}'))
}

/// A table that grows row by row.
struct GrowingTable<'c> {
    snapshot: Snapshot,
    /// Empty until the first row.
    columns: Vec<Meaning>,
    comments: Comments<'c>,
    /// Values of the [`Meaning::Extra`] columns, in order.
    extra: Vec<Column>,
    /// Whether ids are ignored.
    renumber: bool,
}

impl<'c> GrowingTable<'c> {
    /// Starts with the content of the comments before the table.
    fn new(text: &'c str, options: &ReadOptions) -> Result<Self, FormatError> {
        let bodies = Bodies::default();
        let mut snapshot = Snapshot { bodies, ..Snapshot::default() };
        let comments = meta::read(text, &mut snapshot)?;
        let renumber = options.renumber;
        Ok(Self { snapshot, columns: Vec::new(), comments, extra: Vec::new(), renumber })
    }

    /// Takes the fields of one line; the first line with content determines the columns.
    fn row<'a>(
        &mut self,
        line: u64,
        fields: impl Iterator<Item = &'a str> + Clone,
    ) -> Result<(), FormatError> {
        let count = fields.clone().count();
        if count == 0 {
            return Ok(());
        }
        if self.columns.is_empty() {
            let is_data = fields.clone().all(|field| columns::number(field).is_some());
            self.columns = if is_data {
                self.columns_of_data(line, count)?
            } else {
                Meaning::from_names(&names::names(fields.clone()), &mut self.comments.units)
                    .map_err(|problem| format!("line {line}: {problem}"))?
            };
            let types = &self.comments.types;
            let kinds = self.columns.iter().filter_map(|column| match column {
                Meaning::Extra(name) => Some(types.get(name).copied().unwrap_or_default()),
                _ => None,
            });
            self.extra = kinds.map(|kind| Column::with_capacity(kind, 0)).collect();
            if !is_data {
                return Ok(());
            }
        }
        if count != self.columns.len() {
            return Err(format!(
                "line {line}: {count} columns, but {} were expected ({})",
                self.columns.len(),
                messages::list(&self.columns.iter().map(Meaning::name).collect::<Vec<_>>(), " ")
            ));
        }
        self.body(line, fields)
    }

    /// The columns of a table whose first line with content has numbers.
    fn columns_of_data(&mut self, line: u64, count: usize) -> Result<Vec<Meaning>, FormatError> {
        let Comments { others, units, .. } = &mut self.comments;
        if let Some(columns) = names::in_comments(others, count, units)? {
            return Ok(columns);
        }
        let columns = Meaning::customary(count).ok_or_else(|| {
            format!(
                "line {line}: {count} columns without names, but 8 (id m x y z vx vy vz), 7 (without id) or a line of names were expected"
            )
        })?;
        let order: Vec<_> = columns.iter().map(Meaning::name).collect();
        let order = order.join(" ");
        let mut note = format!("the columns have no names: they are taken as {order}");
        let of_count =
            |text: &str| text.trim_start_matches('#').split_whitespace().count() == count;
        if let Some((line, text)) = others.iter().rfind(|(_, text)| of_count(text)) {
            note += &format!(", whatever line {line} says ({})", messages::piece(text));
        }
        self.snapshot.notes.push(note);
        Ok(columns)
    }

    fn body<'a>(
        &mut self,
        line: u64,
        fields: impl Iterator<Item = &'a str>,
    ) -> Result<(), FormatError> {
        let bodies = &mut self.snapshot.bodies;
        let mut id = bodies.len() as u64;
        let (mut mass, mut position, mut velocity) = (0.0, DVec3::ZERO, DVec3::ZERO);
        let mut component = None;
        let mut extra = self.extra.iter_mut();
        for (k, (field, column)) in fields.zip(&self.columns).enumerate() {
            let wrong = |expected: &str| {
                let (name, field) = (messages::piece(column.name()), messages::piece(field));
                format!(
                    "line {line}, column {} ({name}): '{field}', but {expected} was expected",
                    k + 1
                )
            };
            let finite = || {
                let number = columns::number(field).filter(|number| number.is_finite());
                number.ok_or_else(|| wrong("a finite number"))
            };
            match column {
                Meaning::Id if self.renumber => {}
                Meaning::Id => {
                    let expected = "a whole number from 0 to 18446744073709551615";
                    let named = || wrong(expected) + "; --renumber gives new ids, from 0";
                    id = columns::id(field).ok_or_else(named)?;
                }
                Meaning::Mass => {
                    let positive = finite().ok().filter(|mass| *mass >= 0.0);
                    mass = positive.ok_or_else(|| wrong("a finite number of at least 0"))?;
                }
                Meaning::Position(axis) => position[*axis] = finite()?,
                Meaning::Velocity(axis) => velocity[*axis] = finite()?,
                Meaning::Component => {
                    let name = unescape(field);
                    component =
                        Some(component_of(&mut bodies.components, &name).ok_or_else(|| {
                            wrong(&format!("one of the {MOST_COMPONENTS} components before"))
                        })?);
                }
                Meaning::Extra(_) => {
                    let column = extra.next().expect("each further column should have a list");
                    if !columns::push(column, field) {
                        return Err(wrong(columns::expected(column.kind())));
                    }
                }
            }
        }
        // Without a component column, bodies belong to a default component, or to the only one that
        // the comments declare.
        let component = match component {
            Some(component) => component,
            None => {
                if bodies.components.is_empty() {
                    bodies.components.push(Component::new("bodies", Role::Star));
                }
                0
            }
        };
        bodies.push(mass, position, velocity, component);
        *bodies.id.last_mut().expect("a body was just added") = id;
        Ok(())
    }

    fn finish(mut self) -> Result<Snapshot, FormatError> {
        if self.snapshot.bodies.is_empty() {
            return Err("has no line with a body, but at least one was expected".into());
        }
        let names = self.columns.into_iter().filter_map(|column| match column {
            Meaning::Extra(name) => Some(name),
            _ => None,
        });
        self.snapshot.extra = names.zip(self.extra).collect();
        let (units, notes) = self.comments.units.complete()?;
        self.snapshot.units = units;
        self.snapshot.notes.extend(notes);
        self.snapshot.checked()
    }
}

/// The component with this name, added if it is new; `None` if there are too many.
fn component_of(components: &mut Vec<Component>, name: &str) -> Option<u8> {
    let index = components.iter().position(|known| known.name == name).unwrap_or_else(|| {
        let role = match name {
            "dark" => Role::Halo,
            name => Role::from_name(name).unwrap_or(Role::Star),
        };
        components.push(Component::new(name, role));
        components.len() - 1
    });
    u8::try_from(index).ok()
}
