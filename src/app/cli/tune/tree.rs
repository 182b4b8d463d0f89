//! `gravitile tune --method tree`: finds the fastest variant of the tree walk on this adapter.

use anyhow::Result;
use serde_json::json;

use super::{
    Args, Ended, Row, Table, check_not_interrupted, hold_races, interrupt, open, report, rounded,
    row, sizes_json,
};
use gravitile::error::Error;
use gravitile::forces::tree::TreeConfig;
use gravitile::forces::tree::gpu::WalkShape;
use gravitile::gpu::blocking;
use gravitile::measure::{Cloud, StepTimer};
use gravitile::tune::{Watch, race};
use gravitile::tuned::{Choice, Kernels, Key, Store, size_class};

/// Numbers of bodies that are tuned by default.
pub const SIZES: [usize; 3] = [16_384, 131_072, 1_048_576];

/// The softening length of the timed bodies, a Plummer sphere of length 1.
const SOFTENING: f64 = 0.01;

const HEADER: [&str; 8] =
    ["up to", "timed", "best", "steps/s", "default", "gain", "tried", "timed by"];

pub fn measure(args: &Args, store: &Store, sizes: &[usize]) -> Result<Ended> {
    let gpu = open(args, store)?;
    let go_on = || !interrupt::requested();
    let hold = |&n: &usize| -> Result<Row, Error> {
        let bodies = Cloud::Plummer.bodies(n);
        let mut timer = StepTimer::of_tree(&gpu, bodies, SOFTENING, TreeConfig::default());
        let mut watch = Watch::new(&go_on);
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
            store.keep_walk(Choice {
                key: Key::of(&gpu, Kernels::Tree, n),
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
    let table = Table { title: String::new(), header: &HEADER, unit: " bodies", end };
    report(args, (&gpu, store), &rows, table, json!({ "sizes": sizes_json(&rows) }))
}
