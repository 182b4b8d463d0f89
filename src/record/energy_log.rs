//! `energy.csv`: one row per snapshot, with conserved quantities and structure.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use glam::DVec3;

use crate::diagnostics::{Diagnostics, FRACTIONS, relative_change};
use crate::error::{Error, Result};
use crate::integrate::blocks::Passage;
use crate::sim::VaryingStep;
use crate::snapshot::Snapshot;

/// An open energy log.
#[derive(Debug)]
pub struct EnergyLog {
    path: PathBuf,
    /// `None` if another process writes it.
    file: Option<File>,
    /// Total energy at the start of the run, the reference of the errors.
    initial: Option<f64>,
    /// Whether a resumed run has lost its first rows.
    lacks_beginning: bool,
    /// Whether a large error has been reported.
    has_warned: bool,
    /// Time and total energy of the last row.
    last: Option<(f64, f64)>,
    /// Whether rows name the units; known from the first row on.
    has_units: bool,
    /// Whether rows end with the closest passage; known from the first row on.
    has_passages: bool,
    /// Whether the file is made with the first row.
    is_new: bool,
    /// Whether rows end with a step that varies; known from the first row on.
    has_steps: bool,
}

/// A step that varies, at the time of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepRow {
    /// The next step.
    pub dt: f64,
    /// The least sqrt(eps / |a|) of all bodies.
    pub least_time: f64,
}

impl StepRow {
    /// The row of `step`; `None` if there is none or if it is too short to be taken.
    pub(super) fn of(step: Option<&VaryingStep>) -> Option<Self> {
        let step = step?;
        Some(Self { dt: step.next_dt().ok()?, least_time: step.least_time() })
    }
}

/// A warning about the energy in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EnergyWarning {
    /// A notable change since the previous row.
    Jump(Jump),
    /// With one step for all bodies: the error is so large that the result is unreliable. Reported
    /// once.
    Large {
        /// Time of the row.
        time: f64,
        /// (E - E0) / |E0|.
        error: f64,
    },
}

/// A notable change of energy between rows. Block time steps normally conserve energy better than
/// that, unless bodies pass each other more closely than their steps or the precision can resolve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jump {
    /// Time and total energy in the previous row.
    pub before: (f64, f64),
    /// Time and total energy in this row.
    pub after: (f64, f64),
    /// The change relative to the energy in the first row.
    pub change: f64,
    /// The closest passage in between, if known.
    pub passage: Option<Passage>,
}

/// The smallest change that is reported.
const JUMP: f64 = 1e-5;

/// The last columns of a log with individual steps, and of one with a step that varies.
const LAST_OF_PASSAGE: &str = "passage_distance";
const LAST_OF_STEP: &str = "least_time";

/// A row, and the header that goes with it.
#[derive(Default)]
struct LogRow {
    names: Vec<String>,
    cells: Vec<String>,
}

impl LogRow {
    fn add(&mut self, name: impl Into<String>, cell: impl Display) {
        self.names.push(name.into());
        self.cells.push(cell.to_string());
    }

    fn add_vector(&mut self, name: &str, vector: DVec3) {
        for (axis, cell) in ["x", "y", "z"].into_iter().zip(vector.to_array()) {
            self.add(format!("{name}_{axis}"), cell);
        }
    }

    /// An empty cell if there is no value.
    fn add_if<T: Display>(&mut self, name: &str, cell: Option<T>) {
        self.add(name, cell.map_or_else(String::new, |cell| cell.to_string()));
    }
}

impl EnergyLog {
    /// The log of a run that has not begun: the file is made with its first row.
    pub fn begin(folder: &Path) -> Self {
        let path = folder.join("energy.csv");
        Self { path, is_new: true, ..Self::elsewhere(false, None) }
    }

    /// Opens the log in `folder`, keeping complete rows up to step `last_step` and dropping the
    /// rest.
    ///
    /// # Errors
    ///
    /// The file cannot be read or written.
    pub fn open(folder: &Path, last_step: Option<u64>) -> Result<Self> {
        let path = folder.join("energy.csv");
        let io = |action| move |source| Error::io(action, &folder.join("energy.csv"), source);
        let mut text = match (last_step, std::fs::read_to_string(&path)) {
            (Some(last), Ok(text)) => complete_rows(&text, last),
            (None, _) => String::new(),
            (Some(_), Err(error)) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            (Some(_), Err(error)) => return Err(io("read")(error)),
        };
        if text.lines().count() < 2 {
            // The header is written with the first row.
            text.clear();
        }
        crate::files::replace(&path, text.as_bytes())?;
        let file = OpenOptions::new().append(true).open(&path).map_err(io("write"))?;
        let number = |row: &str, column: usize| row.split(',').nth(column)?.parse::<f64>().ok();
        let first = text.lines().nth(1).filter(|row| number(row, 0) == Some(0.0));
        let initial = first.and_then(|row| number(row, 4));
        let lacks_beginning = initial.is_none() && last_step.is_some_and(|step| step > 0);
        let rows = text.lines().skip(1);
        let last = rows.last().and_then(|row| Some((number(row, 1)?, number(row, 4)?)));
        // Logs of earlier versions lack these columns.
        let header = text.lines().next().unwrap_or_default();
        let has_passages = header.ends_with(LAST_OF_PASSAGE);
        let has_steps = header.ends_with(LAST_OF_STEP);
        let has_units = header.contains(",unit_time,gravitational_constant");
        let (file, other) = (Some(file), Self::elsewhere(false, None));
        let other = Self { has_units, has_passages, has_steps, ..other };
        Ok(Self { path, file, initial, lacks_beginning, last, ..other })
    }

    /// Sets the reference of the errors if the first row is missing; with `None` they are then
    /// unknown.
    #[must_use]
    pub fn relative_to(mut self, initial: Option<f64>) -> Self {
        self.initial = self.initial.or(initial);
        self
    }

    /// Whether the run has been resumed without the first row of its log.
    pub fn lacks_beginning(&self) -> bool {
        self.lacks_beginning
    }

    /// A log that another process writes. `ends_here` says whether its last row is of the present
    /// step; `initial` is the energy in its first row.
    pub fn elsewhere(ends_here: bool, initial: Option<f64>) -> Self {
        // Any time stands for an existing row.
        let last = ends_here.then_some((0.0, 0.0));
        Self {
            path: PathBuf::new(),
            file: None,
            initial,
            lacks_beginning: false,
            has_warned: false,
            last,
            has_units: false,
            has_passages: false,
            is_new: false,
            has_steps: false,
        }
    }

    /// A log that appends rows to `file`.
    #[cfg(all(test, unix))]
    pub(super) fn into(file: File) -> Self {
        Self { file: Some(file), path: PathBuf::from("/dev/null"), ..Self::elsewhere(false, None) }
    }

    /// Whether the last row is of step `step`.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn ends_with(&self, step: u64) -> Result<bool> {
        if self.file.is_none() || self.is_new {
            return Ok(self.last.is_some());
        }
        let text =
            std::fs::read_to_string(&self.path).map_err(|e| Error::io("read", &self.path, e))?;
        Ok(text.lines().last().is_some_and(|row| row.split(',').next() == Some(&step.to_string())))
    }

    /// Total energy at the start of the run, if known.
    pub fn initial(&self) -> Option<f64> {
        self.initial
    }

    /// Appends a row; `template` has the components and the units. `passage` is `None` if passages
    /// are not logged, otherwise the closest since the last row, if any; `step_row` is `None` if
    /// all steps have one length. Returns a warning: if passages are logged, about a jump of the
    /// energy since the last row; otherwise about a large error, once.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn append(
        &mut self,
        step: u64,
        time: f64,
        diagnostics: &Diagnostics,
        template: &Snapshot,
        passage: Option<Option<Passage>>,
        step_row: Option<StepRow>,
    ) -> Result<Option<EnergyWarning>> {
        let units = &template.units;
        let is_first = self.last.is_none();
        if is_first {
            self.has_passages = passage.is_some();
            self.has_steps = step_row.is_some();
            self.has_units = !units.is_unnamed() || units.gravitational_constant != 1.0;
        }
        let total = diagnostics.energy();
        if !self.lacks_beginning {
            self.initial.get_or_insert(total);
        }
        let initial = self.initial.unwrap_or(f64::NAN);
        let error = relative_change(total, initial);
        let mut row = LogRow::default();
        row.add("step", step);
        row.add("time", time);
        row.add("kinetic", diagnostics.kinetic);
        row.add("potential", diagnostics.potential);
        row.add("total", total);
        row.add("energy_error", error);
        row.add_vector("momentum", diagnostics.momentum);
        row.add_vector("angular_momentum", diagnostics.angular_momentum);
        row.add("virial_ratio", diagnostics.virial_ratio());
        for radii in &diagnostics.components {
            let component = &template.bodies.components[usize::from(radii.component)];
            for (fraction, radius) in FRACTIONS.into_iter().zip(radii.radii) {
                let percent = (fraction * 100.0).round();
                row.add(quoted(&format!("r{percent} {}", component.name)), radius);
            }
        }
        // Sum m phi of an external field, and M V^2/2 of the centre of mass, which count in the
        // total.
        if let Some(field) = diagnostics.field {
            row.add("field_potential", field.potential);
            row.add("bulk_kinetic", field.bulk);
        }
        if self.has_units {
            row.add("unit_length", quoted(&units.length));
            row.add("unit_mass", quoted(&units.mass));
            row.add("unit_time", quoted(&units.time));
            row.add("gravitational_constant", units.gravitational_constant);
        }
        // The shortest step since the previous row: its time, the body that took it, its nearest
        // body, and their distance.
        let noted = passage.flatten();
        if self.has_passages {
            row.add_if("passage_time", noted.map(|passage| passage.time));
            row.add_if("passage_id", noted.map(|passage| passage.id));
            row.add_if("passage_other", noted.map(|passage| passage.other));
            row.add_if(LAST_OF_PASSAGE, noted.map(|passage| passage.distance));
        }
        if self.has_steps {
            row.add_if("dt", step_row.map(|row| row.dt));
            row.add_if(LAST_OF_STEP, step_row.map(|row| row.least_time));
        }
        let mut text = if is_first { row.names.join(",") + "\n" } else { String::new() };
        text += &(row.cells.join(",") + "\n");
        if std::mem::take(&mut self.is_new) {
            crate::files::replace(&self.path, &[])?;
            let opened = OpenOptions::new().append(true).open(&self.path);
            self.file = Some(opened.map_err(|source| Error::io("write", &self.path, source))?);
        }
        // One write per row, so that readers see complete rows.
        if let Some(file) = &mut self.file {
            file.write_all(text.as_bytes())
                .map_err(|source| Error::io("write", &self.path, source))?;
        }
        let before = self.last.replace((time, total));
        if passage.is_none() {
            let is_large = self.initial.is_some_and(|initial| diagnostics.energy_is_off(initial));
            let is_new = is_large && !std::mem::replace(&mut self.has_warned, true);
            return Ok(is_new.then_some(EnergyWarning::Large { time, error }));
        }
        Ok(before.and_then(|before| {
            let change = (total - before.1) / initial.abs();
            let jump = Jump { before, after: (time, total), change, passage: noted };
            (change.abs() > JUMP).then_some(EnergyWarning::Jump(jump))
        }))
    }
}

/// A quoted field: commas and quotes in names must not break the table.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace(['"', '\n', '\r'], "'"))
}

/// The header and the complete rows of steps up to `last`.
fn complete_rows(text: &str, last: u64) -> String {
    let whole = |line: &&str| line.ends_with('\n');
    let is_in_range = |line: &&str| {
        let step = line.split(',').next().unwrap_or("");
        step == "step" || step.parse::<u64>().is_ok_and(|step| step <= last)
    };
    text.split_inclusive('\n').take_while(whole).filter(is_in_range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_row_and_later_rows_are_dropped() {
        let text = "step,time,a\n0,0,1\n5,0.5,2\n10,1,3\n15,1.";
        assert_eq!(complete_rows(text, 5), "step,time,a\n0,0,1\n5,0.5,2\n");
        assert_eq!(complete_rows(text, 99), "step,time,a\n0,0,1\n5,0.5,2\n10,1,3\n");
        assert_eq!(complete_rows("", 3), "");
    }
}
