//! Mutations of files, deterministic by their seed.

use hdf5_writer::jenkins_lookup3;

/// Largest size of a mutant.
const MOST_BYTES: usize = 64 << 10;

/// Numbers as text that are likely to break readers.
const NUMBERS: &[&str] = &[
    "nan",
    "inf",
    "-inf",
    "1e400",
    "-1e400",
    "1e-400",
    "-0",
    "-1",
    "0",
    "1e308",
    "-1e308",
    "1e300",
    "5e-324",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "-9223372036854775809",
    "4294967296",
    "1e",
    "1.2.3",
    "--1",
    "0x10",
    "1d5",
    "1_000",
    "0.5",
    "",
    "NaN",
    "infinity",
    "true",
    "[1]",
];

/// Bytes and words with a meaning to a reader or a terminal.
const WORDS: &[&[u8]] = &[
    b"\"",
    b"'",
    b",",
    b"\n",
    b"\r\n",
    b"\r",
    b"\0",
    b"\x1b[2J",
    b"\x1b]0;title\x07",
    b"\x9b31m",
    b"#",
    b"#:",
    b"\t",
    b" ",
    b"=",
    b"-",
    b"\\",
    b"\\u{1b}",
    b"\\u{110000}",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xc3",
    "\u{202e}".as_bytes(),
    "\u{200b}".as_bytes(),
    "\u{2028}".as_bytes(),
    b"[",
    b"]",
    b"[[part]]\n",
    b"{",
    b"}",
    b"#: time = 1\n",
    b"#: component.\x1b = disk\n",
    b"\"\"\"",
    b"HEAD",
    b"\x89HDF\r\n\x1a\n",
    b"\x7f",
];

/// Integers as false lengths and counts, as bits.
const COUNTS: &[u64] = &[
    0,
    1,
    2,
    3,
    7,
    8,
    255,
    256,
    1000,
    0x7fff,
    0xffff,
    1 << 20,
    1 << 24,
    2_000_000_000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_fff8,
    0xffff_ffff,
    1 << 32,
    1 << 40,
    1 << 61,
    1 << 63,
    u64::MAX - 7,
    u64::MAX,
];

/// Extreme and special floating-point numbers.
const REALS: &[f64] = &[
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    -0.0,
    0.0,
    1.0,
    -1.0,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    5e-324,
    1e300,
    1e-300,
    1e39,
    1e-46,
    18_446_744_073_709_551_616.0,
    9_007_199_254_740_993.0,
];

/// Random numbers by SplitMix64 (Steele, Lea & Flood 2014).
pub struct Random(u64);

impl Random {
    /// A separate sequence for each pair.
    pub fn new(name: &str, index: u64) -> Self {
        let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut random = Self(seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A random element.
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Applies one to four mutations to `original`; `other` supplies bytes for insertions.
pub fn mutant(original: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=random.below(4) {
        mutate(&mut bytes, other, random);
        bytes.truncate(MOST_BYTES);
    }
    bytes
}

fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    if bytes.is_empty() {
        bytes.extend_from_slice(other);
        return;
    }
    let at = random.below(bytes.len());
    match random.below(15) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = random.below(256) as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(chunk(bytes.len(), at, random))),
        4 => {
            let piece = bytes[chunk(bytes.len(), at, random)].to_vec();
            let times = 1 + random.below(20);
            insert(bytes, at, &piece.repeat(times));
        }
        5 if !other.is_empty() => {
            let from = random.below(other.len());
            let piece = other[chunk(other.len(), from, random)].to_vec();
            insert(bytes, at, &piece);
        }
        6 => insert(bytes, at, random.of::<&[u8]>(WORDS)),
        // The first words contain counts and lengths.
        7 => {
            let at = random.below(bytes.len().min(80));
            overwrite_with_integer(bytes, at, random);
        }
        8 => overwrite_with_integer(bytes, at, random),
        9 => {
            let value = *random.of(REALS);
            match random.below(4) {
                0 => overwrite(bytes, at, &value.to_le_bytes()),
                1 => overwrite(bytes, at, &value.to_be_bytes()),
                2 => overwrite(bytes, at, &(value as f32).to_le_bytes()),
                _ => overwrite(bytes, at, &(value as f32).to_be_bytes()),
            }
        }
        10 | 11 => {
            let number = random.of(NUMBERS).as_bytes();
            replace_word(bytes, at, number);
        }
        12 => {
            let digits = "7".repeat(300);
            let long = match random.below(4) {
                0 => "x".repeat(5000),
                1 => "\x1b[31m".repeat(1000),
                2 => "é\u{202e}".repeat(2000),
                _ => digits,
            };
            replace_word(bytes, at, long.as_bytes());
        }
        13 => {
            // Removes, duplicates or swaps lines.
            let mut lines: Vec<Vec<u8>> =
                bytes.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
            let (a, b) = (random.below(lines.len()), random.below(lines.len()));
            match random.below(3) {
                0 => drop(lines.remove(a)),
                1 => lines.insert(a, lines[b].clone()),
                _ => lines.swap(a, b),
            }
            *bytes = lines.concat();
        }
        _ => {
            let tail = random.of(WORDS).repeat(1 + random.below(4));
            bytes.extend(tail);
        }
    }
}

/// A range from `from` of up to 64 bytes; one in four may have any length.
fn chunk(length: usize, from: usize, random: &mut Random) -> std::ops::Range<usize> {
    let most = if random.below(4) == 0 { length } else { 64 };
    from..(from + 1 + random.below(most)).min(length)
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    let piece = &piece[..piece.len().min(MOST_BYTES)];
    bytes.splice(at..at, piece.iter().copied());
}

fn overwrite(bytes: &mut [u8], at: usize, piece: &[u8]) {
    let at = if at.is_multiple_of(4) { at } else { at / 4 * 4 };
    for (to, from) in bytes[at..].iter_mut().zip(piece) {
        *to = *from;
    }
}

fn overwrite_with_integer(bytes: &mut [u8], at: usize, random: &mut Random) {
    let value = *random.of(COUNTS);
    match random.below(5) {
        0 => overwrite(bytes, at, &value.to_le_bytes()),
        1 => overwrite(bytes, at, &value.to_be_bytes()),
        2 => overwrite(bytes, at, &(value as u32).to_le_bytes()),
        3 => overwrite(bytes, at, &(value as u32).to_be_bytes()),
        _ => overwrite(bytes, at, &(value as u16).to_le_bytes()),
    }
}

/// Replaces the word at `at` by `new`.
fn replace_word(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b",=\"'[]#".contains(byte);
    let start = bytes[..at].iter().rposition(ends).map_or(0, |before| before + 1);
    let end = bytes[at..].iter().position(ends).map_or(bytes.len(), |after| at + after);
    bytes.splice(start..end.max(start), new.iter().copied());
}

/// Corrects the lengths and checksums of a `.gvt` file, as far as its fields can be followed:
/// otherwise nearly all mutants would fail the first checksum.
pub fn repair_gvt(bytes: &mut [u8]) {
    const HEADER: usize = 32;
    if bytes.len() < HEADER {
        return;
    }
    let length = bytes.len() as u64;
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    let crc = crc32fast::hash(&bytes[..28]);
    bytes[28..32].copy_from_slice(&crc.to_le_bytes());
    let mut at = HEADER;
    let number = |bytes: &[u8], at: usize, width: usize| {
        let mut raw = [0; 8];
        raw[..width].copy_from_slice(&bytes[at..at + width]);
        u64::from_le_bytes(raw)
    };
    while at + 24 <= bytes.len() {
        let (name, data) = (number(bytes, at, 2), number(bytes, at + 16, 8));
        let Some(end) = (at as u64 + 24 + name)
            .next_multiple_of(8)
            .checked_add(data)
            .and_then(|end| end.checked_next_multiple_of(8))
            .filter(|end| end.checked_add(8).is_some_and(|end| end <= length))
        else {
            return;
        };
        let end = end as usize;
        let crc = crc32fast::hash(&bytes[at..end]);
        bytes[end..end + 4].copy_from_slice(&crc.to_le_bytes());
        at = end + 8;
    }
}

/// Changes up to eight numbers of a file in place: insertions would shift all of HDF5's addresses,
/// so that nearly all mutants would fail at the first.
pub fn mutant_in_place(original: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len());
        match random.below(4) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.below(256) as u8,
            2 => overwrite_with_integer(&mut bytes, at, random),
            _ => {
                let from = random.below(bytes.len());
                let length = (1 + random.below(64)).min(bytes.len() - at.max(from));
                bytes.copy_within(from..from + length, at);
            }
        }
    }
    bytes
}

/// Corrects the length and checksums in the superblock of an HDF5 file, and the checksums of object
/// headers of version 2.
pub fn repair_hdf5(bytes: &mut [u8]) {
    let length = (bytes.len() as u64).to_le_bytes();
    let sum = |bytes: &mut [u8], from: usize, end: usize| {
        if let Some(place) = bytes.get(end..end + 4).map(|_| end..end + 4) {
            let sum = jenkins_lookup3(&bytes[from..end]).to_le_bytes();
            bytes[place].copy_from_slice(&sum);
        }
    };
    match bytes.get(8) {
        Some(0) if bytes.len() > 96 => bytes[40..48].copy_from_slice(&length),
        Some(2 | 3) if bytes.len() > 48 => {
            bytes[28..36].copy_from_slice(&length);
            sum(bytes, 0, 44);
        }
        _ => return,
    }
    for at in 0..bytes.len().saturating_sub(16) {
        if !bytes[at..].starts_with(b"OHDR\x02") {
            continue;
        }
        let flags = bytes[at + 5];
        let skipped = 16 * usize::from(flags >> 5 & 1) + 4 * usize::from(flags >> 4 & 1);
        let (size_at, width) = (at + 6 + skipped, 1 << (flags & 3));
        let Some(size) = bytes.get(size_at..size_at + width) else { continue };
        let mut raw = [0; 8];
        raw[..width].copy_from_slice(size);
        let end = u64::from_le_bytes(raw).saturating_add((size_at + width) as u64);
        if end < bytes.len() as u64 {
            sum(bytes, at, end as usize);
        }
    }
}
