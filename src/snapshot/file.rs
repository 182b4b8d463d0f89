//! Reading and writing snapshots: the format is recognised from the first bytes, and files are
//! written as a whole or not at all.

use std::path::{Path, PathBuf};

use super::find::refuse_foreign;
use super::output::Target;
use super::{
    FORMATS, Format, Input, Losses, Made, Output, ReadOptions, Snapshot, Source, WriteFn,
    WriteOptions, by_extension, find, recognise,
};
use crate::error::{Error, Result};
use crate::messages;

/// Reads a snapshot of any known format: [`read_with`] the default options.
///
/// # Errors
/// As [`read_with`].
pub fn read<'a>(source: impl Into<Source<'a>>) -> Result<Snapshot> {
    read_with(source, &ReadOptions::default())
}

/// Reads a snapshot. Unless the options name a format, it is recognised from the first bytes and
/// then from the extension, before the rest is read.
///
/// # Errors
/// [`Error::Io`] from the system; [`Error::File`] with what is wrong, where (byte or line) and what
/// was expected, also if a file of several is missing or belongs to another snapshot;
/// [`Error::Unknown`] for an unknown format; [`Error::Value`] for a part that the snapshot does not
/// have.
pub fn read_with<'a>(source: impl Into<Source<'a>>, options: &ReadOptions) -> Result<Snapshot> {
    let source = source.into();
    // Modifiers (tipsy-be) are for writing; readers detect the layout themselves.
    let find = |format: &String| find(format, &mut WriteOptions::default());
    let format = options.format.as_ref().map(find).transpose()?;
    let mut first = source.first()?;
    let (length, path) = (first.length(), first.path.clone());
    let head = first.head()?;
    let format = match format {
        Some(format) => refuse_foreign(head, &path).map(|()| format)?,
        None => recognise(head, length, &path)?,
    };
    let mut first = Input::new(vec![first], 1);
    let files = format.files.map_or(Ok(1), |files| files(&mut first))?.max(1);
    let first = first.into_first();
    let mut input = source.gather(first, files, options.part)?;
    let mut snapshot = (format.read)(&mut input, options)?;
    if options.renumber {
        snapshot.renumber();
    }
    let name = messages::path(&input.name(), messages::PIECE);
    snapshot.notes.iter_mut().for_each(|note| *note = format!("{name}: {note}"));
    Ok(snapshot)
}

/// Writes a snapshot and reports what the format cannot hold. The format is `options.format`, or
/// else that of the extension. The write is atomic: to a temporary file in the same folder, synced
/// to disk, then renamed, so that an older file of that name survives any failure. With
/// [`WriteOptions::files`] there are several, `path.0`, `path.1`, ..., renamed once all are
/// complete.
///
/// # Errors
/// As [`Snapshot::to_bytes`]; [`Error::Io`] or [`Error::File`] if the folder is missing or not
/// writable, or if the target is not an ordinary file.
pub fn write(
    path: impl AsRef<Path>,
    snapshot: &Snapshot,
    options: &WriteOptions,
) -> Result<Losses> {
    let (_, losses) = put(snapshot, path.as_ref(), options, Target::Disk(Vec::new()))?;
    Ok(losses)
}

impl Snapshot {
    /// Reads a snapshot from the bytes of a whole file. `name` is the file's name as far as known:
    /// its extension helps to recognise the format, and error messages begin with it.
    ///
    /// # Errors
    /// As [`read_with`].
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self> {
        read(Source::bytes(name, bytes))
    }

    /// [`Self::from_bytes`] with options.
    ///
    /// # Errors
    /// As [`read_with`].
    pub fn from_bytes_with(bytes: &[u8], name: &str, options: &ReadOptions) -> Result<Self> {
        read_with(Source::bytes(name, bytes), options)
    }

    /// The bytes of a whole file, and what it does not hold. The format is `options.format`, or
    /// else that of the extension of `name`; error messages begin with `name`.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an unknown format; [`Error::File`] if the snapshot fails
    /// [`Self::validate`] or has a value that cannot be stored; [`Error::Value`] if
    /// [`WriteOptions::files`] asks for several files (see [`Self::to_files`]).
    pub fn to_bytes(&self, name: &str, options: &WriteOptions) -> Result<(Vec<u8>, Losses)> {
        let (files, losses) = self.to_files(name, options)?;
        match <[Made; 1]>::try_from(files) {
            Ok([made]) => Ok((made.bytes, losses)),
            Err(files) => Err(Error::value("the number of files", files.len(), "1")),
        }
    }

    /// The bytes of each file with its name; several with [`WriteOptions::files`].
    ///
    /// # Errors
    /// As [`Self::to_bytes`]; also a number of files that the format does not allow.
    pub fn to_files(&self, name: &str, options: &WriteOptions) -> Result<(Vec<Made>, Losses)> {
        put(self, Path::new(name), options, Target::Memory(Vec::new()))
    }
}

/// The largest number of files of a snapshot.
const MOST_FILES: usize = 65_536;

/// The names of the files that [`write()`] would make.
///
/// # Errors
/// [`Error::Value`] if [`WriteOptions::files`] is out of range.
pub fn targets(path: impl AsRef<Path>, options: &WriteOptions) -> Result<Vec<PathBuf>> {
    let path = path.as_ref();
    match options.files {
        None | Some(1) => Ok(vec![path.to_owned()]),
        Some(files @ 2..=MOST_FILES) => {
            Ok((0..files as u64).map(|k| super::parts::nth(path, k)).collect())
        }
        Some(files) => {
            Err(Error::value("the number of files", files, format!("1 to {MOST_FILES}")))
        }
    }
}

/// The format to write, and the options including those set by its name.
fn format_for(
    path: &Path,
    options: &WriteOptions,
) -> Result<(&'static Format, WriteFn, WriteOptions)> {
    let mut options = options.clone();
    let format = match options.format.take() {
        Some(spec) => find(&spec, &mut options)?,
        None => by_extension(path)?,
    };
    let unsuitable = |kind, is_meant: fn(&&Format) -> bool| {
        let names = FORMATS.iter().filter(is_meant).map(|format| format.name);
        Error::unknown(kind, format.name, names)
    };
    if targets(path, &options)?.len() > 1 && format.files.is_none() {
        let kind = "format that can be in several files";
        return Err(unsuitable(kind, |format| format.files.is_some()));
    }
    let write = format
        .write
        .ok_or_else(|| unsuitable("format that can be written", |format| format.write.is_some()))?;
    Ok((format, write, options))
}

fn put(
    snapshot: &Snapshot,
    path: &Path,
    options: &WriteOptions,
    target: Target,
) -> Result<(Vec<Made>, Losses)> {
    let (format, write, options) = format_for(path, options)?;
    snapshot
        .validate()
        .map_err(|error| Error::file(path, format!("cannot be written: {error}")))?;
    let files = options.files.unwrap_or(1);
    if files > 1 && files > snapshot.bodies.len() {
        let allowed = format!("1 to {}, as there are bodies", snapshot.bodies.len());
        return Err(Error::value("the number of files", files, allowed));
    }
    let mut losses = Losses::default();
    let mut output = Output::new(path, format.name, files, target);
    let converted = match format.units.map(|units| units(snapshot)) {
        Some(assumed) if options.raw_units => {
            losses.note_units(&snapshot.units, &assumed);
            None
        }
        Some(assumed) => snapshot.in_units_of(assumed, &mut losses),
        None => None,
    };
    write(converted.as_ref().unwrap_or(snapshot), &options, &mut output, &mut losses)?;
    Ok((output.finish()?, losses))
}
