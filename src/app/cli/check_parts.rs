//! The parts of `gravitile check` on an adapter: kernel by kernel, steps in one workgroup, tier by
//! tier.

use std::fmt;
use std::sync::Arc;

use anyhow::Result;
use serde_json::json;

use super::check_direct::{self as direct, Absent};
use super::check_results::{Results, Verdict};
use super::print;
use gravitile::forces::direct::gpu::KernelConfig;
use gravitile::forces::{Order, Precision};
use gravitile::gpu::Gpu;
use gravitile::measure::{self, Case, DirectCase, Row, StepsRow};

/// A group of cases that is checked and reported together.
pub enum Part {
    /// A kernel at all its sizes.
    Kernel(Vec<Case>),
    /// Steps in one workgroup, in all shapes.
    Steps(Vec<(KernelConfig, usize, f64)>),
    /// A tier with forces up to an order.
    Tier(Precision, Order, Vec<DirectCase>),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(cases) => match cases.first() {
                Some(case) => write!(f, "{}", case.config),
                None => write!(f, "no kernel"),
            },
            Self::Steps(_) => write!(f, "steps in one workgroup"),
            Self::Tier(precision, order, _) => {
                write!(f, "{} up to {}", precision.name(), order.name())
            }
        }
    }
}

impl Part {
    /// The key of its rows in the JSON object.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Kernel(_) => "cases",
            Self::Steps(_) => "steps_in_one_workgroup",
            Self::Tier(..) => "forces_with_derivatives",
        }
    }
}

/// All parts for an adapter; the tiers that do not work on it; the kernels that exceed its limits.
pub fn parts(gpu: &Arc<Gpu>) -> Result<(Vec<Part>, Vec<Absent>, Vec<Absent>)> {
    let (cases, skipped) = measure::cases(gpu);
    let kernels = cases.chunk_by(|a, b| a.config == b.config);
    let mut parts: Vec<Part> = kernels.map(|cases| Part::Kernel(cases.to_vec())).collect();
    parts.push(Part::Steps(measure::steps_cases(gpu)));
    let (cases, absent) = direct::cases(gpu)?;
    let same = |a: &DirectCase, b: &DirectCase| (a.precision, a.order) == (b.precision, b.order);
    for cases in cases.chunk_by(same) {
        parts.push(Part::Tier(cases[0].precision, cases[0].order, cases.to_vec()));
    }
    let named = |skipped: &measure::Skipped| (skipped.config.to_string(), skipped.reason.clone());
    Ok((parts, absent, skipped.iter().map(named).collect()))
}

/// Checks a part.
pub fn check(gpu: &Arc<Gpu>, part: &Part) -> Result<Results> {
    Ok(match part {
        Part::Kernel(cases) => {
            let rows = cases.iter().map(|case| measure::check(gpu, *case));
            let rows: Vec<Row> = rows.collect::<Result<_, _>>()?;
            Results::of(summary(&rows), rows.iter().map(verdict))
        }
        Part::Steps(cases) => {
            let check = |&(config, n, eps): &_| measure::check_steps(gpu, config, n, eps);
            let rows: Vec<StepsRow> = cases.iter().map(check).collect::<Result<_, _>>()?;
            Results::of(steps_summary(&rows), rows.iter().map(steps_verdict))
        }
        Part::Tier(_, _, cases) => {
            let rows = cases.iter().map(|case| measure::check_direct(gpu, *case));
            let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
            Results::of(direct::summary(&rows), rows.iter().map(direct::verdict))
        }
    })
}

/// The header above the lines of kernels.
pub fn kernels_header() -> String {
    print::row(&HEADER, &WIDTHS)
}

const HEADER: [&str; 7] = ["kernel", "cases", "worst a", "rms a", "worst phi", "rms phi", ""];
const WIDTHS: [usize; 7] = [35, 5, 9, 9, 9, 9, 6];

/// A line for a kernel with the worst over its sizes and softenings.
fn summary(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    // Not f64::max, which would skip a NaN.
    let larger = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
    let largest = |value: &dyn Fn(&Row) -> f64| rows.iter().map(value).fold(0.0, larger);
    let cell = |value: f64| format!("{value:.1e}");
    print::row(
        &[
            first.case.config.to_string(),
            rows.len().to_string(),
            cell(largest(&|row| row.acceleration.worst)),
            cell(largest(&|row| row.acceleration.rms)),
            cell(largest(&|row| row.potential.map_or(0.0, |p| p.worst))),
            cell(largest(&|row| row.potential.map_or(0.0, |p| p.rms))),
            if rows.iter().all(Row::passed) { "ok" } else { "FAILED" }.to_owned(),
        ],
        &WIDTHS,
    )
}

fn verdict(row: &Row) -> Verdict {
    let case = &row.case;
    let mut words = format!(
        "{}, {} sinks, {} sources, eps {}: acceleration worst {:.1e} rms {:.1e}",
        case.config,
        case.sinks,
        case.sources,
        case.softening,
        row.acceleration.worst,
        row.acceleration.rms
    );
    if let Some(potential) = row.potential {
        words += &format!(", potential worst {:.1e} rms {:.1e}", potential.worst, potential.rms);
    }
    if !row.in_bounds {
        words += ", wrote past its last sink";
    }
    if !row.same_in_pieces {
        words += ", different bits when cut into small dispatches";
    }
    let json = json!({
        "kernel": case.config.to_string(),
        "sinks": case.sinks,
        "sources": case.sources,
        "softening": case.softening,
        "with_potential": case.potential,
        "acceleration_worst": row.acceleration.worst,
        "acceleration_rms": row.acceleration.rms,
        "potential_worst": row.potential.map(|p| p.worst),
        "potential_rms": row.potential.map(|p| p.rms),
        "in_bounds": row.in_bounds,
        "same_in_pieces": row.same_in_pieces,
    });
    Verdict { passed: row.passed(), words, json }
}

/// Steps in one workgroup: the worst over all shapes.
fn steps_summary(rows: &[StepsRow]) -> String {
    let largest = |value: &dyn Fn(&StepsRow) -> f64| rows.iter().map(value).fold(0.0, f64::max);
    format!(
        "steps in one workgroup: {} cases, accelerations worst {:.1e} rms {:.1e}, positions off by {:.1e} at most\n",
        rows.len(),
        largest(&|row| row.acceleration.worst),
        largest(&|row| row.acceleration.rms),
        largest(&|row| row.drift),
    )
}

fn steps_verdict(row: &StepsRow) -> Verdict {
    let words = format!(
        "{}, {} bodies, eps {}: acceleration worst {:.1e} rms {:.1e}, positions off by {:.1e}{}{}",
        row.config,
        row.n,
        row.softening,
        row.acceleration.worst,
        row.acceleration.rms,
        row.drift,
        if row.in_bounds { "" } else { ", wrote past its last body" },
        if row.same_in_pieces { "" } else { ", different bits when cut into single steps" },
    );
    let json = json!({
        "kernel": row.config.to_string(),
        "n": row.n,
        "softening": row.softening,
        "acceleration_worst": row.acceleration.worst,
        "acceleration_rms": row.acceleration.rms,
        "position_error": row.drift,
        "in_bounds": row.in_bounds,
        "same_in_pieces": row.same_in_pieces,
    });
    Verdict { passed: row.passed(), words, json }
}
