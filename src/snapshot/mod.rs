//! Snapshots: the bodies of one moment in a file, in formats of our own and of other people's codes.
//!
//! Each format is one file or folder here, named in the list of modules and in [`FORMATS`]. A format turns
//! an [`Input`] (the bytes of one file, or of the several files of a snapshot) into a [`Snapshot`], and a
//! snapshot into an [`Output`]. Both serve files on disk and bytes in memory alike, so that the same readers
//! serve a browser, where a snapshot arrives as dropped bytes ([`Source::bytes`]).
//!
//! What a format cannot hold is never dropped in silence: writing returns [`Losses`], in words.
//! Formats that group bodies by kind (tipsy, GADGET) reorder them, stably within each kind. No
//! number is changed on the way except by narrowing to f32, which is reported where it rounds;
//! in particular nothing is rescaled to other units.

mod bytes;
mod column;
mod file;
mod find;
pub mod gadget;
pub mod gvt;
mod input;
mod kinds;
mod losses;
mod model;
mod options;
mod output;
mod parts;
mod source;
pub mod table;
pub mod tipsy;

use crate::error::Result;

pub use column::{Column, ColumnType};
pub use file::{read, read_with, targets, write};
pub use find::{by_extension, find, formats, recognise};
pub use input::Input;
pub use losses::Losses;
pub use model::Snapshot;
pub use options::{Endianness, ReadOptions, WriteOptions};
pub use output::{Made, Output};
pub use source::{Source, is_there};

use input::Part;

/// Every format, in the order in which `gravitile formats` lists them.
pub const FORMATS: &[Format] =
    &[gvt::FORMAT, tipsy::FORMAT, gadget::FORMAT_1, gadget::FORMAT_2, table::TEXT, table::CSV];

/// What is wrong with a file's content, where, and what was expected; one line, without the file's
/// name, which [`Input`] and [`Output`] put in front.
type Problem = String;

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
    /// For a format that can be in several files: how many there are, by the first bytes of any of them.
    /// `None`: a snapshot is always one file.
    pub files: Option<fn(head: &[u8]) -> u64>,
    /// Reads a snapshot; of the options it heeds `renumber`. The result has passed
    /// [`Snapshot::validate`]. Callers want [`read_with`].
    pub read: fn(&mut Input, &ReadOptions) -> Result<Snapshot>,
    /// Puts the files of a valid snapshot, noting what is lost; `None` if the format is only read. Callers
    /// want [`write()`].
    pub write: Option<WriteFn>,
}

/// The writing half of a [`Format`].
pub type WriteFn = fn(&Snapshot, &WriteOptions, &mut Output, &mut Losses) -> Result<()>;

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
