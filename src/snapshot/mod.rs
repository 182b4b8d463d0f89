//! Snapshots: the bodies at one moment in a file, in our own format and in those of other codes.
//!
//! Each format is one file or folder here, listed as a module and in [`FORMATS`]. A format reads a
//! [`Snapshot`] from [`InputFiles`] (the bytes of one file, or of the several files of a
//! snapshot) and writes it to a [`OutputFiles`]. Both handle files on disk and bytes in memory,
//! so that the same readers work in a browser, where a snapshot arrives as bytes
//! ([`SnapshotSource::bytes`]).
//!
//! What a format cannot hold is never dropped silently: writing returns [`Losses`] in words.
//! Formats that group bodies by kind (tipsy, GADGET) reorder them, stably within each kind. Numbers
//! change by narrowing to f32, which is reported if it rounds. If a format has no place for units,
//! numbers whose units are known are converted to those that its readers assume, which is reported.
//! What a reader assumes is in [`Snapshot::notes`].

mod bytes;
mod column;
mod file;
pub mod gadget;
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "a page has no runs in folders"))]
pub mod gvt;
#[cfg(feature = "hdf5")]
pub mod hdf5;
mod kinds;
mod losses;
mod model;
pub mod nemo;
mod rescale;
mod source;
pub mod table;
pub mod tipsy;

use crate::error::Result;
use crate::units::Units;

pub use column::{Column, ColumnType};
pub use file::{
    Endianness, Made, OutputFiles, ReadOptions, Series, SnapshotChoice, WriteOptions, by_extension,
    find, read, read_with, recognise, targets, write,
};
pub use gvt::{index_of, listed_files};
pub use losses::Losses;
pub use model::Snapshot;
pub(crate) use rescale::FIELD;
pub use source::{InputFiles, SnapshotSource, exists};
// Only runs in folders, which a browser does not have, name these.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use {
    gvt::{ListedFile, Listing, listing, read_rows, share, write_file, write_index},
    rescale::LONGEST_DT,
    source::{file_of, nth},
};

#[cfg(feature = "hdf5")]
use source::Stored;

/// Every format, in the order in which `gravitile formats` lists them.
pub const FORMATS: &[Format] = &[
    gvt::FORMAT,
    tipsy::FORMAT,
    gadget::FORMAT_1,
    gadget::FORMAT_2,
    #[cfg(feature = "hdf5")]
    hdf5::FORMAT,
    nemo::FORMAT,
    table::TEXT,
    table::CSV,
];

/// What is wrong with a file's content, where, and what was expected; one line without the file's
/// name, which [`InputFiles`] and [`OutputFiles`] prepend.
type FormatError = String;

/// A file format.
#[derive(Debug)]
pub struct Format {
    /// The name that options and messages use: `tipsy`, `gadget2`.
    pub name: &'static str,
    /// One line: what the format is and who uses it.
    pub summary: &'static str,
    /// One line: what it can hold; anything else is lost.
    pub holds: &'static str,
    /// File name extensions without the dot, lower case. They decide when writing; when reading
    /// only if the content does not.
    pub extensions: &'static [&'static str],
    /// The units that readers assume for a snapshot of these units and attributes, for formats that
    /// do not hold units.
    pub units: Option<fn(&Snapshot) -> Units>,
    /// Suffixes that the name may have for writing, any number of them: `tipsy-be-id`.
    pub modifiers: &'static [Modifier],
    /// Judges a file by its first bytes (up to 64 KiB) and its length in bytes.
    pub recognise: fn(head: &[u8], length: u64) -> Confidence,
    /// For formats that allow several files. `None`: a snapshot is always one file.
    pub files: Option<Several>,
    /// For formats of which a file may hold several snapshots: their times, in the file's order.
    /// `None`: a file is always one snapshot.
    pub series: Option<TimesFn>,
    /// Reads a snapshot, which has passed [`Snapshot::validate`]; the only options used are
    /// `renumber` and, with [`Format::series`], the number of the snapshot. Callers use
    /// [`read_with`].
    pub read: fn(&mut InputFiles, &ReadOptions) -> Result<Snapshot>,
    /// Writes the files of a valid snapshot, noting what is lost; `None` for formats that are only
    /// read. Callers use [`write()`].
    pub write: Option<WriteFn>,
}

/// How a format spreads a snapshot over several files.
#[derive(Clone, Copy, Debug)]
pub struct Several {
    /// The number of files with bodies, from any file of the snapshot.
    pub count: fn(&mut InputFiles) -> Result<u64>,
    /// For formats with an index, a file with the snapshot's own name that lists the others:
    /// whether these first bytes are those of one.
    pub is_index: Option<fn(head: &[u8]) -> bool>,
}

/// The type of [`Format::series`].
pub type TimesFn = fn(&[u8]) -> Result<Vec<f64>, String>;

/// The type of [`Format::write`].
pub type WriteFn = fn(&Snapshot, &WriteOptions, &mut OutputFiles, &mut Losses) -> Result<()>;

/// A suffix of a format's name that sets a write option, such as `-be`.
#[derive(Debug)]
pub struct Modifier {
    /// The suffix without its hyphen.
    pub suffix: &'static str,
    /// What it means, in a few words.
    pub summary: &'static str,
    /// Sets the option.
    pub apply: fn(&mut WriteOptions),
}

/// Big-endian.
const BIG_ENDIAN: Modifier = Modifier {
    suffix: "be",
    summary: "big-endian",
    apply: |options| options.endianness = Some(Endianness::Big),
};

/// Modifiers of several formats.
const LITTLE_ENDIAN: Modifier = Modifier {
    suffix: "le",
    summary: "little-endian, as is the custom",
    apply: |options| options.endianness = Some(Endianness::Little),
};
const F64: Modifier = Modifier {
    suffix: "f64",
    summary: "positions, velocities and masses as f64",
    apply: |options| options.double = Some(true),
};
const F32: Modifier = Modifier {
    suffix: "f32",
    summary: "positions, velocities and masses as f32",
    apply: |options| options.double = Some(false),
};
const RAW_UNITS: Modifier = Modifier {
    suffix: "raw",
    summary: "numbers as they are, whatever units readers assume",
    apply: |options| options.raw_units = true,
};

/// How certain a format is that a file is its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The file is not of this format.
    No,
    /// Possible; the extension, or a lack of other candidates, decides.
    Maybe,
    /// The signature or the sizes fit.
    Sure,
}
