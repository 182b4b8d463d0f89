//! `gravitile tune --list`: what is remembered.

use std::fmt::Display;

use anyhow::Result;
use serde_json::json;

use super::super::{Ended, print};
use super::rounded;
use gravitile::tuned::{Choice, DerivativesChoice, Device, Kernels, OUTDATED, Results, Store};

/// A remembered choice of any kind.
struct Shown<'a> {
    method: String,
    on: &'a Device,
    up_to: u64,
    n: usize,
    kernel: String,
    secs: f64,
    default_secs: f64,
    timed_by: &'a str,
    is_outdated: bool,
    /// What is counted per second.
    what: &'static str,
}

const STEPS: &str = "steps/s";
const EVALUATIONS: &str = "evaluations/s";

impl<'a> Shown<'a> {
    fn of<Shape: Display>(choice: &'a Choice<Shape>, kernels: Kernels) -> Self {
        Self {
            method: if kernels == Kernels::Tree { "tree" } else { "direct" }.to_owned(),
            on: &choice.key.on,
            up_to: choice.key.up_to,
            n: choice.n,
            kernel: choice.kernel.to_string(),
            secs: choice.secs_per_step,
            default_secs: choice.default_secs_per_step,
            timed_by: &choice.method,
            is_outdated: choice.key.on.is_outdated(kernels),
            what: STEPS,
        }
    }

    fn of_derivatives(choice: &'a DerivativesChoice) -> Self {
        let fitted = &choice.fitted;
        let (order, tier) = (fitted.order.name(), fitted.precision.name());
        Self {
            method: format!("{order} in {tier}, up to {} sinks", fitted.sinks),
            on: &choice.on,
            up_to: fitted.sources.into(),
            n: fitted.sources as usize,
            kernel: fitted.shape.to_string(),
            secs: choice.secs,
            default_secs: choice.default_secs,
            timed_by: "wall clock",
            is_outdated: choice.on.is_outdated(Kernels::Derivatives),
            what: EVALUATIONS,
        }
    }
}

pub fn main(store: &Store, as_json: bool) -> Result<Ended> {
    let Results { choices, walks, derivatives, damage, .. } = store.load();
    let kernels = choices.iter().map(|choice| Shown::of(choice, Kernels::Direct));
    let walks = walks.iter().map(|choice| Shown::of(choice, Kernels::Tree));
    let derivatives = derivatives.iter().map(Shown::of_derivatives);
    let choices: Vec<Shown<'_>> = kernels.chain(walks).chain(derivatives).collect();
    let path = store.path.display();
    if as_json {
        let choices: Vec<_> = choices
            .iter()
            .map(|choice| {
                json!({
                    "adapter": choice.on.device,
                    "driver": choice.on.driver,
                    "backend": choice.on.backend,
                    "kernels": choice.on.kernels,
                    "outdated": choice.is_outdated,
                    "up_to": choice.up_to,
                    "n": choice.n,
                    "forces": choice.method,
                    "kernel": choice.kernel,
                    "secs_per_step": choice.secs,
                    "default_secs_per_step": choice.default_secs,
                    "method": choice.timed_by,
                })
            })
            .collect();
        print::json(&json!({ "file": path.to_string(), "damage": damage, "choices": choices }))?;
        return Ok(Ended::Done);
    }
    let mut text = match &damage {
        Some(problem) => format!("{problem}: ignored\n"),
        None if choices.is_empty() => format!("nothing is remembered in {path}\n"),
        None => String::new(),
    };
    if !choices.is_empty() {
        for what in [STEPS, EVALUATIONS] {
            text += &table(choices.iter().filter(|choice| choice.what == what), what);
        }
        text += &format!("in {path}\n");
        let outdated = choices.iter().filter(|choice| choice.is_outdated).count();
        if outdated > 0 {
            text += &format!("{outdated} of {}: {OUTDATED}\n", choices.len());
        }
    }
    print::text(&text)?;
    Ok(Ended::Done)
}

/// The table of remembered choices of one kind; empty if there are none.
fn table<'a>(choices: impl Iterator<Item = &'a Shown<'a>>, what: &str) -> String {
    let header =
        ["adapter", "driver", "up to", "method", "kernel", what, "gain", "timed by", "kernels"];
    let row = |choice: &Shown| {
        vec![
            choice.on.device.clone(),
            choice.on.driver.clone(),
            choice.up_to.to_string(),
            choice.method.clone(),
            choice.kernel.clone(),
            rounded(1.0 / choice.secs),
            format!("{:.2}x", choice.default_secs / choice.secs),
            choice.timed_by.to_owned(),
            choice.on.kernels.clone(),
        ]
    };
    let rows: Vec<_> = choices.map(row).collect();
    if rows.is_empty() { String::new() } else { print::with_header(&header, rows) }
}
