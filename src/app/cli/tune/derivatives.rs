//! `gravitile tune --derivatives jerk`: finds the fastest kernel shapes for forces with derivatives
//! on this adapter.

use std::sync::Arc;

use anyhow::Result;
use serde_json::json;
use web_time::Instant;

use super::super::{Ended, interrupt, print, progress};
use super::{Args, Rounded, race};
use gravitile::error::Error;
use gravitile::forces::direct::gpu::tiers::{Fitted, Shape, sinks_class, sources_class};
use gravitile::forces::{Order, Precision};
use gravitile::gpu::Gpu;
use gravitile::measure::DerivativesTimer;
use gravitile::messages::any_of;
use gravitile::tune::{Outcome, Watch, race};
use gravitile::tuned::{DerivativesChoice, Device, Kernels, Store};

/// Numbers of sources that are tuned by default.
pub const SIZES: [usize; 4] = [4096, 16_384, 131_072, 524_288];

/// Numbers of sinks that are timed: the largest of each class, powers of four.
const SINKS: [usize; 8] = [1, 4, 16, 64, 256, 1024, 4096, 16_384];

/// Which forces are tuned.
#[derive(Clone, Copy)]
pub struct Kind {
    order: Order,
    precision: Precision,
}

impl Kind {
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

/// The result for one number of sinks and sources.
struct Row {
    sinks: usize,
    sources: usize,
    default: Shape,
    outcome: Outcome<Shape>,
}

impl Row {
    /// The fastest shape, and seconds per evaluation with it and with the default rule's.
    fn best(&self) -> Option<(Shape, f64, f64)> {
        let best = self.outcome.best()?;
        let default_secs =
            self.outcome.of(&self.default).map_or(best.secs(), |ranked| ranked.secs());
        Some((best.config, best.secs(), default_secs))
    }
}

pub fn measure(args: &Args, kind: Kind, store: &Store, sizes: &[usize]) -> Result<Ended> {
    let gpu = Gpu::open_blocking(&args.adapter)?;
    if let Some(problem) = store.load().damage {
        print::note(&format!("{problem}: ignored, will be replaced"));
    }
    interrupt::save_on_signal();
    let (mut rows, mut skipped) = (Vec::new(), Vec::new());
    let bar = progress::bar((sizes.len() * SINKS.len()) as u64, "tuning");
    // Pairs per second of the last evaluation, to predict the time of the next.
    let mut rate: Option<f64> = None;
    'all: for &sources in sizes {
        let blocks: Vec<usize> = SINKS.into_iter().filter(|sinks| *sinks <= sources).collect();
        let secs = args.secs / blocks.len() as f64;
        for &sinks in &blocks {
            if interrupt::requested() {
                break 'all;
            }
            bar.set_message(format!("{sinks} of {sources} bodies"));
            let pairs = (sinks * sources) as f64;
            if let Some(each) = rate.map(|rate| pairs / rate).filter(|each| 8.0 * each > secs) {
                let reason = format!(
                    "{sinks} of {sources}: an evaluation takes about {each:.2} s, too long for a race of {secs:.2} s (--secs)"
                );
                skipped.push(reason);
                continue;
            }
            match tune_one(&gpu, kind, sinks, sources, secs) {
                // An interrupted race has not tried enough to be remembered.
                Ok(_) | Err(Error::Stopped) if interrupt::requested() => break 'all,
                Ok(row) => {
                    if let Some((_, best_secs, _)) = row.best() {
                        rate = Some(pairs / best_secs);
                    }
                    save(store, &gpu, kind, &row)?;
                    rows.push(row);
                }
                Err(error @ Error::Device(_)) => return Err(error.into()),
                Err(error) => skipped.push(format!("{sinks} of {sources}: {error}")),
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    if args.json {
        print::json(&json!({
            "adapter": gpu.adapter.name,
            "driver": gpu.adapter.driver,
            "backend": gpu.adapter.backend,
            "file": store.path.display().to_string(),
            "derivatives": kind.order.name(),
            "precision": kind.precision.name(),
            "sizes": rows.iter().map(row_json).collect::<Vec<_>>(),
            "skipped": skipped,
        }))?;
    } else {
        print::text(&in_words(&gpu, kind, store, &rows, &skipped))?;
    }
    Ok(if interrupt::requested() { Ended::Interrupted } else { Ended::Done })
}

fn tune_one(
    gpu: &Arc<Gpu>,
    kind: Kind,
    sinks: usize,
    sources: usize,
    secs: f64,
) -> Result<Row, Error> {
    let Kind { order, precision } = kind;
    let begun = Instant::now();
    let mut timer = DerivativesTimer::new(gpu, precision, order, (sinks, sources))?;
    let (default, refined) = (timer.usual(), precision.refines(sources));
    let others = Shape::candidates(gpu, default, refined, sinks as u32, sources as u32);
    let candidates: Vec<Shape> = std::iter::once(default).chain(others).collect();
    let left = secs - begun.elapsed().as_secs_f64();
    let clock = move || begun.elapsed().as_secs_f64();
    let mut watch = Watch { clock: &clock, go_on: &mut || !interrupt::requested() };
    let outcome = race(&mut timer, &candidates, left, &mut watch)?;
    Ok(Row { sinks, sources, default, outcome })
}

fn save(store: &Store, gpu: &Gpu, kind: Kind, row: &Row) -> Result<(), Error> {
    let Some((shape, secs, default_secs)) = row.best() else { return Ok(()) };
    let fitted = Fitted {
        precision: kind.precision,
        order: kind.order,
        sinks: sinks_class(row.sinks),
        sources: sources_class(row.sources),
        shape,
    };
    let on = Device::of(gpu, Kernels::Derivatives);
    store.keep_derivatives(DerivativesChoice {
        on,
        secs,
        default_secs,
        default: row.default,
        fitted,
    })
}

fn in_words(gpu: &Gpu, kind: Kind, store: &Store, rows: &[Row], skipped: &[String]) -> String {
    let mut text = format!(
        "{}, {}: {} in {}\n",
        gpu.adapter.name,
        gpu.adapter.driver,
        kind.order.name(),
        kind.precision.name()
    );
    let header = ["sources", "sinks", "best", "us", "G pairs/s", "default", "gain", "tried"];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    let mut notes = String::new();
    for row in rows {
        let Some((best, secs, default_secs)) = row.best() else { continue };
        let pairs = (row.sinks * row.sources) as f64;
        table.push(vec![
            format!("up to {}", sources_class(row.sources)),
            format!("up to {}", sinks_class(row.sinks)),
            best.to_string(),
            format!("{:.4}", Rounded(secs * 1e6)),
            format!("{:.4}", Rounded(pairs / secs / 1e9)),
            row.default.to_string(),
            format!("{:.2}x", default_secs / secs),
            row.outcome.ranking.len().to_string(),
        ]);
        for (shape, why) in &row.outcome.refused {
            notes += &format!("{} of {}: {shape} was rejected: {why}\n", row.sinks, row.sources);
        }
    }
    let untried: usize = rows.iter().map(|row| row.outcome.untried).sum();
    text += &print::table(&table);
    text += &notes;
    skipped.iter().for_each(|reason| text += &format!("{reason}\n"));
    if untried > 0 {
        text += &format!("not tried: {untried} for lack of time (--secs)\n");
    }
    text += &format!("timed from host to host by wall clock; saved in {}\n", store.path.display());
    text
}

fn row_json(row: &Row) -> serde_json::Value {
    let own = json!({
        "n": row.sources,
        "up_to": sources_class(row.sources),
        "sinks": row.sinks,
        "up_to_sinks": sinks_class(row.sinks),
    });
    race::row_json(own, &row.default, &row.outcome, "secs")
}
