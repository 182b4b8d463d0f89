//! `gravitile check --method tree`: the tree against direct summation in f64.

use anyhow::Result;
use serde_json::json;

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
    let failed = rows.iter().filter(|row| !row.passed()).count();
    if as_json {
        print::json(&json!({
            "adapter": gpu.map(|gpu| gpu.adapter.name.clone()),
            "driver": gpu.map(|gpu| gpu.adapter.driver.clone()),
            "backend": gpu.map(|gpu| gpu.adapter.backend.clone()),
            "passed": failed == 0,
            "cases": rows.iter().map(row_json).collect::<Vec<_>>(),
        }))?;
    } else {
        let mut text = match gpu {
            Some(gpu) => format!("{}, {}\n", gpu.adapter.name, gpu.adapter.driver),
            None => "the processor\n".to_owned(),
        };
        text += &print::table(&table(&rows));
        for row in rows.iter().filter(|row| !row.passed()) {
            text += &format!("FAILED {}\n", in_words(row));
        }
        text += &format!("{} of {} cases agree with f64\n", rows.len() - failed, rows.len());
        print::text(&text)?;
    }
    Ok(if failed == 0 { Ended::Done } else { Ended::Failed })
}

fn table(rows: &[TreeRow]) -> Vec<Vec<String>> {
    let header = [
        "bodies", "n", "eps", "rule", "rms a", "median", "99 %", "largest", "momentum", "rms phi",
        "",
    ];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    let cell = |value: f64| format!("{value:.1e}");
    for row in rows {
        let (case, errors) = (&row.case, &row.acceleration);
        table.push(vec![
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
        ]);
    }
    table
}

fn in_words(row: &TreeRow) -> String {
    let (case, errors, most) = (&row.case, &row.acceleration, row.case.limits());
    let mut words = format!(
        "{}, {} bodies, eps {}, {}, leaves of {}, {} lanes:",
        case.cloud.name(),
        case.n,
        case.softening,
        case.shape,
        case.shape.leaf,
        case.shape.walk.lanes
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
    words
}

fn row_json(row: &TreeRow) -> serde_json::Value {
    let (case, errors) = (&row.case, &row.acceleration);
    json!({
        "bodies": case.cloud.name(),
        "n": case.n,
        "sinks": case.sinks,
        "softening": case.softening,
        "with_potential": case.potential,
        "rule": case.shape.to_string(),
        "leaf": case.shape.leaf,
        "lanes": case.shape.walk.lanes,
        "acceleration_rms": errors.rms(),
        "acceleration_median": errors.median(),
        "acceleration_99": errors.quantile(0.99),
        "acceleration_worst": errors.worst(),
        "momentum": row.momentum,
        "potential_rms": row.potential.map(|potential| potential.rms),
        "potential_worst": row.potential.map(|potential| potential.worst),
        "wrong_stage": row.stages.clone().err(),
        "same_in_pieces": row.same_in_pieces,
        "passed": row.passed(),
    })
}
