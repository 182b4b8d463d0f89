//! Files that are replaced whole or not at all; in a browser, which has none, files in memory that are handed to the page.

#[cfg(not(target_arch = "wasm32"))]
mod disk;
#[cfg(any(test, target_arch = "wasm32"))]
mod memory;

#[cfg(not(target_arch = "wasm32"))]
pub use disk::*;
#[cfg(target_arch = "wasm32")]
pub use memory::*;

use std::path::Path;

use crate::error::{Error, Result};

/// The whole of a text file.
///
/// # Errors
/// A file that is not there, is not to be read, or is no text.
pub fn read_text(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    read_start(path, u64::MAX)
        .and_then(|bytes| {
            let problem = "it is no text in UTF-8";
            String::from_utf8(bytes)
                .map_err(|_| std::io::Error::new(std::io::ErrorKind::InvalidData, problem))
        })
        .map_err(|source| Error::io("read", path, source))
}

/// What there is at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// An ordinary file of so many bytes.
    File(u64),
    /// A folder.
    Folder,
    /// A pipe, a device.
    Other,
}

/// Puts `bytes` in the place of `path` in one step, as [`replace_with`] does.
///
/// # Errors
/// As [`replace_with`].
pub fn replace(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    replace_with(path, |file| file.write_all(bytes))
}

/// Replaces a file by what `write` produces in one step: written beside it, synced, renamed. Readers see the old file or
/// the new one, whatever happens meanwhile; permissions and links stay. `write` is called once.
///
/// # Errors
/// A file that is write-protected or no ordinary one, a folder that is not there, what the system refuses, and those of
/// `write`; the old file is then as it was, and nothing else is left.
pub fn replace_with(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> Result<()> {
    Replacement::begin(path, write)?.finish()
}
