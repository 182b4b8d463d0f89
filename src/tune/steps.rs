//! Finds the fastest kernel for full steps of a number of bodies on a device.

use std::sync::Arc;

use super::{RaceClock, RaceOutcome, TuneTask, race, tune};
use crate::error::Result;
use crate::forces::direct::gpu::candidates::Bounds;
use crate::forces::direct::gpu::{KernelConfig, KernelRequest, Masses};
use crate::gpu::Gpu;
use crate::measure::{Ceilings, StepTimer, TimingMethod};
use crate::tuned::{ChoiceKey, KernelSources, TunedChoice};

/// Upper bound of the number of bodies that are timed. Beyond this a device is full and its rate
/// hardly changes, but a step of a million bodies takes so long that few shapes could be tried.
const MOST_TIMED: usize = 1 << 18;
/// Extra time, as a fraction of the budget, for bodies of different masses.
const FOR_VARIOUS: f64 = 0.2;
/// Number of the best shapes that are raced again for those.
const BEST_FOR_VARIOUS: usize = 6;

/// Number of bodies that are timed to find a kernel for `n`.
pub fn timed(n: usize) -> usize {
    n.min(MOST_TIMED)
}

/// The result for one number of bodies.
#[derive(Clone, Debug)]
pub struct Tuned {
    /// Number of bodies.
    pub n: usize,
    /// The shape used without tuning.
    pub default: KernelConfig,
    /// The race.
    pub outcome: RaceOutcome,
    /// The shape for bodies of different masses, if it differs.
    pub for_various_masses: Option<KernelConfig>,
    /// How times were taken.
    pub method: TimingMethod,
    /// Why the device's clock was not trusted.
    pub doubt: Option<String>,
    /// Resolution of the timestamps in seconds, if they were used.
    pub quantum_secs: Option<f64>,
}

impl Tuned {
    /// The entry to store for `gpu`; `None` if nothing was timed successfully.
    pub fn choice(&self, gpu: &Gpu) -> Option<TunedChoice> {
        let (kernel, secs_per_step, default_secs_per_step) = self.outcome.gain(&self.default)?;
        Some(TunedChoice {
            key: ChoiceKey::of(gpu, KernelSources::Direct, self.n),
            n: timed(self.n),
            secs_per_step,
            default_secs_per_step,
            method: self.method.name().to_owned(),
            kernel,
            for_various_masses: self.for_various_masses,
        })
    }
}

/// Finds the fastest kernel within 1.2 times `budget_secs` seconds, unless `go_on` returns false;
/// `ceilings` as for [`super::tune`].
///
/// # Errors
///
/// Those of [`super::tune`].
pub async fn tune_steps(
    gpu: &Arc<Gpu>,
    n: usize,
    budget_secs: f64,
    ceilings: &mut dyn FnMut(f64) -> Option<Ceilings>,
    go_on: &dyn Fn() -> bool,
) -> Result<Tuned> {
    let timed = timed(n);
    let default = KernelRequest::default().resolve(gpu, timed, timed)?;
    let bounds = Bounds::of(gpu);
    let task = TuneTask { n: timed, default, bounds: &bounds, budget_secs };
    let mut timer = StepTimer::new(gpu, timed);
    let mut watch = RaceClock::new(go_on);
    let mut outcome = tune(&mut timer, task, ceilings, &mut watch).await?;
    let doubt = timer.stopwatch().doubt().map(str::to_owned);
    if timer.is_mixed() && go_on() {
        // Times from two clocks cannot be compared: race again with the remaining one.
        timer = StepTimer::by_wall_clock(gpu, timed);
        let mut watch = RaceClock::new(go_on);
        outcome = tune(&mut timer, task, ceilings, &mut watch).await?;
    }
    let for_various_masses = match go_on() {
        true => various(gpu, timed, &outcome, budget_secs * FOR_VARIOUS, go_on).await?,
        false => None,
    };
    let (method, quantum_secs) = (timer.stopwatch().method(), timer.stopwatch().quantum_secs());
    Ok(Tuned { n, default, outcome, for_various_masses, method, doubt, quantum_secs })
}

/// The fastest of the best shapes for bodies of different masses: one that reads its sources in
/// tiles, since a uniform buffer is faster only for blocks of one mass. `None` if the fastest shape
/// of all already does.
async fn various(
    gpu: &Arc<Gpu>,
    n: usize,
    outcome: &RaceOutcome,
    budget_secs: f64,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<KernelConfig>> {
    if !outcome.best().is_some_and(|best| best.config.uniform) {
        return Ok(None);
    }
    let others = outcome.ranking.iter().map(|ranked| ranked.config).filter(|shape| !shape.uniform);
    let others: Vec<KernelConfig> = others.take(BEST_FOR_VARIOUS).collect();
    let mut timer = StepTimer::new(gpu, n).of_masses(Masses::Various);
    let mut watch = RaceClock::new(go_on);
    let found = race(&mut timer, &others, budget_secs, &mut watch).await?;
    Ok(found.best().map(|best| best.config))
}
