//! A snapshot in memory: bodies, time, units, facts in text and further columns.

use std::collections::BTreeMap;
use std::path::Path;

use super::{FORMATS, Losses, ReadOptions, WriteOptions, find, recognise};
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
    /// Further columns aligned with the bodies (`eps`, `phi`, `RHO`, `ACCE.x`, ...), NaN where a
    /// body has no value. Each has as many values as there are bodies.
    pub extra: BTreeMap<String, Vec<f64>>,
}

impl Snapshot {
    /// A snapshot of `bodies` at `time` without further facts, in N-body units (G = 1).
    pub fn new(bodies: Bodies, time: f64) -> Self {
        Self { bodies, time, ..Self::default() }
    }

    /// Reads a snapshot from the bytes of a whole file. `name` is the file's name, as far as known:
    /// it helps to recognise the format by its extension, and messages begin with it.
    ///
    /// # Errors
    /// [`Error::File`] with what is wrong, where, and what was expected.
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        Self::from_bytes_with(bytes, name, &ReadOptions::default())
    }

    /// The same with options.
    ///
    /// # Errors
    /// As [`Self::from_bytes`]; [`Error::Unknown`] for a format that is not there.
    pub fn from_bytes_with(bytes: &[u8], name: &str, options: &ReadOptions) -> Result<Self> {
        let path = Path::new(name);
        if bytes.is_empty() {
            return Err(Error::file(path, "is empty, but a snapshot was expected"));
        }
        let format = match &options.format {
            Some(format) => {
                super::find::refuse_foreign(bytes, path)?;
                find(format, &mut WriteOptions::default())?
            }
            None => recognise(bytes, bytes.len() as u64, path)?,
        };
        format.read(bytes, path, options)
    }

    /// The bytes of a whole file and what it does not hold. The format is `options.format`, else
    /// the one that the extension of `name` belongs to; `name` also begins the messages.
    ///
    /// # Errors
    /// [`Error::Unknown`] for a format that is not there, [`Error::File`] where the snapshot does
    /// not pass [`Self::validate`] or a value cannot be stored at all.
    pub fn to_bytes(&self, name: &str, options: &WriteOptions) -> Result<(Vec<u8>, Losses)> {
        let path = Path::new(name);
        let mut options = options.clone();
        let format = match options.format.take() {
            Some(spec) => find(&spec, &mut options)?,
            None => super::find::by_extension(path)?,
        };
        let write = format.write.ok_or_else(|| Error::Unknown {
            kind: "format that can be written",
            name: format.name.into(),
            known: FORMATS
                .iter()
                .filter(|format| format.write.is_some())
                .map(|format| format.name)
                .collect::<Vec<_>>()
                .join(", "),
        })?;
        self.validate()
            .map_err(|error| Error::file(path, format!("cannot be written: {error}")))?;
        let mut losses = Losses::default();
        let bytes = write(self, &options, &mut losses).map_err(|problem| {
            Error::file(path, format!("cannot be written as {}: {problem}", format.name))
        })?;
        Ok((bytes, losses))
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

    /// Numbers the bodies from 0. A layout that has to do with the ids of a file is forgotten.
    pub(super) fn renumber(&mut self) {
        self.bodies.id = (0..self.bodies.len() as u64).collect();
        for layout in [super::tipsy::IDS_ATTRIBUTE, super::gadget::IDS_ATTRIBUTE] {
            self.attributes.remove(layout);
        }
    }

    /// The last act of every reader: the snapshot itself if it is valid.
    pub(super) fn checked(self) -> Result<Self, String> {
        match self.validate() {
            Ok(()) => Ok(self),
            Err(error) => Err(error.to_string()),
        }
    }
}
