//! `gravitile check --method tree`: the tree against direct summation in f64.

use anyhow::Result;
use serde_json::json;

use super::check_results::{Results, Verdict};
use super::{Ended, print, progress};
use gravitile::gpu::Gpu;
use gravitile::measure::{TreeRow, check_tree, tree_cases};

/// Checks the tree on `gpu`, or on the processor.
pub fn main(gpu: Option<&Gpu>, as_json: bool) -> Result<Ended> {
    let cases = tree_cases(gpu);
    let bar = progress::bar(cases.len() as u64, "checking");
    let mut rows = Vec::with_capacity(cases.len());
    for case in cases {
        rows.push(check_tree(gpu, case)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut text = match gpu {
        Some(gpu) => format!("{}, {}\n", gpu.adapter.name, gpu.adapter.driver),
        None => "the processor\n".to_owned(),
    };
    text += &print::with_header(&HEADER, rows.iter().map(cells));
    let own = json!({
        "adapter": gpu.map(|gpu| gpu.adapter.name.clone()),
        "driver": gpu.map(|gpu| gpu.adapter.driver.clone()),
        "backend": gpu.map(|gpu| gpu.adapter.backend.clone()),
    });
    Results::of(text, rows.iter().map(verdict)).print(as_json, "cases", own)
}

const HEADER: [&str; 11] =
    ["bodies", "n", "eps", "rule", "rms a", "median", "99 %", "largest", "momentum", "rms phi", ""];

fn cells(row: &TreeRow) -> Vec<String> {
    let (case, errors) = (&row.case, &row.acceleration);
    let cell = |value: f64| format!("{value:.1e}");
    vec![
        case.cloud.name().to_owned(),
        case.n.to_string(),
        case.softening.to_string(),
        row.case.shape.to_string().replace("tree, ", ""),
        cell(errors.rms()),
        cell(errors.median()),
        cell(errors.quantile(0.99)),
        cell(errors.worst()),
        cell(row.momentum),
        row.potential.map_or_else(String::new, |potential| cell(potential.rms)),
        if row.passed() { "ok" } else { "FAILED" }.to_owned(),
    ]
}

fn verdict(row: &TreeRow) -> Verdict {
    let (case, errors, most) = (&row.case, &row.acceleration, row.case.limits());
    let mut words = format!(
        "{}, {} bodies, eps {}, {}, leaves of {}:",
        case.cloud.name(),
        case.n,
        case.softening,
        case.shape,
        case.shape.leaf
    );
    for (name, found, allowed) in [
        ("rms", errors.rms(), most.rms),
        ("median", errors.median(), most.median),
        ("99 %", errors.quantile(0.99), most.most),
        ("largest", errors.worst(), most.worst),
        ("momentum", row.momentum, most.momentum),
    ] {
        words += &format!(" {name} {found:.1e} (below {allowed:.1e})");
    }
    if let Some(potential) = row.potential {
        words += &format!(", potential rms {:.1e} worst {:.1e}", potential.rms, potential.worst);
    }
    if let Err(what) = &row.stages {
        words += &format!(", wrong before the walk: {what}");
    }
    if !row.same_in_pieces {
        words += ", different bits when cut into small dispatches";
    }
    let json = json!({
        "bodies": case.cloud.name(),
        "n": case.n,
        "sinks": case.sinks,
        "softening": case.softening,
        "with_potential": case.potential,
        "rule": case.shape.to_string(),
        "leaf": case.shape.leaf,
        "acceleration_rms": errors.rms(),
        "acceleration_median": errors.median(),
        "acceleration_99": errors.quantile(0.99),
        "acceleration_worst": errors.worst(),
        "momentum": row.momentum,
        "potential_rms": row.potential.map(|potential| potential.rms),
        "potential_worst": row.potential.map(|potential| potential.worst),
        "wrong_stage": row.stages.clone().err(),
        "same_in_pieces": row.same_in_pieces,
    });
    Verdict { passed: row.passed(), words, json }
}
