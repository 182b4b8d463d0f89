//! Files of the system, written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Found;
use crate::error::{Error, Result};

/// True if something is there.
pub fn exists(path: impl AsRef<Path>) -> bool {
    path.as_ref().exists()
}

/// What there is. Nothing is opened: opening a pipe would wait for its other end.
///
/// # Errors
/// Nothing is there, or what the system refuses.
pub fn find(path: impl AsRef<Path>) -> std::io::Result<Found> {
    let about = fs::metadata(path)?;
    Ok(match about.is_file() {
        true => Found::File(about.len()),
        false if about.is_dir() => Found::Folder,
        false => Found::Other,
    })
}

/// The first `count` bytes of a file, or as many as there are.
///
/// # Errors
/// What the system refuses.
pub fn read_start(path: impl AsRef<Path>, count: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(count).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes a folder and those above it, where they are not there.
///
/// # Errors
/// What the system refuses.
pub fn make_folder(path: impl AsRef<Path>) -> std::io::Result<()> {
    fs::create_dir_all(path)
}

/// A file that is whole beside its place and waits to take it, as several do that belong together. Dropped
/// before, it leaves no trace.
#[derive(Debug)]
pub struct Replacement {
    path: PathBuf,
    target: PathBuf,
    folder: PathBuf,
    temporary: PathBuf,
    _unfinished: Unfinished,
}

impl Replacement {
    /// Writes what will be at `path`; `write` is called once.
    ///
    /// # Errors
    /// As [`super::replace_with`].
    pub fn begin(
        path: impl AsRef<Path>,
        write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let refused = |source| Error::io("write", path, source);
        // Through a link, the file it points to is replaced, not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let permissions = match fs::metadata(&target) {
            // Renaming asks for no permission to write to the file itself.
            Ok(metadata) if metadata.is_file() && metadata.permissions().readonly() => {
                return Err(Error::file(path, "is write-protected, so it was not replaced"));
            }
            Ok(metadata) if metadata.is_file() => Some(metadata.permissions()),
            // Renaming over /dev/null, say, would put a plain file in its place.
            Ok(_) => {
                return Err(Error::file(path, "is no ordinary file, so nothing was written there"));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(refused(error)),
        };
        if target.file_name().is_none() {
            return Err(Error::file(path, "names no file to write"));
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
        let mut buffered = std::io::BufWriter::new(&file);
        let written = write(&mut buffered)
            .and_then(|()| buffered.flush())
            .and_then(|()| permissions.map_or(Ok(()), |wanted| file.set_permissions(wanted)))
            .and_then(|()| file.sync_all());
        drop(buffered);
        // Some systems neither rename nor remove a file that is open.
        drop(file);
        written.map_err(refused).map(|()| made)
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn finish(self) -> Result<()> {
        fs::rename(&self.temporary, &self.target)
            .and_then(|()| sync_folder(&self.folder))
            .map_err(|source| Error::io("write", &self.path, source))
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // There is none where it got its name; a leftover is removed as well as may be.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// A new file of a name that nothing else has, with the permissions that any new file gets.
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

/// The temporary files of this process.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says, until dropped, that a file or folder is temporary; made before the file is.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// For what will be at `path`.
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

/// For a process that ends at once, without dropping anything: removes what it has not finished. Whoever
/// wants to begin another file waits for ever.
pub fn abandon() {
    let all = unfinished();
    for path in all.iter() {
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
    std::mem::forget(all);
}

/// Brings the renaming to disk where the system lets one open a folder.
fn sync_folder(folder: &Path) -> std::io::Result<()> {
    if !cfg!(unix) {
        return Ok(());
    }
    match File::open(folder)?.sync_all() {
        // Some file systems have no such thing.
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
