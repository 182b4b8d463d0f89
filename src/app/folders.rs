//! Where the system keeps what belongs to a user; in a browser, what the page keeps.

use std::path::PathBuf;

/// What is remembered from one time to the next. `None` where there is no such folder.
#[cfg(all(not(target_arch = "wasm32"), feature = "panel"))]
pub fn configuration() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::choose_base_strategy().ok()?.config_dir().join("gravitile"))
}

/// What was made for a user.
#[cfg(all(not(target_arch = "wasm32"), feature = "panel"))]
pub fn data() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::choose_base_strategy().ok()?.data_dir().join("gravitile"))
}

/// Where all programs keep what can be found out again.
#[cfg(not(target_arch = "wasm32"))]
pub fn caches() -> Option<PathBuf> {
    use etcetera::BaseStrategy;
    Some(etcetera::base_strategy::choose_native_strategy().ok()?.cache_dir())
}

/// All of it is in the one place that a page has.
#[cfg(target_arch = "wasm32")]
pub fn configuration() -> Option<PathBuf> {
    Some(PathBuf::from(crate::files::KEPT))
}

#[cfg(target_arch = "wasm32")]
pub use {configuration as caches, configuration as data};
