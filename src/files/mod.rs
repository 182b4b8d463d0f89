//! Files that are replaced as a whole or not at all. A browser has no files: there they are in
//! memory and handed to the page.

#[cfg(not(target_arch = "wasm32"))]
mod disk;
#[cfg(not(target_arch = "wasm32"))]
mod flushing;
#[cfg(any(test, target_arch = "wasm32"))]
mod memory;

#[cfg(not(target_arch = "wasm32"))]
pub use disk::*;
#[cfg(target_arch = "wasm32")]
pub use memory::*;

use std::path::Path;

use crate::error::{Error, Result};

/// Reads a whole text file.
///
/// # Errors
/// The file does not exist, cannot be read, or is not UTF-8 text.
pub fn read_text(path: impl AsRef<Path>) -> Result<String> {
    let path = path.as_ref();
    read_start(path, u64::MAX)
        .and_then(|bytes| {
            let problem = "it is not UTF-8 text";
            String::from_utf8(bytes)
                .map_err(|_| std::io::Error::new(std::io::ErrorKind::InvalidData, problem))
        })
        .map_err(|source| Error::io("read", path, source))
}

/// Whether anything exists at `path`.
pub fn exists(path: impl AsRef<Path>) -> bool {
    find(path).is_ok()
}

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// An ordinary file and its size in bytes.
    File(u64),
    /// A folder.
    Folder,
    /// Anything else, such as a pipe or a device.
    Other,
}

/// Replaces the file `path` by `bytes` in one step, as [`replace_with`] does.
///
/// # Errors
/// As [`replace_with`].
pub fn replace(path: impl AsRef<Path>, bytes: &[u8]) -> Result<()> {
    replace_with(path, |file| file.write_all(bytes))
}

/// Replaces a file in one step: `write` writes a new file next to it, which is synced and renamed.
/// Readers always see either the old or the new file; permissions and links stay. `write` is
/// called once.
///
/// # Errors
/// The file is write-protected or not an ordinary file, its folder does not exist, an error of the
/// system, or one of `write`. The old file is then unchanged, and nothing is left over.
pub fn replace_with(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> Result<()> {
    Replacement::begin(path, write)?.finish()
}
