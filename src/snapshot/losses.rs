//! Describes the content of a snapshot that a written file does not hold.

use std::fmt;

use super::Snapshot;
use crate::messages;
use crate::units::Units;

/// The losses and changes on writing: one sentence each, empty if the file holds everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    texts: Vec<String>,
}

impl Losses {
    /// Whether the file holds everything in the snapshot.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The sentences.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.texts.push(messages::fit(&text.into(), messages::ERROR));
    }

    /// Notes that numbers stay in their `units`, if readers of the format assume others.
    pub(super) fn note_units(&mut self, units: &Units, assumed: &Units) {
        if units != assumed {
            self.note(format!("the numbers stay in {units}, a reader will assume {assumed}"));
        }
    }

    /// Notes every attribute that is neither `held` nor about a file's layout.
    pub(super) fn note_attributes(&mut self, snapshot: &Snapshot, held: impl Fn(&str) -> bool) {
        let lost = snapshot.attributes.keys();
        let lost: Vec<_> =
            lost.filter(|key| !held(key) && !key.starts_with("layout.")).cloned().collect();
        if !lost.is_empty() {
            self.note(format!("attributes cannot be held: {}", messages::list(&lost, ", ")));
        }
    }

    /// Notes columns of integers that are written as `kind`.
    pub(super) fn note_integers<'a>(&mut self, names: impl Iterator<Item = &'a str>, kind: &str) {
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        names.dedup();
        if !names.is_empty() {
            let names = messages::list(&names, ", ");
            self.note(format!(
                "whole numbers are written as {kind}, which may round them: {names}"
            ));
        }
    }

    /// Notes columns of the gas that readers expect and the snapshot lacks; the file has them as
    /// `blocks` of zeros.
    pub(super) fn note_zeros_of_gas(&mut self, missing: &[&str], blocks: &str) {
        if !missing.is_empty() {
            let missing = missing.join(", ");
            let why = format!("0 is written, as readers expect these {blocks}");
            self.note(format!("the gas has no {missing}: {why}"));
        }
    }

    /// Notes columns for which the format has no place.
    pub(super) fn note_columns(&mut self, lost: &[String], why: &str) {
        if !lost.is_empty() {
            self.note(format!("extra columns cannot be held: {}{why}", messages::list(lost, ", ")));
        }
    }
}

impl fmt::Display for Losses {
    /// One sentence per line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.texts.join("\n"))
    }
}

/// Narrows one quantity to f32 and records the largest change.
pub(super) struct Narrow {
    what: String,
    largest: f64,
    body: usize,
    overflow: Option<(f64, usize)>,
}

impl Narrow {
    /// `what` is the quantity in the plural, such as `positions`.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), largest: 0.0, body: 0, overflow: None }
    }

    /// `value` of body `body` (its index in the snapshot) as f32.
    pub fn f32(&mut self, value: f64, body: usize) -> f32 {
        let narrow = value as f32;
        if f64::from(narrow) != value && value.is_finite() {
            if narrow.is_infinite() {
                self.overflow.get_or_insert((value, body));
            }
            let change = ((f64::from(narrow) - value) / value).abs();
            if change > self.largest {
                (self.largest, self.body) = (change, body);
            }
        }
        narrow
    }

    /// Notes the change, if any.
    ///
    /// # Errors
    ///
    /// A value beyond the range of f32, which would make the file unreadable.
    pub fn finish(self, losses: &mut Losses) -> Result<(), String> {
        if let Some((value, body)) = self.overflow {
            return Err(format!(
                "the {} of body {body} include {value:e}, but f32 holds at most {:e}",
                self.what,
                f32::MAX
            ));
        }
        if self.largest > 0.0 {
            losses.note(format!(
                "{} narrowed from f64 to f32: largest relative change {:.1e} (body {})",
                self.what, self.largest, self.body
            ));
        }
        Ok(())
    }
}
