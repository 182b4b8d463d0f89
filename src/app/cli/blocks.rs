//! What a run reports about its individual steps.

use serde_json::json;

use gravitile::forces::Order;
use gravitile::integrate::blocks::{BlockSteps, Passage};
use gravitile::record::{EnergyWarning, Jump};
use gravitile::sim::Settings;

/// The report on individual steps, as text.
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
    if share > MIN_NOISY_SHARE {
        let accuracy = steps.settings();
        let eta6 = match steps.order() {
            Order::Snap => format!(" (eta6 below {:.0e})", accuracy.eta6 * times),
            _ => String::new(),
        };
        text += &format!(
            "noise in the forces made {:.0} % of the steps longer than requested, on average {times:.1} times as long: an eta below about {:.0e}{eta6} has no effect here; use '--precision double' or '--engine cpu'\n",
            100.0 * share,
            accuracy.eta * times * times,
        );
    }
    text
}

/// Describes in one line what is wrong with the energy of a run with these settings.
pub fn warning_in_words(warning: &EnergyWarning, settings: &Settings) -> String {
    match warning {
        EnergyWarning::Jump(jump) => jump_in_words(jump),
        EnergyWarning::Large { time, error } => {
            let step = match settings.auto_dt {
                None => format!("a shorter step than --dt {}", settings.dt),
                Some(accuracy) => format!("shorter steps than --dt auto:{accuracy}"),
            };
            format!(
                "at t = {time} the energy is off by {error:.1e} of its first value, so the bodies cannot be trusted: start a new run with {step}, a larger softening than --eps {}, or individual steps (--integrator hermite4)",
                settings.softening
            )
        }
    }
}

fn jump_in_words(jump: &Jump) -> String {
    let ((before, from), (after, to)) = (jump.before, jump.after);
    let text = format!(
        "from t = {before} to {after} the energy changed by {:.1e}, from {from} to {to}",
        jump.change
    );
    match jump.passage {
        Some(Passage { time, id, other, distance }) => format!(
            "{text}; the closest passage was of bodies {id} and {other} (ids) at t = {time:.6}, {distance:.1e} apart"
        ),
        None => text,
    }
}

/// Noise that lengthened a smaller share of the steps is not reported.
const MIN_NOISY_SHARE: f64 = 0.01;

/// The report on individual steps, for scripts; entry k of `steps_by_level` is the number of bodies
/// with a step of dt-max / 2^k.
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
