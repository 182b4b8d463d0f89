//! Where results go: records, a table, a report and plots.

use std::path::{Path, PathBuf};

use gravitile::error::Error;
use gravitile::files;
use gravitile::measure::figures::{self, Figure};
use gravitile::measure::{Record, latest, read_json_lines, report, to_csv, to_json_lines};

const RECORDS: &str = "results.jsonl";

/// A folder, and the records of earlier measurements in it.
pub struct Folder {
    pub path: PathBuf,
    earlier: Vec<Record>,
}

impl Folder {
    /// Creates the folder before anything is measured, so that an unwritable one fails at once.
    pub fn make(path: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(path).map_err(|error| Error::io("make the folder", path, error))?;
        tempfile::tempfile_in(path).map_err(|error| Error::io("write into", path, error))?;
        Ok(Self { path: path.to_owned(), earlier: Vec::new() })
    }

    /// Like [`Folder::make`], but keeps the records already in the folder; new ones are added to
    /// them.
    ///
    /// # Errors
    /// Existing records that cannot be read, before anything is measured.
    pub fn with_earlier(path: &Path) -> Result<Self, Error> {
        let mut folder = Self::make(path)?;
        let records = path.join(RECORDS);
        if records.exists() {
            folder.earlier = read_json_lines(&records)?;
        }
        Ok(folder)
    }

    /// Writes all results so far.
    pub fn write(&self, records: &[Record]) -> Result<(), Error> {
        let all = [&self.earlier, records].concat();
        files::replace(self.path.join(RECORDS), to_json_lines(&all).as_bytes())?;
        files::replace(self.path.join("results.csv"), to_csv(&all).as_bytes())?;
        self.draw(&all, figures::FIGURES)?;
        self.report(&all)
    }

    /// Writes the report: the last run of each figure.
    pub fn report(&self, records: &[Record]) -> Result<(), Error> {
        let page = report::page(&latest(records));
        files::replace(self.path.join("report.html"), page.as_bytes())
    }

    /// Draws those of `figures` that have records, each from its last run, and returns the names of
    /// the files. Removes old plots of these figures that no longer have records.
    pub fn draw(&self, records: &[Record], figures: &[Figure]) -> Result<Vec<String>, Error> {
        let records = &latest(records);
        let mut names = Vec::new();
        for figure in figures {
            let has_records = records.iter().any(|record| record.figure == figure.name);
            let plots = if has_records { figure.plots(records) } else { Vec::new() };
            for (i, plot) in plots.iter().enumerate() {
                let name = name_of(figure, i);
                files::replace(self.path.join(&name), plot.svg().as_bytes())?;
                names.push(name);
            }
            if has_records {
                self.remove(figure, plots.len());
            }
        }
        Ok(names)
    }

    /// Removes the plots of a figure from this number up.
    fn remove(&self, figure: &Figure, from: usize) {
        for i in from.. {
            let path = self.path.join(name_of(figure, i));
            if !path.exists() || std::fs::remove_file(path).is_err() {
                break;
            }
        }
    }
}

fn name_of(figure: &Figure, i: usize) -> String {
    let number = if i == 0 { String::new() } else { format!("-{}", i + 1) };
    format!("{}{number}.svg", figure.name)
}
