//! `gravitile tune`: finds the fastest kernel for this adapter by measurement, and remembers it.

mod derivatives;
mod list;
mod race;
mod tree;

use anyhow::Result;
use serde_json::json;

use super::options::Measured;
use super::{Ended, interrupt, print, progress};
use crate::lookup;
use gravitile::error::Error;
use gravitile::forces::{self, EngineKind};
use gravitile::gpu::{AdapterRequest, Gpu};
use gravitile::settings::MethodRequest;
use gravitile::tune::{FACTOR, KnownCeilings, Outcome, Tuned, timed, tune_steps};
use gravitile::tuned::{Store, size_class};

/// Find the fastest kernel for this adapter by measurement, and remember it for later runs
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  gravitile tune                         for 256 to 262144 bodies, 10 s each
  gravitile tune -n 20k --secs 30        for 16385 to 32768 bodies, more thoroughly
  gravitile tune --method tree           the tree's walk, for up to 1048576 bodies
  gravitile tune --derivatives jerk      forces for GRAPE codes, on 1 to 16384 sinks
  gravitile tune --list                  what is remembered, for every adapter
  gravitile tune --forget

Whole steps are timed, by the GPU's own clock if it has one, otherwise by the wall clock. Shapes
that exceed the adapter's limits are not tried, nor those that a model predicts to be slow from
its measured ceilings. For more than 262144 bodies, 262144 are timed, which fill a device as well.

With --derivatives, evaluations are timed from host to host for each number of sinks. The results
are used by 'forces --jerk' and the C library, whose sums are then added in a different order. Runs
keep their own shapes, and so reproduce the same bits.

A choice holds for up to that number of bodies and more than half of it, for this adapter, its
driver and the program's present kernels. It is used whenever no option fixes the kernel. It is
saved in the user's cache folder, or in the folder that GRAVITILE_CACHE_DIR names.")]
pub struct Args {
    /// Number of bodies to tune for; may be given more than once
    #[arg(short, value_parser = gravitile::settings::count, value_name = "N")]
    n: Vec<usize>,
    /// Seconds to spend on each number of bodies
    #[arg(long, default_value_t = 10.0, value_name = "SECS")]
    secs: f64,
    /// Tune forces up to this derivative: acceleration, jerk (GRAPE-6, hermite4) or snap (sixth order)
    #[arg(long, value_name = "ORDER")]
    derivatives: Option<String>,
    /// With --derivatives: precision of the forces: single, double-single or double
    #[arg(long, value_name = "TIER", requires = "derivatives", default_value = "double-single")]
    precision: String,
    /// Show what is remembered instead of measuring
    #[arg(long, conflicts_with_all = ["forget", "n"])]
    list: bool,
    /// Delete everything that is remembered
    #[arg(long, conflicts_with = "n")]
    forget: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    by: MethodRequest,
    #[command(flatten)]
    adapter: AdapterRequest,
}

/// Engines and methods whose kernels have a shape to tune.
const MEASURED: Measured = Measured {
    engines: &[EngineKind::Auto, EngineKind::Gpu],
    methods: &[forces::Method::Direct, forces::Method::Tree],
    what: "tuning applies to the direct kernel and the tree's walk on a graphics adapter",
};

const SIZES: [usize; 6] = [256, 1024, 4096, 16_384, 65_536, 262_144];

pub fn main(args: &Args) -> Result<Ended> {
    MEASURED.engine(&args.by)?;
    let store = lookup::store().ok_or_else(|| {
        let allowed = "a folder, or unset on a system that has a cache folder";
        Error::value("GRAVITILE_CACHE_DIR", "empty or unavailable", allowed)
    })?;
    if args.list {
        return list::main(&store, args.json);
    }
    if args.forget {
        let existed = store.forget()?;
        let place = store.path.display().to_string();
        if args.json {
            print::json(&json!({ "file": place, "deleted": existed }))?;
        } else if existed {
            print::text(&format!("deleted {place}\n"))?;
        } else {
            print::text(&format!("nothing is remembered: there is no {place}\n"))?;
        }
        return Ok(Ended::Done);
    }
    if !(args.secs.is_finite() && args.secs > 0.0) {
        return Err(Error::value("--secs", args.secs, "greater than 0").into());
    }
    let is_tree = forces::Method::from_name(&args.by.method)? == Some(forces::Method::Tree);
    let kind = derivatives::Kind::of(args)?;
    if is_tree && kind.is_some() {
        let allowed = "auto or direct with --derivatives";
        return Err(Error::value("the method", &args.by.method, allowed).into());
    }
    let default_sizes = match (is_tree, &kind) {
        (true, _) => &tree::SIZES[..],
        (_, Some(_)) => &derivatives::SIZES,
        _ => &SIZES,
    };
    let mut sizes = if args.n.is_empty() { default_sizes.to_vec() } else { args.n.clone() };
    if sizes.contains(&0) {
        return Err(Error::value("-n", 0, "at least 1").into());
    }
    sizes.sort_unstable();
    sizes.dedup();
    match kind {
        Some(kind) => derivatives::measure(args, kind, &store, &sizes),
        None if is_tree => tree::measure(args, &store, &sizes),
        None => measure(args, &store, &sizes),
    }
}

/// One number of bodies.
enum Row {
    Tuned(Tuned),
    Skipped { n: usize, reason: String },
}

fn measure(args: &Args, store: &Store, sizes: &[usize]) -> Result<Ended> {
    let gpu = Gpu::open_blocking(&args.adapter)?;
    if let Some(problem) = store.load().damage {
        print::note(&format!("{problem}: ignored, will be replaced"));
    }
    interrupt::save_on_signal();
    let mut rows = Vec::new();
    // Interactions per second of the last size, to predict the time of a larger one.
    let mut rate = None;
    let mut ceilings = KnownCeilings::new(&gpu);
    let bar = progress::bar(sizes.len() as u64, "tuning");
    for &n in sizes {
        if interrupt::requested() {
            break;
        }
        bar.set_message(format!("{n} bodies"));
        let pairs = (timed(n) as f64).powi(2);
        let step_secs = rate.map(|rate| pairs / rate);
        if let Some(secs) = step_secs.filter(|secs| 8.0 * secs > args.secs) {
            let reason = format!(
                "a step takes about {secs:.2} s, too long for a race of {} s (--secs)",
                args.secs
            );
            rows.push(Row::Skipped { n, reason });
            continue;
        }
        let mut known = |secs| ceilings.within(secs, &mut || !interrupt::requested());
        let tuning = tune_steps(&gpu, n, args.secs, &mut known, &|| !interrupt::requested());
        match gravitile::gpu::blocking(tuning) {
            // An interrupted race has not tried enough to be remembered.
            Ok(_) | Err(Error::Stopped) if interrupt::requested() => break,
            Ok(tuned) => {
                if let Some(best) = tuned.outcome.best() {
                    rate = Some(pairs / best.secs());
                    tuned.choice(&gpu).map_or(Ok(()), |choice| store.keep(choice))?;
                }
                rows.push(Row::Tuned(tuned));
            }
            Err(error @ Error::Device(_)) => return Err(error.into()),
            Err(error) => rows.push(Row::Skipped { n, reason: error.to_string() }),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if args.json {
        print::json(&json!({
            "adapter": gpu.adapter.name,
            "driver": gpu.adapter.driver,
            "backend": gpu.adapter.backend,
            "model": ceilings.problem().map_or("used".to_owned(), |why| format!("not used: {why}")),
            "file": store.path.display().to_string(),
            "sizes": rows.iter().map(row_json).collect::<Vec<_>>(),
        }))?;
    } else {
        print::text(&in_words(&gpu, store, &rows, ceilings.problem()))?;
    }
    Ok(if interrupt::requested() { Ended::Interrupted } else { Ended::Done })
}

fn in_words(gpu: &Gpu, store: &Store, rows: &[Row], no_model: Option<&str>) -> String {
    let mut text = format!("{}, {}\n", gpu.adapter.name, gpu.adapter.driver);
    let header =
        ["up to", "timed", "best", "steps/s", "G interactions/s", "default", "gain", "tried"];
    let mut table = vec![header.map(str::to_owned).to_vec()];
    let mut notes = String::new();
    let mut methods: Vec<&str> = Vec::new();
    for row in rows {
        let Tuned { n, default, outcome, for_various_masses, method, doubt, .. } = match row {
            Row::Skipped { n, reason } => {
                notes += &format!("{n} bodies: {reason}\n");
                continue;
            }
            Row::Tuned(tuned) => tuned,
        };
        let Some(best) = outcome.best() else { continue };
        if !methods.contains(&method.name()) {
            methods.push(method.name());
        }
        let secs = best.secs();
        let gain = outcome.of(default).map(|ranked| ranked.secs() / secs);
        table.push(vec![
            size_class(*n).to_string(),
            timed(*n).to_string(),
            best.config.to_string(),
            format!("{:.4}", Rounded(1.0 / secs)),
            format!("{:.4}", Rounded((timed(*n) as f64).powi(2) / secs / 1e9)),
            default.to_string(),
            gain.map_or("?".to_owned(), |gain| format!("{gain:.2}x")),
            outcome.ranking.len().to_string(),
        ]);
        notes += &format!("{n} bodies: {}\n", left_out(outcome));
        if let Some(shape) = for_various_masses {
            notes += &format!("{n} bodies of different masses: {shape}\n");
        }
        if let Some(doubt) = doubt {
            notes += &format!("{n} bodies: {doubt}\n");
        }
        for (config, why) in &outcome.refused {
            notes += &format!("{n} bodies: {config} was rejected: {why}\n");
        }
    }
    text += &print::table(&table);
    text += &notes;
    if let Some(why) = no_model {
        text += &format!("the model was not used: {why}\n");
    }
    if !methods.is_empty() {
        text += &format!("whole steps, timed by {}\n", methods.join(" and "));
    }
    text += &format!("saved in {}\n", store.path.display());
    text
}

/// The shapes that were not tried, and why.
fn left_out(outcome: &Outcome) -> String {
    let mut text = format!("not tried: {} that exceed the adapter's limits", outcome.beyond_limits);
    if let Some(slow) = outcome.slow_by_model {
        text += &format!(", {slow} that the model puts at over {FACTOR}x the best time");
    }
    if outcome.untried > 0 {
        text += &format!(", {} for lack of time (--secs)", outcome.untried);
    }
    text
}

/// A number shown with as many significant digits as the format's precision.
struct Rounded(f64);

impl std::fmt::Display for Rounded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = f.precision().unwrap_or(4) as i32;
        let before = self.0.abs().max(1e-300).log10().floor() as i32 + 1;
        write!(f, "{:.*}", (digits - before).max(0) as usize, self.0)
    }
}

fn row_json(row: &Row) -> serde_json::Value {
    match row {
        Row::Skipped { n, reason } => json!({ "n": n, "skipped": reason }),
        Row::Tuned(Tuned { n, default, outcome, for_various_masses, method, doubt, .. }) => {
            let own = json!({
                "for_various_masses": for_various_masses.map(|shape| shape.to_string()),
                "n": n,
                "timed": timed(*n),
                "up_to": size_class(*n),
                "method": method.name(),
                "doubt": doubt,
                "beyond_limits": outcome.beyond_limits,
                "slow_by_model": outcome.slow_by_model,
            });
            race::row_json(own, default, outcome, "secs_per_step")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rounded;

    #[test]
    fn numbers_keep_their_leading_digits() {
        let shown = [12345.6, 123.456, 1.23456, 0.0123456].map(|x| format!("{:.4}", Rounded(x)));
        assert_eq!(shown, ["12346", "123.5", "1.235", "0.01235"]);
    }
}
