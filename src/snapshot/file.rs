//! Snapshot files: recognised before they are read, and written whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Format, Losses, Snapshot, WriteOptions, find, recognise};
use crate::error::{Error, Result};

/// Enough to recognise any format by, the header line of a table included.
const HEAD: u64 = 64 * 1024;

/// Reads a snapshot of any known format. The format is recognised from the first bytes, then from
/// the extension, before the rest is read.
///
/// # Errors
/// [`Error::Io`] where the system refuses, [`Error::File`] with what is wrong, where (byte or line)
/// and what was expected.
pub fn read(path: impl AsRef<Path>) -> Result<Snapshot> {
    load(path.as_ref(), None)
}

/// Reads a snapshot as that of the format named, whatever the file looks like.
///
/// # Errors
/// As [`read`]; [`Error::Unknown`] for a format that is not there.
pub fn read_as(path: impl AsRef<Path>, format: &str) -> Result<Snapshot> {
    // Modifiers (tipsy-be) are for writing; a reader finds out by itself.
    load(path.as_ref(), Some(find(format, &mut WriteOptions::default())?))
}

fn load(path: &Path, format: Option<&'static Format>) -> Result<Snapshot> {
    let refused = |source| Error::io("read", path, source);
    // Asked before opening: opening a pipe would wait for its other end.
    let metadata = fs::metadata(path).map_err(refused)?;
    if metadata.is_dir() {
        return Err(Error::file(path, "is a folder, but a snapshot file was expected"));
    }
    if !metadata.is_file() {
        return Err(Error::file(path, "is no ordinary file, but a snapshot file was expected"));
    }
    let length = metadata.len();
    if length == 0 {
        return Err(Error::file(path, "is empty, but a snapshot was expected"));
    }
    let mut file = File::open(path).map_err(refused)?;
    let mut bytes = Vec::new();
    (&mut file).take(HEAD).read_to_end(&mut bytes).map_err(refused)?;
    let format = match format {
        Some(format) => format,
        None => recognise(&bytes, length, path)?,
    };
    let rest = length.saturating_sub(bytes.len() as u64);
    let room = usize::try_from(rest).ok().and_then(|rest| bytes.try_reserve_exact(rest).ok());
    if room.is_none() {
        let problem = format!("is too large for this machine's memory: {length} bytes");
        return Err(Error::file(path, problem));
    }
    file.take(rest).read_to_end(&mut bytes).map_err(refused)?;
    (format.read)(&bytes).map_err(|problem| Error::file(path, problem))
}

/// Writes a snapshot and says what the format cannot hold. The format is `options.format`, else the
/// extension's. The file appears whole or not at all: it is written beside its place under another
/// name, brought to disk, and then renamed, so that an older file of that name survives any failure.
///
/// # Errors
/// As [`Snapshot::to_bytes`]; [`Error::Io`] or [`Error::File`] if the folder is missing or not
/// writable, or the target is something else than an ordinary file.
pub fn write(
    path: impl AsRef<Path>,
    snapshot: &Snapshot,
    options: &WriteOptions,
) -> Result<Losses> {
    let path = path.as_ref();
    let (bytes, losses) = snapshot.to_bytes(&path.to_string_lossy(), options)?;
    replace(path, &bytes)?;
    Ok(losses)
}

/// Puts `bytes` in the place of `path` in one step.
fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
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
    let (mut file, temporary) =
        create_beside(&folder).map_err(|source| Error::io("create a file in", &folder, source))?;
    let written = file
        .write_all(bytes)
        .and_then(|()| permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions)))
        .and_then(|()| file.sync_all());
    // Some systems do not rename a file that is open.
    drop(file);
    if let Err(error) = written.and_then(|()| fs::rename(&temporary, &target)) {
        // The first failure is the one to report; the leftover is removed as well as may be.
        let _ = fs::remove_file(&temporary);
        return Err(refused(error));
    }
    sync_folder(&folder).map_err(refused)
}

/// A new file of a name that nothing else has, with the permissions that any new file gets.
fn create_beside(folder: &Path) -> std::io::Result<(File, PathBuf)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".gravitile-{}-{count}.part", std::process::id());
        let path = folder.join(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists && count < 1 << 20 => {}
            other => return other.map(|file| (file, path)),
        }
    }
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
