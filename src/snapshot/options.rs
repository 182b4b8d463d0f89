//! Options for reading and writing snapshots.

pub use crate::settings::SnapshotChoice;

/// The byte order of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endianness {
    /// Least significant byte first, as on nearly all current machines.
    #[default]
    Little,
    /// Most significant byte first: XDR, and so tipsy's `standard` files.
    Big,
}

/// Options for reading a snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadOptions {
    /// Name of the format, whatever the file looks like; `None`: recognised from the file.
    pub format: Option<String>,
    /// Ignore the file's ids, which may then be missing or invalid, and number the bodies from 0 in
    /// the file's order.
    pub renumber: bool,
    /// Which snapshot of a file that holds several, as NEMO's may; `None`: the first, as NEMO's
    /// programs do, which is noted. A file of one snapshot has number 0 and its time.
    pub snapshot: Option<SnapshotChoice>,
    /// Number, from 0, of the only file to read of a snapshot in several files, for bodies spread
    /// over processes. `None`: all files.
    pub part: Option<u64>,
}

/// Options of [`super::write`] and [`super::Snapshot::to_bytes`]. `None` leaves the choice to the
/// snapshot (the layout of the file it was read from, in its `layout.` attributes) and then to the
/// format's convention.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Format name, optionally with modifiers (`tipsy-be`); `None`: from the file's extension.
    pub format: Option<String>,
    /// tipsy, GADGET, NEMO: byte order; little-endian by default.
    pub endianness: Option<Endianness>,
    /// tipsy: a header of 28 bytes (true) or, by default, of 32, which aligns the records.
    pub short_header: Option<bool>,
    /// tipsy: integer ids in place of the potential, as in NVIDIA's and Bonsai's files.
    pub integer_ids: Option<bool>,
    /// GADGET: blocks of f64 instead of f32.
    pub double: Option<bool>,
    /// GADGET: 64-bit (true) or 32-bit ids (false: an error if one does not fit). By default 32-bit
    /// if all fit.
    pub wide_ids: Option<bool>,
    /// tipsy, GADGET, NEMO: whether numbers stay as they are, even if readers assume other units.
    pub raw_units: bool,
    /// Number of files to spread the bodies over, for formats that can; from 1, the default, to the
    /// number of bodies.
    pub files: Option<usize>,
}
