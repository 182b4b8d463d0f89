//! Fortran records: data between two markers, each of which holds the length.

use super::super::bytes::{ByteReader, ByteWriter};
use super::super::{Endianness, FormatError};
use super::kind_of_file;

/// The most blocks of a file; a damaged file could consist of nothing but empty records.
const MOST_BLOCKS: usize = 1000;

/// The data of one block.
pub(super) struct RecordBlock<'a> {
    /// Without trailing blanks; in format 1 empty until named by order.
    pub name: String,
    pub data: &'a [u8],
    /// Offset of the data in the file.
    pub at: usize,
}

/// All blocks of a file, the header first, with the byte order and the format's number.
pub(super) fn blocks(bytes: &[u8]) -> Result<(Vec<RecordBlock<'_>>, Endianness, u8), FormatError> {
    let (endianness, format) = kind_of_file(bytes).ok_or_else(|| {
        let head = &bytes[..bytes.len().min(8)];
        format!(
            "is not a GADGET file: it begins with '{}', but the length of a header of 256 bytes or a record 'HEAD' was expected",
            head.escape_ascii()
        )
    })?;
    let mut reader = ByteReader::new(bytes, endianness);
    let mut blocks = Vec::new();
    while reader.left() > 0 {
        if blocks.len() == MOST_BLOCKS {
            return Err(format!(
                "has more than {MOST_BLOCKS} blocks, which no GADGET file has; the next is at byte {}",
                reader.at()
            ));
        }
        let name = if format == 2 { block_name(&mut reader)? } else { String::new() };
        let title = match (format, blocks.len()) {
            (2, _) => format!("block {name}"),
            (_, 0) => "the GADGET header".into(),
            (_, 1) => "block POS".into(),
            (_, 2) => "block VEL".into(),
            (_, 3) => "block ID".into(),
            (_, k) => format!("block {k} after the header"),
        };
        let (data, at) = record(&mut reader, &title)?;
        blocks.push(RecordBlock { name, data, at });
    }
    Ok((blocks, endianness, format))
}

/// The data of the next record and its offset.
fn record<'a>(reader: &mut ByteReader<'a>, what: &str) -> Result<(&'a [u8], usize), FormatError> {
    let marker_at = reader.at();
    let length = reader.u32(&format!("the length of {what}"))?;
    let at = reader.at();
    let data = reader.take(length.into(), what)?;
    let end = reader.at();
    let closing = reader.u32(&format!("the closing length of {what}"))?;
    if closing != length {
        return Err(format!(
            "{what} is broken: the length at byte {marker_at} is {length}, but the one after it at byte {end} is {closing}"
        ));
    }
    Ok((data, at))
}

/// The name in the 8-byte record before a block of format 2.
fn block_name(reader: &mut ByteReader) -> Result<String, FormatError> {
    let (data, at) = record(reader, "a block's name")?;
    if data.len() != 8 {
        return Err(format!(
            "the record of a block's name at byte {at} has {} bytes, but 8 were expected",
            data.len()
        ));
    }
    let name = &data[..4];
    if !name.iter().all(|&byte| byte == b' ' || byte.is_ascii_graphic()) {
        return Err(format!(
            "the block's name at byte {at} is '{}', but letters were expected",
            name.escape_ascii()
        ));
    }
    Ok(String::from_utf8_lossy(name).trim_end().to_owned())
}

/// Appends a block with its markers and, in format 2, its name of at most four characters.
pub(super) fn put_block(
    out: &mut ByteWriter,
    format: u8,
    name: &str,
    length: usize,
    data: impl FnOnce(&mut ByteWriter),
) -> Result<(), FormatError> {
    // Readers treat the markers as i32, and format 2 adds the markers' 8 bytes.
    let marker = i32::try_from(length as u64 + 8).map(|length| length as u32).map_err(|_| {
        format!("block {name} would take {length} bytes, but a record holds less than 2 GiB")
    })?;
    if format == 2 {
        out.u32(8);
        out.raw(format!("{name:<4}").as_bytes());
        out.u32(marker);
        out.u32(8);
    }
    out.u32(marker - 8);
    let start = out.bytes.len();
    data(out);
    debug_assert_eq!(out.bytes.len() - start, length, "length of block {name}");
    out.u32(marker - 8);
    Ok(())
}
