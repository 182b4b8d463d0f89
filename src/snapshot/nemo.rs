//! NEMO's structured files, written by its programs (gyrfalcON, hackcode1, mkplummer), by AMUSE and
//! by unsio.
//!
//! A file is a sequence of items, each in the byte order of the machine that wrote it:
//!
//! ```text
//!  u16   0x0992 for one value, 0x0b92 for an array; read as 0x9209 or 0x920b it shows the other order
//!  text  the type, ended by NUL: c char, b byte, s i16, i i32, l i64, h f16, f f32, d f64, a any;
//!        ( begins a set of items, ) ends it
//!  text  the name, ended by NUL; none for )
//!  i32   for arrays: the dimensions, ended by 0
//!  data  the values, the last dimension running fastest
//! ```
//!
//! A snapshot is the set `SnapShot` of two sets: `Parameters` (`Nobj`, `Time`) and `Particles`
//! (`CoordSystem` = 66306, `Mass`, `PhaseSpace` or `Position` and `Velocity`, and optionally `Key`,
//! `Potential`, `Acceleration`, `Aux`, `Density` and `Eps`). Sets without coordinates hold
//! diagnostics and are not counted. `Key` holds the ids; without it the bodies are numbered from 0.
//!
//! A file may hold many snapshots, of which [`super::ReadOptions::snapshot`] chooses one. Programs
//! such as hackcode1 write the masses only into the first: a snapshot without masses has those of
//! the snapshot before it. A file that ends inside a snapshot, such as that of a run which is still
//! writing, holds those before it, which is noted.
//!
//! NEMO's files have no units (G = 1 is assumed) and no components. Bodies are written in f64 with
//! `PhaseSpace`, which its oldest programs read as well. Its `Headline` and `History` become the
//! attributes `headline` and `history` (one line per program) and are written again.
//!
//! Source: NEMO's `filestruct.c`, `snapshot/snapshot.h` and `filesecret.h`.

use std::collections::BTreeMap;

use glam::DVec3;

use super::bytes::{ByteReader, ByteWriter};
use super::kinds::{BodyType, gadget_name, note_components};
use super::{
    BIG_ENDIAN, Column, ColumnType, Confidence, Endianness, Format, FormatError, LITTLE_ENDIAN,
    Losses, RAW_UNITS, ReadOptions, Snapshot, SnapshotChoice, WriteOptions,
};
use crate::bodies::{Bodies, Component, Role};
use crate::messages;
use crate::units::Units;

/// The format's entry in the registry.
pub(super) const FORMAT: Format = Format {
    name: "nemo",
    summary: "NEMO: gyrfalcON, hackcode1 and its other programs; AMUSE, unsio",
    holds: "time, f64 masses, positions, velocities; ids up to 2^63; phi, ACCE, rho, eps, aux; headline, history; no components, no units",
    extensions: &["nemo", "snp"],
    units: Some(|snapshot| snapshot.units.with_g_one()),
    modifiers: &[LITTLE_ENDIAN, BIG_ENDIAN, RAW_UNITS],
    recognise: |head, _| match begins(head) {
        true => Confidence::Sure,
        false => Confidence::No,
    },
    files: None,
    series: Some(times),
    read: |input, options| input.whole(|bytes| read(bytes, options)),
    write: Some(|snapshot, options, output, losses| output.whole(write(snapshot, options, losses))),
};

/// The magic numbers of one value and of an array.
const SINGLE: u16 = 0x0992;
const PLURAL: u16 = 0x0b92;

/// `CoordSystem` of Cartesian coordinates in 3 dimensions with 2 derivatives (x, v).
const CARTESIAN: i64 = 0x01_03_02;

/// Items of `Particles` that become columns, with the columns of their values per body. In
/// snapshots converted from GADGET, `phi` and `rho` are named `POT` and `RHO`.
const COLUMNS: [(&str, &[&str]); 5] = [
    ("Potential", &["phi"]),
    ("Acceleration", &["ACCE.x", "ACCE.y", "ACCE.z"]),
    ("Aux", &["aux"]),
    ("Density", &["rho"]),
    ("Eps", &["eps"]),
];

/// The attributes for `Headline` and `History`.
const HEADLINE: &str = "headline";
const HISTORY: &str = "history";

// The items of a NEMO file, one after another.

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
const BEGIN: u8 = b'(';
const END: u8 = b')';

/// Whether these are the first bytes of an item.
fn begins(head: &[u8]) -> bool {
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
struct Item<'a> {
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
    pub fn wrong(&self, problem: impl AsRef<str>) -> FormatError {
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
    pub fn reals(&self, shape: &[u64]) -> Result<Vec<f64>, FormatError> {
        let order = self.endianness;
        let bytes = self.real_bytes(shape)?;
        Ok(match self.kind {
            b'f' => bytes.chunks_exact(4).map(|value| order.f32(value).into()).collect(),
            _ => bytes.chunks_exact(8).map(|value| order.f64(value)).collect(),
        })
    }

    /// The bytes of [`Item::reals`].
    pub fn real_bytes(&self, shape: &[u64]) -> Result<&[u8], FormatError> {
        self.typed(shape, b"fd", "floating-point numbers (f or d)")
    }

    /// As [`Item::reals`] for whole numbers.
    pub fn integers(&self, shape: &[u64]) -> Result<Vec<i64>, FormatError> {
        let order = self.endianness;
        let bytes = self.typed(shape, b"sil", "whole numbers (s, i or l)")?;
        Ok(match self.kind {
            b's' => bytes.chunks_exact(2).map(|value| (order.u16(value) as i16).into()).collect(),
            b'i' => bytes.chunks_exact(4).map(|value| order.i32(value).into()).collect(),
            _ => bytes.chunks_exact(8).map(|value| order.u64(value) as i64).collect(),
        })
    }

    fn typed(&self, shape: &[u64], kinds: &[u8], what: &str) -> Result<&[u8], FormatError> {
        // A single value may also be an array of one.
        let is_one = |shape: &[u64]| shape.iter().all(|size| *size == 1);
        if self.shape != shape && !(is_one(shape) && is_one(&self.shape)) {
            let expected: String = shape.iter().map(|size| format!("[{size}]")).collect();
            let expected = if expected.is_empty() { "a single value".to_owned() } else { expected };
            return Err(self.wrong(format!("is {}, but {expected} was expected", self.shown())));
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
struct Items<'a> {
    reader: ByteReader<'a>,
    /// Names of the sets around the next item, the outermost first.
    pub sets: Vec<&'a str>,
}

impl<'a> Items<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { reader: ByteReader::new(bytes, Endianness::Little), sets: Vec::new() }
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
enum Stop {
    /// The file ends inside an item or a set.
    Early(FormatError),
    /// The item makes no sense.
    Damage(FormatError),
}

impl Stop {
    pub fn problem(self) -> FormatError {
        match self {
            Self::Early(problem) | Self::Damage(problem) => problem,
        }
    }
}

// Reading NEMO files.

/// Items of `Particles` that are the bodies themselves.
const BODIES: [&str; 6] = ["CoordSystem", "Mass", "PhaseSpace", "Position", "Velocity", "Key"];

/// Bytes of history that are stored: some hundred command lines.
const LONGEST_HISTORY: usize = 1 << 16;

/// A set `SnapShot`.
struct NemoSnapshot<'a> {
    /// Offset in the file.
    at: usize,
    parameters: BTreeMap<&'a str, Item<'a>>,
    particles: BTreeMap<&'a str, Item<'a>>,
    /// The masses of the snapshots before it.
    earlier_mass: Option<Item<'a>>,
}

impl NemoSnapshot<'_> {
    fn has_bodies(&self) -> bool {
        ["PhaseSpace", "Position"].iter().any(|name| self.particles.contains_key(name))
    }

    /// Number of bodies, for which there are that many coordinates.
    fn n(&self) -> Result<u64, FormatError> {
        let Some(stated) = self.parameters.get("Nobj") else {
            let any = self.particles.get("PhaseSpace").or_else(|| self.particles.get("Position"));
            return Ok(any.and_then(|item| item.shape.first().copied()).unwrap_or(0));
        };
        let n = stated.integers(&[])?[0];
        u64::try_from(n).map_err(|_| stated.wrong(format!("is {n}, but must be at least 0")))
    }

    /// The time, if it is stated.
    fn time(&self) -> Result<Option<f64>, FormatError> {
        self.parameters.get("Time").map(|item| item.reals(&[]).map(|time| time[0])).transpose()
    }
}

/// The content of a file.
#[derive(Default)]
struct NemoContent<'a> {
    snapshots: Vec<NemoSnapshot<'a>>,
    headline: Option<String>,
    history: Vec<String>,
    notes: Vec<String>,
}

/// Finds all snapshots without reading their values.
fn scan(bytes: &[u8]) -> Result<NemoContent<'_>, FormatError> {
    let mut items = Items::new(bytes);
    let mut content = NemoContent::default();
    let mut current: Option<NemoSnapshot> = None;
    let mut mass: Option<Item> = None;
    let (mut others, mut history) = (Vec::new(), 0);
    loop {
        let item = match items.next() {
            Ok(Some(item)) => item,
            Ok(None) => break,
            Err(Stop::Early(problem)) if !content.snapshots.is_empty() => {
                let count = content.snapshots.len();
                content.notes.push(format!(
                    "{problem}; the {count} whole {} before that are used",
                    if count == 1 { "snapshot" } else { "snapshots" }
                ));
                break;
            }
            Err(stop) => return Err(stop.problem()),
        };
        match (&items.sets[..], item.kind, item.name) {
            (["SnapShot"], BEGIN, _) => {
                let (parameters, particles) = (BTreeMap::new(), BTreeMap::new());
                let earlier_mass = mass.clone();
                current = Some(NemoSnapshot { at: item.at, parameters, particles, earlier_mass });
            }
            ([], END, _) => {
                let Some(found) = current.take() else { continue };
                mass = found.particles.get("Mass").cloned().or(mass);
                content.snapshots.extend(Some(found).filter(NemoSnapshot::has_bodies));
            }
            (_, BEGIN | END, _) => {}
            (["SnapShot", set @ ("Parameters" | "Particles")], _, name) => {
                let found = current.as_mut().expect("its set should have begun");
                let map = match *set {
                    "Parameters" => &mut found.parameters,
                    _ => &mut found.particles,
                };
                if map.contains_key(name) {
                    return Err(item.wrong("is present twice in its snapshot"));
                }
                map.insert(name, item);
            }
            ([], _, "Headline") => content.headline = item.text().or(content.headline),
            ([], _, "History") => {
                let text = item.text().unwrap_or_default();
                history += text.len() + 1;
                if history <= LONGEST_HISTORY {
                    content.history.push(text.replace('\n', " "));
                }
            }
            ([], _, name) => others.push(name),
            _ => {}
        }
    }
    if history > LONGEST_HISTORY {
        let problem = format!("only the first {LONGEST_HISTORY} bytes of its history are kept");
        content.notes.push(problem);
    }
    if content.snapshots.is_empty() {
        let others = match others.is_empty() {
            true => String::new(),
            false => format!("; it has: {}", messages::list(&others, ", ")),
        };
        return Err(format!("is a NEMO file without a snapshot of bodies{others}"));
    }
    Ok(content)
}

/// The times of the snapshots of a file; 0 where none is stated.
fn times(bytes: &[u8]) -> Result<Vec<f64>, FormatError> {
    let content = scan(bytes)?;
    content.snapshots.iter().map(|found| Ok(found.time()?.unwrap_or(0.0))).collect()
}

fn read(bytes: &[u8], options: &ReadOptions) -> Result<Snapshot, FormatError> {
    let content = scan(bytes)?;
    let chosen = match options.snapshot {
        Some(SnapshotChoice::Number(number)) => usize::try_from(number).unwrap_or(usize::MAX),
        _ => 0,
    };
    let count = content.snapshots.len();
    let found = content.snapshots.into_iter().nth(chosen);
    let found =
        found.ok_or_else(|| format!("has {count} snapshots, so none of number {chosen}"))?;
    let mut snapshot = build(&found, options.renumber)?;
    snapshot.notes.extend(content.notes);
    let history = Some(content.history.join("\n")).filter(|text| !text.is_empty());
    for (key, value) in [(HEADLINE, content.headline), (HISTORY, history)] {
        snapshot.attributes.extend(value.map(|value| (key.to_owned(), value)));
    }
    snapshot.checked()
}

fn build(found: &NemoSnapshot, renumber: bool) -> Result<Snapshot, FormatError> {
    let n = found.n()?;
    let item = |name: &str| found.particles.get(name);
    if let Some(system) = item("CoordSystem") {
        let code = system.integers(&[])?[0];
        if code != CARTESIAN {
            return Err(system.wrong(format!(
                "is {code}, but only {CARTESIAN} is read: Cartesian positions and velocities in 3 dimensions"
            )));
        }
    }
    let mut notes = Vec::new();
    let (position, velocity) = match (item("PhaseSpace"), item("Position"), item("Velocity")) {
        (Some(both), ..) => {
            let values = both.reals(&[n, 2, 3])?;
            let vectors = |first: usize| {
                values.chunks_exact(6).map(move |v| DVec3::from_slice(&v[first..])).collect()
            };
            (vectors(0), vectors(3))
        }
        (None, Some(position), velocity) => {
            let position = vectors(position, n)?;
            let velocity = match velocity {
                Some(velocity) => vectors(velocity, n)?,
                None => {
                    notes.push("has no velocities: all are 0".to_owned());
                    vec![DVec3::ZERO; position.len()]
                }
            };
            (position, velocity)
        }
        (None, None, _) => {
            return Err(format!("the snapshot at byte {} has no positions", found.at));
        }
    };
    let mass = match (item("Mass"), &found.earlier_mass) {
        (Some(mass), _) => mass.reals(&[n])?,
        (None, Some(earlier)) => {
            notes.push(format!(
                "the snapshot has no masses: those at byte {} are used, of one before it",
                earlier.at
            ));
            earlier.reals(&[n])?
        }
        (None, None) => {
            return Err(format!("the snapshot at byte {} has no item 'Mass'", found.at));
        }
    };
    let id = match item("Key").filter(|_| !renumber) {
        Some(keys) => {
            let ids = keys.integers(&[n])?;
            let id = |(k, id): (usize, i64)| {
                u64::try_from(id).map_err(|_| {
                    keys.wrong(format!(
                        "is {id} for body {k}, but ids must be at least 0; --renumber gives new ones, from 0"
                    ))
                })
            };
            ids.into_iter().enumerate().map(id).collect::<Result<_, _>>()?
        }
        None => (0..n).collect(),
    };
    let component = vec![0; mass.len()];
    let components = vec![Component::new("bodies", Role::Star)];
    let bodies = Bodies { id, mass, position, velocity, component, components };
    let time = found.time()?.unwrap_or_else(|| {
        notes.push("states no time: 0 is assumed".to_owned());
        0.0
    });
    let mut snapshot = Snapshot { bodies, time, ..Snapshot::default() };
    for (name, columns) in COLUMNS {
        if let Some(item) = item(name) {
            extend(&mut snapshot, item, columns, n)?;
        }
    }
    let is_known = |name: &str| BODIES.contains(&name) || COLUMNS.iter().any(|c| c.0 == name);
    let particles = found.particles.keys().filter(|name| !is_known(name));
    let parameters = found.parameters.keys().filter(|name| !["Nobj", "Time"].contains(*name));
    let unknown: Vec<&str> = particles.chain(parameters).copied().collect();
    if !unknown.is_empty() {
        notes.push(format!("items that are not read: {}", messages::list(&unknown, ", ")));
    }
    snapshot.notes = notes;
    Ok(snapshot)
}

fn vectors(item: &Item, n: u64) -> Result<Vec<DVec3>, FormatError> {
    Ok(item.reals(&[n, 3])?.chunks_exact(3).map(DVec3::from_slice).collect())
}

/// Adds the columns of an item in its own type.
fn extend(
    snapshot: &mut Snapshot,
    item: &Item,
    columns: &[&str],
    n: u64,
) -> Result<(), FormatError> {
    let width = columns.len();
    let shape = [n, 3];
    let data = item.real_bytes(if width == 1 { &shape[..1] } else { &shape })?;
    let kind = if item.kind == b'f' { ColumnType::F32 } else { ColumnType::F64 };
    for (k, name) in columns.iter().enumerate() {
        let mut column = Column::with_capacity(kind, n as usize);
        item.endianness.extend(&mut column, data, width * kind.bytes(), k * kind.bytes());
        snapshot.extra.insert((*name).to_owned(), column);
    }
    Ok(())
}

// Writing NEMO files.

/// The one component of a file.
const KINDS: &[BodyType] = &[BodyType { name: "bodies", role: Role::Star }];

fn write(
    snapshot: &Snapshot,
    options: &WriteOptions,
    losses: &mut Losses,
) -> Result<Vec<u8>, FormatError> {
    let bodies = &snapshot.bodies;
    let n = bodies.len();
    if i32::try_from(n).is_err() {
        return Err(format!("{n} bodies do not fit into its 31-bit dimensions"));
    }
    note_components(bodies, KINDS, |_| 0, losses);
    losses.note_units(&snapshot.units, &Units::default());
    losses.note_attributes(snapshot, |key| [HEADLINE, HISTORY].contains(&key));
    let mut out = Out(ByteWriter::new(options.endianness.unwrap_or_default(), 512 + 64 * n));
    let text = |key: &str| snapshot.attributes.get(key).map(String::as_str);
    for line in text(HISTORY).into_iter().flat_map(str::lines) {
        out.text("History", line)?;
    }
    if let Some(headline) = text(HEADLINE) {
        out.text("Headline", headline)?;
    }
    out.begin("SnapShot");
    out.begin("Parameters");
    out.header(b'i', "Nobj", &[]);
    out.0.u32(n as u32);
    out.header(b'd', "Time", &[]);
    out.0.f64(snapshot.time);
    out.end();
    out.begin("Particles");
    out.header(b'i', "CoordSystem", &[]);
    out.0.u32(CARTESIAN as u32);
    out.header(b'd', "Mass", &[n]);
    out.0.f64s(&bodies.mass);
    out.header(b'd', "PhaseSpace", &[n, 2, 3]);
    for (position, velocity) in bodies.position.iter().zip(&bodies.velocity) {
        out.0.f64s(&position.to_array());
        out.0.f64s(&velocity.to_array());
    }
    columns(snapshot, &mut out, losses);
    keys(&bodies.id, &mut out, losses);
    out.end();
    out.end();
    Ok(out.0.bytes)
}

/// Writes the ids, unless they are those that a reader gives.
fn keys(ids: &[u64], out: &mut Out, losses: &mut Losses) {
    let largest = ids.iter().copied().max().unwrap_or(0);
    if ids.iter().copied().eq(0..ids.len() as u64) {
    } else if i32::try_from(largest).is_ok() {
        out.header(b'i', "Key", &[ids.len()]);
        ids.iter().for_each(|id| out.0.u32(*id as u32));
    } else if i64::try_from(largest).is_ok() {
        losses.note(format!(
            "ids up to {largest} are written in 64 bits: NEMO's own programs read 32"
        ));
        out.header(b'l', "Key", &[ids.len()]);
        out.0.u64s(ids);
    } else {
        losses.note(format!("ids are not held: they go up to {largest}, beyond 63 bits"));
    }
}

/// Writes the columns that have an item, and notes the others.
fn columns(snapshot: &Snapshot, out: &mut Out, losses: &mut Losses) {
    let n = snapshot.bodies.len();
    let mut held = Vec::new();
    for (item, names) in COLUMNS {
        let find = |name: &&str| {
            let names = [Some(*name), gadget_name(name)].into_iter().flatten();
            let mut known = names.filter_map(|name| snapshot.extra.get_key_value(name));
            known.find(|(_, column)| column.kind().is_float())
        };
        let found: Option<Vec<_>> = names.iter().map(find).collect();
        let Some(found) = found else { continue };
        let single = found.iter().all(|(_, column)| matches!(column, Column::F32(_)));
        let shape: &[usize] = if names.len() == 1 { &[n] } else { &[n, 3] };
        out.header(if single { b'f' } else { b'd' }, item, shape);
        for i in 0..n {
            for (_, column) in &found {
                match single {
                    true => out.0.f32(column.value(i) as f32),
                    false => out.0.f64(column.value(i)),
                }
            }
        }
        held.extend(found.into_iter().map(|(name, _)| name));
    }
    let lost: Vec<String> =
        snapshot.extra.keys().filter(|name| !held.contains(name)).cloned().collect();
    losses.note_columns(&lost, "");
}

/// Writes items.
struct Out(ByteWriter);

impl Out {
    /// Everything of an item but its data.
    fn header(&mut self, kind: u8, name: &str, shape: &[usize]) {
        self.0.u16(if shape.is_empty() { SINGLE } else { PLURAL });
        self.0.raw(&[kind, 0]);
        if kind != END {
            self.0.raw(name.as_bytes());
            self.0.raw(&[0]);
        }
        if !shape.is_empty() {
            shape.iter().for_each(|size| self.0.u32(*size as u32));
            self.0.u32(0);
        }
    }

    fn begin(&mut self, name: &str) {
        self.header(BEGIN, name, &[]);
    }

    fn end(&mut self) {
        self.header(END, "", &[]);
    }

    fn text(&mut self, name: &str, text: &str) -> Result<(), FormatError> {
        let text = text.replace('\0', " ");
        if i32::try_from(text.len() + 1).is_err() {
            return Err(format!("the attribute of {} bytes is too long for '{name}'", text.len()));
        }
        self.header(b'c', name, &[text.len() + 1]);
        self.0.raw(text.as_bytes());
        self.0.raw(&[0]);
        Ok(())
    }
}
