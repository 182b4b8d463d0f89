//! The files of a snapshot as a format receives them.

use std::path::{Path, PathBuf};

use super::Problem;
use super::parts::Numbered;
use crate::error::{Error, Result};
use crate::files::{self, Found};

/// Enough bytes to recognise any format, including the header line of a table.
const HEAD: u64 = 64 * 1024;

/// The files of one snapshot in the order of their numbers, not yet read.
pub struct Input<'a> {
    parts: Vec<Part<'a>>,
    files: u64,
}

/// One file.
pub(super) struct Part<'a> {
    /// Its name, which begins error messages.
    pub path: PathBuf,
    content: Content<'a>,
}

/// Where one file is.
#[cfg(feature = "hdf5")]
#[derive(Clone, Copy)]
pub(super) struct Stored<'a> {
    pub path: &'a Path,
    /// `None`: on disk.
    pub bytes: Option<&'a [u8]>,
}

enum Content<'a> {
    Bytes(&'a [u8]),
    /// The file's length, and the bytes read so far.
    OnDisk(u64, Vec<u8>),
}

impl<'a> Part<'a> {
    pub fn of_bytes(name: &str, bytes: &'a [u8]) -> Result<Self> {
        let path = PathBuf::from(name);
        refuse_empty(&path, bytes.len() as u64)?;
        Ok(Self { path, content: Content::Bytes(bytes) })
    }

    pub fn on_disk(path: PathBuf) -> Result<Self> {
        let found = files::find(&path).map_err(|source| Error::io("read", &path, source))?;
        let wrong = |is: &str| {
            Err(Error::file(&path, format!("is {is}, but a snapshot file was expected")))
        };
        match found {
            Found::Folder => wrong("a folder"),
            Found::Other => wrong("not an ordinary file"),
            Found::File(length) => {
                refuse_empty(&path, length)?;
                Ok(Self { path, content: Content::OnDisk(length, Vec::new()) })
            }
        }
    }

    /// Length of the file in bytes.
    pub fn length(&self) -> u64 {
        match &self.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::OnDisk(length, _) => *length,
        }
    }

    /// The first bytes.
    pub fn head(&mut self) -> Result<&[u8]> {
        self.read(HEAD)?;
        Ok(self.bytes())
    }

    /// Reads the first `count` bytes, or all if there are fewer.
    fn read(&mut self, count: u64) -> Result<()> {
        let Content::OnDisk(length, bytes) = &mut self.content else { return Ok(()) };
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
        // Reads from the beginning each time: the file is not kept open, since there may be
        // thousands.
        *bytes = files::read_start(&self.path, count)
            .map_err(|source| Error::io("read", &self.path, source))?;
        Ok(())
    }

    #[cfg(feature = "hdf5")]
    fn stored(&self) -> Stored<'_> {
        let is_on_disk = matches!(self.content, Content::OnDisk(..));
        let bytes = (cfg!(target_arch = "wasm32") || !is_on_disk).then(|| self.bytes());
        Stored { path: &self.path, bytes }
    }

    fn bytes(&self) -> &[u8] {
        match &self.content {
            Content::Bytes(bytes) => bytes,
            Content::OnDisk(_, bytes) => bytes,
        }
    }
}

fn refuse_empty(path: &Path, length: u64) -> Result<()> {
    match length {
        0 => Err(Error::file(path, "is empty, but a snapshot was expected")),
        _ => Ok(()),
    }
}

impl<'a> Input<'a> {
    /// Takes `parts` of a snapshot of `files` files: all of them, or one.
    pub(super) fn new(parts: Vec<Part<'a>>, files: u64) -> Self {
        Self { parts, files }
    }

    /// Number of files of the whole snapshot.
    pub(super) fn files(&self) -> u64 {
        self.files
    }

    /// The name of the snapshot, for messages.
    pub(super) fn name(&self) -> PathBuf {
        let path = &self.parts[0].path;
        match (self.parts.len(), Numbered::of(path)) {
            (2.., Some(name)) => name.base,
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
        Ok(self.parts.iter().map(Part::stored).collect())
    }

    /// The first file, for [`super::Source::gather`].
    pub(super) fn into_first(mut self) -> Part<'a> {
        self.parts.swap_remove(0)
    }

    /// Reads all files.
    pub(super) fn load(&mut self) -> Result<Vec<(&Path, &[u8])>> {
        for part in &mut self.parts {
            part.read(u64::MAX)?;
        }
        Ok(self.parts.iter().map(|part| (part.path.as_path(), part.bytes())).collect())
    }

    /// Reads a format that always has a single file.
    pub(super) fn whole<T>(&mut self, read: impl FnOnce(&[u8]) -> Result<T, Problem>) -> Result<T> {
        let (path, bytes) = self.load()?[0];
        read(bytes).map_err(|problem| Error::file(path, problem))
    }
}
