//! `gravitile tune --method tree`: finds the fastest variant of the tree walk on this adapter.

use std::sync::Arc;

use anyhow::Result;
use serde_json::json;
use web_time::Instant;

use super::super::{Ended, interrupt, print, progress};
use super::{Args, Rounded, race};
use gravitile::error::Error;
use gravitile::forces::tree::TreeConfig;
use gravitile::forces::tree::gpu::WalkShape;
use gravitile::gpu::Gpu;
use gravitile::measure::{Cloud, Method, StepTimer};
use gravitile::tune::{Outcome, Watch, race};
use gravitile::tuned::{Choice, Kernels, Key, Store, size_class};

/// Numbers of bodies that are tuned by default.
pub const SIZES: [usize; 3] = [16_384, 131_072, 1_048_576];

/// The softening length of the timed bodies, a Plummer sphere of length 1.
const SOFTENING: f64 = 0.01;

/// The result for one number of bodies.
struct Tuned {
    n: usize,
    outcome: Outcome<WalkShape>,
    method: Method,
    /// Why the device's clock was not trusted.
    doubt: Option<String>,
}

impl Tuned {
    /// The fastest walk, and seconds per step with it and with the default walk.
    fn best(&self) -> Option<(WalkShape, f64, f64)> {
        let best = self.outcome.best()?;
        let default_secs =
            self.outcome.of(&WalkShape::DEFAULT).map_or(best.secs(), |ranked| ranked.secs());
        Some((best.config, best.secs(), default_secs))
    }
}

pub fn measure(args: &Args, store: &Store, sizes: &[usize]) -> Result<Ended> {
    let gpu = Gpu::open_blocking(&args.adapter)?;
    if let Some(problem) = store.load().damage {
        print::note(&format!("{problem}: ignored, will be replaced"));
    }
    interrupt::save_on_signal();
    let mut found = Vec::new();
    let bar = progress::bar(sizes.len() as u64, "tuning");
    for &n in sizes {
        if interrupt::requested() {
            break;
        }
        bar.set_message(format!("{n} bodies"));
        match tune_one(&gpu, n, args.secs) {
            // An interrupted race has not tried enough to be remembered.
            Ok(_) | Err(Error::Stopped) if interrupt::requested() => break,
            Ok(tuned) => {
                save(store, &gpu, &tuned)?;
                found.push((n, Ok(tuned)));
            }
            Err(error @ Error::Device(_)) => return Err(error.into()),
            Err(error) => found.push((n, Err(error.to_string()))),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if args.json {
        print::json(&json!({
            "adapter": gpu.adapter.name,
            "driver": gpu.adapter.driver,
            "backend": gpu.adapter.backend,
            "file": store.path.display().to_string(),
            "sizes": found.iter().map(row_json).collect::<Vec<_>>(),
        }))?;
    } else {
        print::text(&in_words(&gpu, store, &found))?;
    }
    Ok(if interrupt::requested() { Ended::Interrupted } else { Ended::Done })
}

fn tune_one(gpu: &Arc<Gpu>, n: usize, budget_secs: f64) -> Result<Tuned, Error> {
    let mut timer =
        StepTimer::of_tree(gpu, Cloud::Plummer.bodies(n), SOFTENING, TreeConfig::default());
    let begun = Instant::now();
    let clock = move || begun.elapsed().as_secs_f64();
    let mut watch = Watch { clock: &clock, go_on: &mut || !interrupt::requested() };
    let outcome = race(&mut timer, &WalkShape::all(gpu), budget_secs, &mut watch)?;
    let doubt = timer.stopwatch().doubt().map(str::to_owned);
    Ok(Tuned { n, outcome, method: timer.stopwatch().method(), doubt })
}

/// Stores the winner, unless times from two clocks were compared.
fn save(store: &Store, gpu: &Gpu, tuned: &Tuned) -> Result<(), Error> {
    let Some((kernel, secs_per_step, default_secs_per_step)) = tuned.best() else { return Ok(()) };
    if tuned.doubt.is_some() {
        return Ok(());
    }
    let key = Key::of(gpu, Kernels::Tree, tuned.n);
    let (n, method) = (tuned.n, tuned.method.name().to_owned());
    let for_various_masses = None;
    store.keep_walk(Choice {
        key,
        n,
        secs_per_step,
        default_secs_per_step,
        method,
        kernel,
        for_various_masses,
    })
}

type Row = (usize, Result<Tuned, String>);

fn in_words(gpu: &Gpu, store: &Store, rows: &[Row]) -> String {
    let mut text = format!("{}, {}\n", gpu.adapter.name, gpu.adapter.driver);
    let header = ["up to", "timed", "best", "steps/s", "default", "gain", "tried", "timed by"];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    let mut notes = String::new();
    for (n, row) in rows {
        let tuned = match row {
            Err(reason) => {
                notes += &format!("{n} bodies: {reason}\n");
                continue;
            }
            Ok(tuned) => tuned,
        };
        let Some((best, secs, default_secs)) = tuned.best() else { continue };
        table.push(vec![
            size_class(*n).to_string(),
            n.to_string(),
            best.to_string(),
            format!("{:.4}", Rounded(1.0 / secs)),
            WalkShape::DEFAULT.to_string(),
            format!("{:.2}x", default_secs / secs),
            tuned.outcome.ranking.len().to_string(),
            tuned.method.name().to_owned(),
        ]);
        if tuned.outcome.untried > 0 {
            let untried = tuned.outcome.untried;
            notes += &format!("{n} bodies: {untried} not tried for lack of time (--secs)\n");
        }
        if let Some(doubt) = &tuned.doubt {
            notes += &format!("{n} bodies: {doubt}; not remembered\n");
        }
        for (walk, why) in &tuned.outcome.refused {
            notes += &format!("{n} bodies: {walk} was rejected: {why}\n");
        }
    }
    text += &print::table(&table);
    text += &notes;
    text += &format!("saved in {}\n", store.path.display());
    text
}

fn row_json((n, row): &Row) -> serde_json::Value {
    match row {
        Err(reason) => json!({ "n": n, "skipped": reason }),
        Ok(tuned) => {
            let own = json!({
                "n": n,
                "timed": n,
                "up_to": size_class(*n),
                "method": tuned.method.name(),
                "doubt": tuned.doubt,
            });
            race::row_json(own, &WalkShape::DEFAULT, &tuned.outcome, "secs_per_step")
        }
    }
}
