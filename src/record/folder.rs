//! The folder of a run: made, found again, never overwritten.

use std::path::{Path, PathBuf};

use super::Plan;
use crate::error::{Error, Result};
use crate::files;
use crate::snapshot::{self, Snapshot, WriteOptions};

/// A folder that holds a run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    /// Where it is.
    pub path: PathBuf,
    /// What is run.
    pub plan: Plan,
}

/// The last whole snapshot of a run.
#[derive(Debug)]
pub struct Found {
    /// Its step.
    pub step: u64,
    /// Its content.
    pub snapshot: Snapshot,
    /// Later snapshots that are damaged, and how.
    pub damaged: Vec<Error>,
}

const PLAN: &str = "run.toml";

impl RunFolder {
    /// Makes sure that `path` is a folder, created if need be, in which a run can begin.
    ///
    /// Errors: it holds a run already, or cannot be written.
    pub fn prepare(path: &Path) -> Result<()> {
        std::fs::create_dir_all(path).map_err(|e| Error::io("create the folder", path, e))?;
        let entries = std::fs::read_dir(path).map_err(|e| Error::io("read the folder", path, e))?;
        for entry in entries {
            let name = entry.map_err(|e| Error::io("read the folder", path, e))?.file_name();
            let name = name.to_string_lossy();
            if name == PLAN || step_of(&name).is_some() {
                return Err(Error::file(
                    path,
                    format!(
                        "holds a run already ({name}); go on with it by 'gravitile resume', or choose another folder"
                    ),
                ));
            }
        }
        tempfile::tempfile_in(path).map_err(|e| Error::io("write into", path, e))?;
        Ok(())
    }

    /// Begins a run in a prepared folder: the first snapshot, then the plan, so that a folder with a
    /// plan can always be gone on with.
    pub fn create(path: &Path, plan: Plan, first: &Snapshot) -> Result<Self> {
        let folder = Self { path: path.to_owned(), plan };
        folder.write(0, first)?;
        let text = toml::to_string(&folder.plan).expect("a plan should be expressible in TOML");
        let text = format!(
            "# A run of gravitile. Go on with it by: gravitile resume <this folder>\n{text}"
        );
        files::replace(path.join(PLAN), text.as_bytes())?;
        Ok(folder)
    }

    /// Opens the folder of a run.
    pub fn open(path: &Path) -> Result<Self> {
        let file = path.join(PLAN);
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::file(
                    path,
                    "holds no run (there is no run.toml in it); 'gravitile run --out DIR' begins one",
                ));
            }
            Err(error) => return Err(Error::io("read", &file, error)),
        };
        let plan: Plan = toml::from_str(&text)
            .map_err(|error| Error::file(&file, error.to_string().trim().replace('\n', " ")))?;
        if plan.steps_per_snapshot == 0 {
            return Err(Error::file(&file, "steps_per_snapshot is 0, but must be at least 1"));
        }
        Ok(Self { path: path.to_owned(), plan })
    }

    /// Where the snapshot of a step is.
    pub fn snapshot_path(&self, step: u64) -> PathBuf {
        self.path.join(format!("step_{step:010}.gvt"))
    }

    /// Writes the snapshot of a step, whole or not at all.
    pub fn write(&self, step: u64, snapshot: &Snapshot) -> Result<()> {
        snapshot::write(self.snapshot_path(step), snapshot, &WriteOptions::default()).map(|_| ())
    }

    /// Writes the state in which a run could not go on; returns where.
    pub fn write_stopped(&self, snapshot: &Snapshot) -> Result<PathBuf> {
        let path = self.path.join("stopped.gvt");
        snapshot::write(&path, snapshot, &WriteOptions::default())?;
        Ok(path)
    }

    /// The snapshot with the highest step that is whole.
    pub fn last_whole(&self) -> Result<Found> {
        let folder = &self.path;
        let entries =
            std::fs::read_dir(folder).map_err(|e| Error::io("read the folder", folder, e))?;
        let mut steps: Vec<u64> =
            entries.flatten().filter_map(|e| step_of(&e.file_name().to_string_lossy())).collect();
        steps.sort_unstable();
        let mut damaged = Vec::new();
        for &step in steps.iter().rev() {
            match snapshot::read(self.snapshot_path(step)) {
                Ok(snapshot) => return Ok(Found { step, snapshot, damaged }),
                Err(error) => damaged.push(error),
            }
        }
        Err(Error::file(folder, format!("none of its {} snapshots is whole", steps.len())))
    }
}

/// The step that a snapshot's file name tells.
fn step_of(name: &str) -> Option<u64> {
    name.strip_prefix("step_")?.strip_suffix(".gvt")?.parse().ok()
}
