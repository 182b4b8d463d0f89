//! What several subcommands do with their options.

use std::path::Path;

use crate::error::Error;

/// Refuses to write over what is there, unless forced.
pub fn fresh(path: &Path, force: bool) -> Result<(), Error> {
    if force || !path.exists() {
        return Ok(());
    }
    Err(Error::file(path, "is there already; give another name, or --force to replace it"))
}
