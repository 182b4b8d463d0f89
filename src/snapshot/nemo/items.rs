//! The items of a NEMO file, one after another.

use super::super::bytes::Reader;
use super::super::{Endianness, Problem};
use super::{PLURAL, SINGLE};
use crate::messages;

/// The longest name; NEMO's own limit.
const LONGEST_NAME: usize = 64;
/// The most dimensions of an array; NEMO's own limit.
const MOST_DIMENSIONS: usize = 9;
/// The most sets around an item; NEMO's limit is 64, its snapshots have 2.
const DEEPEST: usize = 16;

/// The bytes of a value of each type.
const TYPES: [(u8, u64); 9] = [
    (b'a', 1),
    (b'b', 1),
    (b'c', 1),
    (b's', 2),
    (b'h', 2),
    (b'i', 4),
    (b'f', 4),
    (b'l', 8),
    (b'd', 8),
];
pub(super) const BEGIN: u8 = b'(';
pub(super) const END: u8 = b')';

/// Whether these are the first bytes of an item.
pub(super) fn begins(head: &[u8]) -> bool {
    let [a, b, kind, 0, ..] = *head else { return false };
    let is_known = kind == BEGIN || TYPES.iter().any(|(known, _)| *known == kind);
    is_known && magic([a, b]).is_some()
}

/// The byte order of a magic number, and whether it is that of an array.
fn magic(bytes: [u8; 2]) -> Option<(Endianness, bool)> {
    [Endianness::Little, Endianness::Big].into_iter().find_map(|endianness| {
        match endianness.u16(&bytes) {
            SINGLE => Some((endianness, false)),
            PLURAL => Some((endianness, true)),
            _ => None,
        }
    })
}

/// An item of the file.
#[derive(Clone, Debug)]
pub(super) struct Item<'a> {
    /// Its type, a letter of [`TYPES`], [`BEGIN`] or [`END`].
    pub kind: u8,
    /// Its name; empty for [`END`].
    pub name: &'a str,
    /// The dimensions; none for a single value.
    pub shape: Vec<u64>,
    pub endianness: Endianness,
    pub data: &'a [u8],
    /// Offset in the file, for messages.
    pub at: usize,
}

impl Item<'_> {
    /// A problem with this item.
    pub fn wrong(&self, problem: impl AsRef<str>) -> Problem {
        let name = messages::piece(self.name);
        format!("the item '{name}' at byte {} {}", self.at, problem.as_ref())
    }

    /// The type and dimensions, such as `d[128][3]`.
    fn shown(&self) -> String {
        let shape: String = self.shape.iter().map(|size| format!("[{size}]")).collect();
        format!("{}{shape}", char::from(self.kind))
    }

    /// The values of an array of floating-point numbers of these dimensions, or of a single value
    /// if there are none, as f64.
    pub fn reals(&self, shape: &[u64]) -> Result<Vec<f64>, Problem> {
        let order = self.endianness;
        let bytes = self.real_bytes(shape)?;
        Ok(match self.kind {
            b'f' => bytes.chunks_exact(4).map(|value| order.f32(value).into()).collect(),
            _ => bytes.chunks_exact(8).map(|value| order.f64(value)).collect(),
        })
    }

    /// The bytes of [`Item::reals`].
    pub fn real_bytes(&self, shape: &[u64]) -> Result<&[u8], Problem> {
        self.typed(shape, b"fd", "floating-point numbers (f or d)")
    }

    /// As [`Item::reals`] for whole numbers.
    pub fn integers(&self, shape: &[u64]) -> Result<Vec<i64>, Problem> {
        let order = self.endianness;
        let bytes = self.typed(shape, b"sil", "whole numbers (s, i or l)")?;
        Ok(match self.kind {
            b's' => bytes.chunks_exact(2).map(|value| (order.u16(value) as i16).into()).collect(),
            b'i' => bytes.chunks_exact(4).map(|value| order.i32(value).into()).collect(),
            _ => bytes.chunks_exact(8).map(|value| order.u64(value) as i64).collect(),
        })
    }

    fn typed(&self, shape: &[u64], kinds: &[u8], what: &str) -> Result<&[u8], Problem> {
        // A single value may also be an array of one.
        let is_one = |shape: &[u64]| shape.iter().all(|size| *size == 1);
        if self.shape != shape && !(is_one(shape) && is_one(&self.shape)) {
            let wanted: String = shape.iter().map(|size| format!("[{size}]")).collect();
            let wanted = if wanted.is_empty() { "a single value".to_owned() } else { wanted };
            return Err(self.wrong(format!("is {}, but {wanted} was expected", self.shown())));
        }
        if !kinds.contains(&self.kind) {
            return Err(self.wrong(format!("is {}, but {what} were expected", self.shown())));
        }
        Ok(self.data)
    }

    /// The text of an array of characters up to its NUL.
    pub fn text(&self) -> Option<String> {
        let text = self.data.split(|byte| *byte == 0).next()?;
        (self.kind == b'c').then(|| String::from_utf8_lossy(text).into_owned())
    }
}

/// Reads the items of a file in order, with the sets they are in.
pub(super) struct Items<'a> {
    reader: Reader<'a>,
    /// Names of the sets around the next item, the outermost first.
    pub sets: Vec<&'a str>,
}

impl<'a> Items<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes, Endianness::Little), sets: Vec::new() }
    }

    /// The next item; `None` at the end of the file, if no set is open there. The first item within
    /// a set has its name last in [`Items::sets`]; its end has not.
    ///
    /// # Errors
    /// The file is damaged, or ends too early: then [`Stop::Early`].
    pub fn next(&mut self) -> Result<Option<Item<'a>>, Stop> {
        let at = self.reader.at();
        let what = format!("the item at byte {at}");
        if self.reader.left() == 0 {
            return match self.sets.last() {
                None => Ok(None),
                Some(set) => Err(Stop::Early(format!(
                    "ends too early, after {at} bytes: inside its set '{}'",
                    messages::piece(set)
                ))),
            };
        }
        let wrong = |problem: String| Stop::Damage(format!("{what} {problem}"));
        let start = self.reader.take(2, &what).map_err(Stop::Early)?;
        let (endianness, is_array) = magic([start[0], start[1]]).ok_or_else(|| {
            wrong(format!(
                "begins with the bytes {:02x} {:02x}, but 92 09 or 92 0b (or in the other order) were expected",
                start[0], start[1]
            ))
        })?;
        self.reader.endianness = endianness;
        let kind = self.text(&what, "type")?;
        let size = |kind: u8| TYPES.iter().find(|(known, _)| *known == kind).map(|known| known.1);
        let (kind, size) = match *kind.as_bytes() {
            [kind @ (BEGIN | END)] => (kind, 0),
            [kind] if size(kind).is_some() => (kind, size(kind).unwrap_or(0)),
            _ => return Err(wrong(format!("has the unknown type '{}'", messages::piece(kind)))),
        };
        let name = if kind == END { "" } else { self.text(&what, "name")? };
        let shape = if is_array { self.shape(&what)? } else { Vec::new() };
        let length = shape.iter().try_fold(size, |length, size| length.checked_mul(*size));
        let length = length.ok_or_else(|| wrong("has more than 2^64 bytes".into()))?;
        let data = self.reader.take(length, &what).map_err(Stop::Early)?;
        match kind {
            BEGIN if self.sets.len() == DEEPEST => {
                return Err(wrong(format!("is inside more than {DEEPEST} sets")));
            }
            BEGIN => self.sets.push(name),
            END if self.sets.pop().is_none() => {
                return Err(wrong("ends a set, but none has begun".into()));
            }
            _ => {}
        }
        Ok(Some(Item { kind, name, shape, endianness, data, at }))
    }

    /// The dimensions of an array, up to the 0 that ends them.
    fn shape(&mut self, item: &str) -> Result<Vec<u64>, Stop> {
        let mut shape = Vec::new();
        loop {
            match self.reader.u32(item).map_err(Stop::Early)? as i32 {
                0 => return Ok(shape),
                size if size > 0 && shape.len() < MOST_DIMENSIONS => shape.push(size as u64),
                size => {
                    return Err(Stop::Damage(format!(
                        "{item} has {size} as dimension {}, but up to {MOST_DIMENSIONS} of at least 1 were expected",
                        shape.len() + 1
                    )));
                }
            }
        }
    }

    /// A text ended by NUL.
    fn text(&mut self, item: &str, what: &str) -> Result<&'a str, Stop> {
        let rest = self.reader.rest();
        let within = &rest[..rest.len().min(LONGEST_NAME + 1)];
        let Some(length) = within.iter().position(|byte| *byte == 0) else {
            let problem = format!("{item} has a {what} of more than {LONGEST_NAME} bytes");
            return Err(match within.len() < LONGEST_NAME + 1 {
                true => Stop::Early(format!("ends too early, inside the {what} of {item}")),
                false => Stop::Damage(problem),
            });
        };
        let text = self.reader.take(length as u64 + 1, item).map_err(Stop::Early)?;
        let text = std::str::from_utf8(&text[..length])
            .ok()
            .filter(|text| text.chars().all(messages::shows));
        text.ok_or_else(|| Stop::Damage(format!("{item} has a {what} that is not text")))
    }
}

/// Why no further item can be read.
#[derive(Debug)]
pub(super) enum Stop {
    /// The file ends inside an item or a set.
    Early(Problem),
    /// The item makes no sense.
    Damage(Problem),
}

impl Stop {
    pub fn problem(self) -> Problem {
        match self {
            Self::Early(problem) | Self::Damage(problem) => problem,
        }
    }
}
