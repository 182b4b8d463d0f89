//! Choosing a kernel shape by measurement: candidates are raced, the slow ones dropped early, wrong ones
//! never timed, inside a time budget.

mod candidates;
mod race;
#[cfg(not(target_arch = "wasm32"))]
mod step_timer;

pub use candidates::{Bounds, neighbours, shapes};
pub use race::{Outcome, Ranked, Watch, race};
#[cfg(not(target_arch = "wasm32"))]
pub use step_timer::StepTimer;

use crate::error::Result;
use crate::force::KernelConfig;

/// Times candidates. The device's is [`StepTimer`]; a test gives its own.
pub trait Timer {
    /// Makes a candidate ready: compiled, found right, warmed up.
    ///
    /// Errors: what the device cannot hold, and what computes wrong forces; both only strike the
    /// candidate out. [`crate::error::Error::Device`] ends the race.
    fn prepare(&mut self, candidate: &KernelConfig) -> Result<()>;

    /// One sample: seconds per step of a prepared candidate.
    fn sample(&mut self, candidate: &KernelConfig) -> Result<f64>;

    /// Lets go of what a candidate holds on the device.
    fn forget(&mut self, _candidate: &KernelConfig) {}
}

/// Share of the budget for the first race, which is about p, q, r and s; the rest is for their
/// neighbours and the unrolling.
const FIRST_RACE: f64 = 0.6;

/// How many of the first race's best have their neighbours tried.
const BEST_OF_FIRST: usize = 3;

/// Finds the fastest shape for `n` bodies: `default` and [`shapes`] are raced, then the best few
/// against their [`neighbours`]. `default` is always timed, so that what comes out is never slower.
pub fn tune(
    timer: &mut dyn Timer,
    default: KernelConfig,
    n: usize,
    bounds: &Bounds,
    budget_secs: f64,
    watch: &mut Watch<'_>,
) -> Result<Outcome> {
    let begun = (watch.clock)();
    let mut first = vec![default];
    first.extend(shapes(default, n, bounds).into_iter().filter(|shape| *shape != default));
    let mut outcome = race(timer, &first, budget_secs * FIRST_RACE, watch)?;

    let best: Vec<KernelConfig> =
        outcome.ranking.iter().take(BEST_OF_FIRST).map(|ranked| ranked.config).collect();
    let known = |shape: &KernelConfig| first.contains(shape);
    let mut second = best.clone();
    for shape in best.iter().flat_map(|shape| neighbours(*shape, n, bounds)) {
        if !known(&shape) && !second.contains(&shape) {
            second.push(shape);
        }
    }
    let left = budget_secs - ((watch.clock)() - begun);
    if second.len() > best.len() && left > 0.0 && (watch.go_on)() {
        outcome.merge(race(timer, &second, left, watch)?);
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests;
