//! Path of the results file, for the program and the C library.

use std::ffi::OsString;
use std::path::PathBuf;

use super::Store;

impl Store {
    /// The environment variable that names a folder to use instead of the system's.
    pub const FOLDER: &str = "GRAVITILE_CACHE_DIR";

    /// The user's file: in `named`, the value of [`Store::FOLDER`], otherwise in the `system`'s
    /// cache folder. `None` if there is no such folder, or if `named` is empty; then nothing is
    /// stored.
    pub fn of_user(
        named: Option<OsString>,
        system: impl FnOnce() -> Option<PathBuf>,
    ) -> Option<Self> {
        let folder = match named {
            Some(folder) if folder.is_empty() => return None,
            Some(folder) => PathBuf::from(folder),
            // A page's storage is private to this program, so it needs no subfolder.
            None if cfg!(target_arch = "wasm32") => system()?,
            None => system()?.join(Self::IN_SYSTEM),
        };
        Some(Self::at(folder.join(Self::FILE)))
    }

    /// The program's folder inside the system's.
    const IN_SYSTEM: &str = "gravitile";
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn named_folder_is_used_and_empty_name_disables_storage() {
        let of = |named: Option<&str>, system: Option<&str>| {
            let store = Store::of_user(named.map(OsString::from), || system.map(PathBuf::from));
            store.map(|store| store.path)
        };
        assert_eq!(of(Some("here"), Some("there")), Some(Path::new("here").join(Store::FILE)));
        assert_eq!(of(None, Some("there")), Some(Path::new("there/gravitile").join(Store::FILE)));
        assert_eq!(of(Some(""), Some("there")), None);
        assert_eq!(of(None, None), None);
    }
}
