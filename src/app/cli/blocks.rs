//! What a run tells of its individual steps.

use serde_json::json;

use crate::forces::Order;
use crate::integrate::blocks::{BlockSteps, Passage};
use crate::record::Jump;

/// What a run reports of its individual steps.
pub fn blocks_in_words(steps: &BlockSteps) -> String {
    let (stats, levels) = (steps.stats(), steps.steps_by_level());
    let least = steps.settings().dt_max / (levels.len().max(1) as f64 - 1.0).exp2();
    let mut text = format!(
        "{} block steps of {:.1} bodies on average; steps now from {least:.3e} to {:.3e} at most\n",
        stats.blocks,
        stats.mean_active(),
        steps.settings().dt_max
    );
    let (share, times) = stats.noise();
    if share > TOLD {
        let accuracy = steps.settings();
        let eta6 = match steps.order() {
            Order::Snap => format!(" (eta6 below {:.0e})", accuracy.eta6 * times),
            _ => String::new(),
        };
        text += &format!(
            "noise of the forces made {:.0} % of the steps longer than asked for, {times:.1} times on average: an eta below about {:.0e}{eta6} is not honoured here; '--precision double' or '--engine cpu' honours it\n",
            100.0 * share,
            accuracy.eta * times * times,
        );
    }
    text
}

/// What is said of a jump of the energy, in one line.
pub fn jump_in_words(jump: &Jump) -> String {
    let ((before, from), (after, to)) = (jump.before, jump.after);
    let text = format!(
        "from t = {before} to {after} the energy changed by {:.1e}, from {from} to {to}",
        jump.change
    );
    match jump.passage {
        Some(Passage { time, id, other, distance }) => format!(
            "{text}; the closest passage was that of bodies {id} and {other} (ids) at t = {time:.6}, {distance:.1e} apart"
        ),
        None => text,
    }
}

/// Fewer steps than this part that noise made longer are not worth a word.
const TOLD: f64 = 0.01;

/// What a run reports of its individual steps, for scripts; `steps_by_level` has the number of bodies with a step of dt-max / 2^k at k.
pub fn blocks_json(steps: &BlockSteps) -> serde_json::Value {
    let (stats, accuracy) = (steps.stats(), steps.settings());
    json!({
        "eta": accuracy.eta,
        "eta6": accuracy.eta6,
        "dt_max": accuracy.dt_max,
        "blocks": stats.blocks,
        "body_steps": stats.body_steps,
        "mean_active": stats.mean_active(),
        "lengthened_by_noise": stats.lengthened,
        "steps_by_level": steps.steps_by_level(),
    })
}
