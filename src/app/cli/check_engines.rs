//! `gravitile check --engine cpu`: the CPU engines against f64.

use anyhow::Result;
use serde_json::json;

use super::check_results::{Results, Verdict};
use super::{Ended, print};
use gravitile::forces::{Method, Placement, Tools};
use gravitile::measure::{EngineRow, check_engines};

pub fn main(as_json: bool) -> Result<Ended> {
    let rows = check_engines(Placement::Cpu, Method::Direct, &Tools::default())?;
    let table = print::with_header(&HEADER, summary(&rows));
    Results::of(table, rows.iter().map(verdict)).print(as_json, "engines", json!({}))
}

const HEADER: [&str; 9] =
    ["engine", "tier", "up to", "cases", "rms a", "rms jerk", "rms snap", "rms phi", ""];

/// One line per engine and order: the worst over its sizes and softenings.
fn summary(rows: &[EngineRow]) -> impl Iterator<Item = Vec<String>> {
    rows.chunk_by(|a, b| (&a.engine, a.order) == (&b.engine, b.order)).map(|group| {
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
        line
    })
}

fn verdict(row: &EngineRow) -> Verdict {
    let (sinks, sources, order) = (row.sinks, row.sources, row.order.name());
    let mut words = format!(
        "{} up to {order}, {sinks} sinks, {sources} sources, eps {}:",
        row.engine, row.softening
    );
    let mut json = json!({
        "engine": row.engine,
        "tier": row.precision.name(),
        "order": order,
        "sinks": sinks,
        "sources": sources,
        "softening": row.softening,
    });
    for (name, error) in row.errors.quantities() {
        if let Some(error) = error {
            words += &format!(" {name} rms {:.1e} worst {:.1e}", error.rms, error.worst);
        }
        json[name] = json!(error.map(|error| json!({ "rms": error.rms, "worst": error.worst })));
    }
    Verdict { passed: row.passed(), words, json }
}
