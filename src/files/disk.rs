//! Files of the operating system, written as a whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::PathKind;
use super::flushing::write_synced;
use crate::error::{Error, Result};

/// What `path` names. Nothing is opened, since opening a pipe would wait for its other end.
///
/// # Errors
/// Nothing exists there, or an error of the system.
pub fn find(path: impl AsRef<Path>) -> std::io::Result<PathKind> {
    let about = fs::metadata(path)?;
    Ok(match about.is_file() {
        true => PathKind::File(about.len()),
        false if about.is_dir() => PathKind::Folder,
        false => PathKind::Other,
    })
}

/// The first `count` bytes of a file, or all of them if it is shorter.
///
/// # Errors
/// Errors of the system.
pub fn read_start(path: impl AsRef<Path>, count: u64) -> std::io::Result<Vec<u8>> {
    let file = File::open(path)?;
    #[cfg(unix)]
    if count >= LARGE && file.metadata()?.len() >= count {
        return read_by_ranges(&file, count as usize);
    }
    let mut bytes = Vec::new();
    file.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Bytes from which a file is read by several threads, and the range that one reads.
#[cfg(unix)]
const LARGE: u64 = if cfg!(test) { 1 << 10 } else { 64 << 20 };
#[cfg(unix)]
const RANGE: usize = if cfg!(test) { 1 << 8 } else { 8 << 20 };

/// The first `count` bytes of a file that has them.
#[cfg(unix)]
fn read_by_ranges(file: &File, count: usize) -> std::io::Result<Vec<u8>> {
    use rayon::prelude::*;
    use std::os::unix::fs::FileExt;

    let mut bytes = vec![0; count];
    bytes
        .par_chunks_mut(RANGE)
        .enumerate()
        .try_for_each(|(k, range)| file.read_exact_at(range, (k * RANGE) as u64))?;
    Ok(bytes)
}

/// Creates a folder and its parents if they do not exist.
///
/// # Errors
/// Errors of the system.
pub fn make_folder(path: impl AsRef<Path>) -> std::io::Result<()> {
    fs::create_dir_all(path)
}

/// A complete temporary file next to its target, ready to replace it; several that belong together
/// can wait for each other. If dropped before [`Replacement::finish`] it leaves no trace.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    target: PathBuf,
    folder: PathBuf,
    temporary: PathBuf,
    _unfinished: Unfinished,
}

impl Replacement {
    /// Writes the content of the future `path`; `write` is called once.
    ///
    /// # Errors
    /// As [`super::replace_with`].
    pub fn begin(
        path: impl AsRef<Path>,
        write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let refused = |source| Error::io("write", path, source);
        // A link is followed: the file it points to is replaced, not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let permissions = match fs::metadata(&target) {
            // Renaming needs no permission to write to the file, so this must be checked.
            Ok(metadata) if metadata.is_file() && metadata.permissions().readonly() => {
                return Err(Error::file(path, "is write-protected, so it was not replaced"));
            }
            Ok(metadata) if metadata.is_file() => Some(metadata.permissions()),
            // Renaming over /dev/null, for example, would replace the device by a plain file.
            Ok(_) => {
                return Err(Error::file(
                    path,
                    "is not an ordinary file, so nothing was written there",
                ));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(refused(error)),
        };
        if target.file_name().is_none() {
            return Err(Error::file(path, "does not name a file to write"));
        }
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        if !folder.is_dir() {
            return Err(Error::file(
                path,
                format!("cannot be written: there is no folder {}", folder.display()),
            ));
        }
        let (file, temporary, _unfinished) = create_beside(&folder)
            .map_err(|source| Error::io("create a file in", &folder, source))?;
        let made = Self { path: path.to_owned(), target, folder, temporary, _unfinished };
        let written = permissions
            .map_or(Ok(()), |permissions| file.set_permissions(permissions))
            .and_then(|()| write_synced(&file, write));
        // Some systems cannot rename or remove an open file.
        drop(file);
        written.map_err(refused).map(|()| made)
    }

    /// Renames the file to its target.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn finish(self) -> Result<()> {
        fs::rename(&self.temporary, &self.target)
            .and_then(|()| sync_folder(&self.folder))
            .map_err(|source| Error::io("write", &self.path, source))
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // After `finish` there is none; otherwise removes the leftover, as far as the system lets
        // it.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Creates a file with an unused name, with the permissions that any new file gets.
fn create_beside(folder: &Path) -> std::io::Result<(File, PathBuf, Unfinished)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".gravitile-{}-{count}.part", std::process::id());
        let path = folder.join(name);
        let unfinished = Unfinished::new(&path);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && count < 1 << 20 => {}
            other => return other.map(|file| (file, path, unfinished)),
        }
    }
}

/// The temporary files of this process that still exist.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lists a file or folder as temporary until dropped; made before the file is.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Lists `path`, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        unfinished().push(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        unfinished().retain(|path| *path != self.0);
    }
}

/// Removes all unfinished files, for a process that ends at once without dropping anything. Holds
/// the lock for ever: a thread that begins another file waits.
pub fn abandon() {
    let all = unfinished();
    for path in all.iter() {
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    std::mem::forget(all);
}

/// Syncs the renaming to disk, on systems that can open a folder.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder)?.sync_all() {
        // Some file systems cannot sync a folder.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{replace, replace_with};
    use super::*;

    #[test]
    fn large_files_are_read_whole_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let all: Vec<u8> =
            (0..5001u32).map(|k| (k.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        replace_with(&path, |file| all.chunks(77).try_for_each(|part| file.write_all(part)))
            .unwrap();
        for count in [0, 1, 1023, 1024, 1280, 5000, 5001, 9000, u64::MAX] {
            let expected = &all[..all.len().min(usize::try_from(count).unwrap())];
            assert!(read_start(&path, count).unwrap() == expected, "{count}");
        }
    }

    #[test]
    fn what_fails_half_way_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        replace(&path, b"old").unwrap();
        let failed = replace_with(&path, |file| {
            file.write_all(b"half")?;
            Err(std::io::Error::other("enough"))
        });
        assert!(failed.unwrap_err().to_string().contains("enough"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}
