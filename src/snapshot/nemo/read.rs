//! Reading NEMO files.

use std::collections::BTreeMap;

use glam::DVec3;

use super::super::{Column, ColumnType, Problem, ReadOptions, Snapshot, SnapshotChoice};
use super::items::{BEGIN, END, Item, Items, Stop};
use super::{CARTESIAN, COLUMNS, HEADLINE, HISTORY};
use crate::bodies::{Bodies, Component, Role};
use crate::messages;

/// Items of `Particles` that are the bodies themselves.
const BODIES: [&str; 6] = ["CoordSystem", "Mass", "PhaseSpace", "Position", "Velocity", "Key"];

/// Bytes of history that are kept: some hundred command lines.
const LONGEST_HISTORY: usize = 1 << 16;

/// A set `SnapShot`.
struct Found<'a> {
    /// Offset in the file.
    at: usize,
    parameters: BTreeMap<&'a str, Item<'a>>,
    particles: BTreeMap<&'a str, Item<'a>>,
    /// The masses of the snapshots before it.
    earlier_mass: Option<Item<'a>>,
}

impl Found<'_> {
    fn has_bodies(&self) -> bool {
        ["PhaseSpace", "Position"].iter().any(|name| self.particles.contains_key(name))
    }

    /// Number of bodies, for which there are that many coordinates.
    fn n(&self) -> Result<u64, Problem> {
        let Some(stated) = self.parameters.get("Nobj") else {
            let any = self.particles.get("PhaseSpace").or_else(|| self.particles.get("Position"));
            return Ok(any.and_then(|item| item.shape.first().copied()).unwrap_or(0));
        };
        let n = stated.integers(&[])?[0];
        u64::try_from(n).map_err(|_| stated.wrong(format!("is {n}, but must be at least 0")))
    }

    /// The time, if it is stated.
    fn time(&self) -> Result<Option<f64>, Problem> {
        self.parameters.get("Time").map(|item| item.reals(&[]).map(|time| time[0])).transpose()
    }
}

/// The content of a file.
#[derive(Default)]
struct Content<'a> {
    snapshots: Vec<Found<'a>>,
    headline: Option<String>,
    history: Vec<String>,
    notes: Vec<String>,
}

/// Finds all snapshots without reading their values.
fn scan(bytes: &[u8]) -> Result<Content<'_>, Problem> {
    let mut items = Items::new(bytes);
    let mut content = Content::default();
    let mut current: Option<Found> = None;
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
                current = Some(Found { at: item.at, parameters, particles, earlier_mass });
            }
            ([], END, _) => {
                let Some(found) = current.take() else { continue };
                mass = found.particles.get("Mass").cloned().or(mass);
                content.snapshots.extend(Some(found).filter(Found::has_bodies));
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
pub(super) fn times(bytes: &[u8]) -> Result<Vec<f64>, Problem> {
    let content = scan(bytes)?;
    content.snapshots.iter().map(|found| Ok(found.time()?.unwrap_or(0.0))).collect()
}

pub(super) fn read(bytes: &[u8], options: &ReadOptions) -> Result<Snapshot, Problem> {
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

fn build(found: &Found, renumber: bool) -> Result<Snapshot, Problem> {
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

fn vectors(item: &Item, n: u64) -> Result<Vec<DVec3>, Problem> {
    Ok(item.reals(&[n, 3])?.chunks_exact(3).map(DVec3::from_slice).collect())
}

/// Adds the columns of an item in its own type.
fn extend(snapshot: &mut Snapshot, item: &Item, columns: &[&str], n: u64) -> Result<(), Problem> {
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
