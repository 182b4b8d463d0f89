//! Opening a file with limits on what it can make the reader allocate, and errors in words.

use std::sync::Arc;

use hdf5_reader::error::Error as Hdf5Error;
use hdf5_reader::group::Group;
use hdf5_reader::{BytesStorage, FileStorage, FilterRegistry, Hdf5File, OpenOptions, Storage};

use super::super::{Problem, Stored};
use super::lzf;

/// Largest decoded chunk: HDF5 tools write 1 to 4 MiB.
const CHUNK_BYTES: usize = 64 << 20;
/// Largest description of one group or dataset.
const HEADER_BYTES: usize = 1 << 20;
/// Deflate shortens by at most this factor.
const DEFLATE: u64 = 1032;

/// SZIP, whose decoder is not tried here.
const SZIP: u16 = 4;

/// Bytes that the numbers of a file of `length` bytes may take. What deflate can make of a file up
/// to 256 MiB, then 64 times its length: a damaged file may promise any number of bodies.
pub(super) fn budget(length: u64) -> u64 {
    length.saturating_mul(DEFLATE).min(256 << 20).max(length.saturating_mul(64))
}

/// An open file.
pub(super) struct File {
    pub root: Group,
    /// Length in bytes.
    pub length: u64,
}

/// Opens a file.
///
/// # Errors
/// Not HDF5, cut off, or damaged.
pub(super) fn open(file: Stored) -> Result<File, Problem> {
    let storage: Arc<dyn Storage> = match file.bytes {
        Some(bytes) => Arc::new(BytesStorage::new(bytes.to_vec())),
        None => Arc::new(FileStorage::open(file.path).map_err(describe)?),
    };
    let length = storage.len();
    let most = usize::try_from(budget(length)).unwrap_or(usize::MAX);
    let chunk = CHUNK_BYTES.min(most);
    let mut filters = FilterRegistry::new();
    filters.register(
        lzf::ID,
        Box::new(move |_, data, _| {
            lzf::decompress(data, chunk).map_err(|problem| Hdf5Error::InvalidData(problem.into()))
        }),
    );
    filters.register(SZIP, Box::new(|_, _, _| Err(Hdf5Error::UnsupportedFilter("SZIP".into()))));
    let options = OpenOptions::default()
        .with_filter_registry(filters)
        .with_max_read_bytes(most)
        .with_max_chunk_bytes(chunk)
        .with_max_object_header_bytes(HEADER_BYTES)
        // Every number is read once.
        .with_chunk_cache_bytes(0);
    let file = Hdf5File::from_storage_with_options(storage, options).map_err(describe)?;
    let superblock = file.superblock();
    let end = superblock.base_address.saturating_add(superblock.eof_address);
    if superblock.base_address == 0 && end > length {
        return Err(format!("is cut off: it has {length} bytes of {end}"));
    }
    Ok(File { root: file.root_group().map_err(describe)?, length })
}

/// An error of the reader in words: what is wrong, and what helps.
pub(super) fn describe(error: Hdf5Error) -> Problem {
    const REPACK: &str = "h5repack -f GZIP=4 IN OUT writes a file that is read";
    match error {
        Hdf5Error::Context { path, source } => {
            let path = crate::messages::piece(&path);
            format!("{path}: {}", describe(*source))
        }
        Hdf5Error::UnsupportedFilter(filter) => format!(
            "is compressed by {}, but only gzip, shuffle, fletcher32 and LZF are read: {REPACK}",
            filter_name(&filter)
        ),
        // Layout 3: the numbers are in other files.
        Hdf5Error::UnsupportedLayoutClass(3) => {
            "is a virtual dataset, whose numbers are in other files: read those instead".into()
        }
        Hdf5Error::ResourceLimit(what) => {
            format!("is damaged, or takes more memory than its length allows: {what}")
        }
        Hdf5Error::Io(error) => format!("cannot be read: {error}"),
        other => format!("is not readable as HDF5: {other}"),
    }
}

/// The name of `filter id N`.
fn filter_name(filter: &str) -> String {
    const KNOWN: [(&str, &str); 7] = [
        ("32001", "Blosc"),
        ("32004", "LZ4"),
        ("32008", "Bitshuffle"),
        ("32013", "ZFP"),
        ("32015", "Zstandard"),
        ("32026", "Blosc2"),
        ("32019", "JPEG"),
    ];
    let number = filter.strip_prefix("filter id ").unwrap_or(filter);
    let known = KNOWN.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| filter.to_owned(), |(_, name)| (*name).to_owned())
}
