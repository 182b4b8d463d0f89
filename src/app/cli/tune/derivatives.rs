//! `gravitile tune --derivatives jerk`: finds the fastest kernel shapes for forces with derivatives
//! on this adapter.

use std::fmt;

use anyhow::Result;
use serde_json::json;

use super::{
    Args, Ended, RaceRow, RaceTable, check_duration, check_not_interrupted, hold_races, interrupt,
    open, report, rounded, row,
};
use gravitile::error::Error;
use gravitile::forces::direct::gpu::tiers::{Fitted, TierShape, sinks_class, sources_class};
use gravitile::forces::{Order, Precision};
use gravitile::gpu::blocking;
use gravitile::measure::DerivativesTimer;
use gravitile::messages::any_of;
use gravitile::tune::{RaceClock, race};
use gravitile::tuned::{DerivativesChoice, KernelSources, TunedDevice, TunedStore};

/// Numbers of sources that are tuned by default.
pub const SIZES: [usize; 4] = [4096, 16_384, 131_072, 524_288];

/// Numbers of sinks that are timed: the largest of each class, powers of four.
const SINKS: [usize; 8] = [1, 4, 16, 64, 256, 1024, 4096, 16_384];

/// Which forces are tuned.
#[derive(Clone, Copy)]
pub struct DerivativeForces {
    order: Order,
    precision: Precision,
}

impl DerivativeForces {
    /// What is requested, if derivatives are.
    ///
    /// # Errors
    /// An unknown name.
    pub fn of(args: &Args) -> Result<Option<Self>, Error> {
        let Some(name) = &args.derivatives else { return Ok(None) };
        let orders = [Order::Acceleration, Order::Jerk, Order::Snap];
        let order = orders
            .into_iter()
            .find(|order| order.name() == name)
            .ok_or_else(|| Error::value("--derivatives", name, any_of(&orders.map(Order::name))))?;
        Ok(Some(Self { order, precision: Precision::from_name(&args.precision)? }))
    }
}

/// Numbers of sinks and sources, and the seconds for their race.
struct DerivativesJob {
    sinks: usize,
    sources: usize,
    secs: f64,
}

impl fmt::Display for DerivativesJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.sinks, self.sources)
    }
}

const HEADER: [&str; 8] =
    ["sources", "sinks", "best", "us", "G pairs/s", "default", "gain", "tried"];

pub fn measure(
    args: &Args,
    kind: DerivativeForces,
    store: &TunedStore,
    sizes: &[usize],
) -> Result<Ended> {
    let gpu = open(args, store)?;
    let go_on = || !interrupt::requested();
    let DerivativeForces { order, precision } = kind;
    let jobs = sizes.iter().flat_map(|&sources| {
        let blocks: Vec<usize> = SINKS.into_iter().filter(|sinks| *sinks <= sources).collect();
        let secs = args.secs / blocks.len() as f64;
        blocks.into_iter().map(move |sinks| DerivativesJob { sinks, sources, secs })
    });
    let jobs: Vec<DerivativesJob> = jobs.collect();
    // Pairs per second of the last evaluation, to predict the time of the next.
    let mut rate: Option<f64> = None;
    let mut untried = 0;
    let hold = |job: &DerivativesJob| -> Result<RaceRow, Error> {
        let &DerivativesJob { sinks, sources, secs } = job;
        let pairs = (sinks * sources) as f64;
        check_duration((rate, pairs), "an evaluation", (secs, &format!("{secs:.2}")))?;
        let mut watch = RaceClock::new(&go_on);
        let mut timer = DerivativesTimer::new(&gpu, precision, order, (sinks, sources))?;
        let (default, refined) = (timer.default_shape(), precision.refines(sources));
        let others = TierShape::candidates(&gpu, default, refined, sinks as u32, sources as u32);
        let candidates: Vec<TierShape> = std::iter::once(default).chain(others).collect();
        let left = secs - (watch.clock)();
        let outcome = blocking(race(&mut timer, &candidates, left, &mut watch))?;
        check_not_interrupted()?;
        untried += outcome.untried;
        let own = json!({
            "n": sources,
            "up_to": sources_class(sources),
            "sinks": sinks,
            "up_to_sinks": sinks_class(sinks),
        });
        let (up_to_sinks, up_to_sources) = (sinks_class(sinks), sources_class(sources));
        let row = row(&job.to_string(), &default, &outcome, (own, "secs"), |secs| {
            let classes = [up_to_sources, up_to_sinks].map(|class| format!("up to {class}"));
            (classes, vec![rounded(secs * 1e6), rounded(pairs / secs / 1e9)])
        });
        if let Some((shape, secs, default_secs)) = outcome.gain(&default) {
            rate = Some(pairs / secs);
            let (sinks, sources) = (up_to_sinks, up_to_sources);
            store.keep_derivatives(DerivativesChoice {
                on: TunedDevice::of(&gpu, KernelSources::Derivatives),
                secs,
                default_secs,
                default,
                fitted: Fitted { precision, order, sinks, sources, shape },
            })?;
        }
        Ok(row)
    };
    let rows = hold_races(jobs.into_iter(), hold)?;
    let sizes = rows.iter().filter_map(|(_, row)| Some(row.as_ref().ok()?.json.clone()));
    let skipped = rows.iter().filter_map(|(job, row)| {
        let reason = row.as_ref().err()?;
        Some(format!("{job}: {reason}"))
    });
    let own = json!({
        "derivatives": order.name(),
        "precision": precision.name(),
        "sizes": sizes.collect::<Vec<_>>(),
        "skipped": skipped.collect::<Vec<_>>(),
    });
    let mut end = String::new();
    if untried > 0 {
        end += &format!("not tried: {untried} for lack of time (--secs)\n");
    }
    end += &format!("timed from host to host by wall clock; saved in {}\n", store.path.display());
    let title = format!(": {} in {}", order.name(), precision.name());
    let table = RaceTable { title, header: &HEADER, unit: "", end };
    report(args, (&gpu, store), &rows, table, own)
}
