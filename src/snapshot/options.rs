//! How a snapshot is to be read and written.

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Endianness {
    /// Least significant byte first: nearly every machine of today.
    #[default]
    Little,
    /// Most significant byte first: XDR, hence tipsy's `standard` files.
    Big,
}

/// How a snapshot is to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Name of the format, whatever the file looks like; `None`: it is recognised.
    pub format: Option<String>,
    /// Leave the file's ids unread, which need not be whole numbers then nor be there at all: bodies are
    /// numbered from 0, in the file's order.
    pub renumber: bool,
    /// Of a snapshot in several files that of this number alone, from 0: for bodies that are spread over
    /// processes. `None`: all of them.
    pub part: Option<u64>,
}

/// Options of [`super::write`] and of [`super::Snapshot::to_bytes`]. `None` leaves the choice to the
/// snapshot (what its `layout.` attributes remember of the file that it came from) and then to the format's
/// custom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Format name, with modifiers if wanted (`tipsy-be`); `None`: by the file's extension.
    pub format: Option<String>,
    /// tipsy, GADGET: order of bytes; little by default.
    pub endianness: Option<Endianness>,
    /// tipsy: header of 28 bytes (true) or, by default, of 32, which aligns the records.
    pub short_header: Option<bool>,
    /// tipsy: integer ids in the place of the potential, as NVIDIA's and Bonsai's files have them.
    pub integer_ids: Option<bool>,
    /// GADGET: blocks of f64 instead of f32.
    pub double: Option<bool>,
    /// GADGET: ids of 64 bits (true) or 32 (false: an error if one does not fit). By default 32
    /// where all fit.
    pub wide_ids: Option<bool>,
    /// Number of files to spread the bodies over, at most that of the bodies, where the format can; 1 by
    /// default.
    pub files: Option<usize>,
}
