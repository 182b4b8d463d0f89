//! The page: the window in a browser.

/// Opens the browser's dialog for files.
pub fn ask_for_file() {}
