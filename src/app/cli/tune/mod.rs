//! `gravitile tune`: finds the fastest kernel for this adapter by measurement, and remembers it.

mod derivatives;
mod steps;

use std::fmt::Display;

use anyhow::Result;
use serde_json::{Value, json};

use super::options::MeasurableEngines;
use super::{Ended, interrupt, print};
use crate::lookup;
use gravitile::error::Error;
use gravitile::forces::{self, EngineKind};
use gravitile::gpu::{AdapterRequest, Gpu};
use gravitile::settings::MethodRequest;
use gravitile::tune::RaceOutcome;
use gravitile::tuned::{
    DerivativesChoice, KernelSources, OUTDATED, Results, TunedChoice, TunedDevice, TunedStore,
};

/// Find the fastest kernel for this adapter by measurement, and remember it for later runs
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
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
saved in the user's cache folder, or in the folder that GRAVITILE_CACHE_DIR names."
)]
pub struct Args {
    /// Number of bodies to tune for; may be given more than once
    #[arg(short, value_parser = gravitile::settings::count, value_name = "N")]
    n: Vec<usize>,
    /// Seconds to spend on each number of bodies
    #[arg(long, default_value_t = 10.0, value_name = "SECS")]
    secs: f64,
    /// Tune forces up to this derivative: acceleration, jerk (GRAPE-6, hermite4) or snap (sixth
    /// order)
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
const MEASURED: MeasurableEngines = MeasurableEngines {
    engines: &[EngineKind::Auto, EngineKind::Gpu],
    methods: &[forces::Method::Direct, forces::Method::Tree],
    what: "tuning applies to the direct kernel and the tree's walk on a graphics adapter",
};

pub fn main(args: &Args) -> Result<Ended> {
    MEASURED.engine(&args.by)?;
    let store = lookup::store().ok_or_else(|| {
        let allowed = "a folder, or unset on a system that has a cache folder";
        Error::value("GRAVITILE_CACHE_DIR", "empty or unavailable", allowed)
    })?;
    if args.list {
        return list(&store, args.json);
    }
    if args.forget {
        let existed = store.forget()?;
        let path = store.path.display().to_string();
        if args.json {
            print::json(&json!({ "file": path, "deleted": existed }))?;
        } else if existed {
            print::text(&format!("deleted {path}\n"))?;
        } else {
            print::text(&format!("nothing is remembered: there is no {path}\n"))?;
        }
        return Ok(Ended::Done);
    }
    if !(args.secs.is_finite() && args.secs > 0.0) {
        return Err(Error::value("--secs", args.secs, "greater than 0").into());
    }
    let is_tree = forces::Method::from_name(&args.by.method)? == Some(forces::Method::Tree);
    let kind = derivatives::DerivativeForces::of(args)?;
    if is_tree && kind.is_some() {
        let allowed = "auto or direct with --derivatives";
        return Err(Error::value("the method", &args.by.method, allowed).into());
    }
    let default_sizes = match (is_tree, &kind) {
        (true, _) => &steps::SIZES_OF_TREE[..],
        (_, Some(_)) => &derivatives::SIZES,
        _ => &steps::SIZES,
    };
    let mut sizes = if args.n.is_empty() { default_sizes.to_vec() } else { args.n.clone() };
    sizes.sort_unstable();
    sizes.dedup();
    match kind {
        Some(kind) => derivatives::measure(args, kind, &store, &sizes),
        None if is_tree => steps::measure_tree(args, &store, &sizes),
        None => steps::measure(args, &store, &sizes),
    }
}

/// The result of a race, ready to be printed.
struct RaceRow {
    /// The cells of the table; empty if no shape could be timed.
    cells: Vec<String>,
    /// Lines below the table.
    notes: String,
    json: Value,
}

/// The results of races by what was timed, or why there was no race.
type RaceRows<Job> = Vec<(Job, Result<RaceRow, String>)>;

/// Opens the adapter, and notes whether the file of results is damaged.
fn open(args: &Args, store: &TunedStore) -> Result<std::sync::Arc<Gpu>> {
    let gpu = Gpu::open_blocking(&args.adapter)?;
    if let Some(problem) = store.load().damage {
        print::note(&format!("{problem}: ignored, will be replaced"));
    }
    interrupt::save_on_signal();
    Ok(gpu)
}

/// Holds a race for each job, until a signal. `hold` returns [`Error::Stopped`] for a race that was
/// interrupted.
fn hold_races<Job: Display>(
    jobs: impl ExactSizeIterator<Item = Job>,
    mut hold: impl FnMut(&Job) -> Result<RaceRow, Error>,
) -> Result<RaceRows<Job>> {
    let bar = print::bar(jobs.len() as u64, "tuning");
    let mut rows = Vec::new();
    for job in jobs {
        if interrupt::requested() {
            break;
        }
        bar.set_message(format!("{job} bodies"));
        match hold(&job) {
            Err(Error::Stopped) if interrupt::requested() => break,
            Err(error @ Error::Device(_)) => return Err(error.into()),
            found => rows.push((job, found.map_err(|error| error.to_string()))),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(rows)
}

/// An interrupted race has not tried enough to be remembered.
fn check_not_interrupted() -> Result<(), Error> {
    if interrupt::requested() { Err(Error::Stopped) } else { Ok(()) }
}

/// Refuses a race of `secs` seconds if one evaluation, named `what`, is predicted to take more than
/// an eighth of it, at `rate` pairs per second in the last race.
fn check_duration(
    (rate, pairs): (Option<f64>, f64),
    what: &str,
    (secs, shown): (f64, &str),
) -> Result<(), Error> {
    match rate.map(|rate| pairs / rate) {
        Some(each) if 8.0 * each > secs => Err(Error::Outside(format!(
            "{what} takes about {each:.2} s, too long for a race of {shown} s (--secs)"
        ))),
        _ => Ok(()),
    }
}

/// A table of races, as text.
struct RaceTable<'a> {
    /// What was tuned, if the adapter does not say it.
    title: String,
    header: &'a [&'static str],
    /// What a job counts, for notes.
    unit: &'a str,
    /// The last lines.
    end: String,
}

/// Prints the results of all races: `own` has the keys of the JSON object that differ by kind.
fn report<Job: Display>(
    args: &Args,
    (gpu, store): (&Gpu, &TunedStore),
    rows: &RaceRows<Job>,
    table: RaceTable,
    mut own: Value,
) -> Result<Ended> {
    if args.json {
        own["adapter"] = json!(gpu.adapter.name);
        own["driver"] = json!(gpu.adapter.driver);
        own["backend"] = json!(gpu.adapter.backend);
        own["file"] = json!(store.path.display().to_string());
        print::json(&own)?;
    } else {
        let RaceTable { title, header, unit, end } = table;
        let mut notes = String::new();
        let mut cells = Vec::new();
        for (job, row) in rows {
            match row {
                Ok(row) => {
                    notes += &row.notes;
                    cells.extend(Some(row.cells.clone()).filter(|cells| !cells.is_empty()));
                }
                Err(reason) => notes += &format!("{job}{unit}: {reason}\n"),
            }
        }
        let (name, driver) = (&gpu.adapter.name, &gpu.adapter.driver);
        let cells = print::with_header(header, cells);
        print::text(&format!("{name}, {driver}{title}\n{cells}{notes}{end}"))?;
    }
    Ok(if interrupt::requested() { Ended::Interrupted } else { Ended::Done })
}

/// The rows of races over numbers of bodies, for `--json`.
fn sizes_json(rows: &RaceRows<usize>) -> Value {
    let rows = rows.iter().map(|(n, row)| match row {
        Ok(row) => row.json.clone(),
        Err(reason) => json!({ "n": n, "skipped": reason }),
    });
    rows.collect()
}

/// The row of a race: `own` has the fields of its JSON object that differ by kind of kernel, and
/// `secs` is the key of the measured seconds. `cells` returns the cells before and behind the best
/// shape, for its seconds.
fn row<Shape: Display + PartialEq>(
    job: &str,
    default: &Shape,
    outcome: &RaceOutcome<Shape>,
    (own, secs): (Value, &str),
    cells: impl FnOnce(f64) -> ([String; 2], Vec<String>),
) -> RaceRow {
    let mut json = own;
    json["default"] = json!(default.to_string());
    json["best"] = json!(outcome.best().map(|best| best.config.to_string()));
    json["finished"] = json!(outcome.finished);
    json["untried"] = json!(outcome.untried);
    let ranked = outcome.ranking.iter().map(|ranked| {
        json!({ "kernel": ranked.config.to_string(), secs: ranked.secs(), "samples": ranked.samples })
    });
    json["ranking"] = ranked.collect();
    let refused = outcome.refused.iter();
    json["refused"] =
        refused.map(|(shape, why)| json!({ "kernel": shape.to_string(), "reason": why })).collect();
    let Some(best) = outcome.best() else {
        return RaceRow { cells: Vec::new(), notes: String::new(), json };
    };
    let gain = outcome.of(default).map(|ranked| ranked.secs() / best.secs());
    let (before, rates) = cells(best.secs());
    let mut cells = before.to_vec();
    cells.push(best.config.to_string());
    cells.extend(rates);
    cells.push(default.to_string());
    cells.push(gain.map_or("?".to_owned(), |gain| format!("{gain:.2}x")));
    cells.push(outcome.ranking.len().to_string());
    let refused = outcome.refused.iter();
    let notes =
        refused.map(|(shape, why)| format!("{job}: {shape} was rejected: {why}\n")).collect();
    RaceRow { cells, notes, json }
}

/// A number with four significant digits.
fn rounded(number: f64) -> String {
    let before = number.abs().max(1e-300).log10().floor() as i32 + 1;
    format!("{number:.*}", (4 - before).max(0) as usize)
}

// `gravitile tune --list`: what is remembered.

/// A remembered choice of any kind.
struct ListedChoice<'a> {
    method: String,
    on: &'a TunedDevice,
    up_to: u64,
    n: usize,
    kernel: String,
    secs: f64,
    default_secs: f64,
    timed_by: &'a str,
    is_outdated: bool,
    /// What is counted per second.
    what: &'static str,
}

const STEPS: &str = "steps/s";
const EVALUATIONS: &str = "evaluations/s";

impl<'a> ListedChoice<'a> {
    fn of<Shape: Display>(choice: &'a TunedChoice<Shape>, kernels: KernelSources) -> Self {
        Self {
            method: if kernels == KernelSources::Tree { "tree" } else { "direct" }.to_owned(),
            on: &choice.key.on,
            up_to: choice.key.up_to,
            n: choice.n,
            kernel: choice.kernel.to_string(),
            secs: choice.secs_per_step,
            default_secs: choice.default_secs_per_step,
            timed_by: &choice.method,
            is_outdated: choice.key.on.is_outdated(kernels),
            what: STEPS,
        }
    }

    fn of_derivatives(choice: &'a DerivativesChoice) -> Self {
        let fitted = &choice.fitted;
        let (order, tier) = (fitted.order.name(), fitted.precision.name());
        Self {
            method: format!("{order} in {tier}, up to {} sinks", fitted.sinks),
            on: &choice.on,
            up_to: fitted.sources.into(),
            n: fitted.sources as usize,
            kernel: fitted.shape.to_string(),
            secs: choice.secs,
            default_secs: choice.default_secs,
            timed_by: "wall clock",
            is_outdated: choice.on.is_outdated(KernelSources::Derivatives),
            what: EVALUATIONS,
        }
    }
}

fn list(store: &TunedStore, as_json: bool) -> Result<Ended> {
    let Results { choices, walks, derivatives, damage, .. } = store.load();
    let kernels = choices.iter().map(|choice| ListedChoice::of(choice, KernelSources::Direct));
    let walks = walks.iter().map(|choice| ListedChoice::of(choice, KernelSources::Tree));
    let derivatives = derivatives.iter().map(ListedChoice::of_derivatives);
    let choices: Vec<ListedChoice<'_>> = kernels.chain(walks).chain(derivatives).collect();
    let path = store.path.display();
    if as_json {
        let choices: Vec<_> = choices
            .iter()
            .map(|choice| {
                json!({
                    "adapter": choice.on.device,
                    "driver": choice.on.driver,
                    "backend": choice.on.backend,
                    "kernels": choice.on.kernels,
                    "outdated": choice.is_outdated,
                    "up_to": choice.up_to,
                    "n": choice.n,
                    "forces": choice.method,
                    "kernel": choice.kernel,
                    "secs_per_step": choice.secs,
                    "default_secs_per_step": choice.default_secs,
                    "method": choice.timed_by,
                })
            })
            .collect();
        print::json(&json!({ "file": path.to_string(), "damage": damage, "choices": choices }))?;
        return Ok(Ended::Done);
    }
    let mut text = match &damage {
        Some(problem) => format!("{problem}: ignored\n"),
        None if choices.is_empty() => format!("nothing is remembered in {path}\n"),
        None => String::new(),
    };
    if !choices.is_empty() {
        for what in [STEPS, EVALUATIONS] {
            text += &table(choices.iter().filter(|choice| choice.what == what), what);
        }
        text += &format!("in {path}\n");
        let outdated = choices.iter().filter(|choice| choice.is_outdated).count();
        if outdated > 0 {
            text += &format!("{outdated} of {}: {OUTDATED}\n", choices.len());
        }
    }
    print::text(&text)?;
    Ok(Ended::Done)
}

/// The table of remembered choices of one kind; empty if there are none.
fn table<'a>(choices: impl Iterator<Item = &'a ListedChoice<'a>>, what: &str) -> String {
    let header =
        ["adapter", "driver", "up to", "method", "kernel", what, "gain", "timed by", "kernels"];
    let row = |choice: &ListedChoice| {
        vec![
            choice.on.device.clone(),
            choice.on.driver.clone(),
            choice.up_to.to_string(),
            choice.method.clone(),
            choice.kernel.clone(),
            rounded(1.0 / choice.secs),
            format!("{:.2}x", choice.default_secs / choice.secs),
            choice.timed_by.to_owned(),
            choice.on.kernels.clone(),
        ]
    };
    let rows: Vec<_> = choices.map(row).collect();
    if rows.is_empty() { String::new() } else { print::with_header(&header, rows) }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn numbers_keep_their_leading_digits() {
        let shown = [12345.6, 123.456, 1.23456, 0.0123456].map(rounded);
        assert_eq!(shown, ["12346", "123.5", "1.235", "0.01235"]);
    }
}
