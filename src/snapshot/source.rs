//! The source of a snapshot: bytes with a name, a path, or the several files of one snapshot.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::{FormatError, Several};
use crate::error::{Error, Result};
use crate::files::PathKind;
use crate::{files, messages};

/// The source from which a snapshot is read.
#[derive(Clone, Debug)]
pub struct SnapshotSource<'a>(SourceKind<'a>);

#[derive(Clone, Debug)]
enum SourceKind<'a> {
    Bytes { name: &'a str, bytes: &'a [u8] },
    Path(PathBuf),
    Parts(Vec<SnapshotSource<'a>>),
}

impl<'a> SnapshotSource<'a> {
    /// A file. For a snapshot in several files: any one of them, `snap_000.3`, their common name,
    /// `snap_000` (of `snap_000.3.hdf5` also `snap_000.hdf5`), or a folder that holds one such
    /// snapshot; the others are found in the same folder.
    pub fn path(path: impl AsRef<Path>) -> Self {
        Self(SourceKind::Path(path.as_ref().to_owned()))
    }

    /// The bytes of a whole file. `name` is the file's name as far as known: its extension helps to
    /// recognise the format, and error messages begin with it.
    pub fn bytes(name: &'a str, bytes: &'a [u8]) -> Self {
        Self(SourceKind::Bytes { name, bytes })
    }

    /// All files of one snapshot, in any order and from any folders: the numbers at the end of
    /// their names (`snap_000.3`) identify them.
    pub fn parts(parts: impl IntoIterator<Item = Self>) -> Self {
        Self(SourceKind::Parts(parts.into_iter().collect()))
    }

    /// The file by which the format is recognised.
    pub(super) fn first(&self) -> Result<InputFile<'a>> {
        match &self.0 {
            SourceKind::Bytes { name, bytes } => InputFile::of_bytes(name, bytes),
            SourceKind::Path(path) => InputFile::on_disk(first(path)?),
            // An index has the shortest name.
            SourceKind::Parts(parts) => match parts.iter().min_by_key(|part| part.name().len()) {
                Some(part) => part.first(),
                None => Err(Error::value("the number of files of a snapshot", 0, "at least 1")),
            },
        }
    }

    /// The first file of another snapshot that the name of this file may mean.
    pub(super) fn namesake(&self) -> Option<PathBuf> {
        match &self.0 {
            SourceKind::Path(path) if path.is_file() => firsts_of(path).next(),
            _ => None,
        }
    }

    /// The name of a file; nothing for several.
    fn name(&self) -> &OsStr {
        match &self.0 {
            SourceKind::Bytes { name, .. } => Path::new(name),
            SourceKind::Path(path) => path,
            SourceKind::Parts(_) => Path::new(""),
        }
        .file_name()
        .unwrap_or_default()
    }

    /// The `first` file of a format whose snapshots are single files.
    pub(super) fn only(self, first: InputFile<'a>, only: Option<u64>) -> Result<InputFiles<'a>> {
        self.unlisted(first, 1, only)
    }

    /// All files of a snapshot, of which the `first` says how many there are; with `only`, just the
    /// file of that number, after the index if there is one.
    pub(super) fn gather(
        self,
        first: InputFile<'a>,
        several: &Several,
        only: Option<u64>,
    ) -> Result<InputFiles<'a>> {
        let (first, files) = counted(first, several)?;
        match several.is_index {
            Some(is_index) if files > 1 => {
                let (mut index, mut files) = (first, files);
                if !is_index(index.head()?) {
                    (index, files) = counted(self.index(&index, files)?, several)?;
                }
                if !is_index(index.head()?) {
                    let problem = "is a snapshot of its own, but there are files beside it of a snapshot in several: give it another name, or remove them";
                    return Err(Error::file(&index.path, problem));
                }
                refuse_number(only, files)?;
                Ok(InputFiles {
                    is_listed: true,
                    ..InputFiles::new(self.listed(index, files, only)?, files)
                })
            }
            _ => self.unlisted(first, files, only),
        }
    }

    /// The index of the snapshot to which the file `part`, one of `files`, belongs.
    fn index(&self, part: &InputFile<'a>, files: u64) -> Result<InputFile<'a>> {
        let base = number_of(part, files)?.base;
        if matches!(self.0, SourceKind::Path(_)) && files::exists(&base) {
            return InputFile::on_disk(base);
        }
        let base = messages::path(&base, messages::PIECE);
        let missing = match self.0 {
            SourceKind::Path(_) => {
                "is not there: the snapshot was never finished, or the file was moved"
            }
            _ => "was not given: all of them are needed",
        };
        let problem = format!("is {}, but their index {base} {missing}", part_of_several(files));
        Err(Error::file(&part.path, problem))
    }

    /// The index and the files that it lists, which have its name with their numbers.
    fn listed(
        self,
        index: InputFile<'a>,
        files: u64,
        only: Option<u64>,
    ) -> Result<Vec<InputFile<'a>>> {
        let numbers = only.map_or(0..files, |only| only..only + 1);
        let missing = |path: &Path, is: &str| {
            let name = messages::path(path, messages::PIECE);
            let problem = format!("is the index of a snapshot in {files} files, but {name} {is}");
            Err(Error::file(&index.path, problem))
        };
        if let SourceKind::Parts(parts) = &self.0
            && parts.len() as u64 > files + 1
        {
            let given = parts.len() - 1;
            let problem = format!(
                "is the index of a snapshot in {files} files, but {given} were given with it"
            );
            return Err(Error::file(&index.path, problem));
        }
        let mut found = Vec::new();
        for path in numbers.map(|k| nth(&index.path, k)) {
            let name = path.file_name();
            match &self.0 {
                SourceKind::Path(_) if files::exists(&path) => {
                    found.push(InputFile::on_disk(path)?)
                }
                SourceKind::Path(_) => return missing(&path, "is not there"),
                SourceKind::Parts(parts) => {
                    match parts.iter().find(|part| Some(part.name()) == name) {
                        Some(part) => found.push(part.first()?),
                        None => return missing(&path, "was not given"),
                    }
                }
                SourceKind::Bytes { .. } => return missing(&path, "was not given"),
            }
        }
        found.insert(0, index);
        Ok(found)
    }

    /// All `files` of a snapshot without an index; with `only`, just the file of that number.
    fn unlisted(
        self,
        first: InputFile<'a>,
        files: u64,
        only: Option<u64>,
    ) -> Result<InputFiles<'a>> {
        refuse_number(only, files)?;
        let found = match self.0 {
            SourceKind::Parts(parts) => given(parts, files, only)?,
            SourceKind::Path(requested) if files == 1 => {
                refuse_common_name(&requested, &first)?;
                vec![first]
            }
            SourceKind::Path(_) => siblings(first, files, only)?,
            SourceKind::Bytes { .. } if files > 1 && only.is_none() => {
                let problem = format!("is {}: all of them are needed", part_of_several(files));
                return Err(Error::file(&first.path, problem));
            }
            SourceKind::Bytes { .. } => vec![first],
        };
        Ok(InputFiles::new(found, files))
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for SnapshotSource<'_> {
    fn from(path: &P) -> Self {
        Self::path(path)
    }
}

impl From<PathBuf> for SnapshotSource<'_> {
    fn from(path: PathBuf) -> Self {
        Self(SourceKind::Path(path))
    }
}

/// Whether a snapshot may be read from `path`: a file, the common name of several, or a folder.
pub fn exists(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    files::exists(path) || firsts_of(path).next().is_some()
}

/// The file, and the number of files that it says there are.
fn counted<'a>(part: InputFile<'a>, several: &Several) -> Result<(InputFile<'a>, u64)> {
    let mut input = InputFiles::new(vec![part], 1);
    let files = (several.count)(&mut input)?.max(1);
    Ok((input.parts.swap_remove(0), files))
}

fn refuse_number(only: Option<u64>, files: u64) -> Result<()> {
    let Some(only) = only.filter(|only| *only >= files) else { return Ok(()) };
    let allowed = format!("0 to {}, as the snapshot has them", files - 1);
    Err(Error::value("the number of the file to read", only, allowed))
}

fn part_of_several(files: u64) -> String {
    format!("one of the {files} files of a snapshot in several")
}

/// The number in a file's name, and the rest of the name.
fn number_of(part: &InputFile, files: u64) -> Result<Numbered> {
    let wrong = |problem: &str| {
        Err(Error::file(
            &part.path,
            format!("is {}, but its name {problem}", part_of_several(files)),
        ))
    };
    match Numbered::of(&part.path) {
        None => wrong("does not end in its number, as that of snap_000.3 does"),
        Some(name) if name.number >= files => wrong("ends in a number beyond them"),
        Some(name) => Ok(name),
    }
}

/// Finds the other files in the folder of the first.
fn siblings<'a>(first: InputFile<'a>, files: u64, only: Option<u64>) -> Result<Vec<InputFile<'a>>> {
    let name = number_of(&first, files)?;
    if let Some(only) = only {
        return Ok(vec![InputFile::on_disk(name.nth(only))?]);
    }
    // The search ends at the first missing file, whatever number of files the first one claims.
    let mut found = Vec::new();
    for k in (0..files).filter(|k| *k != name.number) {
        let path = name.nth(k);
        if !files::exists(&path) {
            let missing = messages::path(&path, messages::PIECE);
            let problem = format!("is {}, but {missing} is not there", part_of_several(files));
            return Err(Error::file(&first.path, problem));
        }
        found.push(InputFile::on_disk(path)?);
    }
    found.insert(name.number as usize, first);
    Ok(found)
}

/// The given files, sorted by number.
fn given<'a>(
    sources: Vec<SnapshotSource<'a>>,
    files: u64,
    only: Option<u64>,
) -> Result<Vec<InputFile<'a>>> {
    let opened = sources.iter().map(SnapshotSource::first).collect::<Result<Vec<_>>>()?;
    if opened.len() as u64 != files {
        let problem = format!("is {}, but {} were given", part_of_several(files), opened.len());
        return Err(Error::file(&opened[0].path, problem));
    }
    if files == 1 {
        return Ok(opened);
    }
    let mut numbered = Vec::new();
    for part in opened {
        let name = number_of(&part, files)?;
        numbered.push((name.number, part));
    }
    numbered.sort_by_key(|(number, _)| *number);
    if let Some(twice) = numbered.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let problem = format!("is file {} of a snapshot for the second time", twice[1].0);
        return Err(Error::file(&twice[1].1.path, problem));
    }
    let is_requested = |(number, _): &(u64, InputFile)| only.is_none_or(|only| only == *number);
    Ok(numbered.into_iter().filter(is_requested).map(|(_, part)| part).collect())
}

/// `snap` refers to `snap.0` only if that is the first of several files: snapshots of a time series
/// may have such names too.
fn refuse_common_name(requested: &Path, first: &InputFile) -> Result<()> {
    if requested == first.path {
        return Ok(());
    }
    let name = messages::path(&first.path, messages::PIECE);
    let is = if requested.is_dir() { "a folder" } else { "not there" };
    let problem = format!("is {is}; {name} is a whole snapshot of its own: name that one");
    Err(Error::file(requested, problem))
}

// The files of a snapshot as a format receives them.

/// Enough bytes to recognise any format, including the header line of a table.
const HEAD: u64 = 64 * 1024;

/// The files of one snapshot in the order of their numbers, not yet read. An index comes first.
pub struct InputFiles<'a> {
    parts: Vec<InputFile<'a>>,
    files: u64,
    is_listed: bool,
}

/// One file.
pub(super) struct InputFile<'a> {
    /// Its name, which begins error messages.
    pub path: PathBuf,
    content: FileBytes<'a>,
}

/// Where one file is.
#[cfg(feature = "hdf5")]
#[derive(Clone, Copy)]
pub(super) struct Stored<'a> {
    pub path: &'a Path,
    /// `None`: on disk.
    pub bytes: Option<&'a [u8]>,
}

enum FileBytes<'a> {
    Bytes(&'a [u8]),
    /// The file's length, and the bytes read so far.
    OnDisk(u64, Vec<u8>),
}

impl<'a> InputFile<'a> {
    pub fn of_bytes(name: &str, bytes: &'a [u8]) -> Result<Self> {
        let path = PathBuf::from(name);
        refuse_empty(&path, bytes.len() as u64)?;
        Ok(Self { path, content: FileBytes::Bytes(bytes) })
    }

    pub fn on_disk(path: PathBuf) -> Result<Self> {
        let found = files::find(&path).map_err(|source| Error::io("read", &path, source))?;
        let wrong = |is: &str| {
            Err(Error::file(&path, format!("is {is}, but a snapshot file was expected")))
        };
        match found {
            PathKind::Folder => wrong("a folder"),
            PathKind::Other => wrong("not an ordinary file"),
            PathKind::File(length) => {
                refuse_empty(&path, length)?;
                Ok(Self { path, content: FileBytes::OnDisk(length, Vec::new()) })
            }
        }
    }

    /// Length of the file in bytes.
    pub fn length(&self) -> u64 {
        match &self.content {
            FileBytes::Bytes(bytes) => bytes.len() as u64,
            FileBytes::OnDisk(length, _) => *length,
        }
    }

    /// The first bytes.
    pub fn head(&mut self) -> Result<&[u8]> {
        self.read(HEAD)?;
        Ok(self.bytes())
    }

    /// Reads the first `count` bytes, or all if there are fewer.
    fn read(&mut self, count: u64) -> Result<()> {
        let FileBytes::OnDisk(length, bytes) = &mut self.content else { return Ok(()) };
        let count = count.min(*length);
        let rest = count.saturating_sub(bytes.len() as u64);
        if rest == 0 {
            return Ok(());
        }
        let has_room = crate::memory::available().is_none_or(|free| rest <= free);
        let room = usize::try_from(rest).ok().and_then(|rest| bytes.try_reserve_exact(rest).ok());
        if room.is_none() || !has_room {
            let problem = format!("is too large for this machine's memory: {length} bytes");
            return Err(Error::file(&self.path, problem));
        }
        // Reads from the beginning each time: the file does not stay open, since there may be
        // thousands.
        *bytes = files::read_start(&self.path, count)
            .map_err(|source| Error::io("read", &self.path, source))?;
        Ok(())
    }

    #[cfg(feature = "hdf5")]
    fn stored(&self) -> Stored<'_> {
        let is_on_disk = matches!(self.content, FileBytes::OnDisk(..));
        let bytes = (cfg!(target_arch = "wasm32") || !is_on_disk).then(|| self.bytes());
        Stored { path: &self.path, bytes }
    }

    fn bytes(&self) -> &[u8] {
        match &self.content {
            FileBytes::Bytes(bytes) => bytes,
            FileBytes::OnDisk(_, bytes) => bytes,
        }
    }
}

fn refuse_empty(path: &Path, length: u64) -> Result<()> {
    match length {
        0 => Err(Error::file(path, "is empty, but a snapshot was expected")),
        _ => Ok(()),
    }
}

impl<'a> InputFiles<'a> {
    /// Takes `parts` of a snapshot of `files` files: all of them, or one.
    pub(super) fn new(parts: Vec<InputFile<'a>>, files: u64) -> Self {
        Self { parts, files, is_listed: false }
    }

    /// Whether the first file is the index of the others.
    pub(super) fn is_listed(&self) -> bool {
        self.is_listed
    }

    /// Number of files of the whole snapshot.
    pub(super) fn files(&self) -> u64 {
        self.files
    }

    /// The name of the snapshot, for messages.
    pub(super) fn name(&self) -> PathBuf {
        let path = &self.parts[0].path;
        match (self.parts.len(), Numbered::of(path)) {
            (2.., Some(name)) if !self.is_listed => name.base,
            _ => path.clone(),
        }
    }

    /// The first bytes of the first file.
    pub(super) fn head(&mut self) -> Result<&[u8]> {
        self.parts[0].head()
    }

    /// The files for a format that reads ranges of them.
    #[cfg(feature = "hdf5")]
    pub(super) fn stored(&mut self) -> Result<Vec<Stored<'_>>> {
        for part in &mut self.parts {
            // In a browser a path is only a name of bytes.
            if cfg!(target_arch = "wasm32") {
                part.read(u64::MAX)?;
            }
        }
        Ok(self.parts.iter().map(InputFile::stored).collect())
    }

    /// Length of all files in bytes.
    pub(super) fn length(&self) -> u64 {
        self.parts.iter().map(InputFile::length).fold(0, u64::saturating_add)
    }

    /// Reads all of the first file.
    pub(super) fn load_first(&mut self) -> Result<(&Path, &[u8])> {
        let first = &mut self.parts[0];
        first.read(u64::MAX)?;
        Ok((&first.path, first.bytes()))
    }

    /// Reads the files after the first one after another, so that only one is in memory.
    pub(super) fn load_others(
        &mut self,
        mut receive: impl FnMut(usize, &[u8]) -> Result<(), FormatError>,
    ) -> Result<()> {
        for (k, part) in self.parts[1..].iter_mut().enumerate() {
            part.read(u64::MAX)?;
            receive(k, part.bytes()).map_err(|problem| Error::file(&part.path, problem))?;
            if let FileBytes::OnDisk(_, bytes) = &mut part.content {
                *bytes = Vec::new();
            }
        }
        Ok(())
    }

    /// Reads all files.
    pub(super) fn load(&mut self) -> Result<Vec<(&Path, &[u8])>> {
        for part in &mut self.parts {
            part.read(u64::MAX)?;
        }
        Ok(self.parts.iter().map(|part| (part.path.as_path(), part.bytes())).collect())
    }

    /// Reads a format that always has a single file.
    pub(super) fn whole<T>(
        &mut self,
        read: impl FnOnce(&[u8]) -> Result<T, FormatError>,
    ) -> Result<T> {
        let (path, bytes) = self.load_first()?;
        read(bytes).map_err(|problem| Error::file(path, problem))
    }
}

// Names of the files of a snapshot in several files: `snap_000.0`, `snap_000.1`, ... for
// `snap_000`; numbers may have leading zeros. In HDF5 and `.gvt` the number comes before the
// extension: `snap_000.0.hdf5` for `snap_000.hdf5`.

/// Most digits of a number: 2^64 has 20.
const MOST_DIGITS: usize = 20;

/// Extensions that the number precedes.
const AFTER_NUMBER: [&str; 3] = ["hdf5", "h5", "gvt"];

/// The name without an extension of [`AFTER_NUMBER`], and the extension.
fn without_extension(path: &Path) -> (PathBuf, Option<&str>) {
    let extension = path.extension().and_then(|extension| extension.to_str());
    match extension.filter(|extension| AFTER_NUMBER.contains(extension)) {
        Some(extension) => (path.with_extension(""), Some(extension)),
        None => (path.to_owned(), None),
    }
}

/// `path.extension`, or `path` without one.
fn appended(path: &Path, extension: Option<&str>) -> PathBuf {
    let Some(extension) = extension else { return path.to_owned() };
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{extension}"));
    name.into()
}

/// The name of file `k` of the snapshot `base`, as files are written.
pub(crate) fn nth(base: &Path, k: u64) -> PathBuf {
    with_digits(base, k, 1)
}

fn with_digits(base: &Path, k: u64, digits: usize) -> PathBuf {
    let (stem, extension) = without_extension(base);
    appended(&appended(&stem, Some(&format!("{k:0digits$}"))), extension)
}

/// A file name in parts: `snap_000.3` is number 3 of `snap_000`, and so is `snap_000.003`.
#[derive(Debug, PartialEq)]
pub(super) struct Numbered {
    /// The name of the whole snapshot.
    pub base: PathBuf,
    /// The number of the file.
    pub number: u64,
    digits: usize,
}

impl Numbered {
    /// `None` for a name that does not end in a number.
    pub fn of(path: &Path) -> Option<Self> {
        let (path, extension) = without_extension(path);
        let text = path.extension()?.to_str()?;
        let is_number = text.len() <= MOST_DIGITS && text.bytes().all(|c| c.is_ascii_digit());
        let number = text.parse().ok().filter(|_| is_number)?;
        let base = appended(&path.with_extension(""), extension);
        Some(Self { base, number, digits: text.len() })
    }

    /// File `k` of the same snapshot. `snap.12` may belong with `snap.3` or `snap.03`; the one that
    /// exists is used.
    pub fn nth(&self, k: u64) -> PathBuf {
        let (plain, padded) = (nth(&self.base, k), with_digits(&self.base, k, self.digits));
        let begins_with_zero = nth(&self.base, self.number).as_os_str().len()
            < with_digits(&self.base, self.number, self.digits).as_os_str().len();
        if begins_with_zero || (!plain.exists() && padded.exists()) { padded } else { plain }
    }
}

/// The name of the whole snapshot and the number of the file, for a name that ends in one.
pub(crate) fn file_of(path: &Path) -> Option<(PathBuf, u64)> {
    Numbered::of(path).map(|name| (name.base, name.number))
}

/// The first files of the snapshots that `base` may name, since an extension of [`AFTER_NUMBER`]
/// may be left out.
pub(super) fn firsts_of(base: &Path) -> impl Iterator<Item = PathBuf> {
    let extensions = [None].into_iter().chain(AFTER_NUMBER.map(Some));
    extensions.map(|extension| appended(base, extension)).filter_map(|base| {
        (1..=MOST_DIGITS).map(|digits| with_digits(&base, 0, digits)).find(|path| path.is_file())
    })
}

/// The file to begin with: `path` itself, the first of the files with this common name, or the
/// first file of the only snapshot in several files in the folder `path`.
pub(super) fn first(path: &Path) -> Result<PathBuf> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let mut found = firsts_of(path);
    match (found.next(), found.next()) {
        (Some(first), None) => Ok(first),
        (Some(one), Some(other)) => {
            let [one, other] = [one, other].map(|path| messages::path(&path, messages::PIECE));
            Err(Error::file(
                path,
                format!("may be the snapshot of {one} or that of {other}: name one"),
            ))
        }
        (None, _) if path.is_dir() => first_in(path),
        (None, _) => Ok(path.to_owned()),
    }
}

fn first_in(folder: &Path) -> Result<PathBuf> {
    let io = |source| Error::io("read", folder, source);
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if Numbered::of(&path).is_some_and(|name| name.number == 0) && path.is_file() {
            found.insert(path);
        }
    }
    let wrong = |what: String| Err(Error::file(folder, format!("is a folder {what}")));
    match (found.pop_first(), found.pop_first()) {
        (Some(only), None) => Ok(only),
        (Some(one), Some(other)) => {
            let [one, other] = [one, other].map(|path| messages::path(&path, messages::PIECE));
            wrong(format!("with more than one snapshot, {one} and {other} among them: name one"))
        }
        (None, _) if folder.join("run.toml").is_file() => {
            Err(Error::file(folder, "is the folder of a run: name one of its snapshots, step_*.gvt"))
        }
        (None, _) => wrong(
            "without a first file as snap_000.0, but a snapshot file or a folder with the files of one was expected"
                .into(),
        ),
    }
}

#[cfg(test)]
mod parts_tests {
    use super::*;

    #[test]
    fn file_number_is_parsed_and_restored() {
        for name in
            ["snap_000.3", "a.b/snap.0", "/x/y.17", "../s.p.2", "snap.03", "snap.000", "s.07.hdf5"]
        {
            let numbered = Numbered::of(Path::new(name)).unwrap();
            assert_eq!(numbered.nth(numbered.number), Path::new(name));
        }
        let twelfth = Numbered::of(Path::new("a/snap_000.012")).unwrap();
        assert_eq!((twelfth.base.as_path(), twelfth.number), (Path::new("a/snap_000"), 12));
        assert_eq!(twelfth.nth(3), Path::new("a/snap_000.003"));
        assert_eq!(twelfth.nth(1000), Path::new("a/snap_000.1000"));
        let twelfth = Numbered::of(Path::new("a/snap_000.12")).unwrap();
        assert_eq!(twelfth.nth(3), Path::new("a/snap_000.3"));
        let second = Numbered::of(Path::new("a/snap_000.2.hdf5")).unwrap();
        assert_eq!((second.base.as_path(), second.number), (Path::new("a/snap_000.hdf5"), 2));
        assert_eq!(second.nth(11), Path::new("a/snap_000.11.hdf5"));
        assert_eq!(nth(Path::new("snap.h5"), 1), Path::new("snap.1.h5"));
        let long = format!("snap.{:021}", 0);
        for name in [
            "snap_000",
            "snap.+3",
            "snap.-3",
            "snap.gadget",
            "snap_001.hdf5",
            "snap.",
            ".3",
            "",
            &long,
        ] {
            assert_eq!(Numbered::of(Path::new(name)), None, "{name}");
        }
    }
}
