//! Snapshots: the bodies of one moment in a file, in formats of our own and of other people's codes.
//!
//! Each format is one file or folder here plus one line in [`FORMATS`]. A format turns bytes into a
//! [`Snapshot`] and back; only `file.rs` touches the file system, so that the same readers serve a
//! browser, where a snapshot arrives as dropped bytes ([`Snapshot::from_bytes`]).
//!
//! What a format cannot hold is never dropped in silence: writing returns [`Losses`], in words.
//! Formats that group bodies by kind (tipsy, GADGET) reorder them, stably within each kind. No
//! number is changed on the way except by narrowing to f32, which is reported where it rounds;
//! in particular nothing is rescaled to other units.

mod bytes;
mod file;
mod find;
pub mod gadget;
pub mod gvt;
mod kinds;
mod losses;
mod model;
mod options;
pub mod table;
pub mod tipsy;

use std::path::Path;

use crate::error::Error;

pub use file::{read, read_with, write};
pub use find::{by_extension, find, formats, recognise};
pub use losses::Losses;
pub use model::Snapshot;
pub use options::{Endianness, ReadOptions, WriteOptions};

/// Every format, in the order in which `gravitile formats` lists them.
pub const FORMATS: &[Format] =
    &[gvt::FORMAT, tipsy::FORMAT, gadget::FORMAT_1, gadget::FORMAT_2, table::TEXT, table::CSV];

/// What is wrong with a file's content, where, and what was expected; one line, without the file's
/// name, which the caller puts in front.
pub type Problem = String;

/// One file format.
#[derive(Debug)]
pub struct Format {
    /// The name that options and messages use: `tipsy`, `gadget2`.
    pub name: &'static str,
    /// One line: what the format is and whose.
    pub summary: &'static str,
    /// One line: what it can hold, and so what it cannot.
    pub holds: &'static str,
    /// File name extensions without the dot, lower case. Writing chooses by them, reading asks them
    /// only where the content does not decide.
    pub extensions: &'static [&'static str],
    /// Suffixes that a name for writing may carry, in any number: `tipsy-be-id`.
    pub modifiers: &'static [Modifier],
    /// Judges the first bytes of a file (up to 64 KiB) and the length of the whole, in bytes.
    pub recognise: fn(head: &[u8], length: u64) -> Confidence,
    /// Reads a whole file; of the options it heeds `renumber`. The result has passed
    /// [`Snapshot::validate`]. Callers want [`Snapshot::from_bytes`] or [`read_with`].
    pub read: fn(bytes: &[u8], options: &ReadOptions) -> Result<Snapshot, Problem>,
    /// Turns a valid snapshot into a whole file, noting what is lost; `None` if it is only read.
    pub write: Option<WriteFn>,
}

impl Format {
    /// Reads the bytes of a whole file; `path` begins the messages.
    fn read(&self, bytes: &[u8], path: &Path, options: &ReadOptions) -> Result<Snapshot, Error> {
        let read = (self.read)(bytes, options);
        let mut snapshot = read.map_err(|problem| Error::file(path, problem))?;
        if options.renumber {
            snapshot.renumber();
        }
        Ok(snapshot)
    }
}

/// The writing half of a [`Format`].
pub type WriteFn = fn(&Snapshot, &WriteOptions, &mut Losses) -> Result<Vec<u8>, Problem>;

/// A suffix of a format's name that sets a write option, as `-be` does.
#[derive(Debug)]
pub struct Modifier {
    /// What is appended to the name, without the hyphen.
    pub suffix: &'static str,
    /// What it means, in a few words.
    pub summary: &'static str,
    /// Sets the option.
    pub apply: fn(&mut WriteOptions),
}

/// How sure a format is that a file is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Cannot be.
    No,
    /// Could be; the file's extension or lack of rivals decides.
    Maybe,
    /// Signature or sizes fit.
    Sure,
}
