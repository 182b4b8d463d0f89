//! Whether direct summation or the tree is faster for a number of bodies, measured once per device.

use std::sync::Mutex;

use web_time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::forces::{self, Method, on_device};
use crate::gpu::DeviceClass;
use crate::scene::{Spread, test_bodies};
use crate::sim::{Choice, EngineKind, Settings, Simulation};
use crate::tuned::{Crossover, Device, Kernels, Trial};

/// Fewer bodies are always computed directly, without a measurement: a step takes less time than
/// building a tree on a GPU, and a millisecond on two cores.
pub const FEWEST: usize = 4096;

/// The most bodies tried: by then trees are faster on all known devices, or they never are.
const MOST: u64 = 1 << 18;

/// Chooses the method if none was asked for: `direct` if few bodies, the integrator, the precision
/// or a fixed kernel shape leave no choice, otherwise the faster one. If the measurement fails, or
/// the device has no room for a tree, it is `direct`.
///
/// Errors: [`Error::Stopped`].
pub(super) async fn choose_method(
    mut choice: Choice,
    n: usize,
    settings: &Settings,
) -> Result<Choice> {
    if choice.method != Method::Direct {
        return Ok(choice);
    }
    if let Some(why) = only_direct(&choice, n, settings) {
        choice.method_reason = Some(why);
        return Ok(choice);
    }
    let crossover = match crossover(&choice, settings).await {
        Ok(crossover) => crossover,
        Err(Error::Stopped) => return Err(Error::Stopped),
        Err(error) => {
            choice.method_reason = Some(format!("direct, since timing the tree failed ({error})"));
            return Ok(choice);
        }
    };
    let from = crossover.from;
    let (method, why) = match n as u64 >= from {
        true => (Method::Tree, format!("the tree is faster there from {from} bodies on")),
        false => (Method::Direct, format!("direct is faster there for fewer than {from} bodies")),
    };
    (choice.method, choice.method_reason) = (method, Some(why));
    choice.crossover = Some(crossover);
    Ok(choice)
}

/// The reason why only `direct` is possible, if so.
fn only_direct(choice: &Choice, n: usize, settings: &Settings) -> Option<String> {
    let (place, integrator) = (choice.kind.place(), settings.integrator);
    let order = integrator.order_of_forces();
    if forces::find(place, Method::Tree, settings.precision, order).is_err() {
        let why = match settings.precision {
            Some(precision) if integrator.device.is_some() => precision.name(),
            _ => integrator.name,
        };
        return Some(format!("direct, since the tree has no forces for {why}"));
    }
    if choice.kind == EngineKind::Gpu && !settings.kernel.fixes_nothing() {
        return Some("direct, since a shape of its kernel is asked for".to_owned());
    }
    if n < FEWEST {
        return Some(format!("direct for fewer than {FEWEST} bodies"));
    }
    let room = |gpu| on_device(Method::Tree).and_then(|tree| tree.check_room(gpu, n));
    let refused = choice.gpu.as_deref().and_then(|gpu| room(gpu).err());
    refused.map(|error| format!("direct, since there is no room for a tree ({error})"))
}

/// Measurements of this process.
static MEASURED: Mutex<Vec<Crossover>> = Mutex::new(Vec::new());

/// The crossover on the choice's device, measured if it is not known.
async fn crossover(choice: &Choice, settings: &Settings) -> Result<Crossover> {
    let by_tree = |gpu| Device::of(gpu, Kernels::Tree);
    let on = choice.gpu.as_deref().map_or_else(Device::processor, by_tree);
    if let Some(known) = settings.known.crossover(&on) {
        return Ok(known.clone());
    }
    let measured = || MEASURED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = measured().iter().find(|known| known.on == on) {
        return Ok(known.clone());
    }
    let is_software =
        choice.gpu.as_ref().map(|gpu| gpu.adapter.class) == Some(DeviceClass::Software);
    // Once the time is up nothing else is timed; a trial takes about three times its prediction.
    let budget = Duration::from_millis(match choice.kind {
        EngineKind::Gpu if !is_software => 400,
        _ => 150,
    });
    let mut search = Search::new(budget.as_secs_f64());
    while let Some(n) = search.next() {
        let direct_secs = secs_per_step(choice, Method::Direct, n, settings).await?;
        let tree_secs = secs_per_step(choice, Method::Tree, n, settings).await?;
        search.tried.push(Trial { n, direct_secs, tree_secs });
    }
    let crossover = Crossover { on, from: search.from(), tried: search.tried };
    measured().push(crossover.clone());
    Ok(crossover)
}

/// Seconds of one step as runs take them.
async fn secs_per_step(
    choice: &Choice,
    method: Method,
    n: u64,
    settings: &Settings,
) -> Result<f64> {
    let settings = Settings {
        softening: 0.01,
        dt: 1e-6,
        engine: choice.kind,
        adapter: settings.adapter.clone(),
        known: settings.known.clone(),
        ..Settings::default()
    };
    let bodies = test_bodies(n as usize, Spread::Uneven);
    let choice = Choice { method, ..choice.clone() };
    let mut sim = Simulation::open_on(choice, bodies, settings, None).await?;
    let mut timed = async |steps: u64| {
        let begun = Instant::now();
        sim.advance(steps, &mut |_| true).await?;
        Ok::<_, Error>(begun.elapsed().as_secs_f64() / steps as f64)
    };
    // The first step may include compilation; short steps are timed several at once.
    let first = timed(1).await?;
    let steps = (0.02 / first).clamp(1.0, 8.0) as u64;
    Ok(timed(steps).await?.min(timed(steps).await?))
}

/// Trials with increasing numbers of bodies until the tree is faster or the time is up.
struct Search {
    budget_secs: f64,
    tried: Vec<Trial>,
}

impl Search {
    fn new(budget_secs: f64) -> Self {
        Self { budget_secs, tried: Vec::new() }
    }

    /// The next number to try, if any: four times the last, if one step by each method is predicted
    /// to fit in the remaining time.
    fn next(&self) -> Option<u64> {
        let Some(last) = self.tried.last() else { return Some(FEWEST as u64) };
        let spent: f64 = self.tried.iter().map(|trial| trial.direct_secs + trial.tree_secs).sum();
        let foreseen = 16.0 * last.direct_secs + 4.0 * last.tree_secs;
        let is_open = last.tree_secs > last.direct_secs && 4 * last.n <= MOST;
        (is_open && spent + foreseen < self.budget_secs).then_some(4 * last.n)
    }

    /// The number from which the tree is faster: between two trials by a power law in their ratios;
    /// beyond the last by the asymptotic laws N^2 and N; never below the first.
    fn from(&self) -> u64 {
        let ratio = |trial: &Trial| trial.tree_secs / trial.direct_secs;
        let from = match self.tried.as_slice() {
            [] => f64::INFINITY,
            [.., last] if ratio(last) > 1.0 => last.n as f64 * ratio(last),
            [only] => only.n as f64,
            [.., before, last] => {
                let part = ratio(before).ln() / (ratio(before) / ratio(last)).ln();
                before.n as f64 * (last.n as f64 / before.n as f64).powf(part)
            }
        };
        from.ceil().clamp(FEWEST as f64, u64::MAX as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a search on a device where steps take these seconds.
    fn found(
        budget_secs: f64,
        direct: impl Fn(f64) -> f64,
        tree: impl Fn(f64) -> f64,
    ) -> (u64, usize) {
        let mut search = Search::new(budget_secs);
        while let Some(n) = search.next() {
            let (direct_secs, tree_secs) = (direct(n as f64), tree(n as f64));
            search.tried.push(Trial { n, direct_secs, tree_secs });
        }
        (search.from(), search.tried.len())
    }

    #[test]
    fn the_crossing_is_found_between_trials_and_beyond_them() {
        let direct = |n: f64| n * n / 1e12;
        // 5e-8 s per body: both are equal at 50,000 bodies.
        let (from, trials) = found(1.0, direct, |n| 5e-8 * n);
        assert!((49_500..50_500).contains(&from) && trials == 3, "{from}, {trials}");
        let short = found(1e-4, direct, |n| 5e-8 * n);
        assert!((49_500..50_500).contains(&short.0) && short.1 == 1, "{short:?}");
        // With a constant part in the tree's time, an estimate from few bodies alone is too large.
        let (from, _) = found(1.0, direct, |n| 4e-4 + 1e-8 * n);
        let there = from as f64;
        let ratio = (4e-4 + 1e-8 * there) / direct(there);
        assert!((0.7..1.4).contains(&ratio), "{from}");
    }

    #[test]
    fn few_bodies_are_direct_whatever_was_measured() {
        assert_eq!(found(1.0, |n| n, |_| 1e-9), (FEWEST as u64, 1));
        let (from, trials) = found(1e9, |_| 1.0, |n| n);
        assert!(from > MOST && trials == 4, "{from}, {trials}");
        assert_eq!(found(1e9, |_| 0.0, |_| 1.0).0, u64::MAX);
    }
}
