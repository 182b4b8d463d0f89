//! `gravitile resume`: continues a recorded run.

use std::path::PathBuf;

use anyhow::Result;

use super::{Ended, interrupt, print, run, together};
use crate::ranks;
use gravitile::error::Error;
use gravitile::gpu::{AdapterRequest, DeviceCount};
use gravitile::record::{self, EnergyLog, Plan, RunFolder, energy_initial, restart_of};
use gravitile::sim::{Choice, Simulation};

/// Resume a run from its last complete snapshot, with the engine and kernel it was started with
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run's folder
    dir: PathBuf,
    /// Go on with these graphics adapters instead of those of the run, as in 'gravitile run'
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
    /// Go on with this number of graphics adapters [default: as many as --adapter names, or as the
    /// run had]
    #[arg(long, value_name = "N")]
    devices: Option<DeviceCount>,
    /// Print one JSON object at the end
    #[arg(long)]
    json: bool,
}

pub fn main(args: &Args) -> Result<Ended> {
    // Rank 0 locks and reads the folder; `any` is the barrier after which the others read it.
    let first = match ranks::is_root() {
        true => {
            let folder = RunFolder::open(&args.dir)?;
            run::warn_unprotected(folder.unprotected());
            Some(folder)
        }
        false => None,
    };
    ranks::any(false);
    let folder = match first {
        Some(folder) => folder,
        None => RunFolder::look(&args.dir)?,
    };
    ranks::must_agree(|| {
        [
            ("program", ranks::program_sum()),
            ("plan", crc32fast::hash(format!("{:?}", folder.plan).as_bytes())),
        ]
    })?;
    let mut settings = folder.plan.settings(0)?;
    // The adapters with which the run began were those of another number of ranks.
    let are_others = args.adapter.is_some() || args.devices.is_some() || ranks::ranks().is_some();
    if are_others {
        let names = AdapterRequest::named(args.adapter.as_deref().unwrap_or_default()).names;
        settings.devices = args.devices.unwrap_or(DeviceCount::of_names(names.len()));
        settings.adapter.names = names;
        if settings.devices == DeviceCount::Auto {
            return Err(Error::value("--devices", "auto", "a number here").into());
        }
    }
    let Plan { n, files, .. } = folder.plan;
    let choice = match ranks::ranks() {
        None => None,
        Some(ranks) => {
            let choice = together::choose_for_resume(ranks, n, &mut settings)?;
            let rows = record::rows(&choice, &settings, n, files);
            Some(Choice { rows, ..choice })
        }
    };
    let rows = choice.as_ref().and_then(|choice| choice.rows.as_ref());
    let mut found = folder.last_whole(rows, ranks::first_problem)?;
    settings.steps_before = found.step;
    let sum = if rows.is_none() { run::sum_of(&found.snapshot) } else { found.step as u32 };
    ranks::must_agree(|| [("snapshot", sum)])?;
    let damaged = found.damaged.iter();
    let damaged =
        damaged.map(|error| format!("damaged snapshot, going back to the one before: {error}"));
    found.snapshot.notes.extend(damaged);
    print::notes(&found.snapshot.notes);
    if !args.json {
        let (step, steps) = (found.step, folder.plan.steps);
        print::text(&format!(
            "resuming from step {step} of {steps}, t = {}\n",
            found.snapshot.time
        ))?;
    }
    let waiting = print::waiting("first forces");
    let restart = restart_of(&found.snapshot);
    let restart = restart.as_ref();
    let bodies = std::mem::take(&mut found.snapshot.bodies);
    let mut sim = match choice {
        None => Simulation::builder(bodies, settings).restart(restart).build()?,
        Some(choice) => {
            Simulation::builder(bodies, settings).choice(choice).restart(restart).build()?
        }
    };
    found.snapshot.bodies = sim.bodies()?;
    drop(waiting);
    if let ([was], Some(gpu)) = (folder.plan.adapter.as_slice(), &sim.choice().gpu)
        && !are_others
        && !was.is(&gpu.adapter.identity())
    {
        let is = gpu.adapter.identity();
        print::note(&format!("the adapter {was} is not present, continuing with {is}"));
    }
    interrupt::save_on_signal();
    let log = match ranks::is_root() {
        true => {
            let initial = energy_initial(&found.snapshot);
            Some(EnergyLog::open(&args.dir, Some(found.step))?.relative_to(initial))
        }
        false => None,
    };
    if log.as_ref().is_some_and(EnergyLog::lacks_beginning) {
        let note = format!(
            "energy.csv lacks its first rows; {}",
            match energy_initial(&found.snapshot) {
                Some(_) =>
                    "errors in those that follow are relative to the run's beginning, which the snapshot stores",
                None => "the energy at the beginning is lost, and so are errors relative to it",
            }
        );
        print::note(&note);
        found.snapshot.notes.push(note);
    }
    let log_state = match &log {
        Some(log) => (log.ends_with(found.step)?, log.initial()),
        None => (false, None),
    };
    let (ends_here, initial): (bool, Option<f64>) =
        serde_json::from_str(&ranks::broadcast(serde_json::to_string(&log_state)?)?)?;
    let log = log.unwrap_or_else(|| EnergyLog::elsewhere(ends_here, initial));
    together::watch_ranks()?;
    run::record(&mut sim, &folder, log, found.snapshot, args.json)
}
