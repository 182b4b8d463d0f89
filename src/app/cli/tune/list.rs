//! `gravitile tune --list`: what is remembered.

use std::fmt::Display;

use anyhow::Result;
use serde_json::json;

use super::super::{Ended, print};
use super::Rounded;
use crate::tuned::{Choice, Kernels, Key, Loaded, OUTDATED, Store};

/// A choice of either method.
struct Shown<'a> {
    method: &'static str,
    key: &'a Key,
    n: usize,
    kernel: String,
    secs: f64,
    default_secs: f64,
    timed_by: &'a str,
    is_outdated: bool,
}

impl<'a> Shown<'a> {
    fn of<Shape: Display>(choice: &'a Choice<Shape>, kernels: Kernels) -> Self {
        Self {
            method: if kernels == Kernels::Tree { "tree" } else { "direct" },
            key: &choice.key,
            n: choice.n,
            kernel: choice.kernel.to_string(),
            secs: choice.secs_per_step,
            default_secs: choice.default_secs_per_step,
            timed_by: &choice.method,
            is_outdated: choice.is_outdated(kernels),
        }
    }
}

pub fn main(store: &Store, as_json: bool) -> Result<Ended> {
    let Loaded { choices, walks, damage, .. } = store.load();
    let kernels = choices.iter().map(|choice| Shown::of(choice, Kernels::Direct));
    let walks = walks.iter().map(|choice| Shown::of(choice, Kernels::Tree));
    let choices: Vec<Shown<'_>> = kernels.chain(walks).collect();
    let place = store.path.display();
    if as_json {
        let choices: Vec<_> = choices
            .iter()
            .map(|choice| {
                json!({
                    "adapter": choice.key.on.device,
                    "driver": choice.key.on.driver,
                    "backend": choice.key.on.backend,
                    "kernels": choice.key.on.kernels,
                    "outdated": choice.is_outdated,
                    "up_to": choice.key.up_to,
                    "n": choice.n,
                    "forces": choice.method,
                    "kernel": choice.kernel,
                    "secs_per_step": choice.secs,
                    "default_secs_per_step": choice.default_secs,
                    "method": choice.timed_by,
                })
            })
            .collect();
        print::json(&json!({ "file": place.to_string(), "damage": damage, "choices": choices }))?;
        return Ok(Ended::Done);
    }
    let mut text = match &damage {
        Some(problem) => format!("{problem}: ignored\n"),
        None if choices.is_empty() => format!("nothing is remembered in {place}\n"),
        None => String::new(),
    };
    if !choices.is_empty() {
        let header = [
            "adapter", "driver", "up to", "method", "kernel", "steps/s", "gain", "timed by",
            "kernels",
        ];
        let mut table = vec![header.map(str::to_owned).to_vec()];
        for choice in &choices {
            table.push(vec![
                choice.key.on.device.clone(),
                choice.key.on.driver.clone(),
                choice.key.up_to.to_string(),
                choice.method.to_owned(),
                choice.kernel.clone(),
                format!("{:.4}", Rounded(1.0 / choice.secs)),
                format!("{:.2}x", choice.default_secs / choice.secs),
                choice.timed_by.to_owned(),
                choice.key.on.kernels.clone(),
            ]);
        }
        text += &print::table(&table);
        text += &format!("in {place}\n");
        let outdated = choices.iter().filter(|choice| choice.is_outdated).count();
        if outdated > 0 {
            text += &format!("{outdated} of {}: {OUTDATED}\n", choices.len());
        }
    }
    print::text(&text)?;
    Ok(Ended::Done)
}
