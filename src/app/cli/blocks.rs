//! What a run reports about its individual steps.

use serde_json::json;

use gravitile::forces::Order;
use gravitile::integrate::blocks::{BlockSteps, Passage};
use gravitile::record::{EnergyWarning, Jump};
use gravitile::sim::{Settings, Simulation, VaryingStep};

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

// What a run reports about a step that varies (`--dt auto`).

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

/// The report on a step that varies, for scripts; entry k of `steps_by_level` is the number of
/// steps of dt / 2^k since the program began.
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
