//! The plots of runs on individual steps.

use super::{ACCURACIES, CLOSER, FIGURE, QUARTER, SOFTENINGS, WHOLE};
use crate::measure::bench::record::rounded;
use crate::measure::figures::{grouped, marks, values};
use crate::measure::plot::{Axis, Curve, Lines, Look, Place, Plot, short};
use crate::measure::{Kind, Record, RunFacts, RunOutcome};

/// A run with its result.
#[derive(Clone, Copy)]
struct Row<'r> {
    record: &'r Record,
    run: &'r RunFacts,
    outcome: RunOutcome,
}

impl Row<'_> {
    fn is_hermite6(&self) -> bool {
        self.run.integrator == "hermite6"
    }

    /// Kirin's a, computed from eta.
    fn a(&self) -> f64 {
        rounded(self.run.eta.sqrt())
    }

    /// Formats integrator and accuracy: `hermite4, a = 0.3`, or the integrator alone.
    fn case(&self) -> String {
        let tier = format!(", {}", self.run.tier());
        self.record.series.strip_suffix(&tier).unwrap_or(&self.record.series).to_owned()
    }
}

/// The curves of some rows, by name.
fn drawn<'r>(
    rows: impl Iterator<Item = Row<'r>> + Clone,
    name: impl Fn(Row<'r>) -> String,
    x: impl Fn(Row<'r>) -> f64,
    y: impl Fn(Row<'r>) -> Option<f64>,
) -> Vec<Curve> {
    let row_of = |record: &Record| rows.clone().find(|row| std::ptr::eq(row.record, record));
    let mut curves = grouped(
        rows.clone().map(|row| row.record),
        Look::Measured,
        |record| row_of(record).map_or(String::new(), &name),
        |record| {
            let row = row_of(record)?;
            let (x, y) = (x(row), y(row)?);
            Some(Place { x, y, range: (y, y) })
        },
    );
    for curve in &mut curves {
        curve.places.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    curves
}

pub fn plots(records: &[Record]) -> Vec<Plot> {
    let rows: Vec<Row> = records
        .iter()
        .filter(|record| record.figure == FIGURE.name && record.kind == Kind::Run)
        .filter_map(|record| {
            let run = record.run.as_ref()?;
            Some(Row { record, run, outcome: run.outcome? })
        })
        .collect();
    let mut tiers: Vec<String> = Vec::new();
    for tier in rows.iter().map(|row| row.run.tier()) {
        // A foreign file may contain any number of them; only six are drawn.
        if !tiers.contains(&tier) && tiers.len() < 6 {
            tiers.push(tier);
        }
    }
    let n = |row: Row| row.record.x;
    let error = |row: Row| Some(row.outcome.energy_error);
    let secs = |row: Row| row.record.summary().map(|summary| summary.median);
    let tier = |row: Row| row.run.tier();
    let mut plots = Vec::new();
    let mut add = |title: String, x: Axis, y: &str, curves: Vec<Curve>| {
        if values(&curves).next().is_some() {
            let (x, y) = (x.with_marks(marks(&curves)), Axis::fitting(y, values(&curves)));
            plots.push(Plot::Lines(Lines { title, x, y, curves }));
        }
    };
    let bodies = || Axis::powers("number of bodies N");
    for (softening, eps) in SOFTENINGS.into_iter().zip(["eps = 1/256", "eps = 0"]) {
        let quarter = rows
            .iter()
            .copied()
            .filter(move |row| row.run.softening == softening && row.run.until == QUARTER);
        for name in &tiers {
            let known = |row: &Row| row.is_hermite6() || ACCURACIES.contains(&row.a());
            let own = quarter.clone().filter(|row| row.run.tier() == *name && known(row));
            let title = format!("Energy error at t = 0.25, {eps}, {name}");
            add(title, bodies(), "relative energy error", drawn(own, |r| r.case(), n, error));
        }
        let steps = |row: Row| Some(row.outcome.body_steps as f64 / secs(row)?);
        let strict = quarter.clone().filter(|row| !row.is_hermite6() && row.a() == 0.1);
        let title = format!("Steps of bodies, hermite4, a = 0.1, {eps}");
        add(title, bodies(), "steps per second", drawn(strict, tier, n, steps));
        // Kirin's figures 4.7 (softened) and 4.8.
        let closer = quarter.clone().filter(|row| {
            let here = |other: &Row| other.record.x == row.record.x && CLOSER.contains(&other.a());
            !row.is_hermite6() && rows.iter().any(here)
        });
        let which = |row: Row| format!("N = {}, {}", short(row.record.x), row.run.tier());
        let a = || Axis::linear("kirin's accuracy a, eta = a²");
        let title = format!("Time to t = 0.25, hermite4, {eps}");
        add(title, a(), "time, s", drawn(closer.clone(), which, |row| row.a(), secs));
        let title = format!("Energy error at t = 0.25, hermite4, {eps}");
        add(title, a(), "relative energy error", drawn(closer, which, |row| row.a(), error));
    }
    let whole = rows.iter().copied().filter(|row| row.run.until == WHOLE && row.is_hermite6());
    let active = |row: Row| Some(row.outcome.mean_active());
    for (title, y, curves) in [
        ("Time", "time, s", drawn(whole.clone(), tier, n, secs)),
        ("Bodies per block", "bodies", drawn(whole.clone(), tier, n, active)),
        ("Energy error", "relative energy error", drawn(whole, tier, n, error)),
    ] {
        add(format!("{title}, hermite6 to t = 1, eps = 1/256"), bodies(), y, curves);
    }
    plots
}
