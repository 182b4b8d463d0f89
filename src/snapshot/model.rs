//! A snapshot in memory: bodies, time, units, facts in text and further columns.

use std::collections::BTreeMap;

use super::{Column, Problem};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::units::Units;

/// The bodies of one moment and what a file says about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The bodies, in the file's order.
    pub bodies: Bodies,
    /// The moment, in `units.time`; finite.
    pub time: f64,
    /// What the numbers mean. Nothing is rescaled on reading or writing.
    pub units: Units,
    /// Facts as text: `softening`, `dt`, `step`, the engine's configuration, `redshift`, header
    /// flags. Keys that begin with `layout.` record how the file was laid out, so that writing the
    /// same format again keeps it; they are no facts about the bodies and no loss is reported.
    pub attributes: BTreeMap<String, String>,
    /// Further columns aligned with the bodies (`eps`, `phi`, `RHO`, `ACCE.x`, ...), of the types that
    /// the file has them in. Each has as many values as there are bodies.
    pub extra: BTreeMap<String, Column>,
}

impl Snapshot {
    /// A snapshot of `bodies` at `time` without further facts, in N-body units (G = 1).
    pub fn new(bodies: Bodies, time: f64) -> Self {
        Self { bodies, time, ..Self::default() }
    }

    /// Checks the bodies ([`Bodies::validate`]), that the time is finite and that every column has
    /// one value per body.
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
                    format!("{}, as of bodies", self.bodies.len()),
                ));
            }
        }
        Ok(())
    }

    /// The columns of f64 whose names begin with one of `prefixes`, as other rooms have them.
    pub fn reals(&self, prefixes: &[&str]) -> BTreeMap<String, Vec<f64>> {
        let begins = |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let real = |(name, column): (&String, &Column)| match column {
            Column::F64(values) if begins(name) => Some((name.clone(), values.clone())),
            _ => None,
        };
        self.extra.iter().filter_map(real).collect()
    }

    /// Numbers the bodies from 0. Layouts that have to do with the ids of a file, `layout.FORMAT.ids`, are
    /// forgotten.
    pub(super) fn renumber(&mut self) {
        self.bodies.id = (0..self.bodies.len() as u64).collect();
        self.attributes.retain(|key, _| !(key.starts_with("layout.") && key.ends_with(".ids")));
    }

    /// The last act of every reader: the snapshot itself if it is valid.
    pub(super) fn checked(self) -> Result<Self, Problem> {
        match self.validate() {
            Ok(()) => Ok(self),
            Err(error) => Err(error.to_string()),
        }
    }
}
