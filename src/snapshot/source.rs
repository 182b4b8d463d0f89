//! The source of a snapshot: bytes with a name, a path, or the several files of one snapshot.

use std::path::{Path, PathBuf};

use super::parts::{self, Numbered};
use super::{Input, Part};
use crate::error::{Error, Result};
use crate::{files, messages};

/// The source from which a snapshot is read.
#[derive(Clone, Debug)]
pub struct Source<'a>(Kind<'a>);

#[derive(Clone, Debug)]
enum Kind<'a> {
    Bytes { name: &'a str, bytes: &'a [u8] },
    Path(PathBuf),
    Parts(Vec<Source<'a>>),
}

impl<'a> Source<'a> {
    /// A file. For a snapshot in several files: any one of them, `snap_000.3`, their common name,
    /// `snap_000` (of `snap_000.3.hdf5` also `snap_000.hdf5`), or a folder that holds one such snapshot; the others are found in the same
    /// folder.
    pub fn path(path: impl AsRef<Path>) -> Self {
        Self(Kind::Path(path.as_ref().to_owned()))
    }

    /// The bytes of a whole file. `name` is the file's name as far as known: its extension helps to
    /// recognise the format, and error messages begin with it.
    pub fn bytes(name: &'a str, bytes: &'a [u8]) -> Self {
        Self(Kind::Bytes { name, bytes })
    }

    /// All files of one snapshot, in any order and from any folders: the numbers at the end of
    /// their names (`snap_000.3`) identify them.
    pub fn parts(parts: impl IntoIterator<Item = Self>) -> Self {
        Self(Kind::Parts(parts.into_iter().collect()))
    }

    /// The file by which the format is recognised.
    pub(super) fn first(&self) -> Result<Part<'a>> {
        match &self.0 {
            Kind::Bytes { name, bytes } => Part::of_bytes(name, bytes),
            Kind::Path(path) => Part::on_disk(parts::first(path)?),
            Kind::Parts(parts) => match parts.first() {
                Some(part) => part.first(),
                None => Err(Error::value("the number of files of a snapshot", 0, "at least 1")),
            },
        }
    }

    /// All files of a snapshot that has `files` of them according to the `first`; with `only`, just
    /// the file of that number.
    pub(super) fn gather(
        self,
        first: Part<'a>,
        files: u64,
        only: Option<u64>,
    ) -> Result<Input<'a>> {
        if let Some(only) = only.filter(|only| *only >= files) {
            let allowed = format!("0 to {}, as the snapshot has them", files - 1);
            return Err(Error::value("the number of the file to read", only, allowed));
        }
        let found = match self.0 {
            Kind::Parts(parts) => given(parts, files, only)?,
            Kind::Path(requested) if files == 1 => {
                refuse_common_name(&requested, &first)?;
                vec![first]
            }
            Kind::Path(_) => siblings(first, files, only)?,
            Kind::Bytes { .. } if files > 1 && only.is_none() => {
                let problem = format!("is {}: all of them are needed", part_of_several(files));
                return Err(Error::file(&first.path, problem));
            }
            Kind::Bytes { .. } => vec![first],
        };
        Ok(Input::new(found, files))
    }
}

impl<P: AsRef<Path> + ?Sized> From<&P> for Source<'_> {
    fn from(path: &P) -> Self {
        Self::path(path)
    }
}

impl From<PathBuf> for Source<'_> {
    fn from(path: PathBuf) -> Self {
        Self(Kind::Path(path))
    }
}

/// Whether a snapshot may be read from `path`: a file, the common name of several, or a folder.
pub fn exists(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    files::exists(path) || parts::first_of(path).is_some()
}

fn part_of_several(files: u64) -> String {
    format!("one of the {files} files of a snapshot in several")
}

/// The number in a file's name, and the rest of the name.
fn number_of(part: &Part, files: u64) -> Result<Numbered> {
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
fn siblings<'a>(first: Part<'a>, files: u64, only: Option<u64>) -> Result<Vec<Part<'a>>> {
    let name = number_of(&first, files)?;
    if let Some(only) = only {
        return Ok(vec![Part::on_disk(name.nth(only))?]);
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
        found.push(Part::on_disk(path)?);
    }
    found.insert(name.number as usize, first);
    Ok(found)
}

/// The given files, sorted by number.
fn given<'a>(sources: Vec<Source<'a>>, files: u64, only: Option<u64>) -> Result<Vec<Part<'a>>> {
    let opened = sources.iter().map(Source::first).collect::<Result<Vec<_>>>()?;
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
    let wanted = |(number, _): &(u64, Part)| only.is_none_or(|only| only == *number);
    Ok(numbered.into_iter().filter(wanted).map(|(_, part)| part).collect())
}

/// `snap` refers to `snap.0` only if that is the first of several files: snapshots of a time series
/// may have such names too.
fn refuse_common_name(requested: &Path, first: &Part) -> Result<()> {
    if requested == first.path {
        return Ok(());
    }
    let name = messages::path(&first.path, messages::PIECE);
    let is = if requested.is_dir() { "a folder" } else { "not there" };
    let problem = format!("is {is}; {name} is a whole snapshot of its own: name that one");
    Err(Error::file(requested, problem))
}
