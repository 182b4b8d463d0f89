//! The part of `gravitile check` for forces with derivatives: tiers and orders.

use std::sync::Arc;

use anyhow::Result;

use super::check_results::Verdict;
use super::print;
use gravitile::forces::Precision;
use gravitile::forces::direct::gpu::tiers;
use gravitile::gpu::Gpu;
use gravitile::measure::{DirectCase, DirectRow, ErrorStats, direct_cases};

/// A name, and why it is missing.
pub type Absent = (String, String);

/// The cases of the tiers that work here, and the tiers that do not, with the reason.
pub fn cases(gpu: &Arc<Gpu>) -> Result<(Vec<DirectCase>, Vec<Absent>)> {
    let (mut tiers, mut absent) = (Vec::new(), Vec::new());
    for (precision, name) in Precision::ALL {
        match tiers::verdict(gpu, precision)? {
            Ok(_) => tiers.push(precision),
            Err(reason) => absent.push((name.to_owned(), reason)),
        }
    }
    Ok((direct_cases(&tiers, false), absent))
}

const HEADER: [&str; 12] = [
    "tier",
    "up to",
    "cases",
    "rms a",
    "worst a",
    "rms jerk",
    "worst jerk",
    "rms snap",
    "worst snap",
    "rms phi",
    "worst phi",
    "",
];
const WIDTHS: [usize; 12] = [22, 12, 5, 7, 7, 8, 10, 8, 10, 7, 9, 6];

/// The names of the columns of [`summary`].
pub fn header() -> String {
    print::row(&HEADER, &WIDTHS)
}

/// One line per tier, order and arithmetic, with the worst over sizes, shapes and softenings.
pub fn summary(rows: &[DirectRow]) -> String {
    // Refined and plain sums are different arithmetic.
    let refined = |row: &DirectRow| row.case.precision.refines(row.case.sources);
    let kind = |row: &DirectRow| (row.case.precision as u32, row.case.order as u32, refined(row));
    let mut sorted: Vec<&DirectRow> = rows.iter().collect();
    sorted.sort_by_key(|row| kind(row));
    let mut text = String::new();
    for group in sorted.chunk_by(|a, b| kind(a) == kind(b)) {
        let first = group[0];
        let name = first.case.precision.name();
        let mut line = vec![
            if refined(first) { format!("{name}, refined") } else { name.to_owned() },
            first.case.order.name().to_owned(),
            group.len().to_string(),
        ];
        for quantity in 0..4 {
            let known: Vec<ErrorStats> =
                group.iter().filter_map(|row| row.errors.quantities()[quantity].1).collect();
            for value in [
                known.iter().map(|error| error.rms).reduce(f64::max),
                known.iter().map(|error| error.worst).reduce(f64::max),
            ] {
                line.push(value.map_or_else(String::new, |value| format!("{value:.1e}")));
            }
        }
        line.push(if group.iter().all(|row| row.passed()) { "ok" } else { "FAILED" }.to_owned());
        text += &print::row(&line, &WIDTHS);
    }
    text
}

pub fn verdict(row: &DirectRow) -> Verdict {
    let case = &row.case;
    let shape = case.shape.map_or_else(|| "own shape".to_owned(), |shape| shape.to_string());
    let mut words = format!(
        "{} up to {}, {shape}, {} sinks, {} sources, eps {}: acceleration rms {:.1e} worst {:.1e}, potential rms {:.1e} worst {:.1e}",
        case.precision.name(),
        case.order.name(),
        case.sinks,
        case.sources,
        case.softening,
        row.errors.acceleration.rms,
        row.errors.acceleration.worst,
        row.errors.potential.rms,
        row.errors.potential.worst,
    );
    for (name, error) in [("jerk", row.errors.jerk), ("snap", row.errors.snap)] {
        if let Some(error) = error {
            words += &format!(", {name} rms {:.1e} worst {:.1e}", error.rms, error.worst);
        }
    }
    if let Err(problem) = &row.neighbours {
        words += &format!(", {problem}");
    }
    if !row.in_bounds {
        words += ", wrote past its end";
    }
    if !row.same_in_pieces {
        words += ", different bits when cut into small dispatches";
    }
    let errors = |stats: Option<ErrorStats>| {
        stats.map(|stats| serde_json::json!({ "rms": stats.rms, "worst": stats.worst }))
    };
    let json = serde_json::json!({
        "tier": row.case.precision.name(),
        "order": row.case.order.name(),
        "shape": row.case.shape.map(|shape| shape.to_string()),
        "sinks": row.case.sinks,
        "sources": row.case.sources,
        "softening": row.case.softening,
        "acceleration": errors(Some(row.errors.acceleration)),
        "potential": errors(Some(row.errors.potential)),
        "jerk": errors(row.errors.jerk),
        "snap": errors(row.errors.snap),
        "neighbours": row.neighbours.as_ref().err(),
        "in_bounds": row.in_bounds,
        "same_in_pieces": row.same_in_pieces,
    });
    Verdict { passed: row.passed(), words, json }
}
