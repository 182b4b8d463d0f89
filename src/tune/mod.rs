//! Chooses a kernel shape by measurement. Candidates that fit the device and that the model does
//! not predict to be slow are raced within a time budget: slow ones are dropped early, wrong ones
//! never timed.

mod model;
mod race;
mod steps;

pub use model::FACTOR;
#[cfg(not(target_arch = "wasm32"))]
pub use model::KnownCeilings;
pub use race::{RaceClock, RaceOutcome, Ranked, race};
pub use steps::{Tuned, timed, tune_steps};

use self::model::RaceModel;
use crate::error::Result;
use crate::forces::direct::gpu::KernelConfig;
use crate::forces::direct::gpu::candidates::{Bounds, neighbours, shapes, untiled};
use crate::measure::{Ceilings, Timer};

/// The input of [`tune`].
#[derive(Clone, Copy, Debug)]
pub struct TuneTask<'a> {
    /// Number of bodies, at least 1.
    pub n: usize,
    /// The shape used without tuning. It is always timed, so that the result is never slower.
    pub default: KernelConfig,
    /// The limits of the device.
    pub bounds: &'a Bounds,
    /// Seconds for everything, including measuring the ceilings.
    pub budget_secs: f64,
}

/// Fraction of the budget for measuring the ceilings.
const CEILINGS: f64 = 0.4;

/// Fraction of the remaining budget for the first race, over p, q, r and s; the rest is for
/// neighbouring shapes and unrolling.
const FIRST_RACE: f64 = 0.6;

/// Number of winners of the first race whose neighbours are tried.
const BEST_OF_FIRST: usize = 3;

/// Finds the fastest shape: [`shapes`] are raced, then the best few against their [`neighbours`].
///
/// `ceilings` returns the device's ceilings, measured in at most the given seconds if they are not
/// known. Shapes that the model predicts from them to be slow ([`FACTOR`]) are left out, but never
/// the default, its untiled variant, or a single workgroup. If it returns none, nothing is left
/// out.
///
/// # Errors
///
/// [`crate::error::Error::Device`] from the timer; the first rejection if nothing can be timed.
pub async fn tune(
    timer: &mut impl Timer,
    task: TuneTask<'_>,
    ceilings: &mut dyn FnMut(f64) -> Option<Ceilings>,
    watch: &mut RaceClock<'_>,
) -> Result<RaceOutcome> {
    let TuneTask { n, default, bounds, budget_secs } = task;
    let begun = (watch.clock)();
    let found = shapes(default, n, bounds);
    let mut candidates = found.shapes;
    // Also if it exceeds the limits: then the timer rejects it.
    if !candidates.contains(&default) {
        candidates.insert(0, default);
    }
    let known = if budget_secs > 0.0 { ceilings(CEILINGS * budget_secs) } else { None };
    let model = known.and_then(|known| RaceModel::new(known, &candidates, n, default.u));
    let always = [default, untiled(default)];
    let admits = |shape: &KernelConfig| {
        always.contains(shape) || model.as_ref().is_none_or(|model| model.admits(shape))
    };
    let first: Vec<KernelConfig> = candidates.iter().copied().filter(admits).collect();
    let (mut slow, mut beyond_limits) = (candidates.len() - first.len(), found.beyond_limits);

    let left = |watch: &RaceClock<'_>| budget_secs - ((watch.clock)() - begun);
    let mut outcome = race(timer, &first, left(watch) * FIRST_RACE, watch).await?;

    let best: Vec<KernelConfig> =
        outcome.ranking.iter().take(BEST_OF_FIRST).map(|ranked| ranked.config).collect();
    let mut second = best.clone();
    for shape in &best {
        let near = neighbours(*shape, n, bounds);
        beyond_limits.extend(near.beyond_limits);
        for shape in near.shapes {
            if candidates.contains(&shape) {
                continue;
            }
            candidates.push(shape);
            if admits(&shape) {
                second.push(shape);
            } else {
                slow += 1;
            }
        }
    }
    let left = left(watch);
    if second.len() > best.len() && left > 0.0 && (watch.go_on)() {
        outcome.merge(race(timer, &second, left, watch).await?);
    }
    beyond_limits.sort_by_key(|config| config.to_string());
    beyond_limits.dedup();
    outcome.beyond_limits = beyond_limits.len();
    outcome.slow_by_model = model.is_some().then_some(slow);
    Ok(outcome)
}

#[cfg(test)]
mod tests;
