//! What can go wrong, said so that a user can act on it.
//!
//! Every text names the thing (file, option, value), what is wrong with it and what is allowed.
//! The library never prints and never exits; the program in `app` prints these texts as they stand.

use std::path::{Path, PathBuf};

/// The library's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number or name given by the caller lies outside what is allowed.
    #[error("{what} is {value}, but must be {allowed}")]
    Value {
        /// The option, field or argument, as the user knows it (`eps`, `scene parameter 'n'`).
        what: String,
        /// The offending value, as text.
        value: String,
        /// What would have been accepted.
        allowed: String,
    },

    /// A name that is in no registry.
    #[error("there is no {kind} named '{name}'; known are: {known}")]
    Unknown {
        /// The registry: `scene`, `format`, `engine`, `integrator`, ...
        kind: &'static str,
        /// The name that was asked for.
        name: String,
        /// Every name of the registry, separated by commas.
        known: String,
    },

    /// A file whose content is not what it should be.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, where in the file, and what was expected.
        problem: String,
    },

    /// The operating system refused to read or write.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: `read`, `write`, `create the folder`, ...
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },

    /// Bodies that no engine can work on.
    #[error("body {index} (id {id}): {problem}")]
    Body {
        /// Position in the list, from 0.
        index: usize,
        /// The body's id.
        id: u64,
        /// What is wrong with it and what is allowed.
        problem: String,
    },

    /// The graphics adapter cannot do what was asked of it.
    #[error("adapter '{adapter}': {problem}")]
    Adapter {
        /// Its name, as `gravitile info` prints it.
        adapter: String,
        /// What it cannot do, and its limit.
        problem: String,
    },

    /// No usable graphics adapter was found.
    #[error("no graphics adapter {wanted}; found: {found}")]
    NoAdapter {
        /// What was looked for.
        wanted: String,
        /// The adapters that are there, or `none`.
        found: String,
    },

    /// The graphics device was lost or broke down while it worked.
    #[error("the graphics device failed: {0}")]
    Device(String),

    /// A shader template that could not be put together or compiled.
    #[error("shader {name}: {problem}")]
    Shader {
        /// The template's path below `shaders/`.
        name: String,
        /// The compiler's or template engine's words, with line numbers.
        problem: String,
    },

    /// No window can be shown: no display, no driver that presents on it.
    #[error("{0}")]
    Display(String),

    /// Broken off because somebody asked for it, see [`crate::stop`].
    #[error("stopped before it was done")]
    Stopped,

    /// A step of outside help (a video encoder, say) that did not work.
    #[error("{0}")]
    Outside(String),
}

impl Error {
    /// A value outside its range.
    pub fn value(
        what: impl Into<String>,
        value: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self::Value { what: what.into(), value: value.to_string(), allowed: allowed.into() }
    }

    /// The same of a body by number only, as engines tell it, with the id that it has in `id`.
    #[must_use]
    pub fn with_ids(mut self, ids: &[u64]) -> Self {
        if let Self::Body { index, id, .. } = &mut self
            && let Some(known) = ids.get(*index)
        {
            *id = *known;
        }
        self
    }

    /// A file with wrong content.
    pub fn file(path: &Path, problem: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), problem: problem.into() }
    }

    /// A failed operation of the operating system.
    pub fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}
