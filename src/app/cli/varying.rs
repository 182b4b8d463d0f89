//! What a run reports about a step that varies (`--dt auto`).

use serde_json::json;

use gravitile::sim::{Settings, Simulation, VaryingStep};

/// The step of these settings, in a line about a run.
pub fn step_in_words(settings: &Settings) -> String {
    match settings.auto_dt {
        None => settings.dt.to_string(),
        Some(accuracy) => format!("auto:{accuracy} (at most {})", settings.dt),
    }
}

/// The number of steps so far. Those of a step that varies before a restart are not known.
pub fn steps_in_words(sim: &Simulation) -> String {
    match sim.varying() {
        None => format!("{} steps", sim.steps()),
        Some(_) => format!("{} times {}", sim.steps(), sim.settings().dt),
    }
}

/// The report on a step that varies, as text.
pub fn varying_in_words(step: &VaryingStep) -> String {
    let levels = (0..).zip(step.by_level()).filter(|(_, steps)| **steps > 0);
    let length = |level: i32| step.longest() * f64::from(-level).exp2();
    let levels: Vec<_> =
        levels.map(|(level, steps)| format!("{steps} of {:.3e}", length(level))).collect();
    format!("{} steps: {}\n", step.steps(), levels.join(", "))
}

/// The report on a step that varies, for scripts; entry k of `steps_by_level` is the number of steps
/// of dt / 2^k since the program began.
pub fn varying_json(step: &VaryingStep) -> serde_json::Value {
    json!({
        "accuracy": step.accuracy(),
        "longest": step.longest(),
        "next": step.next_dt().ok(),
        "least_time": step.least_time(),
        "steps": step.steps(),
        "steps_by_level": step.by_level(),
    })
}
