//! The files of a scene's parts, converted to one set of units.

use std::cell::RefCell;
use std::path::Path;

use super::{isolated, renumbered};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::units::{Conversion, Units};
use crate::{messages, snapshot};

/// Reads the files of parts and converts them to the units of the scene, in which G is 1.
pub struct Parts {
    units: RefCell<Units>,
    notes: RefCell<Vec<String>>,
    isolated: bool,
}

impl Parts {
    /// For a scene of these units. Units without names become those of the first file that has
    /// some. `isolated` as in [`crate::settings::InputRequest`].
    pub fn of(units: Units, isolated: bool) -> Self {
        Self { units: units.into(), notes: RefCell::default(), isolated }
    }

    /// The bodies of a file, numbered from 0, with G times their masses in the scene's units.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or units that cannot be converted.
    pub fn load(&self, path: &Path) -> Result<Bodies> {
        // All parts together are numbered from 0, so the ids of a file are not used.
        let mut read = snapshot::read_with(path, &renumbered(true))?;
        isolated::check(&mut read, path, self.isolated)?;
        let mut notes = self.notes.borrow_mut();
        notes.append(&mut read.notes);
        let mut units = self.units.borrow_mut();
        let name = messages::path(path, messages::PIECE);
        if units.is_unnamed() {
            *units = read.units.with_g_one();
            if !units.is_unnamed() {
                notes.push(format!("the scene has no [units]: it is in those of {name}, {units}"));
            }
        }
        let conversion = Conversion::between(&read.units, &units);
        if let Some(field) = read.attributes.get(snapshot::FIELD) {
            notes.push(format!(
                "{name}: its external field ({field}) is left out: a scene has its own [[field]]s"
            ));
        }
        match conversion.map_err(|problem| Error::file(path, problem))? {
            Some(conversion) => {
                if conversion.length != 1.0 || conversion.time != 1.0 {
                    let own = &read.units;
                    notes.push(format!("{name}: converted from {own} to {units} ({conversion})"));
                }
                read.rescale(&conversion, units.clone());
                Ok(read.bodies)
            }
            None => {
                let own = &read.units;
                notes.push(format!(
                    "{name}: its units ({own}) do not compare with those of the scene ({units}): its numbers stay as \
                     they are"
                ));
                read.bodies.mass = read.bodies.gravitating_mass(read.units.gravitational_constant);
                Ok(read.bodies)
            }
        }
    }

    /// The units, and notes on the files.
    pub fn finish(self) -> (Units, Vec<String>) {
        (self.units.into_inner(), self.notes.into_inner())
    }
}
