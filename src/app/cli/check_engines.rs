//! `gravitile check --engine cpu`: the CPU engines against f64.

use anyhow::Result;
use serde_json::json;

use super::{Ended, print};
use gravitile::forces::{Method, Place, Tools};
use gravitile::measure::{EngineRow, check_engines};

pub fn main(as_json: bool) -> Result<Ended> {
    let rows = check_engines(Place::Cpu, Method::Direct, &Tools::default())?;
    let failed = rows.iter().filter(|row| !row.passed()).count();
    if as_json {
        print::json(&json!({
            "passed": failed == 0,
            "engines": rows.iter().map(row_json).collect::<Vec<_>>(),
        }))?;
    } else {
        let mut text = print::table(&summary(&rows));
        for row in rows.iter().filter(|row| !row.passed()) {
            text += &format!("FAILED {}\n", in_words(row));
        }
        text += &format!("{} of {} cases agree with f64\n", rows.len() - failed, rows.len());
        print::text(&text)?;
    }
    Ok(if failed == 0 { Ended::Done } else { Ended::Failed })
}

/// One line per engine and order: the worst over its sizes and softenings.
fn summary(rows: &[EngineRow]) -> Vec<Vec<String>> {
    let header =
        ["engine", "tier", "up to", "cases", "rms a", "rms jerk", "rms snap", "rms phi", ""];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    for group in rows.chunk_by(|a, b| (&a.engine, a.order) == (&b.engine, b.order)) {
        let first = &group[0];
        let mut line = vec![
            first.engine.clone(),
            first.precision.name().to_owned(),
            first.order.name().to_owned(),
            group.len().to_string(),
        ];
        for which in 0..4 {
            let known = group.iter().filter_map(|row| row.errors.quantities()[which].1);
            let largest = known.map(|error| error.rms).reduce(f64::max);
            line.push(largest.map_or_else(String::new, |rms| format!("{rms:.1e}")));
        }
        line.push(if group.iter().all(EngineRow::passed) { "ok" } else { "FAILED" }.to_owned());
        table.push(line);
    }
    table
}

fn in_words(row: &EngineRow) -> String {
    let (sinks, sources) = (row.sinks, row.sources);
    let mut words = format!(
        "{} up to {}, {sinks} sinks, {sources} sources, eps {}:",
        row.engine,
        row.order.name(),
        row.softening
    );
    for (name, error) in row.errors.quantities() {
        if let Some(error) = error {
            words += &format!(" {name} rms {:.1e} worst {:.1e}", error.rms, error.worst);
        }
    }
    words
}

fn row_json(row: &EngineRow) -> serde_json::Value {
    let mut answer = json!({
        "engine": row.engine,
        "tier": row.precision.name(),
        "order": row.order.name(),
        "sinks": row.sinks,
        "sources": row.sources,
        "softening": row.softening,
        "passed": row.passed(),
    });
    for (name, error) in row.errors.quantities() {
        answer[name] = json!(error.map(|error| json!({ "rms": error.rms, "worst": error.worst })));
    }
    answer
}
