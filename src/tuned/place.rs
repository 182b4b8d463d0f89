//! Where the file of what was found is, for the program and for the C library.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Store;

impl Store {
    /// The variable of the environment that names a folder in the place of the system's.
    pub const FOLDER: &str = "GRAVITILE_CACHE_DIR";

    /// The user's file: in the folder that [`Store::FOLDER`] names, `named`, else in the system's folder for caches.
    /// `None` where there is no such folder, and where `named` is empty: then nothing is kept.
    pub fn of_user(named: Option<OsString>) -> Option<Self> {
        let folder = match named {
            Some(folder) if folder.is_empty() => return None,
            Some(folder) => PathBuf::from(folder),
            None => system()?,
        };
        Some(Self::at(folder.join(Self::FILE)))
    }
}

/// What can be found out again, as the system keeps it.
#[cfg(all(not(target_arch = "wasm32"), any(feature = "cli", feature = "capi")))]
fn system() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    let system = etcetera::base_strategy::choose_native_strategy().ok()?;
    Some(Path::new(&system.cache_dir()).join("gravitile"))
}

/// In a browser what the page keeps; a library that looks for no folders has none.
#[cfg(not(all(not(target_arch = "wasm32"), any(feature = "cli", feature = "capi"))))]
fn system() -> Option<PathBuf> {
    cfg!(target_arch = "wasm32").then(|| Path::new(crate::files::KEPT).to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_folder_is_taken_and_an_empty_name_keeps_nothing() {
        let named = |name: &str| Store::of_user(Some(name.into())).map(|store| store.path);
        assert_eq!(named("here"), Some(Path::new("here").join(Store::FILE)));
        assert_eq!(named(""), None);
    }
}
