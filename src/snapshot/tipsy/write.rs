//! Writing tipsy files.

use super::super::bytes::Writer;
use super::super::kinds::{gadget_name, note_components, order, sections};
use super::super::losses::Narrow;
use super::super::{Column, Losses, Problem, Snapshot, WriteOptions};
use super::read::looks_cut;
use super::{
    COLUMNS, ID_RANGES, IDS_ATTRIBUTE, KIND_BULGE, KIND_DISK, KINDS, KINDS_WITH_IDS, SECTION_GAS,
    SECTIONS, record_bytes,
};
use crate::bodies::{Bodies, Component, Role};
use crate::units::Units;

const SOFTENING: &str = "softening";

pub(super) fn write(
    snapshot: &Snapshot,
    options: &WriteOptions,
    losses: &mut Losses,
) -> Result<Vec<u8>, Problem> {
    let bodies = &snapshot.bodies;
    let with_ids = options.integer_ids.unwrap_or_else(|| {
        snapshot.attributes.get(IDS_ATTRIBUTE).is_some_and(|value| value == "integer")
    });
    let section = |i: usize| section_of(&bodies.components[bodies.component[i] as usize]);
    let (order, counts) = order(bodies, 3, section);
    if i32::try_from(bodies.len()).is_err() {
        return Err(format!("{} bodies do not fit into its 31-bit counts", bodies.len()));
    }
    if with_ids {
        note_components(bodies, KINDS_WITH_IDS, kind_with_ids, losses);
    } else {
        note_components(bodies, KINDS, section_of, losses);
    }
    let ids = if with_ids {
        Some(fitting_ids(bodies, &order, losses)?)
    } else {
        if !order.iter().enumerate().all(|(place, &i)| bodies.id[i] == place as u64) {
            losses.note("ids are not held (tipsy-id holds them, in the place of the potential)");
        }
        None
    };

    let header_bytes = if options.short_header == Some(true) { 28 } else { 32 };
    let length: usize = (0..3).map(|s| counts[s] * record_bytes(s)).sum();
    let mut out = Writer::new(options.endianness.unwrap_or_default(), header_bytes + length);
    out.f64(snapshot.time);
    for number in [bodies.len(), 3, counts[0], counts[1], counts[2]] {
        out.u32(number as u32);
    }
    out.raw(&[0; 4][..header_bytes - 28]);

    let columns = Columns::new(snapshot, &order, &counts, with_ids, losses);
    let mut narrow = ["masses", "positions", "velocities", "extra columns"].map(Narrow::new);
    let [mass, position, velocity, extra] = &mut narrow;
    for &i in &order {
        out.f32(mass.f32(bodies.mass[i], i));
        for x in bodies.position[i].to_array() {
            out.f32(position.f32(x, i));
        }
        for v in bodies.velocity[i].to_array() {
            out.f32(velocity.f32(v, i));
        }
        let section = section(i);
        for (k, name) in COLUMNS[section].iter().enumerate() {
            match &ids {
                Some(ids) if section != SECTION_GAS && *name == "phi" => out.u32(ids[i]),
                _ => out.f32(extra.f32(columns.value(section, k, i), i)),
            }
        }
    }
    narrow.into_iter().try_for_each(|narrow| narrow.finish(losses))?;
    if looks_cut(&out.bytes) {
        return Err("without masses, the header of 28 bytes would make it look like a file of 32 that was cut off; write the usual header".into());
    }
    losses.note_units(&snapshot.units, &Units::default());
    losses.note_attributes(snapshot, |key| key == SOFTENING && columns.softening.is_some());
    Ok(out.bytes)
}

fn section_of(component: &Component) -> usize {
    match component.role {
        Role::Gas => 0,
        Role::Halo => 1,
        Role::Star | Role::Disk | Role::Bulge => 2,
    }
}

fn kind_with_ids(component: &Component) -> usize {
    match component.role {
        Role::Bulge => KIND_BULGE,
        Role::Star | Role::Disk => KIND_DISK,
        Role::Gas | Role::Halo => section_of(component),
    }
}

/// The ids as the variant requires: unchanged for kinds whose ids all lie in their range, otherwise
/// numbered from its start.
fn fitting_ids(bodies: &Bodies, order: &[usize], losses: &mut Losses) -> Result<Vec<u32>, Problem> {
    let mut ids = vec![0; bodies.len()];
    for (k, (first, end)) in ID_RANGES.into_iter().enumerate() {
        let of_kind =
            |i: &&usize| kind_with_ids(&bodies.components[bodies.component[**i] as usize]) == k;
        let members: Vec<usize> = order.iter().filter(of_kind).copied().collect();
        let name = KINDS_WITH_IDS[k].name;
        if k == SECTION_GAS {
            // This kind stores no ids; reading numbers them.
            let numbered = |(place, &i): (usize, &usize)| bodies.id[i] == first + place as u64;
            if !members.iter().enumerate().all(numbered) {
                losses.note(format!("ids of {} {name} bodies are not held", members.len()));
            }
            continue;
        }
        if members.len() as u64 > end - first {
            return Err(format!(
                "{} bodies of the {name} do not fit into its ids, {first} to {}",
                members.len(),
                end - 1
            ));
        }
        let misfits = members.iter().filter(|&&i| !(first..end).contains(&bodies.id[i])).count();
        if misfits > 0 {
            losses.note(format!(
                "{misfits} ids of the {name} lie outside {first} to {}, which mark it: its {} bodies are numbered anew from {first}",
                end - 1,
                members.len()
            ));
        }
        for (place, &i) in members.iter().enumerate() {
            ids[i] = if misfits > 0 { first as u32 + place as u32 } else { bodies.id[i] as u32 };
        }
    }
    Ok(ids)
}

/// Sources of the values after mass, position and velocity.
struct Columns<'a> {
    /// By section and index in its [`COLUMNS`]; `None` means zero.
    sources: [Vec<Option<&'a Column>>; 3],
    /// Used for eps if no column provides it.
    softening: Option<f64>,
}

impl<'a> Columns<'a> {
    fn new(
        snapshot: &'a Snapshot,
        order: &[usize],
        counts: &[usize],
        with_ids: bool,
        losses: &mut Losses,
    ) -> Self {
        let find = |name: &str| {
            let mut names = [Some(name), gadget_name(name)].into_iter().flatten();
            names.find_map(|name| snapshot.extra.get_key_value(name))
        };
        let softening = match find("eps") {
            None => snapshot.attributes.get(SOFTENING).and_then(|text| text.parse().ok()),
            Some(_) => None,
        };
        let softening = softening.filter(|eps: &f64| f64::from(*eps as f32).is_finite());
        let mut sources = [vec![], vec![], vec![]];
        let mut used = Vec::new();
        for (section, members) in sections(order, counts).enumerate() {
            for name in COLUMNS[section] {
                let is_stored = !(with_ids && section != SECTION_GAS && *name == "phi");
                let source = find(name).filter(|_| is_stored && !members.is_empty());
                // A kind of body without any value gets zeros, as in files without the column.
                let none = |column: &Column| !members.iter().any(|&i| column.has_value(i));
                let missing = source.is_some_and(|(_, column)| none(column));
                if missing {
                    let kind = SECTIONS[section];
                    losses.note(format!("{name}: the {kind} bodies have no value, 0 is written"));
                }
                used.extend(source.map(|(name, _)| (section, name.as_str())));
                sources[section].push(source.filter(|_| !missing).map(|(_, column)| column));
            }
        }
        note_unused(snapshot, order, counts, &used, losses);
        let whole = used.iter().filter(|(_, name)| !snapshot.extra[*name].kind().is_float());
        losses.note_integers(whole.map(|(_, name)| *name), "f32");
        Self { sources, softening }
    }

    fn value(&self, section: usize, k: usize, i: usize) -> f64 {
        match self.sources[section][k] {
            Some(column) => column.value(i),
            None if COLUMNS[section][k] == "eps" => self.softening.unwrap_or(0.0),
            None => 0.0,
        }
    }
}

/// Notes the columns that the records of some or all kinds of bodies cannot hold.
fn note_unused(
    snapshot: &Snapshot,
    order: &[usize],
    counts: &[usize],
    used: &[(usize, &str)],
    losses: &mut Losses,
) {
    let mut lost = Vec::new();
    for (name, column) in &snapshot.extra {
        if !used.iter().any(|(_, known)| known == name) {
            lost.push(name.clone());
            continue;
        }
        for (section, members) in sections(order, counts).enumerate() {
            let values = members.iter().filter(|&&i| column.has_value(i)).count();
            if values > 0 && !used.contains(&(section, name)) {
                lost.push(format!("{name} of {values} {} bodies", SECTIONS[section]));
            }
        }
    }
    losses.note_columns(&lost, "");
}
