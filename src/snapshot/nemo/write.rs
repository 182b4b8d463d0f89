//! Writing NEMO files.

use super::super::bytes::Writer;
use super::super::kinds::{Kind, gadget_name, note_components};
use super::super::{Column, Losses, Problem, Snapshot, WriteOptions};
use super::items::{BEGIN, END};
use super::{CARTESIAN, COLUMNS, HEADLINE, HISTORY, PLURAL, SINGLE};
use crate::bodies::Role;
use crate::units::Units;

/// The one component of a file.
const KINDS: &[Kind] = &[Kind { name: "bodies", role: Role::Star }];

pub(super) fn write(
    snapshot: &Snapshot,
    options: &WriteOptions,
    losses: &mut Losses,
) -> Result<Vec<u8>, Problem> {
    let bodies = &snapshot.bodies;
    let n = bodies.len();
    if i32::try_from(n).is_err() {
        return Err(format!("{n} bodies do not fit into its 31-bit dimensions"));
    }
    note_components(bodies, KINDS, |_| 0, losses);
    losses.note_units(&snapshot.units, &Units::default());
    losses.note_attributes(snapshot, |key| [HEADLINE, HISTORY].contains(&key));
    let mut out = Out(Writer::new(options.endianness.unwrap_or_default(), 512 + 64 * n));
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
struct Out(Writer);

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

    fn text(&mut self, name: &str, text: &str) -> Result<(), Problem> {
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
