//! Pictures of profiles and of radii over time.

use std::path::Path;

use super::super::options::check_output;
use super::SnapshotAnalysis;
use gravitile::analysis::Shell;
use gravitile::error::{Error, Result};
use gravitile::files::replace;
use gravitile::measure::plot::{Curve, CurvePoint, GREY, Plot, PlotAxis};
use gravitile::messages;
use gravitile::units::Units;

/// The names of all pictures.
const NAMES: [&str; 4] = ["density.svg", "dispersion.svg", "surface_density.svg", "radii.svg"];

/// Curves of components beyond these would share colours.
const MOST_CURVES: usize = GREY;

/// Refuses pictures that exist and may not be replaced.
pub(super) fn check(folder: &Path, force: bool) -> Result<()> {
    NAMES.iter().try_for_each(|name| check_output(&folder.join(name), force))
}

/// Draws what there is to see; returns the files.
pub(super) fn write(
    folder: &Path,
    found: &[SnapshotAnalysis],
    units: &Units,
) -> Result<Vec<String>> {
    std::fs::create_dir_all(folder).map_err(|e| Error::io("create the folder", folder, e))?;
    let (Some(first), Some(last)) = (found.first(), found.last()) else { return Ok(Vec::new()) };
    let mut plots = vec![
        (NAMES[0], density(first, last, found.len() > 1, units)),
        (NAMES[1], dispersion(last, units)),
    ];
    if !last.rings.is_empty() {
        plots.push((NAMES[2], surface_density(last, units)));
    }
    if found.len() > 1 {
        plots.push((NAMES[3], radii(found, units)));
    }
    let mut drawn = Vec::new();
    for (name, plot) in plots {
        let path = folder.join(name);
        replace(&path, plot.svg().as_bytes())?;
        drawn.push(path.display().to_string());
    }
    Ok(drawn)
}

/// A quantity with its unit, if that has a name.
fn label(what: &str, unit: &str) -> String {
    if unit.is_empty() { what.to_owned() } else { format!("{what} ({unit})") }
}

/// A unit made of others, if all of them have names.
fn quotient(above: &str, below: &str, power: &str) -> String {
    match above.is_empty() || below.is_empty() {
        true => String::new(),
        false => format!("{above} / {below}{power}"),
    }
}

fn radius(units: &Units) -> PlotAxis {
    PlotAxis::decades(&label("radius", &units.length))
}

/// A logarithmic axis shows no zeros.
fn positive(points: impl Iterator<Item = (f64, f64)>) -> Vec<CurvePoint> {
    points.filter(|(x, y)| *x > 0.0 && *y > 0.0).map(|(x, y)| CurvePoint::at(x, y)).collect()
}

/// The name of a curve, which may come from a file.
fn name(measured: &SnapshotAnalysis, component: Option<u8>) -> String {
    messages::piece(measured.name(component))
}

/// One curve per group of a snapshot, and its number.
fn curves(measured: &SnapshotAnalysis, value: fn(&Shell) -> f64) -> Vec<Curve> {
    let groups = measured.groups.iter().zip(&measured.shells).take(MOST_CURVES);
    let curve = |(k, (group, shells)): (usize, (&gravitile::analysis::Group, &Vec<Shell>))| {
        let points = positive(shells.iter().map(|shell| (shell.radius(), value(shell))));
        Curve::measured(name(measured, group.component), points, k)
    };
    groups.enumerate().map(curve).collect()
}

fn density(
    first: &SnapshotAnalysis,
    last: &SnapshotAnalysis,
    is_later: bool,
    units: &Units,
) -> Plot {
    let mut all = curves(last, |shell| shell.density);
    if let Some(shells) = first.shells.first().filter(|_| is_later) {
        let points = positive(shells.iter().map(|shell| (shell.radius(), shell.density)));
        all.push(Curve::predicted(format!("all at t = {}", first.time), points, GREY));
    }
    let unit = quotient(&units.mass, &units.length, "\u{b3}");
    let y = PlotAxis::decades(&label("density", &unit));
    Plot::lines(format!("Density at t = {}", last.time), radius(units), y, all)
}

/// Radial dispersions as lines, tangential ones dashed.
fn dispersion(last: &SnapshotAnalysis, units: &Units) -> Plot {
    let mut all = curves(last, |shell| shell.motion.sigma_r);
    for mut curve in curves(last, |shell| shell.motion.sigma_t) {
        curve = Curve::predicted(format!("{}, tangential", curve.name), curve.points, curve.colour);
        all.push(curve);
    }
    let unit = quotient(&units.length, &units.time, "");
    let y = PlotAxis::linear(&label("dispersion", &unit));
    let title = format!(
        "Radial and tangential velocity dispersion, in one dimension, at t = {}",
        last.time
    );
    Plot::lines(title, radius(units), y, all)
}

fn surface_density(last: &SnapshotAnalysis, units: &Units) -> Plot {
    let curve =
        |(k, (component, rings)): (usize, &(Option<u8>, Vec<gravitile::analysis::Ring>))| {
            let points = rings.iter().map(|ring| (ring.radius(), ring.surface_density));
            Curve::measured(name(last, *component), positive(points), k)
        };
    let all = last.rings.iter().take(MOST_CURVES).enumerate().map(curve).collect();
    let unit = quotient(&units.mass, &units.length, "\u{b2}");
    let x = PlotAxis::linear(&label("radius in the plane", &units.length));
    let y = PlotAxis::decades(&label("surface density", &unit));
    Plot::lines(format!("Surface density at t = {}", last.time), x, y, all)
}

/// The half-mass radius of each group over time.
fn radii(found: &[SnapshotAnalysis], units: &Units) -> Plot {
    let first = &found[0];
    let groups = first.groups.iter().take(MOST_CURVES).enumerate().map(|(k, group)| {
        let of = |measured: &SnapshotAnalysis| {
            let same = measured.groups.iter().find(|other| other.component == group.component)?;
            Some(CurvePoint::at(measured.time, same.half_mass_radius))
        };
        Curve::measured(name(first, group.component), found.iter().filter_map(of).collect(), k)
    });
    let all: Vec<Curve> = groups.collect();
    let y = PlotAxis::fitting(&label("half-mass radius", &units.length), &all);
    Plot::lines("Half-mass radii over time", PlotAxis::linear(&label("time", &units.time)), y, all)
}
