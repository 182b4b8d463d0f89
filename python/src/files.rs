//! Snapshots in files.

use std::path::PathBuf;

use gravitile::error::Error;
use gravitile::snapshot::{self, ReadOptions, Snapshot, SnapshotChoice, WriteOptions};
use gravitile::units::{Measure, Quantity};
use pyo3::prelude::*;

use crate::attend::attend;
use crate::errors::raised;
use crate::fields::{Given, Taken, taken};

/// A snapshot, and its reader's notes.
#[pyfunction]
pub fn read<'py>(
    py: Python<'py>,
    path: PathBuf,
    format: Option<String>,
    renumber: bool,
    snapshot: Option<String>,
) -> PyResult<(Taken<'py>, Vec<String>)> {
    let chosen = snapshot.map(|text| {
        let wrong = |allowed| raised(Error::value("snapshot", &text, allowed));
        text.parse::<SnapshotChoice>().map_err(wrong)
    });
    let snapshot = chosen.transpose()?;
    let options = ReadOptions { format, renumber, snapshot, ..ReadOptions::default() };
    let work = move || snapshot::read_with(&path, &options);
    let read: Snapshot = attend(py, work, &mut |_| Ok(()))?;
    let notes = read.notes.clone();
    Ok((taken(py, read)?, notes))
}

/// Writes a snapshot; returns what the format cannot hold.
#[pyfunction]
pub fn write(
    py: Python<'_>,
    path: PathBuf,
    bodies: Given<'_>,
    format: Option<String>,
    files: Option<usize>,
) -> PyResult<Vec<String>> {
    let snapshot = bodies.snapshot()?;
    let options = WriteOptions { format, files, ..WriteOptions::default() };
    let work = move || snapshot::write(&path, &snapshot, &options);
    let losses = attend(py, work, &mut |_| Ok(()))?;
    Ok(losses.iter().map(str::to_owned).collect())
}

/// The SI value of a named unit of length, mass or time, such as "3.5 kpc"; None if there is no
/// such unit.
#[pyfunction]
pub fn unit_si(kind: &str, text: &str) -> Option<f64> {
    let of = match kind {
        "length" => Quantity::Length,
        "mass" => Quantity::Mass,
        _ => Quantity::Time,
    };
    Measure::of(text).si(of)
}
