//! The destination of a format's files: memory, or the disk, atomically.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Problem, parts};
use crate::error::{Error, Result};
use crate::files::Replacement;

/// A file made in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its name.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Receives a format's files.
pub struct Output {
    name: PathBuf,
    format: &'static str,
    /// Number of files to make, and of those made so far.
    files: usize,
    made: u64,
    target: Target,
}

/// Where the files go: memory, or the disk, where temporary files in their targets' folders are
/// renamed by [`Output::finish`].
pub(super) enum Target {
    Memory(Vec<Made>),
    Disk(Vec<Replacement>),
}

impl Output {
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
        let path = self.next();
        match &mut self.target {
            Target::Memory(files) => files.push(Made { path, bytes }),
            Target::Disk(files) => {
                files.push(Replacement::begin(&path, |file| file.write_all(&bytes))?);
            }
        }
        Ok(())
    }

    /// Takes the next file, of `length` bytes, from `write`, which is called once: a file on disk is
    /// never in memory as a whole.
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
            1 => self.name.clone(),
            _ => parts::nth(&self.name, made),
        }
    }

    /// Takes the file of a format that always has a single file.
    pub(super) fn whole(&mut self, bytes: Result<Vec<u8>, Problem>) -> Result<()> {
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
