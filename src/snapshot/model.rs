//! A snapshot in memory: bodies, time, units, text attributes and additional columns.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Column, FormatError};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::units::Units;

/// The bodies at one time, and the metadata of their file.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The bodies, in the file's order.
    pub bodies: Bodies,
    /// Time of the snapshot in `units.time`; finite.
    pub time: f64,
    /// The units of the numbers. Reading and writing never rescale.
    pub units: Units,
    /// Text attributes: `softening`, `dt`, `step`, the engine's configuration, `redshift`, header
    /// flags. Keys that begin with `layout.` record the layout of the file, so that writing the
    /// same format again keeps it; they do not describe the bodies, and losing them is not
    /// reported.
    pub attributes: BTreeMap<String, String>,
    /// Additional columns (`eps`, `phi`, `RHO`, `ACCE.x`, ...) in the file's types, with one value
    /// per body.
    pub extra: BTreeMap<String, Column>,
    /// The reader's notes on assumptions and omissions; not written.
    pub notes: Vec<String>,
}

impl PartialEq for Snapshot {
    /// Compares everything but the notes.
    fn eq(&self, other: &Self) -> bool {
        self.time == other.time
            && self.units == other.units
            && self.bodies == other.bodies
            && self.attributes == other.attributes
            && self.extra == other.extra
    }
}

impl Snapshot {
    /// A snapshot of `bodies` at `time` without attributes or columns, in N-body units (G = 1).
    pub fn new(bodies: Bodies, time: f64) -> Self {
        Self { bodies, time, ..Self::default() }
    }

    /// Removes all bodies but these, with their values in the columns.
    pub fn keep(&mut self, rows: &Range<usize>) {
        self.bodies.keep(rows);
        self.extra.values_mut().for_each(|column| column.keep(rows));
    }

    /// Checks the bodies ([`Bodies::validate`]), that the time is finite, and that every column has
    /// one value per body.
    ///
    /// # Errors
    /// The first of these that does not hold.
    pub fn validate(&self) -> Result<()> {
        self.bodies.validate()?;
        if !self.time.is_finite() {
            return Err(Error::value("the time", self.time, "finite"));
        }
        for (name, column) in &self.extra {
            if column.len() != self.bodies.len() {
                return Err(Error::value(
                    format!("the number of values in column '{name}'"),
                    column.len(),
                    format!("{}, one per body", self.bodies.len()),
                ));
            }
        }
        Ok(())
    }

    /// The number that an attribute holds; `None` if it is missing or not a number.
    pub fn number(&self, attribute: &str) -> Option<f64> {
        self.attributes.get(attribute)?.parse().ok()
    }

    /// The columns whose names begin with one of `prefixes`, as f64.
    pub fn reals(&self, prefixes: &[&str]) -> BTreeMap<String, Vec<f64>> {
        let begins = |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let real = |(name, column): (&String, &Column)| match column {
            Column::F64(values) if begins(name) => Some((name.clone(), values.clone())),
            _ => None,
        };
        self.extra.iter().filter_map(real).collect()
    }

    /// Numbers the bodies from 0, and forgets the layouts of a file's ids (`layout.FORMAT.ids`).
    pub(super) fn renumber(&mut self) {
        self.bodies.id = (0..self.bodies.len() as u64).collect();
        self.attributes.retain(|key, _| !(key.starts_with("layout.") && key.ends_with(".ids")));
    }

    /// The last step of every reader: returns the snapshot if it is valid.
    pub(super) fn checked(self) -> Result<Self, FormatError> {
        match self.validate() {
            Ok(()) => Ok(self),
            Err(error) => Err(error.to_string()),
        }
    }
}
