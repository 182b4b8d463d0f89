//! The folder of a run: created, reopened, locked by one process at a time, never overwritten.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Plan;
use super::lock::{LOCK, Lock};
use super::spread::Spread;
use crate::bodies::Rows;
use crate::error::{Error, Result};
use crate::files;
use crate::sim::MOST_STEPS;
use crate::snapshot::{self, ListedFile, Listing, Snapshot, WriteOptions};

/// A folder that holds a run, locked by this process until dropped.
#[derive(Debug)]
pub struct RunFolder {
    /// Path of the folder.
    pub path: PathBuf,
    /// The settings of the run.
    pub plan: Plan,
    /// `None` if another process holds the lock and writes the folder.
    lock: Option<Lock>,
    /// Present until the run has begun; then the folder is removed again when dropped.
    pending: Mutex<Option<PendingStart>>,
}

/// A run whose plan and first snapshot are not written yet.
#[derive(Debug)]
struct PendingStart {
    made_here: bool,
    first: Option<Snapshot>,
}

/// The last intact snapshot of a run.
#[derive(Debug)]
pub struct LastSnapshot {
    /// Its step.
    pub step: u64,
    /// Its content.
    pub snapshot: Snapshot,
    /// Errors of later snapshots, which are damaged.
    pub damaged: Vec<Error>,
}

const PLAN: &str = "run.toml";
const LOG: &str = "energy.csv";
const STOPPED: &str = "stopped.gvt";

/// Temporary name of the first snapshot until the plan is written. Without a plan it was left by a
/// killed process and can be removed.
const FIRST: &str = ".first.gvt.part";

/// A folder in which a run can begin, locked by this process. If dropped before
/// [`Prepared::begin`], it is removed again.
#[derive(Debug)]
pub struct Prepared {
    path: PathBuf,
    made_here: bool,
    lock: Option<Lock>,
}

impl Prepared {
    /// Begins the run: [`RunFolder::write`] of the first snapshot at once.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub fn begin(self, plan: Plan, first: &Snapshot) -> Result<RunFolder> {
        let folder = self.begin_later(plan);
        folder.write(0, first)?;
        Ok(folder)
    }

    /// The folder of a run that begins when its first snapshot is written.
    pub fn begin_later(mut self, plan: Plan) -> RunFolder {
        let lock = self.lock.take().expect("it is held until it begins");
        let pending = Mutex::new(Some(PendingStart { made_here: self.made_here, first: None }));
        RunFolder { path: std::mem::take(&mut self.path), plan, lock: Some(lock), pending }
    }

    /// Why other processes are not locked out, if the file system has no locks.
    pub fn unprotected(&self) -> Option<&str> {
        self.lock.as_ref()?.unprotected.as_deref()
    }

    /// For a program that exits without running destructors: removes what `prepare` created at
    /// `path`.
    pub fn sweep(path: &Path, made_here: bool) {
        for name in [FIRST, LOCK] {
            let _ = std::fs::remove_file(path.join(name));
        }
        remove_unlisted(path);
        if made_here {
            // Removes only an empty folder.
            let _ = std::fs::remove_dir(path);
        }
    }

    /// Whether this process created the folder.
    pub fn made_here(&self) -> bool {
        self.made_here
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take() {
            remove_pending(&self.path, lock, self.made_here);
        }
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        let pending = self.pending.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(pending), Some(lock)) = (pending, self.lock.take()) {
            remove_pending(&self.path, lock, pending.made_here);
        }
    }
}

fn remove_pending(path: &Path, lock: Lock, made_here: bool) {
    let _ = std::fs::remove_file(path.join(FIRST));
    remove_unlisted(path);
    lock.erase();
    if made_here {
        // Removes only an empty folder.
        let _ = std::fs::remove_dir(path);
    }
}

impl RunFolder {
    /// Creates the folder `path` if it does not exist, checks that a run can begin in it, and locks
    /// it.
    ///
    /// # Errors
    ///
    /// It holds a run, or files that a run would overwrite; another process has locked it; it
    /// cannot be written.
    pub fn prepare(path: &Path) -> Result<Prepared> {
        let made_here = !path.exists();
        std::fs::create_dir_all(path).map_err(|e| Error::io("create the folder", path, e))?;
        let was_held = path.join(LOCK).exists();
        if !was_held {
            // Checked first: no lock file is created next to a user's own files.
            refuse_existing_files(path)?;
        }
        let lock = Lock::take(path)?;
        // Another run may have begun and ended between the check and the lock.
        if let Err(error) = refuse_existing_files(path) {
            if !was_held {
                lock.erase();
            }
            return Err(error);
        }
        let prepared = Prepared { path: path.to_owned(), made_here, lock: Some(lock) };
        remove_leftovers(path);
        tempfile::tempfile_in(path).map_err(|e| Error::io("write into", path, e))?;
        Ok(prepared)
    }

    /// Opens the folder of a run and locks it.
    ///
    /// # Errors
    ///
    /// It holds no run, or an invalid plan; another process has locked it.
    pub fn open(path: &Path) -> Result<Self> {
        let mut folder = Self::look(path)?;
        folder.lock = Some(Lock::take(path)?);
        folder.name_first()?;
        remove_leftovers(path);
        Ok(folder)
    }

    /// The folder of a run that another process has locked: only files of snapshots in several are
    /// written here.
    pub fn elsewhere(path: &Path, plan: Plan) -> Self {
        Self { path: path.to_owned(), plan, lock: None, pending: Mutex::default() }
    }

    /// [`RunFolder::elsewhere`] for a run whose first snapshot is not written yet.
    pub fn begin_elsewhere(path: &Path, plan: Plan) -> Self {
        let pending = PendingStart { made_here: false, first: None };
        Self { path: path.to_owned(), plan, lock: None, pending: Mutex::new(Some(pending)) }
    }

    /// [`RunFolder::open`] without a lock, for a folder that another process writes.
    ///
    /// # Errors
    ///
    /// It holds no run, or an invalid plan.
    pub fn look(path: &Path) -> Result<Self> {
        let file = path.join(PLAN);
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(no_plan(path));
            }
            Err(error) => return Err(Error::io("read", &file, error)),
        };
        let plan: Plan =
            toml::from_str(&text).map_err(|error| Error::toml(&file, &text, &error))?;
        if plan.steps_per_snapshot == 0 {
            return Err(Error::file(&file, "steps_per_snapshot is 0, but must be at least 1"));
        }
        if !(1..=MOST_STEPS).contains(&plan.steps) {
            let problem = format!("steps is {}, but must be from 1 to 2^53", plan.steps);
            return Err(Error::file(&file, problem));
        }
        Ok(Self::elsewhere(path, plan))
    }

    /// Why other processes are not locked out, if the file system has no locks.
    pub fn unprotected(&self) -> Option<&str> {
        self.lock.as_ref()?.unprotected.as_deref()
    }

    /// Renames the first snapshot to its final name, if that has not been done.
    fn name_first(&self) -> Result<()> {
        let (from, to) = (self.path.join(FIRST), self.snapshot_path(0));
        if from.exists() && !to.exists() {
            std::fs::rename(from, &to).map_err(|e| Error::io("write", &to, e))?;
        }
        Ok(())
    }

    /// Path of the snapshot of a step.
    pub fn snapshot_path(&self, step: u64) -> PathBuf {
        self.path.join(format!("step_{step:010}.gvt"))
    }

    fn pending(&self) -> MutexGuard<'_, Option<PendingStart>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds the first snapshot of a run that has not begun for [`super::run`] to write during the
    /// first steps.
    pub fn hold_first(&self, snapshot: Snapshot) {
        if let Some(pending) = &mut *self.pending() {
            pending.first = Some(snapshot);
        }
    }

    /// Whether the folder has a snapshot. Ranks that do not write it assume so.
    pub(super) fn has_begun(&self) -> bool {
        self.lock.is_none() || self.pending().is_none()
    }

    /// The first snapshot, if it has to be written.
    pub(super) fn take_first(&self) -> Option<Snapshot> {
        self.pending().as_mut()?.first.take()
    }

    /// Writes the first snapshot and the plan. The snapshot is renamed last, so that at any
    /// interruption the folder holds either no run or one that can be resumed.
    fn begin(&self, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        write(&self.path.join(FIRST))?;
        let text = toml::to_string(&self.plan).expect("a plan should be expressible in TOML");
        let text = format!(
            "# A run of gravitile. Continue it with: gravitile resume <this folder>\n{text}"
        );
        files::replace(self.path.join(PLAN), text.as_bytes())?;
        self.name_first()
    }

    /// Writes the snapshot of a step atomically. The first one also begins the run.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write(&self, step: u64, snapshot: &Snapshot) -> Result<()> {
        self.write_by(step, |path| {
            let format = Some("gravitile".to_owned());
            let options = WriteOptions { format, ..WriteOptions::default() };
            snapshot::write(path, snapshot, &options).map(|_| ())
        })
    }

    fn write_by(&self, step: u64, write: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
        if self.lock.is_none() {
            return Ok(());
        }
        let mut pending = self.pending();
        if pending.is_some() {
            self.begin(write)?;
            *pending = None;
            return Ok(());
        }
        write(&self.snapshot_path(step))
    }

    /// Writes those of the `files` files of a step's snapshot whose numbers are given, each
    /// atomically. Until [`RunFolder::write_index`] they are no snapshot.
    ///
    /// # Errors
    ///
    /// A file cannot be written.
    pub(super) fn write_files(
        &self,
        (step, snapshot): (u64, &Snapshot),
        spread: &Spread,
    ) -> Result<Vec<ListedFile>> {
        let (path, Spread { files, n, .. }) = (self.snapshot_path(step), spread);
        let write = |k| snapshot::write_file(&path, snapshot, (k, *files), (spread.first, *n));
        spread.own().map(write).collect()
    }

    /// [`RunFolder::write`] for a snapshot whose files are on disk.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(super) fn write_index(
        &self,
        step: u64,
        snapshot: &Snapshot,
        listed: &[ListedFile],
    ) -> Result<()> {
        self.write_by(step, |path| snapshot::write_index(path, snapshot, listed))
    }

    /// Removes the snapshot of a step.
    ///
    /// # Errors
    ///
    /// The file cannot be removed.
    pub fn remove(&self, step: u64) -> Result<()> {
        if self.lock.is_none() {
            return Ok(());
        }
        let path = self.snapshot_path(step);
        let listed = match snapshot::listing(&path) {
            Some(Listing::Index(files)) => files,
            _ => 0,
        };
        std::fs::remove_file(&path).map_err(|e| Error::io("remove", &path, e))?;
        // Without an index they are no snapshot, so those that stay do no harm.
        (0..listed).for_each(|k| drop(std::fs::remove_file(snapshot::nth(&path, k))));
        Ok(())
    }

    /// Writes the state in which a run could not continue; returns the path.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn write_stopped(&self, snapshot: &Snapshot) -> Result<PathBuf> {
        let path = self.path.join(STOPPED);
        if self.lock.is_none() {
            return Ok(path);
        }
        snapshot::write(&path, snapshot, &WriteOptions::default())?;
        Ok(path)
    }

    /// Whether a folder holds a run.
    pub fn is_run(path: &Path) -> bool {
        path.join(PLAN).is_file()
    }

    /// The steps of its snapshots, ascending.
    ///
    /// # Errors
    ///
    /// The folder cannot be read.
    pub fn steps(&self) -> Result<Vec<u64>> {
        let folder = &self.path;
        let entries =
            std::fs::read_dir(folder).map_err(|e| Error::io("read the folder", folder, e))?;
        let mut steps: Vec<u64> =
            entries.flatten().filter_map(|e| step_of(&e.file_name().to_string_lossy())).collect();
        steps.sort_unstable();
        Ok(steps)
    }

    /// The intact snapshot with the highest step, or those of its bodies that are in `rows`, if
    /// each of several ranks has some. `first_problem` exchanges what is wrong with a snapshot:
    /// given this rank's problem, it returns the first one of all ranks.
    ///
    /// # Errors
    ///
    /// There is none; it does not belong to the plan; the folder cannot be read.
    pub fn last_whole(
        &self,
        rows: Option<&Rows>,
        first_problem: impl Fn(Option<String>) -> Option<String>,
    ) -> Result<LastSnapshot> {
        let folder = &self.path;
        let steps = self.steps()?;
        let mut damaged = Vec::new();
        for &step in steps.iter().rev() {
            let path = self.snapshot_path(step);
            let read = match rows {
                Some(rows) => snapshot::read_rows(&path, &rows.own),
                None => snapshot::read(&path).map(|whole| (whole.bodies.len(), whole)),
            };
            let problem = first_problem(read.as_ref().err().map(Error::to_string));
            match (read, problem) {
                (Ok((n, snapshot)), None) => {
                    let plan = (&self.plan, &*folder.join(PLAN));
                    super::edited::check(plan, (step, n), (&snapshot, &path))?;
                    return Ok(LastSnapshot { step, snapshot, damaged });
                }
                (Ok(_), Some(problem)) => damaged.push(Error::Outside(problem)),
                (Err(error), _) => damaged.push(error),
            }
        }
        let last = damaged.first().map(|error| format!(". The last one: {error}"));
        let problem = format!(
            "none of its {} snapshots is whole, so it cannot be resumed{}",
            steps.len(),
            last.as_deref().unwrap_or("; begin it again in another folder")
        );
        Err(Error::file(folder, problem))
    }
}

/// Checks that a snapshot's name does not collide with the files of a run in the same folder.
///
/// # Errors
///
/// `path` is, or could become, a snapshot, energy log or plan of that run.
pub fn refuse_names_of_runs(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let whole = snapshot::file_of(path).and_then(|(whole, _)| name_of(&whole));
    let is_a_runs = is_a_runs(&name) || whole.is_some_and(|whole| step_of(&whole).is_some());
    if folder.unwrap_or(Path::new(".")).join(PLAN).exists() && is_a_runs {
        return Err(Error::file(
            path,
            "is a name that belongs to the run in that folder; choose another name or folder",
        ));
    }
    Ok(())
}

/// Whether a run writes a file with this name.
fn is_a_runs(name: &str) -> bool {
    [PLAN, LOG, STOPPED].contains(&name) || step_of(name).is_some()
}

fn name_of(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_string_lossy().into_owned())
}

/// Checks that a folder has no files that a run writes, whether a run's or the user's own.
fn refuse_existing_files(path: &Path) -> Result<()> {
    let entries = std::fs::read_dir(path).map_err(|e| Error::io("read the folder", path, e))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> =
        names.collect::<std::io::Result<_>>().map_err(|e| Error::io("read the folder", path, e))?;
    // One of the files of a snapshot in several, left by a killed run, is not refused:
    // `remove_leftovers` removes it.
    let is_obstacle = |name: &str| {
        let file = path.join(name);
        snapshot::file_of(&file).and_then(|(whole, _)| step_of(&name_of(&whole)?)).is_some()
            && snapshot::listing(&file) != Some(Listing::File)
    };
    names.retain(|name| is_a_runs(name) || is_obstacle(name));
    names.sort();
    let Some(name) = names.first() else { return Ok(()) };
    if names.iter().any(|name| name == PLAN) {
        return Err(Error::file(
            path,
            "holds a run already (run.toml); continue it with 'gravitile resume', or choose another folder",
        ));
    }
    if let Some(name) = names.iter().find(|name| step_of(name).is_some()) {
        return Err(without_plan(path, name));
    }
    let problem = format!(
        "contains {name}, which the run would overwrite; move it away or choose another folder"
    );
    Err(Error::file(path, problem))
}

/// The reason why a folder without a plan cannot be resumed.
fn no_plan(path: &Path) -> Error {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    match names.filter(|name| step_of(name).is_some()).min() {
        Some(name) => without_plan(path, &name),
        None => Error::file(
            path,
            "holds no run (there is no run.toml in it); 'gravitile run --out DIR' begins one",
        ),
    }
}

/// The error for a run that has lost its plan, or was killed before it was written.
fn without_plan(path: &Path, name: &str) -> Error {
    Error::file(
        path,
        format!(
            "contains snapshots ({name}), but no run.toml, so it cannot be resumed; begin a new run from one with 'gravitile run SNAPSHOT --out' in another folder, or move them away"
        ),
    )
}

/// Removes files of snapshots in several whose index was not written, or is of another snapshot by
/// now. Only the holder of the lock may call it, and before other ranks write.
fn remove_unlisted(path: &Path) {
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let file = entry.path();
        let Some((whole, number)) = snapshot::file_of(&file) else { continue };
        let is_of_a_run = name_of(&whole).is_some_and(|name| step_of(&name).is_some());
        if !is_of_a_run || snapshot::listing(&file) != Some(Listing::File) {
            continue;
        }
        let is_listed = match snapshot::listing(&whole) {
            Some(Listing::Index(files)) => number < files,
            Some(_) => false,
            // A damaged index, of which nothing is lost that could be saved.
            None => whole.exists(),
        };
        if !is_listed {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Removes files left by a process that was killed while writing. Only the holder of the lock may
/// call it.
fn remove_leftovers(path: &Path) {
    remove_unlisted(path);
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name == FIRST || (name.starts_with(".gravitile-") && name.ends_with(".part")) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The step in a snapshot's file name.
fn step_of(name: &str) -> Option<u64> {
    name.strip_prefix("step_")?.strip_suffix(".gvt")?.parse().ok()
}
