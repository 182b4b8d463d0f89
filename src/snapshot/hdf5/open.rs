//! Opening a file with limits on what it can make the reader allocate, and errors in words.

use std::sync::Arc;

use hdf5_reader::error::Error as Hdf5Error;
use hdf5_reader::group::Group;
use hdf5_reader::{BytesStorage, FileStorage, FilterRegistry, Hdf5File, OpenOptions, Storage};

use super::super::{FormatError, Stored};

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
pub(super) struct OpenFile {
    pub root: Group,
    /// Length in bytes.
    pub length: u64,
}

/// Opens a file.
///
/// # Errors
/// Not HDF5, cut off, or damaged.
pub(super) fn open(file: Stored) -> Result<OpenFile, FormatError> {
    let storage: Arc<dyn Storage> = match file.bytes {
        Some(bytes) => Arc::new(BytesStorage::new(bytes.to_vec())),
        None => Arc::new(FileStorage::open(file.path).map_err(describe)?),
    };
    let length = storage.len();
    let most = usize::try_from(budget(length)).unwrap_or(usize::MAX);
    let chunk = CHUNK_BYTES.min(most);
    let mut filters = FilterRegistry::new();
    filters.register(
        LZF,
        Box::new(move |_, data, _| {
            decompress(data, chunk).map_err(|problem| Hdf5Error::InvalidData(problem.into()))
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
    Ok(OpenFile { root: file.root_group().map_err(describe)?, length })
}

/// An error of the reader in words: what is wrong, and what helps.
pub(super) fn describe(error: Hdf5Error) -> FormatError {
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

/// The filter's number.
const LZF: u16 = 32000;

// The filter LZF (number 32000 in the HDF5 Group's list), which h5py writes with
// `compression="lzf"`.
//
// A stream is a sequence of runs. A control byte below 32 is followed by that number of bytes plus
// 1, to be copied. In any other, the upper 3 bits are a length minus 2 (7: the next byte is added)
// and the lower 5 the upper bits of a distance minus 1, whose lower byte follows: that length is
// copied from that distance back in the output. (LibLZF, Marc Lehmann.)

/// The bytes of one chunk, at most `most` of them.
///
/// # Errors
/// A stream that is cut off, repeats bytes from before its beginning, or is longer than `most`.
fn decompress(data: &[u8], most: usize) -> Result<Vec<u8>, &'static str> {
    const CUT: &str = "the LZF stream is cut off";
    let (mut out, mut rest) = (Vec::new(), data);
    while let Some((control, after)) = rest.split_first() {
        rest = after;
        if *control < 32 {
            let (copied, after) = rest.split_at_checked(usize::from(*control) + 1).ok_or(CUT)?;
            out.extend_from_slice(copied);
            rest = after;
        } else {
            let mut next = || -> Result<usize, &'static str> {
                let (byte, after) = rest.split_first().ok_or(CUT)?;
                rest = after;
                Ok(usize::from(*byte))
            };
            let mut count = usize::from(control >> 5) + 2;
            if count == 9 {
                count += next()?;
            }
            let distance = (usize::from(control & 31) << 8 | next()?) + 1;
            let start = out.len().checked_sub(distance);
            let start = start.ok_or("the LZF stream repeats bytes from before its beginning")?;
            // The repeated bytes may overlap those that are appended.
            (start..start + count).for_each(|k| out.push(out[k]));
        }
        if out.len() > most {
            return Err("the LZF stream is longer than a chunk may be");
        }
    }
    Ok(out)
}

#[cfg(test)]
mod lzf_tests {
    use super::*;

    #[test]
    fn literals_and_repetitions_are_expanded() {
        // "abc", 6 bytes from 3 back, then 20 from 1 back.
        let stream = [2, b'a', b'b', b'c', 4 << 5, 2, 7 << 5, 11, 0];
        let text = decompress(&stream, 100).unwrap();
        assert_eq!(text, [b"abcabcabc".as_slice(), &[b'c'; 20]].concat());
        assert_eq!(decompress(&[], 100), Ok(Vec::new()));
    }

    #[test]
    fn damaged_streams_are_refused() {
        for stream in [&[2, b'a'][..], &[1 << 5], &[0, b'a', 7 << 5], &[0, b'a', 1 << 5, 1]] {
            assert!(decompress(stream, 100).is_err(), "{stream:?}");
        }
        assert!(decompress(&[0, b'a', 7 << 5, 255, 0], 100).is_err());
    }
}
