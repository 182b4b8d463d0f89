//! Reading and writing snapshots: the format is recognised from the first bytes, and files are
//! written as a whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::source::nth;
use super::{
    Confidence, FORMATS, Format, FormatError, InputFiles, Losses, Modifier, Snapshot,
    SnapshotSource, WriteFn,
};
use crate::error::{Error, Result};
use crate::files::Replacement;
use crate::messages;
pub use crate::settings::SnapshotChoice;

/// Reads a snapshot of any known format: [`read_with`] the default options.
///
/// # Errors
/// As [`read_with`].
pub fn read<'a>(source: impl Into<SnapshotSource<'a>>) -> Result<Snapshot> {
    read_with(source, &ReadOptions::default())
}

/// Reads a snapshot. Unless the options name a format, it is recognised from the first bytes and
/// then from the extension, before the rest is read.
///
/// # Errors
/// [`Error::Io`] from the system; [`Error::File`] with what is wrong, where (byte or line) and what
/// was expected, also if a file of several is missing or belongs to another snapshot;
/// [`Error::Unknown`] for an unknown format; [`Error::Value`] for a part or a number or
/// time of a snapshot that the file does not have.
pub fn read_with<'a>(
    source: impl Into<SnapshotSource<'a>>,
    options: &ReadOptions,
) -> Result<Snapshot> {
    Series::open(source, options)?.chosen()
}

/// Writes a snapshot and reports what the format cannot hold. The format is `options.format`, or
/// else that of the extension. The write is atomic: to a temporary file in the same folder, synced
/// to disk, then renamed, so that an older file of that name survives any failure. With
/// [`WriteOptions::files`] there are several, `path.0`, `path.1`, ..., renamed once all are
/// complete, and the index last if the format has one.
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
        read(SnapshotSource::bytes(name, bytes))
    }

    /// [`Self::from_bytes`] with options.
    ///
    /// # Errors
    /// As [`read_with`].
    pub fn from_bytes_with(bytes: &[u8], name: &str, options: &ReadOptions) -> Result<Self> {
        read_with(SnapshotSource::bytes(name, bytes), options)
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
    let format = match &options.format {
        Some(spec) => find(spec, &mut options.clone()).ok(),
        None => by_extension(path).ok(),
    };
    let has_index = format.and_then(|format| format.files?.is_index).is_some();
    match options.files {
        None | Some(1) => Ok(vec![path.to_owned()]),
        Some(files @ 2..=MOST_FILES) => {
            let index = has_index.then(|| path.to_owned());
            Ok((0..files as u64).map(|k| nth(path, k)).chain(index).collect())
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
    let mut output = OutputFiles::new(path, format.name, files, target);
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

// Finding the format by name, extension or content.

/// The format with this name. Modifiers after the name (`tipsy-be-id`) are set in `options`,
/// overriding what is there.
///
/// # Errors
/// [`Error::Unknown`] for an unknown name or modifier, with the known ones.
pub fn find(spec: &str, options: &mut WriteOptions) -> Result<&'static Format> {
    let suffixes = |format: &Format| {
        let rest = spec.strip_prefix(format.name)?;
        (rest.is_empty() || rest.starts_with('-')).then_some(rest)
    };
    let found = FORMATS.iter().find_map(|format| Some((format, suffixes(format)?)));
    let (format, suffixes) = found
        .ok_or_else(|| unknown("snapshot format", spec.split('-').next().unwrap_or_default()))?;
    for part in suffixes.split('-').skip(1) {
        let modifier = format.modifiers.iter().find(|modifier| modifier.suffix == part);
        (modifier.ok_or_else(|| unknown("snapshot format", spec))?.apply)(options);
    }
    Ok(format)
}

/// The format of the extension of `path`.
///
/// # Errors
/// [`Error::Unknown`] if no format has it.
pub fn by_extension(path: &Path) -> Result<&'static Format> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    let extension = extension.unwrap_or_default();
    FORMATS
        .iter()
        .find(|format| format.extensions.contains(&extension.as_str()))
        .ok_or_else(|| unknown_extension(path, &extension))
}

/// The format of a file, given its first bytes `head`, its length in bytes and its name: by content
/// if that is certain, then by extension, then by what the content might be.
///
/// # Errors
/// [`Error::File`] that shows the first bytes and lists the known formats.
pub fn recognise(head: &[u8], length: u64, path: &Path) -> Result<&'static Format> {
    refuse_foreign(head, path)?;
    let judged = || FORMATS.iter().map(|format| (format, (format.recognise)(head, length)));
    let of = |confidence| judged().find(|(_, judged)| *judged == confidence).map(|(f, _)| f);
    of(Confidence::Sure)
        .or_else(|| by_extension(path).ok())
        .or_else(|| of(Confidence::Maybe))
        .ok_or_else(|| {
            let shown = &head[..head.len().min(8)];
            let hex: Vec<_> = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            let problem = format!(
                "is not a snapshot of a known kind: it begins with the bytes {} ('{}'); known kinds are: {}",
                hex.join(" "),
                shown.escape_ascii(),
                names(),
            );
            Error::file(path, problem)
        })
}

/// Offsets at which the signature of an HDF5 file can be; a user block may come first.
const HDF5_OFFSETS: [usize; 5] = [0, 512, 1024, 2048, 4096];

/// Whether a file with these first bytes is HDF5.
pub(super) fn is_hdf5(head: &[u8]) -> bool {
    HDF5_OFFSETS
        .iter()
        .any(|&at| head.get(at..).is_some_and(|head| head.starts_with(b"\x89HDF\r\n\x1a\n")))
}

/// Rejects a file whose kind is certain but not supported, and says what to do about it.
pub(super) fn refuse_foreign(head: &[u8], path: &Path) -> Result<()> {
    if cfg!(feature = "hdf5") || !is_hdf5(head) {
        return Ok(());
    }
    let problem =
        "is an HDF5 file, but this library was built without its feature hdf5, which reads them";
    Err(Error::file(path, problem))
}

fn names() -> String {
    FORMATS.iter().map(|format| format.name).collect::<Vec<_>>().join(", ")
}

fn unknown(kind: &'static str, name: &str) -> Error {
    let suffix = |modifier: &Modifier| format!("[-{}]", modifier.suffix);
    let known = FORMATS.iter().map(|format| {
        format.name.to_owned() + &format.modifiers.iter().map(suffix).collect::<String>()
    });
    Error::unknown(kind, name, known)
}

fn unknown_extension(path: &Path, extension: &str) -> Error {
    let known = FORMATS.iter().map(|format| {
        let extensions: Vec<_> = format.extensions.iter().map(|e| format!(".{e}")).collect();
        format!("{} ({})", format.name, extensions.join(" "))
    });
    let known = known.collect::<Vec<_>>().join(", ");
    let is = match extension {
        "" => "no extension that tells the format".to_owned(),
        _ => {
            let extension = messages::piece(extension);
            format!("the extension '.{extension}', which belongs to no snapshot format")
        }
    };
    Error::file(path, format!("has {is}: name a format or use one of its extensions: {known}"))
}

// The destination of a format's files: memory, or the disk, atomically.

/// A file made in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its name.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Receives a format's files.
pub struct OutputFiles {
    name: PathBuf,
    format: &'static str,
    /// Number of files to make, and of those made so far.
    files: usize,
    made: u64,
    target: Target,
}

/// Where the files go: memory, or the disk, where temporary files in their targets' folders are
/// renamed by [`OutputFiles::finish`].
pub(super) enum Target {
    Memory(Vec<Made>),
    Disk(Vec<Replacement>),
}

impl OutputFiles {
    /// For a snapshot of this many files.
    pub(super) fn new(name: &Path, format: &'static str, files: usize, target: Target) -> Self {
        Self { name: name.to_owned(), format, files, made: 0, target }
    }

    /// Number of files to make.
    pub(super) fn files(&self) -> usize {
        self.files
    }

    /// Takes the next file.
    pub(super) fn put(&mut self, bytes: Vec<u8>) -> Result<()> {
        self.stream(bytes.len(), |to| to.write_all(&bytes))
    }

    /// Takes the next file, of `length` bytes, from `write`, which is called once: a file on disk
    /// is never in memory as a whole.
    pub(super) fn stream(
        &mut self,
        length: usize,
        write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<()> {
        let path = self.next();
        match &mut self.target {
            Target::Memory(files) => {
                let mut bytes = Vec::with_capacity(length);
                write(&mut bytes).map_err(|source| Error::io("write", &path, source))?;
                files.push(Made { path, bytes });
            }
            Target::Disk(files) => files.push(Replacement::begin(&path, write)?),
        }
        Ok(())
    }

    /// The name of the next file.
    fn next(&mut self) -> PathBuf {
        let made = self.made;
        self.made += 1;
        match self.files {
            // The file after those with bodies is their index.
            files if files == 1 || made == files as u64 => self.name.clone(),
            _ => nth(&self.name, made),
        }
    }

    /// Takes the file of a format that always has a single file.
    pub(super) fn whole(&mut self, bytes: Result<Vec<u8>, FormatError>) -> Result<()> {
        let bytes = bytes.map_err(|problem| self.wrong(problem))?;
        self.put(bytes)
    }

    /// The error for a snapshot that cannot be written.
    pub(super) fn wrong(&self, problem: impl AsRef<str>) -> Error {
        let problem = format!("cannot be written as {}: {}", self.format, problem.as_ref());
        Error::file(&self.name, problem)
    }

    /// Renames the files to their targets; returns those in memory.
    pub(super) fn finish(self) -> Result<Vec<Made>> {
        match self.target {
            Target::Memory(files) => Ok(files),
            Target::Disk(files) => {
                files.into_iter().try_for_each(Replacement::finish)?;
                Ok(Vec::new())
            }
        }
    }
}

// Options for reading and writing snapshots.

/// The byte order of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endianness {
    /// Least significant byte first, as on nearly all current machines.
    #[default]
    Little,
    /// Most significant byte first: XDR, and so tipsy's `standard` files.
    Big,
}

/// Options for reading a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// Name of the format, whatever the file looks like; `None`: recognised from the file.
    pub format: Option<String>,
    /// Ignore the file's ids, which may then be missing or invalid, and number the bodies from 0 in
    /// the file's order.
    pub renumber: bool,
    /// Which snapshot of a file that holds several, as NEMO's may; `None`: the first, as NEMO's
    /// programs do, which is noted. A file of one snapshot has number 0 and its time.
    pub snapshot: Option<SnapshotChoice>,
    /// Number, from 0, of the only file to read of a snapshot in several files, for bodies spread
    /// over processes. `None`: all files.
    pub part: Option<u64>,
}

/// Options of [`super::write`] and [`super::Snapshot::to_bytes`]. `None` leaves the choice to the
/// snapshot (the layout of the file it was read from, in its `layout.` attributes) and then to the
/// format's convention.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Format name, optionally with modifiers (`tipsy-be`); `None`: from the file's extension.
    pub format: Option<String>,
    /// tipsy, GADGET, NEMO: byte order; little-endian by default.
    pub endianness: Option<Endianness>,
    /// tipsy: a header of 28 bytes (true) or, by default, of 32, which aligns the records.
    pub short_header: Option<bool>,
    /// tipsy: integer ids in place of the potential, as in NVIDIA's and Bonsai's files.
    pub integer_ids: Option<bool>,
    /// GADGET: blocks of f64 instead of f32.
    pub double: Option<bool>,
    /// GADGET: 64-bit (true) or 32-bit ids (false: an error if one does not fit). By default 32-bit
    /// if all fit.
    pub wide_ids: Option<bool>,
    /// tipsy, GADGET, NEMO: whether numbers stay as they are, even if readers assume other units.
    pub raw_units: bool,
    /// Number of files to spread the bodies over, for formats that can; from 1, the default, to the
    /// number of bodies.
    pub files: Option<usize>,
}

// The snapshots of one source: one, or several in formats whose files hold a time series.

/// A source whose format is recognised, and whose snapshots are read one by one. Several of them
/// share the bytes of the file, which are read once.
pub struct Series<'a> {
    input: InputFiles<'a>,
    format: &'static Format,
    options: ReadOptions,
    /// The first file of another snapshot with the same name.
    namesake: Option<PathBuf>,
    /// The times of all snapshots; `None` if the format holds one.
    times: Option<Vec<f64>>,
}

impl<'a> Series<'a> {
    /// Recognises the format unless the options name it: from the first bytes and then from the
    /// extension, before the rest is read.
    ///
    /// # Errors
    /// As [`super::read_with`].
    pub fn open(source: impl Into<SnapshotSource<'a>>, options: &ReadOptions) -> Result<Self> {
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
        let namesake = source.namesake();
        let mut input = match &format.files {
            Some(several) => source.gather(first, several, options.part)?,
            None => source.only(first, options.part)?,
        };
        let times = format.series.map(|times| input.whole(times)).transpose()?;
        let namesake = namesake.filter(|_| !input.is_listed());
        Ok(Self { input, format, options: options.clone(), namesake, times })
    }

    /// Number of snapshots, at least 1.
    pub fn len(&self) -> usize {
        self.times.as_ref().map_or(1, Vec::len)
    }

    /// False: there is always a snapshot.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Reads the snapshot of this number, from 0, whatever [`ReadOptions::snapshot`] says.
    ///
    /// # Errors
    /// As [`super::read_with`]; [`crate::error::Error::Value`] for a number from [`Series::len`]
    /// on.
    pub fn read(&mut self, number: usize) -> Result<Snapshot> {
        let choice = SnapshotChoice::Number(number as u64);
        choice.index(&vec![0.0; self.len()], &self.what())?;
        let options = ReadOptions { snapshot: Some(choice), ..self.options.clone() };
        let mut snapshot = (self.format.read)(&mut self.input, &options)?;
        if options.renumber {
            snapshot.renumber();
        }
        if let Some(other) = &self.namesake {
            let other = messages::path(other, messages::PIECE);
            snapshot.notes.push(format!("this file is read, not the snapshot of {other}"));
        }
        let name = self.name();
        snapshot.notes.iter_mut().for_each(|note| *note = format!("{name}: {note}"));
        Ok(snapshot)
    }

    /// Reads the snapshot that [`ReadOptions::snapshot`] chooses; of several, notes which it is.
    ///
    /// # Errors
    /// As [`super::read_with`].
    pub fn chosen(&mut self) -> Result<Snapshot> {
        let Some(times) = &self.times else {
            let snapshot = self.read(0)?;
            if let Some(choice) = self.options.snapshot {
                choice.index(&[snapshot.time], &self.what())?;
            }
            return Ok(snapshot);
        };
        let choice = self.options.snapshot.unwrap_or(SnapshotChoice::Number(0));
        let (number, count) = (choice.index(times, &self.what())?, times.len());
        let mut snapshot = self.read(number)?;
        if count > 1 {
            let which = match self.options.snapshot {
                Some(_) => format!("number {number} of 0 to {}", count - 1),
                None => "the first".to_owned(),
            };
            let others = match self.options.snapshot {
                Some(_) => "",
                None => "; --snapshot N, t=TIME or last chooses another",
            };
            snapshot.notes.push(format!(
                "{}: of its {count} snapshots {which} is read, t = {}{others}",
                self.name(),
                snapshot.time
            ));
        }
        Ok(snapshot)
    }

    fn what(&self) -> String {
        format!("the snapshot to read of {}", self.name())
    }

    fn name(&self) -> String {
        messages::path(&self.input.name(), messages::PIECE)
    }
}
