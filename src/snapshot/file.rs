//! Snapshot files: recognised before they are read, and written whole or not at all.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use super::find::refuse_foreign;
use super::{Losses, ReadOptions, Snapshot, WriteOptions, find, recognise};
use crate::error::{Error, Result};
use crate::files;

/// Enough to recognise any format by, the header line of a table included.
const HEAD: u64 = 64 * 1024;

/// Reads a snapshot of any known format, as it stands: [`read_with`] the usual options.
///
/// # Errors
/// As [`read_with`].
pub fn read(path: impl AsRef<Path>) -> Result<Snapshot> {
    read_with(path, &ReadOptions::default())
}

/// Reads a snapshot. Unless the options name a format, it is recognised from the first bytes, then from
/// the extension, before the rest is read.
///
/// # Errors
/// [`Error::Io`] where the system refuses, [`Error::File`] with what is wrong, where (byte or line)
/// and what was expected; [`Error::Unknown`] for a format that is not there.
pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Snapshot> {
    let path = path.as_ref();
    // Modifiers (tipsy-be) are for writing; a reader finds out by itself.
    let find = |format: &String| find(format, &mut WriteOptions::default());
    let format = options.format.as_ref().map(find).transpose()?;
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
        Some(format) => refuse_foreign(&bytes, path).map(|()| format)?,
        None => recognise(&bytes, length, path)?,
    };
    let rest = length.saturating_sub(bytes.len() as u64);
    let room = usize::try_from(rest).ok().and_then(|rest| bytes.try_reserve_exact(rest).ok());
    if room.is_none() {
        let problem = format!("is too large for this machine's memory: {length} bytes");
        return Err(Error::file(path, problem));
    }
    file.take(rest).read_to_end(&mut bytes).map_err(refused)?;
    format.read(&bytes, path, options)
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
    files::replace(path, &bytes)?;
    Ok(losses)
}
