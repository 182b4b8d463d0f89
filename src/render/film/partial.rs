//! A file or folder that is renamed to its final name when complete.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Error, Result};
use crate::files::Unfinished;

/// A temporary name in the target's folder; removed when dropped before [`Partial::complete`].
pub(super) struct Partial {
    /// The temporary name.
    pub path: PathBuf,
    /// The final name.
    pub target: PathBuf,
    /// Number of pictures written.
    pub count: u64,
    is_complete: bool,
    _unfinished: Unfinished,
}

impl Partial {
    /// Chooses the temporary name; creates nothing. The target's folder must exist.
    pub(super) fn for_target(target: &Path) -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let Some(name) = target.file_name() else {
            return Err(Error::file(target, "cannot be the name of a film"));
        };
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            let reason = format!("there is no folder {} to write it to", folder.display());
            return Err(Error::file(target, reason));
        }
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let unique = format!(".{}.{}-{count}.part", name.to_string_lossy(), std::process::id());
        let path = folder.join(unique);
        let _unfinished = Unfinished::new(&path);
        Ok(Self { path, target: target.into(), count: 0, is_complete: false, _unfinished })
    }

    /// Creates the temporary file. A target that is a folder is an error.
    pub(super) fn create_file(target: &Path) -> Result<(Self, std::fs::File)> {
        if target.is_dir() {
            return Err(Error::file(target, "is a folder, but should be a file"));
        }
        let partial = Self::for_target(target)?;
        let file = std::fs::File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&partial.path)
            .map_err(|e| partial.failed("create", e))?;
        Ok((partial, file))
    }

    /// The error for an action that the system refused.
    pub(super) fn failed(&self, action: &'static str, error: std::io::Error) -> Error {
        Error::io(action, &self.target, error)
    }

    /// Renames it to its final name, replacing an earlier file.
    pub(super) fn complete(&mut self) -> Result<()> {
        std::fs::rename(&self.path, &self.target)
            .map_err(|e| Error::io("rename the finished film to", &self.target, e))?;
        self.is_complete = true;
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.is_complete {
            // Best effort: the name of a leftover marks it as temporary.
            let _ = if self.path.is_dir() {
                std::fs::remove_dir_all(&self.path)
            } else {
                std::fs::remove_file(&self.path)
            };
        }
    }
}
