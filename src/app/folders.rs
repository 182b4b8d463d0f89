//! The user's folders for configuration, data and caches; in a browser, the page's storage.

use std::path::PathBuf;

/// Settings remembered between runs. `None` if the system has no such folder.
#[cfg(all(not(target_arch = "wasm32"), feature = "panel"))]
pub fn configuration() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::choose_base_strategy().ok()?.config_dir().join("gravitile"))
}

/// Files that the program creates for the user.
#[cfg(all(not(target_arch = "wasm32"), feature = "panel"))]
pub fn data() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::choose_base_strategy().ok()?.data_dir().join("gravitile"))
}

/// The cache folder of all programs, for files that can be regenerated.
#[cfg(not(target_arch = "wasm32"))]
pub fn caches() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::base_strategy::choose_native_strategy().ok()?.cache_dir())
}

/// A page has a single storage folder, which also holds caches and data.
#[cfg(target_arch = "wasm32")]
pub fn configuration() -> Option<PathBuf> {
    Some(PathBuf::from(gravitile::files::STORED))
}

#[cfg(target_arch = "wasm32")]
pub use {configuration as caches, configuration as data};
