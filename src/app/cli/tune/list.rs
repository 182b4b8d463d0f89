//! `gravitile tune --list`: what is remembered.

use anyhow::Result;
use serde_json::json;

use super::super::{Ended, print};
use super::Rounded;
use crate::tuned::{Loaded, OUTDATED, Store};

pub fn main(store: &Store, as_json: bool) -> Result<Ended> {
    let Loaded { choices, damage, .. } = store.load();
    let place = store.path.display();
    if as_json {
        let choices: Vec<_> = choices
            .iter()
            .map(|choice| {
                json!({
                    "adapter": choice.key.adapter,
                    "driver": choice.key.driver,
                    "backend": choice.key.backend,
                    "kernels": choice.key.kernels,
                    "outdated": choice.is_outdated(),
                    "up_to": choice.key.up_to,
                    "n": choice.n,
                    "kernel": choice.kernel.to_string(),
                    "secs_per_step": choice.secs_per_step,
                    "default_secs_per_step": choice.default_secs_per_step,
                    "method": choice.method,
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
        let header =
            ["adapter", "driver", "up to", "kernel", "steps/s", "gain", "timed by", "kernels"];
        let mut table = vec![header.map(str::to_owned).to_vec()];
        for choice in &choices {
            table.push(vec![
                choice.key.adapter.clone(),
                choice.key.driver.clone(),
                choice.key.up_to.to_string(),
                choice.kernel.to_string(),
                format!("{:.4}", Rounded(1.0 / choice.secs_per_step)),
                format!("{:.2}x", choice.default_secs_per_step / choice.secs_per_step),
                choice.method.clone(),
                choice.key.kernels.clone(),
            ]);
        }
        text += &print::table(&table);
        text += &format!("in {place}\n");
        let outdated = choices.iter().filter(|choice| choice.is_outdated()).count();
        if outdated > 0 {
            text += &format!("{outdated} of {}: {OUTDATED}\n", choices.len());
        }
    }
    print::text(&text)?;
    Ok(Ended::Done)
}
