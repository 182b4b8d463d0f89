//! Errors, worded so that a user can act on them.
//!
//! Every text names the thing (file, option, value), what is wrong with it and what is allowed.
//! Each is one line of at most 350 visible characters, whatever foreign text it quotes
//! ([`crate::messages`]). The library never prints and never exits; the program in `app` prints
//! these texts.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::messages;

/// The library's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Every error of the library.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A number or name given by the caller is not allowed.
    Value {
        /// The option, field or argument, as the user knows it (`eps`, `scene parameter 'n'`).
        what: String,
        /// The offending value, as text.
        value: String,
        /// What would have been accepted.
        allowed: String,
    },

    /// A name that is not in its registry.
    Unknown {
        /// The registry: `scene`, `format`, `engine`, `integrator`, ...
        kind: &'static str,
        /// The requested name.
        name: String,
        /// Every name in the registry, separated by commas.
        known: String,
    },

    /// A file with wrong content.
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong, where in the file, and what was expected.
        problem: String,
    },

    /// The operating system refused to read or write.
    Io {
        /// What was attempted: `read`, `write`, `create the folder`, ...
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: std::io::Error,
    },

    /// A body that no engine can compute with.
    Body {
        /// Position in the list, from 0.
        index: usize,
        /// The body's id.
        id: u64,
        /// What is wrong with it and what is allowed.
        problem: String,
    },

    /// The graphics adapter cannot do what was requested.
    Adapter {
        /// Its name, as `gravitile info` prints it.
        adapter: String,
        /// What it cannot do, and its limit.
        problem: String,
    },

    /// No usable graphics adapter was found.
    NoAdapter {
        /// What was looked for.
        requested: String,
        /// The adapters present, or `none`.
        found: String,
    },

    /// The graphics device was lost or failed while working.
    Device(String),

    /// Another device or rank of a group gave up, for this reason; its own error says more.
    Member(String),

    /// A shader template that could not be put together or compiled.
    Shader {
        /// The template's path below `shaders/`.
        name: String,
        /// The message of the compiler or the template engine, with line numbers.
        problem: String,
    },

    /// No window can be shown: no display, or no driver that can draw to it.
    Display(String),

    /// Stopped on request; see [`crate::stop`].
    Stopped,

    /// Something outside the program failed (a video encoder, for example).
    Outside(String),
}

// No `source`: the system's reason is already part of the text and would be printed twice.
impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Paths are shortened to the room that the rest leaves; names to the length of a piece.
        let with_path = |path: &Path, before: &str, after: &str| {
            let after = messages::fit(after, messages::ERROR);
            let room = messages::ERROR.saturating_sub(before.len() + after.chars().count());
            format!("{before}{}{after}", messages::path(path, room.max(SHORTEST_PATH)))
        };
        let text = match self {
            Self::Value { what, value, allowed } => {
                let (what, value) =
                    (messages::fit(what, 2 * messages::PIECE), messages::piece(value));
                format!("{what} is {value}, but must be {allowed}")
            }
            Self::Unknown { kind, name, known } => {
                let meant = did_you_mean(name, known);
                let name = messages::piece(name);
                format!("there is no {kind} named '{name}'{meant}; those known are: {known}")
            }
            Self::File { path, problem } => with_path(path, "", &format!(": {problem}")),
            Self::Io { action, path, source } => {
                with_path(path, &format!("cannot {action} "), &format!(": {source}"))
            }
            Self::Body { index, id, problem } => format!("body {index} (id {id}): {problem}"),
            Self::Adapter { adapter, problem } => {
                format!("adapter '{}': {problem}", messages::piece(adapter))
            }
            Self::NoAdapter { requested, found } => {
                format!("no graphics adapter {requested}; found: {found}")
            }
            Self::Device(problem) => {
                // Drivers and browsers end in a full stop; what follows here adds its own.
                let problem = problem.trim_end().trim_end_matches('.');
                format!("the graphics device failed: {problem}")
            }
            Self::Member(why) => format!("another device or rank gave up: {why}"),
            Self::Shader { name, problem } => format!("shader {name}: {problem}"),
            Self::Display(problem) | Self::Outside(problem) => problem.clone(),
            Self::Stopped => "stopped before it was done".to_owned(),
        };
        f.write_str(&messages::fit(&text, messages::ERROR))
    }
}

/// Characters that a path keeps even next to a long problem.
const SHORTEST_PATH: usize = 100;

impl Error {
    /// A value outside its range.
    pub fn value(
        what: impl Into<String>,
        value: impl std::fmt::Display,
        allowed: impl Into<String>,
    ) -> Self {
        Self::Value { what: what.into(), value: value.to_string(), allowed: allowed.into() }
    }

    /// A name that is none of the `known` ones.
    pub fn unknown(
        kind: &'static str,
        name: &str,
        known: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let known: Vec<String> = known.into_iter().map(Into::into).collect();
        Self::Unknown { kind, name: name.to_owned(), known: known.join(", ") }
    }

    /// The variant's name, for scripts.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Value { .. } => "value",
            Self::Unknown { .. } => "unknown",
            Self::File { .. } => "file",
            Self::Io { .. } => "io",
            Self::Body { .. } => "body",
            Self::Adapter { .. } => "adapter",
            Self::NoAdapter { .. } => "no-adapter",
            Self::Device(_) => "device",
            Self::Member(_) => "member",
            Self::Shader { .. } => "shader",
            Self::Display(_) => "display",
            Self::Stopped => "stopped",
            Self::Outside(_) => "outside",
        }
    }

    /// Fills in the body's id: engines know only its index, and `ids` holds the ids by index.
    #[must_use]
    pub fn with_ids(mut self, ids: &[u64]) -> Self {
        if let Self::Body { index, id, .. } = &mut self
            && let Some(known) = ids.get(*index)
        {
            *id = *known;
        }
        self
    }

    /// The error about a body of a process whose bodies have the numbers from `first` on.
    #[must_use]
    pub fn numbered_from(mut self, first: usize) -> Self {
        if let Self::Body { index, .. } = &mut self {
            *index += first;
        }
        self
    }

    /// A file with wrong content.
    pub fn file(path: &Path, problem: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), problem: problem.into() }
    }

    /// A file whose `text` is not the TOML that it must be, with the line and, for an unknown key,
    /// the known one that may be meant.
    pub(crate) fn toml(path: &Path, text: &str, error: &toml::de::Error) -> Self {
        let mut problem = error.message().trim_end().to_owned();
        let mut quoted = problem.split('`').skip(1).step_by(2);
        if let Some(name) = quoted.next().filter(|_| problem.starts_with("unknown ")) {
            let meant = did_you_mean(name, &quoted.collect::<Vec<_>>().join(", "));
            problem = problem.replacen("`, expected", &format!("`{meant}, expected"), 1);
        }
        Self::line(path, text, error.span().map_or(0, |span| span.start), problem)
    }

    /// A file with wrong content in the line of its `text` that has this byte.
    pub(crate) fn line(path: &Path, text: &str, at: usize, problem: impl fmt::Display) -> Self {
        let before = &text.as_bytes()[..at.min(text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        Self::file(path, format!("line {line}: {problem}"))
    }

    /// A failed operation of the operating system.
    pub fn io(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }
}

/// The entry of `all` with this name.
///
/// # Errors
/// [`Error::Unknown`] with all names.
pub(crate) fn by_name<T: Copy>(
    kind: &'static str,
    name: &str,
    all: &[(T, &'static str)],
) -> Result<T> {
    let found = all.iter().find(|(_, known)| *known == name);
    let names = || all.iter().map(|(_, known)| *known);
    found.map(|(entry, _)| *entry).ok_or_else(|| Error::unknown(kind, name, names()))
}

/// A question in parentheses about the known name that may be meant; empty if there is none.
fn did_you_mean(name: &str, known: &str) -> String {
    nearest(name, known).map_or(String::new(), |meant| format!(" (did you mean '{meant}'?)"))
}

/// The known name, without what may follow it in brackets, that is closest to `name`, if `name`
/// looks like a typing error: most of it is the same, one letter of several is wrong, missing, too
/// many or after its neighbour, or it is a part of the known name.
pub(crate) fn nearest<'a>(name: &str, known: &'a str) -> Option<&'a str> {
    // A name this long matches none, and would take long to compare.
    let name = Some(name).filter(|name| name.len() <= 64)?.to_lowercase();
    let likeness = |known: &&str| {
        let known = known.to_lowercase();
        let is_slip = name.chars().count() > 2 && strsim::osa_distance(&name, &known) == 1;
        let is_part = name.len() > 3 && known.contains(&name);
        let least = if is_slip || is_part { 0.9 } else { 0.0 };
        strsim::jaro_winkler(&name, &known).max(least)
    };
    // Of several as likely ones the first is taken, which `max_by` finds last.
    let names = known.rsplit(", ").map(|known| known.split('[').next().unwrap_or_default());
    let names = names.filter(|known| !known.is_empty());
    let best = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&best) > 0.85).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_hand_gets_the_name_that_was_meant() {
        let text = |name: &str| {
            let known = "plummer, cartwheel, disk-galaxy".to_owned();
            Error::Unknown { kind: "scene", name: name.to_owned(), known }.to_string()
        };
        assert!(text("cartweel").contains("did you mean 'cartwheel'?"), "{}", text("cartweel"));
        assert!(text("Plumer").contains("did you mean 'plummer'?"));
        assert!(!text("teapot").contains("did you mean"));
        for (name, known) in [("nwf", "point, nfw"), ("tispy", "gravitile, tipsy[-le][-be], csv")] {
            let text = Error::Unknown { kind: "format", name: name.into(), known: known.into() };
            let text = text.to_string();
            assert!(text.contains("mean 'nfw'?") || text.contains("mean 'tipsy'?"), "{text}");
        }
    }

    #[test]
    fn errors_of_toml_name_the_line_and_what_was_meant() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            #[serde(rename = "softening")]
            _softening: f64,
        }
        for (text, expected) in [
            (
                "\nsoftenin = 1",
                "line 2: unknown field `softenin` (did you mean 'softening'?), expected",
            ),
            ("\n\nteapot = 1", "line 3: unknown field `teapot`, expected `softening`"),
            ("softening = \"1\"", "line 1: invalid type: string \"1\", expected f64"),
        ] {
            let error = toml::from_str::<File>(text).unwrap_err();
            let error = Error::toml(Path::new("a.toml"), text, &error).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn texts_are_one_line_whatever_is_in_them() {
        let wild = format!("\x1b[2J{}\u{202e}\n", "long ".repeat(10_000));
        let path = PathBuf::from(format!("/first/{wild}/last.csv"));
        let refused = || std::io::Error::other(wild.clone());
        for error in [
            Error::value(&wild, &wild, &wild),
            Error::value("dt", 1e300, "smaller"),
            Error::Unknown { kind: "scene", name: wild.clone(), known: wild.clone() },
            Error::file(&path, &wild),
            Error::io("read", &path, refused()),
            Error::Body { index: 0, id: 0, problem: wild.clone() },
            Error::Adapter { adapter: wild.clone(), problem: wild.clone() },
            Error::NoAdapter { requested: wild.clone(), found: wild.clone() },
            Error::Device(wild.clone()),
            Error::Member(wild.clone()),
            Error::Shader { name: wild.clone(), problem: wild.clone() },
            Error::Display(wild.clone()),
            Error::Outside(wild.clone()),
        ] {
            let text = error.to_string();
            assert!(text.chars().all(messages::shows), "{text}");
            assert!(text.chars().count() <= messages::ERROR, "{text}");
        }
        assert_eq!(
            Error::value("dt", 1e300, "smaller").to_string(),
            "dt is 1e300, but must be smaller"
        );
    }

    #[test]
    fn a_device_error_ends_without_a_full_stop() {
        let text = Error::Device("No device exists. ".to_owned()).to_string();
        assert_eq!(text, "the graphics device failed: No device exists");
    }

    #[test]
    fn the_system_gives_its_reason_once_and_a_long_path_keeps_both_ends() {
        let path = PathBuf::from(format!("/first/{}last.csv", "deep/".repeat(100)));
        let error = Error::io("read", &path, std::io::Error::from_raw_os_error(2));
        let text = error.to_string();
        assert!(text.starts_with("cannot read /first/") && text.contains("last.csv: "), "{text}");
        assert!(std::error::Error::source(&error).is_none());
        // A path is cut before the sentence is.
        let text = Error::file(&path, "p".repeat(240)).to_string();
        assert!(text.contains("last.csv: ppp") && text.matches('p').count() >= 240, "{text}");
    }
}
