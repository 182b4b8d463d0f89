//! `energy.csv`: one row per snapshot, conserved quantities and structure.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::bodies::Component;
use crate::diagnostics::{Diagnostics, FRACTIONS, relative_change};
use crate::error::{Error, Result};

/// An open energy log.
#[derive(Debug)]
pub struct EnergyLog {
    path: PathBuf,
    file: File,
    /// Total energy of the first row, that errors are relative to.
    initial: Option<f64>,
}

const FIXED_COLUMNS: &str = "step,time,kinetic,potential,total,energy_error,\
    momentum_x,momentum_y,momentum_z,angular_momentum_x,angular_momentum_y,angular_momentum_z,virial_ratio";

impl EnergyLog {
    /// Opens the log in `folder`, keeping whole rows up to step `last_step` and dropping the rest.
    pub fn open(folder: &Path, last_step: Option<u64>) -> Result<Self> {
        let path = folder.join("energy.csv");
        let io = |action| move |source| Error::io(action, &folder.join("energy.csv"), source);
        let kept = match (last_step, std::fs::read_to_string(&path)) {
            (Some(last), Ok(text)) => whole_rows(&text, last),
            (None, _) => String::new(),
            (Some(_), Err(error)) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            (Some(_), Err(error)) => return Err(io("read")(error)),
        };
        crate::files::replace(&path, kept.as_bytes())?;
        let file = OpenOptions::new().append(true).open(&path).map_err(io("write"))?;
        let initial = kept.lines().nth(1).and_then(|row| row.split(',').nth(4)?.parse().ok());
        Ok(Self { path, file, initial })
    }

    /// True when a row of step `step` is the last one.
    pub fn ends_with(&self, step: u64) -> Result<bool> {
        let text =
            std::fs::read_to_string(&self.path).map_err(|e| Error::io("read", &self.path, e))?;
        Ok(text.lines().last().is_some_and(|row| row.split(',').next() == Some(&step.to_string())))
    }

    /// Total energy of the first row.
    pub fn initial(&self) -> Option<f64> {
        self.initial
    }

    /// Appends a row.
    pub fn append(
        &mut self,
        step: u64,
        time: f64,
        diagnostics: &Diagnostics,
        components: &[Component],
    ) -> Result<()> {
        let mut text = String::new();
        if self.initial.is_none() {
            text.push_str(FIXED_COLUMNS);
            for radii in &diagnostics.components {
                for fraction in FRACTIONS {
                    let percent = (fraction * 100.0).round();
                    // A comma or quote in a component's name must not break the table.
                    let name = &components[usize::from(radii.component)].name;
                    let name = name.replace(['"', '\n', '\r'], "'");
                    text.push_str(&format!(",\"r{percent} {name}\""));
                }
            }
            text.push('\n');
        }
        let total = diagnostics.energy();
        let initial = *self.initial.get_or_insert(total);
        let (p, l) = (diagnostics.momentum, diagnostics.angular_momentum);
        let error = relative_change(total, initial);
        text.push_str(&format!(
            "{step},{time},{},{},{total},{error},{},{},{},{},{},{},{}",
            diagnostics.kinetic,
            diagnostics.potential,
            p.x,
            p.y,
            p.z,
            l.x,
            l.y,
            l.z,
            diagnostics.virial_ratio()
        ));
        for component in &diagnostics.components {
            for radius in component.radii {
                text.push_str(&format!(",{radius}"));
            }
        }
        text.push('\n');
        // One write per row: a reader sees whole rows.
        self.file
            .write_all(text.as_bytes())
            .map_err(|source| Error::io("write", &self.path, source))
    }
}

/// The header and the whole rows of steps up to `last`.
fn whole_rows(text: &str, last: u64) -> String {
    let whole = |line: &&str| line.ends_with('\n');
    let wanted = |line: &&str| {
        let step = line.split(',').next().unwrap_or("");
        step == "step" || step.parse::<u64>().is_ok_and(|step| step <= last)
    };
    text.split_inclusive('\n').take_while(whole).filter(wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_row_and_later_rows_are_dropped() {
        let text = "step,time,a\n0,0,1\n5,0.5,2\n10,1,3\n15,1.";
        assert_eq!(whole_rows(text, 5), "step,time,a\n0,0,1\n5,0.5,2\n");
        assert_eq!(whole_rows(text, 99), "step,time,a\n0,0,1\n5,0.5,2\n10,1,3\n");
        assert_eq!(whole_rows("", 3), "");
    }
}
