//! The result of a race as JSON, the same for every kind of kernel.

use std::fmt::Display;

use serde_json::{Value, json};

use gravitile::tune::Outcome;

/// A row of results: the fields of `own`, which differ by kind of kernel, and the outcome. `secs`
/// is the key of the measured seconds.
pub fn row_json<Shape: Display + PartialEq>(
    own: Value,
    default: &Shape,
    outcome: &Outcome<Shape>,
    secs: &str,
) -> Value {
    let mut row = own;
    row["default"] = json!(default.to_string());
    row["best"] = json!(outcome.best().map(|best| best.config.to_string()));
    row["finished"] = json!(outcome.finished);
    row["untried"] = json!(outcome.untried);
    let ranked = outcome.ranking.iter().map(|ranked| {
        json!({ "kernel": ranked.config.to_string(), secs: ranked.secs(), "samples": ranked.samples })
    });
    row["ranking"] = ranked.collect();
    let refused = outcome.refused.iter();
    row["refused"] =
        refused.map(|(shape, why)| json!({ "kernel": shape.to_string(), "reason": why })).collect();
    row
}
