//! Exclusive access to the folder of a run.
//!
//! An advisory lock of the operating system on `run.lock`, released whenever the process ends, so
//! it never becomes stale. The file itself stays, and names the last holder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Name of the lock file.
pub(super) const LOCK: &str = "run.lock";

/// A folder locked by this process until dropped.
#[derive(Debug)]
pub(super) struct Lock {
    path: PathBuf,
    /// Open as long as the lock is held.
    file: File,
    /// Why there is no lock, if the file system has none.
    pub unprotected: Option<String>,
}

impl Lock {
    /// Locks the folder.
    ///
    /// # Errors
    ///
    /// Another process holds the lock; `run.lock` cannot be written.
    pub fn take(folder: &Path) -> Result<Self> {
        let path = folder.join(LOCK);
        loop {
            let mut options = OpenOptions::new();
            let opened = options.read(true).write(true).create(true).truncate(false).open(&path);
            let mut file = opened.map_err(|e| Error::io("write", &path, e))?;
            let unprotected = match file.try_lock() {
                Ok(()) => None,
                Err(TryLockError::WouldBlock) => return Err(held(folder, &mut file)),
                // Some network file systems have no locks: the run continues without one.
                Err(TryLockError::Error(error)) => Some(error.to_string()),
            };
            // The previous holder may have removed the file in the meantime.
            if unprotected.is_none() && !is_at(&file, &path) {
                continue;
            }
            let holder = format!("process {}{}\n", std::process::id(), on_host());
            let written = file
                .rewind()
                .and_then(|()| file.set_len(0))
                .and_then(|()| file.write_all(holder.as_bytes()));
            written.map_err(|e| Error::io("write", &path, e))?;
            return Ok(Self { path, file, unprotected });
        }
    }

    /// Removes the file too, for a run that did not begin.
    pub fn erase(self) {
        // On systems that cannot remove an open file, it is closed first.
        if std::fs::remove_file(&self.path).is_err() {
            let Self { path, file, .. } = self;
            drop(file);
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Whether `path` still refers to this file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |m: &std::fs::Metadata| (m.dev(), m.ino());
    matches!((file.metadata(), std::fs::metadata(path)), (Ok(a), Ok(b)) if place(&a) == place(&b))
}

/// On other systems an open file cannot be renamed or removed.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

fn held(folder: &Path, file: &mut File) -> Error {
    // On some systems the file cannot be read while locked; then the holder is not named.
    let mut holder = String::new();
    let _ = file.take(200).read_to_string(&mut holder);
    let holder = holder.lines().next().filter(|line| line.starts_with("process "));
    let holder = holder.unwrap_or("another process");
    Error::file(
        folder,
        format!("{holder} is at work in it; wait for it or stop it, or choose another folder"),
    )
}

/// The name of this machine, if known locally: folders are shared over networks.
fn on_host() -> String {
    let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = hostname.or_else(|| std::env::var("HOSTNAME").ok());
    let name = name.or_else(|| std::env::var("COMPUTERNAME").ok()).unwrap_or_default();
    let name: String = name.trim().chars().filter(|c| !c.is_control()).take(64).collect();
    if name.is_empty() { name } else { format!(" on {name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_is_exclusive_and_stale_file_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::take(folder.path()).unwrap();
        let refused = Lock::take(folder.path()).unwrap_err().to_string();
        if cfg!(unix) {
            assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        }
        assert!(refused.contains("is at work in it"), "{refused}");
        drop(first);
        assert!(folder.path().join(LOCK).exists());
        // A file left by a dead process, longer than what is written now.
        std::fs::write(folder.path().join(LOCK), "process 1 on a machine\n".repeat(20)).unwrap();
        let second = Lock::take(folder.path()).unwrap();
        if cfg!(unix) {
            let text = std::fs::read_to_string(folder.path().join(LOCK)).unwrap();
            assert_eq!(text.lines().count(), 1, "{text}");
        }
        second.erase();
        assert!(!folder.path().join(LOCK).exists());
        Lock::take(folder.path()).unwrap();
    }
}
