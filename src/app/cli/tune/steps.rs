//! `gravitile tune`: finds the fastest all-pairs kernel for whole steps on this adapter.

use anyhow::Result;
use serde_json::json;

use super::{
    Args, Ended, RaceRow, RaceTable, check_duration, check_not_interrupted, hold_races, interrupt,
    open, report, rounded, row, sizes_json,
};
use gravitile::error::Error;
use gravitile::forces::tree::TreeConfig;
use gravitile::forces::tree::gpu::WalkShape;
use gravitile::gpu::blocking;
use gravitile::measure::{Cloud, StepTimer};
use gravitile::tune::{
    FACTOR, KnownCeilings, RaceClock, RaceOutcome, Tuned, race, timed, tune_steps,
};
use gravitile::tuned::{ChoiceKey, KernelSources, TunedChoice, TunedStore, size_class};

/// Numbers of bodies that are tuned by default.
pub const SIZES: [usize; 6] = [256, 1024, 4096, 16_384, 65_536, 262_144];

const HEADER: [&str; 8] =
    ["up to", "timed", "best", "steps/s", "G interactions/s", "default", "gain", "tried"];

pub fn measure(args: &Args, store: &TunedStore, sizes: &[usize]) -> Result<Ended> {
    let gpu = open(args, store)?;
    let go_on = || !interrupt::requested();
    // Interactions per second of the last size, to predict the time of a larger one.
    let mut rate = None;
    let mut ceilings = KnownCeilings::new(&gpu);
    let mut methods: Vec<&str> = Vec::new();
    let hold = |&n: &usize| -> Result<RaceRow, Error> {
        let pairs = (timed(n) as f64).powi(2);
        check_duration((rate, pairs), "a step", (args.secs, &args.secs.to_string()))?;
        let mut known = |secs| ceilings.within(secs, &mut || !interrupt::requested());
        let tuning = tune_steps(&gpu, n, args.secs, &mut known, &go_on);
        let tuned = gravitile::gpu::blocking(tuning)?;
        check_not_interrupted()?;
        if let Some(best) = tuned.outcome.best() {
            rate = Some(pairs / best.secs());
            tuned.choice(&gpu).map_or(Ok(()), |choice| store.keep(choice))?;
            if !methods.contains(&tuned.method.name()) {
                methods.push(tuned.method.name());
            }
        }
        Ok(row_of(&tuned))
    };
    let rows = hold_races(sizes.iter().copied(), hold)?;
    let mut end = String::new();
    if let Some(why) = ceilings.problem() {
        end += &format!("the model was not used: {why}\n");
    }
    if !methods.is_empty() {
        end += &format!("whole steps, timed by {}\n", methods.join(" and "));
    }
    end += &format!("saved in {}\n", store.path.display());
    let own = json!({
        "model": ceilings.problem().map_or("used".to_owned(), |why| format!("not used: {why}")),
        "sizes": sizes_json(&rows),
    });
    let table = RaceTable { title: String::new(), header: &HEADER, unit: " bodies", end };
    report(args, (&gpu, store), &rows, table, own)
}

fn row_of(tuned: &Tuned) -> RaceRow {
    let Tuned { n, default, outcome, for_various_masses, method, doubt, .. } = tuned;
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
    let job = format!("{n} bodies");
    let mut row = row(&job, default, outcome, (own, "secs_per_step"), |secs| {
        let pairs = (timed(*n) as f64).powi(2);
        let rates = vec![rounded(1.0 / secs), rounded(pairs / secs / 1e9)];
        ([size_class(*n).to_string(), timed(*n).to_string()], rates)
    });
    if outcome.best().is_some() {
        let mut notes = format!("{job}: {}\n", left_out(outcome));
        if let Some(shape) = for_various_masses {
            notes += &format!("{job} of different masses: {shape}\n");
        }
        if let Some(doubt) = doubt {
            notes += &format!("{job}: {doubt}\n");
        }
        row.notes.insert_str(0, &notes);
    }
    row
}

/// The shapes that were not tried, and why.
fn left_out(outcome: &RaceOutcome) -> String {
    let mut text = format!("not tried: {} that exceed the adapter's limits", outcome.beyond_limits);
    if let Some(slow) = outcome.slow_by_model {
        text += &format!(", {slow} that the model puts at over {FACTOR}x the best time");
    }
    if outcome.untried > 0 {
        text += &format!(", {} for lack of time (--secs)", outcome.untried);
    }
    text
}

// `gravitile tune --method tree`: finds the fastest variant of the tree walk on this adapter.

/// Numbers of bodies that are tuned by default.
pub const SIZES_OF_TREE: [usize; 3] = [16_384, 131_072, 1_048_576];

/// The softening length of the timed bodies, a Plummer sphere of length 1.
const SOFTENING: f64 = 0.01;

const HEADER_OF_TREE: [&str; 8] =
    ["up to", "timed", "best", "steps/s", "default", "gain", "tried", "timed by"];

pub fn measure_tree(args: &Args, store: &TunedStore, sizes: &[usize]) -> Result<Ended> {
    let gpu = open(args, store)?;
    let go_on = || !interrupt::requested();
    let hold = |&n: &usize| -> Result<RaceRow, Error> {
        let bodies = Cloud::Plummer.bodies(n);
        let mut timer = StepTimer::of_tree(&gpu, bodies, SOFTENING, TreeConfig::default());
        let mut watch = RaceClock::new(&go_on);
        let outcome = blocking(race(&mut timer, &WalkShape::ALL, args.secs, &mut watch))?;
        check_not_interrupted()?;
        let (method, doubt, default) =
            (timer.stopwatch().method(), timer.stopwatch().doubt(), WalkShape::DEFAULT);
        let own = json!({
            "n": n,
            "timed": n,
            "up_to": size_class(n),
            "method": method.name(),
            "doubt": doubt,
        });
        let job = format!("{n} bodies");
        let mut row = row(&job, &default, &outcome, (own, "secs_per_step"), |secs| {
            ([size_class(n).to_string(), n.to_string()], vec![rounded(1.0 / secs)])
        });
        let Some((kernel, secs_per_step, default_secs_per_step)) = outcome.gain(&default) else {
            return Ok(row);
        };
        // Not if times from two clocks were compared.
        if doubt.is_none() {
            store.keep_walk(TunedChoice {
                key: ChoiceKey::of(&gpu, KernelSources::Tree, n),
                n,
                secs_per_step,
                default_secs_per_step,
                method: method.name().to_owned(),
                kernel,
                for_various_masses: None,
            })?;
        }
        row.cells.push(method.name().to_owned());
        let mut notes = String::new();
        if outcome.untried > 0 {
            notes += &format!("{job}: {} not tried for lack of time (--secs)\n", outcome.untried);
        }
        if let Some(doubt) = doubt {
            notes += &format!("{job}: {doubt}; not remembered\n");
        }
        row.notes.insert_str(0, &notes);
        Ok(row)
    };
    let rows = hold_races(sizes.iter().copied(), hold)?;
    let end = format!("saved in {}\n", store.path.display());
    let table = RaceTable { title: String::new(), header: &HEADER_OF_TREE, unit: " bodies", end };
    report(args, (&gpu, store), &rows, table, json!({ "sizes": sizes_json(&rows) }))
}
