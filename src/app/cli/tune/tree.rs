//! `gravitile tune --method tree`: finds the fastest variant of the tree walk on this adapter.

use anyhow::Result;
use serde_json::json;

use super::{
    Args, Ended, Rounded, Row, Table, check_not_interrupted, hold_races, interrupt, open, rejected,
    report, row_json, sizes_json,
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
        let json = row_json(own, &default, &outcome, "secs_per_step");
        let Some((kernel, secs_per_step, default_secs_per_step)) = outcome.gain(&default) else {
            return Ok(Row { cells: Vec::new(), notes: String::new(), json });
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
        let cells = vec![
            size_class(n).to_string(),
            n.to_string(),
            kernel.to_string(),
            format!("{:.4}", Rounded(1.0 / secs_per_step)),
            default.to_string(),
            format!("{:.2}x", default_secs_per_step / secs_per_step),
            outcome.ranking.len().to_string(),
            method.name().to_owned(),
        ];
        let mut notes = String::new();
        if outcome.untried > 0 {
            let untried = outcome.untried;
            notes += &format!("{n} bodies: {untried} not tried for lack of time (--secs)\n");
        }
        if let Some(doubt) = doubt {
            notes += &format!("{n} bodies: {doubt}; not remembered\n");
        }
        notes += &rejected(&format!("{n} bodies"), &outcome);
        Ok(Row { cells, notes, json })
    };
    let rows = hold_races(sizes.iter().copied(), hold)?;
    let end = format!("saved in {}\n", store.path.display());
    let table = Table { title: String::new(), header: &HEADER, unit: " bodies", end };
    report(args, (&gpu, store), &rows, table, json!({ "sizes": sizes_json(&rows) }))
}
