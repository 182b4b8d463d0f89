//! The destination of a format's files: memory, or the disk, atomically.

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
    files: usize,
    place: Place,
}

enum Place {
    Memory(Vec<Made>),
    Disk(Vec<Replacement>),
}

impl Output {
    /// Collects the files in memory.
    pub(super) fn in_memory(name: &Path, format: &'static str, files: usize) -> Self {
        Self { name: name.to_owned(), format, files, place: Place::Memory(Vec::new()) }
    }

    /// Writes temporary files in their targets' folders; [`Self::finish`] renames them.
    pub(super) fn on_disk(name: &Path, format: &'static str, files: usize) -> Self {
        Self { name: name.to_owned(), format, files, place: Place::Disk(Vec::new()) }
    }

    /// Number of files to make.
    pub(super) fn files(&self) -> usize {
        self.files
    }

    /// Takes the next file.
    pub(super) fn put(&mut self, bytes: Vec<u8>) -> Result<()> {
        let so_far = match &self.place {
            Place::Memory(files) => files.len(),
            Place::Disk(files) => files.len(),
        };
        let path = match self.files {
            1 => self.name.clone(),
            _ => parts::nth(&self.name, so_far as u64),
        };
        match &mut self.place {
            Place::Memory(files) => files.push(Made { path, bytes }),
            Place::Disk(files) => {
                files.push(Replacement::begin(&path, |file| file.write_all(&bytes))?);
            }
        }
        Ok(())
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
        match self.place {
            Place::Memory(files) => Ok(files),
            Place::Disk(files) => {
                files.into_iter().try_for_each(Replacement::finish)?;
                Ok(Vec::new())
            }
        }
    }
}
