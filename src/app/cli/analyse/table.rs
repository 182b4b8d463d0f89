//! The results as CSV and JSON.

use serde_json::{Value, json};

use super::{Args, SnapshotAnalysis};
use gravitile::analysis::{Group, MotionStatistics, Ring, Shell};
use gravitile::glam::DVec3;
use gravitile::messages;
use gravitile::units::Units;

/// A column: its name and the value for a row.
type Columns<T> = Vec<(String, Box<dyn Fn(&T) -> f64>)>;

/// A vector of a group.
type Vector = fn(&Group) -> DVec3;

/// The requested table: rows per snapshot and component (and shell or ring), after comments with
/// the units.
pub(super) fn csv(found: &[SnapshotAnalysis], units: &Units, args: &Args) -> String {
    let mut text = header(units);
    if args.profile {
        let columns = shell_columns();
        text += &heading(&columns);
        for measured in found {
            for (group, shells) in measured.groups.iter().zip(&measured.shells) {
                rows(&mut text, measured, group.component, shells, &columns);
            }
        }
    } else if args.rings {
        let columns = ring_columns();
        text += &heading(&columns);
        for measured in found {
            for (component, rings) in &measured.rings {
                rows(&mut text, measured, *component, rings, &columns);
            }
        }
    } else {
        let columns = group_columns(&args.fractions, !args.no_bound);
        text += &heading(&columns);
        for measured in found {
            for group in &measured.groups {
                rows(&mut text, measured, group.component, std::slice::from_ref(group), &columns);
            }
        }
    }
    text
}

/// The units in the form that tables of bodies have.
fn header(units: &Units) -> String {
    let mut text = String::new();
    for (what, name) in units.names() {
        if !name.is_empty() {
            text += &format!("#: unit.{what} = {}\n", messages::piece(name));
        }
    }
    text += &format!("#: gravitational_constant = {:?}\n", units.gravitational_constant);
    text + "# velocities are in length / time, densities in mass / length^3 (rings: length^2)\n"
}

fn heading<T>(columns: &Columns<T>) -> String {
    let names: String = columns.iter().map(|(name, _)| format!(",{name}")).collect();
    format!("snapshot,time,component{names}\n")
}

fn rows<T>(
    text: &mut String,
    measured: &SnapshotAnalysis,
    component: Option<u8>,
    entries: &[T],
    columns: &Columns<T>,
) {
    let begin = format!(
        "{},{:?},{}",
        field(&measured.input),
        measured.time,
        field(measured.name(component))
    );
    for entry in entries {
        *text += &begin;
        for (_, value) in columns {
            *text += &match value(entry) {
                value if value.is_nan() => ",nan".to_owned(),
                // Counts, and whatever else is whole, without a point.
                value if is_whole(value) => format!(",{value}"),
                value => format!(",{value:?}"),
            };
        }
        text.push('\n');
    }
}

/// A name as CSV holds it, without characters that a terminal does not show.
fn field(name: &str) -> String {
    let name: String = name.chars().map(|c| if messages::shows(c) { c } else { '?' }).collect();
    match name.contains([',', '"']) || name.starts_with('#') {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => name,
    }
}

fn is_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < 1e15
}

/// A whole number as one; NaN and infinity as null.
fn number(value: f64) -> Value {
    if is_whole(value) { json!(value as i64) } else { json!(value) }
}

fn column<T>(
    columns: &mut Columns<T>,
    name: impl Into<String>,
    value: impl Fn(&T) -> f64 + 'static,
) {
    columns.push((name.into(), Box::new(value)));
}

fn group_columns(fractions: &[f64], with_bound: bool) -> Columns<Group> {
    let mut columns = Columns::new();
    column(&mut columns, "bodies", |group: &Group| group.count as f64);
    column(&mut columns, "mass", |group| group.mass);
    column(&mut columns, "r_half", |group| group.half_mass_radius);
    for (k, fraction) in fractions.iter().enumerate() {
        column(&mut columns, format!("r_{fraction}"), move |group| group.radii[k]);
    }
    column(&mut columns, "segregation", |group| group.segregation);
    motion_columns(&mut columns, |group| &group.motion);
    if with_bound {
        let bound =
            |group: &Group| group.bound.map_or((f64::NAN, f64::NAN), |b| (b.mass, b.count as f64));
        column(&mut columns, "bound_mass", move |group| bound(group).0);
        column(&mut columns, "bound_bodies", move |group| bound(group).1);
    }
    let vectors: [(&str, Vector); 4] = [
        ("centre_", |group| group.centre),
        ("centre_v", |group| group.velocity),
        ("mass_centre_", |group| group.centre_of_mass),
        ("mass_centre_v", |group| group.velocity_of_mass),
    ];
    for (name, vector) in vectors {
        for (axis, letter) in ["x", "y", "z"].iter().enumerate() {
            column(&mut columns, format!("{name}{letter}"), move |group| vector(group)[axis]);
        }
    }
    columns
}

fn motion_columns<T: 'static>(columns: &mut Columns<T>, of: fn(&T) -> &MotionStatistics) {
    column(columns, "v_r", move |entry| of(entry).radial);
    column(columns, "sigma_r", move |entry| of(entry).sigma_r);
    column(columns, "sigma_t", move |entry| of(entry).sigma_t);
    column(columns, "sigma", move |entry| of(entry).sigma());
    column(columns, "beta", move |entry| of(entry).beta());
}

fn shell_columns() -> Columns<Shell> {
    let mut columns = Columns::new();
    column(&mut columns, "r_inner", |shell: &Shell| shell.inner);
    column(&mut columns, "r_outer", |shell| shell.outer);
    column(&mut columns, "r", |shell| shell.radius());
    column(&mut columns, "bodies", |shell| shell.count as f64);
    column(&mut columns, "mass", |shell| shell.mass);
    column(&mut columns, "mass_within", |shell| shell.mass_within);
    column(&mut columns, "density", |shell| shell.density);
    motion_columns(&mut columns, |shell| &shell.motion);
    columns
}

fn ring_columns() -> Columns<Ring> {
    let mut columns = Columns::new();
    column(&mut columns, "R_inner", |ring: &Ring| ring.inner);
    column(&mut columns, "R_outer", |ring| ring.outer);
    column(&mut columns, "R", |ring| ring.radius());
    column(&mut columns, "bodies", |ring| ring.count as f64);
    column(&mut columns, "mass", |ring| ring.mass);
    column(&mut columns, "surface_density", |ring| ring.surface_density);
    column(&mut columns, "v_phi", |ring| ring.rotation);
    column(&mut columns, "sigma_R", |ring| ring.sigma_radial);
    column(&mut columns, "sigma_phi", |ring| ring.sigma_azimuthal);
    column(&mut columns, "sigma_z", |ring| ring.sigma_vertical);
    column(&mut columns, "thickness", |ring| ring.thickness);
    columns
}

/// Everything measured of a snapshot. NaN becomes null.
pub(super) fn json(measured: &SnapshotAnalysis) -> Value {
    let object = |names: Vec<(&str, Value)>| -> Value {
        Value::Object(names.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    };
    let groups = measured.groups.iter().enumerate().map(|(k, group)| {
        let mut entries = vec![
            ("component", json!(measured.name(group.component))),
            ("radii", json!(group.radii)),
        ];
        let columns = group_columns(&[], group.bound.is_some());
        entries.extend(columns.iter().map(|(name, value)| (name.as_str(), number(value(group)))));
        if let Some(shells) = measured.shells.get(k) {
            entries.push(("profile", list(shells, &shell_columns())));
        }
        let rings = measured.rings.iter().find(|(component, _)| *component == group.component);
        if let Some((_, rings)) = rings {
            entries.push(("rings", list(rings, &ring_columns())));
        }
        object(entries)
    });
    json!({
        "snapshot": measured.input,
        "time": measured.time,
        "components": groups.collect::<Vec<_>>(),
    })
}

fn list<T>(entries: &[T], columns: &Columns<T>) -> Value {
    let entry = |entry: &T| -> Value {
        Value::Object(
            columns.iter().map(|(name, value)| (name.clone(), number(value(entry)))).collect(),
        )
    };
    entries.iter().map(entry).collect()
}
