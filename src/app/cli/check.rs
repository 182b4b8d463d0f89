//! `gravitile check`: is every kernel right on this adapter?

use anyhow::Result;
use serde_json::json;

use super::check_direct as direct;
use super::check_engines as engines;
use super::check_tree as tree;
use super::options::Measured;
use super::{Ended, print, progress};
use crate::forces::{EngineKind, Method};
use crate::gpu::{AdapterRequest, Gpu};
use crate::measure::{self, Row, StepsRow};
use crate::settings::MethodRequest;

/// Compare every kernel variant and tier of precision on this adapter with f64: worst and rms error; exit 1 on failure
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gravitile check                 the adapter's kernels; so does --engine gpu
  gravitile check --engine cpu    the CPU's engines, as this processor runs them
  gravitile check --method tree   the tree: errors by rule and by how bodies lie, cells and moments")]
pub struct Args {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    by: MethodRequest,
    #[command(flatten)]
    adapter: AdapterRequest,
}

const MEASURED: Measured = Measured {
    engines: &[EngineKind::Auto, EngineKind::Gpu, EngineKind::Cpu],
    methods: &[Method::Direct, Method::Tree],
    what: "the reference is what these are compared with",
};

pub fn main(args: &Args) -> Result<Ended> {
    let engine = MEASURED.engine(&args.by)?;
    let is_tree = Method::from_name(&args.by.method)? == Some(Method::Tree);
    match (engine, is_tree) {
        (EngineKind::Cpu, false) => engines::main(args.json),
        (EngineKind::Cpu, true) => tree::main(None, args.json),
        (_, false) => on_adapter(args),
        (_, true) => tree::main(Some(&*Gpu::open_blocking(&args.adapter)?), args.json),
    }
}

fn on_adapter(args: &Args) -> Result<Ended> {
    let gpu = Gpu::open_blocking(&args.adapter)?;
    let (cases, skipped) = measure::cases(&gpu);
    let bar = progress::bar(cases.len() as u64, "checking");
    let mut rows = Vec::with_capacity(cases.len());
    for case in cases {
        rows.push(measure::check(&gpu, case)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut steps = Vec::new();
    for (config, n, softening) in measure::steps_cases(&gpu) {
        steps.push(measure::check_steps(&gpu, config, n, softening)?);
    }
    let (direct, absent) = direct::check(&gpu)?;
    let failed = rows.iter().filter(|row| !row.passed()).count()
        + steps.iter().filter(|row| !row.passed()).count()
        + direct.iter().filter(|row| !row.passed()).count();

    if args.json {
        let skipped: Vec<_> = skipped
            .iter()
            .map(|s| json!({ "kernel": s.config.to_string(), "reason": s.reason }))
            .collect();
        print::json(&json!({
            "adapter": gpu.adapter.name,
            "driver": gpu.adapter.driver,
            "backend": gpu.adapter.backend,
            "passed": failed == 0,
            "cases": rows.iter().map(row_json).collect::<Vec<_>>(),
            "steps_in_one_workgroup": steps.iter().map(steps_json).collect::<Vec<_>>(),
            "forces_with_derivatives": direct.iter().map(direct::json).collect::<Vec<_>>(),
            "absent_tiers": absent.iter().map(|(tier, reason)| json!({
                "tier": tier, "reason": reason,
            })).collect::<Vec<_>>(),
            "skipped": skipped,
        }))?;
    } else {
        let mut text = format!("{}, {}\n", gpu.adapter.name, gpu.adapter.driver);
        text += &print::table(&summary(&rows));
        for row in rows.iter().filter(|row| !row.passed()) {
            text += &format!("FAILED {}\n", in_words(row));
        }
        text += &steps_summary(&steps);
        for skipped in &skipped {
            text += &format!("skipped {}: {}\n", skipped.config, skipped.reason);
        }
        text += &direct::summary(&direct, &absent);
        let all = rows.len() + steps.len() + direct.len();
        text += &format!("{} of {all} cases agree with f64\n", all - failed);
        print::text(&text)?;
    }
    Ok(if failed == 0 { Ended::Done } else { Ended::Failed })
}

/// One line per kernel: the worst over its sizes and softenings.
fn summary(rows: &[Row]) -> Vec<Vec<String>> {
    let header = ["kernel", "cases", "worst a", "rms a", "worst phi", "rms phi", ""];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    let mut rest = rows;
    while let Some(first) = rest.first() {
        let length = rest.iter().take_while(|r| r.case.config == first.case.config).count();
        let (group, later) = rest.split_at(length);
        let largest = |value: &dyn Fn(&Row) -> f64| group.iter().map(value).fold(0.0, f64::max);
        let cell = |value: f64| format!("{value:.1e}");
        table.push(vec![
            first.case.config.to_string(),
            length.to_string(),
            cell(largest(&|row| row.acceleration.worst)),
            cell(largest(&|row| row.acceleration.rms)),
            cell(largest(&|row| row.potential.map_or(0.0, |p| p.worst))),
            cell(largest(&|row| row.potential.map_or(0.0, |p| p.rms))),
            if group.iter().all(Row::passed) { "ok" } else { "FAILED" }.to_owned(),
        ]);
        rest = later;
    }
    table
}

fn in_words(row: &Row) -> String {
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
        words += ", wrote beyond its last sink";
    }
    if !row.same_in_pieces {
        words += ", other bits when cut into small dispatches";
    }
    words
}

/// Steps in one workgroup: the worst over all shapes, and what failed.
fn steps_summary(rows: &[StepsRow]) -> String {
    let largest = |value: &dyn Fn(&StepsRow) -> f64| rows.iter().map(value).fold(0.0, f64::max);
    let mut text = format!(
        "steps in one workgroup: {} cases, accelerations worst {:.1e} rms {:.1e}, positions off by {:.1e} at most\n",
        rows.len(),
        largest(&|row| row.acceleration.worst),
        largest(&|row| row.acceleration.rms),
        largest(&|row| row.drift),
    );
    for row in rows.iter().filter(|row| !row.passed()) {
        text += &format!(
            "FAILED {}, {} bodies, eps {}: acceleration worst {:.1e} rms {:.1e}, positions off by {:.1e}{}{}\n",
            row.config,
            row.n,
            row.softening,
            row.acceleration.worst,
            row.acceleration.rms,
            row.drift,
            if row.in_bounds { "" } else { ", wrote beyond its last body" },
            if row.same_in_pieces { "" } else { ", other bits when cut into single steps" },
        );
    }
    text
}

fn steps_json(row: &StepsRow) -> serde_json::Value {
    json!({
        "kernel": row.config.to_string(),
        "n": row.n,
        "softening": row.softening,
        "acceleration_worst": row.acceleration.worst,
        "acceleration_rms": row.acceleration.rms,
        "position_error": row.drift,
        "in_bounds": row.in_bounds,
        "same_in_pieces": row.same_in_pieces,
        "passed": row.passed(),
    })
}

fn row_json(row: &Row) -> serde_json::Value {
    json!({
        "kernel": row.case.config.to_string(),
        "sinks": row.case.sinks,
        "sources": row.case.sources,
        "softening": row.case.softening,
        "with_potential": row.case.potential,
        "acceleration_worst": row.acceleration.worst,
        "acceleration_rms": row.acceleration.rms,
        "potential_worst": row.potential.map(|p| p.worst),
        "potential_rms": row.potential.map(|p| p.rms),
        "in_bounds": row.in_bounds,
        "same_in_pieces": row.same_in_pieces,
        "passed": row.passed(),
    })
}
