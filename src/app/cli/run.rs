//! `gravitile run`: a simulation recorded in a folder.

use anyhow::Result;
use serde_json::json;
use web_time::Instant;

use super::blocks::{
    blocks_in_words, blocks_json, step_in_words, steps_in_words, varying_in_words, varying_json,
    warning_in_words,
};
use super::options::check_output;
use super::{Ended, interrupt, print, together};
use crate::ranks;
use gravitile::diagnostics::Diagnostics;
use gravitile::error::Error;
use gravitile::gpu::DeviceCount;
use gravitile::input::build_rows;
use gravitile::messages;
use gravitile::record::{self, EnergyLog, EnergyWarning, Outcome, Plan, Prepared, RunFolder};
use gravitile::scene::Scene;
use gravitile::settings::RunRequest;
use gravitile::sim::{
    Choice, EngineKind, EvenSteps, LONGEST, Settings, Simulation, even_steps, run_steps,
};
use gravitile::snapshot::Snapshot;
use gravitile::units::{Measure, Units};

/// Simulate, and save snapshots and an energy log in a folder
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  gravitile run plummer -n 10000 --eps 0.01 --dt 0.001 --until 10 --every 1 --out run/
  gravitile run galaxy.bin --until 20 --out run/ --json
  gravitile run plummer -n 1000 --eps 0 --integrator hermite6 --until 1 --out run/
  gravitile run disk-galaxy --throw body:mass=0.3,x=6,vy=0.4 --out run/
  gravitile resume run/                            after any interruption"
)]
pub struct Args {
    #[command(flatten)]
    run: RunRequest,
    /// Print one JSON object at the end
    // Without this, clap would list it under the heading of the previous group.
    #[arg(long, help_heading = None)]
    json: bool,
}

pub fn main(args: &Args) -> Result<Ended> {
    let as_json = args.json;
    let args = &args.run;
    args.steps.check()?;
    args.engine.by.chosen()?;
    check_output(&args.out, true)?;
    if let Some(until) = args.until
        && !until.is_finite()
    {
        return Err(Error::value("--until", until, "a finite time").into());
    }
    let (mut input, scene) = match ranks::ranks().filter(|ranks| ranks.size() > 1) {
        Some(_) if args.thrown.throw.is_empty() => args.input.describe(args.steps.eps)?,
        _ => {
            args.input.check_memory()?;
            (args.input.load(args.steps.eps)?, None)
        }
    };
    let mut settings = args.steps.settings(&mut input, &args.engine)?;
    input.throw_in(&args.thrown.throw, settings.softening)?;
    let n = scene.as_ref().and_then(Scene::n).unwrap_or(input.snapshot.bodies.len());
    print::notes(&input.snapshot.notes);
    args.files.check(n)?;
    // Bodies with individual steps all meet at multiples of dt_max: use these times unless --dt is
    // given.
    if settings.integrator.has_block_steps() && args.steps.dt.is_none() {
        settings.dt = settings.blocks.dt_max;
    }
    // The bodies need to be at one time only for snapshots.
    if settings.auto_dt.is_some() {
        settings.dt *= LONGEST;
    }
    let start = settings.start;
    let until = args.until.unwrap_or(start + input.run.until);
    if !(until > start) {
        let allowed = format!("later than the start of the run, {start}");
        return Err(Error::value("--until", until, allowed).into());
    }
    let requested_dt = settings.dt;
    let even = whole_steps((start, until), args, &mut settings)?;
    let dt = settings.dt;
    let mut choices: Vec<String> = input.chosen.iter().cloned().collect();
    if dt != requested_dt {
        let what = match (settings.integrator.has_block_steps(), settings.auto_dt) {
            (true, _) => "bodies are synchronised every",
            (false, None) => "steps of",
            (false, Some(_)) => "steps of at most",
        };
        choices.push(format!(
            "{what} {dt} instead of {requested_dt}, of which the run and the time between snapshots are whole numbers"
        ));
    }
    if !as_json {
        for choice in &choices {
            print::text(&format!("{choice}\n"))?;
        }
    }
    input.snapshot.notes.extend(choices);
    ranks::must_agree(|| {
        [
            ("program", ranks::program_sum()),
            ("command line", crc32fast::hash(format!("{args:?}").as_bytes())),
            ("input", sum_of(&input.snapshot)),
            ("scene", crc32fast::hash(format!("{scene:?}").as_bytes())),
        ]
    })?;
    // Only the first rank writes.
    let prepared = match ranks::is_root() {
        true => {
            let prepared = RunFolder::prepare(&args.out)?;
            warn_unprotected(prepared.unprotected());
            let (out, made_here) = (args.out.clone(), prepared.made_here());
            interrupt::clean_up(move || Prepared::sweep(&out, made_here));
            Some(prepared)
        }
        false => None,
    };

    let facts = &mut input.snapshot.attributes;
    facts.insert("softening".to_owned(), settings.softening.to_string());
    record::set_step(facts, &settings);
    facts.insert("step".to_owned(), "0".to_owned());
    facts.insert("integrator".to_owned(), settings.integrator.name.to_owned());
    let waiting = print::waiting("first forces");
    let mut choice = together::choose(n, &mut settings)?;
    note_unused_adapter(&choice, &settings);
    if settings.devices == DeviceCount::Auto
        && let Some(why) = &choice.devices_reason
    {
        print::note(why);
    }
    choice.rows = record::rows(&choice, &settings, n, args.files);
    let bodies = match (scene, &choice.ranks) {
        (Some(scene), Some(ranks)) => build_rows(&scene, choice.rows.as_ref(), ranks)?,
        _ => {
            choice.rows.iter().for_each(|rows| input.snapshot.keep(&rows.own));
            std::mem::take(&mut input.snapshot.bodies)
        }
    };
    let mut sim = Simulation::builder(bodies, settings).choice(choice).build()?;
    drop(waiting);
    // A device rounds bodies to f32 before the first step; the first snapshot holds the rounded
    // ones.
    input.snapshot.bodies = sim.bodies()?;
    record::set_restart(&mut input.snapshot, sim.restart());
    let per_snapshot = match args.every {
        Some(_) => even.per_output,
        None => even.steps.div_ceil(10).max(1),
    };
    let mut plan = Plan::of(&sim, args.input.input.clone(), even.steps, per_snapshot)
        .in_units(&input.snapshot.units);
    (plan.files, plan.throw) = (args.files, args.thrown.throw.clone());
    interrupt::save_on_signal();
    let (folder, log) = match prepared {
        Some(prepared) => (prepared.begin_later(plan), EnergyLog::begin(&args.out)),
        None => (RunFolder::begin_elsewhere(&args.out, plan), EnergyLog::elsewhere(false, None)),
    };
    together::watch_ranks()?;
    record(&mut sim, &folder, log, input.snapshot, as_json)
}

/// Says that the requested adapter computes nothing, if `auto` chose the CPU.
pub fn note_unused_adapter(choice: &Choice, settings: &Settings) {
    if settings.adapter.is_certain()
        && settings.engine == EngineKind::Auto
        && choice.kind != EngineKind::Gpu
    {
        print::note(&format!(
            "the forces are computed by the engine {} and not by the adapter of --adapter, for which --engine gpu asks: {}",
            choice.kind.name(),
            choice.because()
        ));
    }
}

/// A checksum of the bodies, which every rank reads or generates by itself.
pub fn sum_of(snapshot: &Snapshot) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    let bodies = &snapshot.bodies;
    for vectors in [&bodies.position, &bodies.velocity] {
        for vector in vectors {
            vector.to_array().iter().for_each(|x| sum.update(&x.to_le_bytes()));
        }
    }
    bodies.mass.iter().for_each(|mass| sum.update(&mass.to_le_bytes()));
    sum.update(&snapshot.time.to_le_bytes());
    sum.finalize()
}

/// Warns that the folder cannot be locked against a second process.
pub fn warn_unprotected(why: Option<&str>) {
    if let Some(why) = why {
        print::note(&format!(
            "the run's folder cannot be locked ({why}): make sure that no other process works in it"
        ));
    }
}

/// Steps of which the run and the time between snapshots are whole numbers; shortens `dt` to fit.
/// Without `--until`, the end of the run is moved to a multiple of `--every`.
///
/// # Errors
/// A time between snapshots that fits no such step; more steps than can be counted.
fn whole_steps(
    (start, until): (f64, f64),
    args: &RunRequest,
    settings: &mut Settings,
) -> Result<EvenSteps, Error> {
    let (span, every, dt) = (until - start, args.every, settings.dt);
    if let Some(every) = every
        && !(every.is_finite() && every > 0.0)
    {
        return Err(Error::value("--every", every, "finite and greater than 0"));
    }
    run_steps(start, until, dt)?;
    let even = even_steps(span, every, dt).or_else(|| {
        let every = every.filter(|_| args.until.is_none())?;
        even_steps((span / every).round() * every, Some(every), dt)
    });
    let Some(even) = even else {
        let every = every.unwrap_or(span);
        let allowed = format!(
            "such that it and the run's length, {span}, are whole numbers of the same time step, between {dt} and a tenth of that ({} for example)",
            span / (span / every).round()
        );
        return Err(Error::value("--every", every, allowed));
    };
    settings.dt = even.dt;
    settings.validate()?;
    run_steps(start, start + even.steps as f64 * even.dt, even.dt)?;
    Ok(even)
}

/// Runs to the end of the plan or to Ctrl-C, and reports how it went. `first` is the snapshot from
/// which it continues.
pub fn record(
    sim: &mut Simulation,
    folder: &RunFolder,
    mut log: EnergyLog,
    first: Snapshot,
    as_json: bool,
) -> Result<Ended> {
    if let Some(frame) = sim.frame() {
        log::info!("f32 numbers on the device: {frame}");
    }
    let near = sim.closer_than_f32(&first.bodies)?;
    let template = &record::template(&first);
    folder.hold_first(first);
    if !as_json {
        print::text(&format!(
            "{}, eps {}, dt {}, {}, engine {} ({})\n",
            crate::bodies(sim.len()),
            sim.settings().softening,
            step_in_words(sim.settings()),
            template.units,
            sim.choice().kind.name(),
            sim.describe_engine()
        ))?;
        if !sim.settings().field.is_empty() {
            print::text(&format!("in the external field {}\n", sim.settings().field))?;
        }
        if near > 0 {
            print::text(&format!("at the beginning {}\n", too_near(near, sim.len())))?;
        }
    }
    let begun = Instant::now();
    let bar = print::bar(folder.plan.steps, "steps");
    bar.set_position(sim.steps());
    let mut at_first = true;
    let mut watch = |steps| {
        if std::mem::take(&mut at_first) {
            log::info!("step {steps} is done");
        }
        bar.set_position(steps);
        !interrupt::requested()
    };
    let settings = sim.settings().clone();
    let mut warnings = Vec::new();
    let mut warn = |warning: &EnergyWarning| {
        let text = warning_in_words(warning, &settings);
        bar.suspend(|| print::note(&text));
        warnings.push(text);
    };
    let outcome = record::run(sim, folder, &mut log, template, &mut watch, &mut warn)?;
    bar.finish_and_clear();
    together::end_watch();
    let wall_secs = begun.elapsed().as_secs_f64();
    match as_json {
        true => print::json(&as_object(sim, folder, (template, &warnings), &outcome, wall_secs))?,
        false => report(sim, (folder, &template.units), &outcome, wall_secs)?,
    }
    Ok(if outcome.complete { Ended::Done } else { Ended::Interrupted })
}

/// Describes bodies that f32 coordinates cannot tell apart.
fn too_near(near: usize, n: usize) -> String {
    format!(
        "{near} of {n} bodies are closer to another than f32 coordinates can resolve: the force between the two is rounding error (--precision double on the CPU resolves them)"
    )
}

/// (E - E0) / |E0| at the end, if both are known.
fn energy_error(outcome: &Outcome) -> Option<f64> {
    let total = outcome.last.as_ref()?.energy();
    Some(gravitile::diagnostics::relative_change(total, outcome.energy_initial?))
}

/// The report for scripts. Vectors are arrays of x, y and z.
fn as_object(
    sim: &mut Simulation,
    folder: &RunFolder,
    (template, warnings): (&Snapshot, &[String]),
    outcome: &Outcome,
    wall_secs: f64,
) -> serde_json::Value {
    let seed = template.attributes.get("seed").and_then(|seed| seed.parse::<u64>().ok());
    let last = outcome.last.as_ref();
    json!({
        "n": sim.len(),
        "units": template.units,
        "seed": seed,
        "softening": sim.settings().softening,
        "dt": sim.settings().dt,
        "varying_step": sim.varying().map(varying_json),
        "integrator": sim.settings().integrator.name,
        "field": sim.settings().field,
        "field_potential": last.and_then(|last| Some(last.field?.potential)),
        "steps": sim.steps(),
        "time": sim.time(),
        "complete": outcome.complete,
        "energy_initial": outcome.energy_initial,
        "energy_final": last.map(Diagnostics::energy),
        "energy_error": energy_error(outcome),
        "momentum": last.map(|last| last.momentum.to_array()),
        "angular_momentum": last.map(|last| last.angular_momentum.to_array()),
        "interactions": sim.interactions(),
        "wall_secs": wall_secs,
        "engine": sim.choice().kind.name(),
        "method": sim.choice().method.name(),
        "adapter": sim.choice().gpu.as_ref().map(|gpu| gpu.adapter.name.clone()),
        "configuration": sim.describe_engine(),
        "blocks": sim.blocks().map(blocks_json),
        "closer_than_f32": outcome.closer_than_f32,
        "notes": template.notes,
        "warnings": warnings,
        "out": folder.path.display().to_string(),
    })
}

fn report(
    sim: &mut Simulation,
    (folder, units): (&RunFolder, &Units),
    outcome: &Outcome,
    wall_secs: f64,
) -> Result<()> {
    let near = outcome.closer_than_f32;
    let rate = sim.interactions() as f64 / wall_secs / 1e9;
    // Few bodies have few interactions per second: show three digits in the unit that fits.
    let rate = if rate < 0.1 { format!("{:.3} M", rate * 1e3) } else { format!("{rate:.2} G") };
    // A multiple of a decimal step is not exact in binary, which would show from the 16th digit on.
    let time = messages::rounded(sim.time(), 12);
    let Measure { factor, name } = Measure::of(&units.time);
    let named = match (name.as_str(), factor == 1.0) {
        ("", _) => String::new(),
        (name, true) => format!(" {name}"),
        (name, false) => format!(" ({:.6} {name})", time * factor),
    };
    let mut text = format!("t = {time}{named} after {}, ", steps_in_words(sim));
    if let (Some(error), Some(last)) = (energy_error(outcome), &outcome.last) {
        text += &format!("energy error {error:.2e}, ");
        // Bodies without mass have no potential energy.
        if last.virial_ratio().is_finite() {
            text += &format!("2K/|W| {:.3}, ", last.virial_ratio());
        }
    }
    text += &format!("{rate} interactions/s\n");
    if let Some(steps) = sim.blocks() {
        text += &blocks_in_words(steps);
    }
    if let Some(step) = sim.varying().filter(|step| step.steps() > 0) {
        text += &varying_in_words(step);
    }
    if near > 0 {
        text += &format!("at the end {}\n", too_near(near, sim.len()));
    }
    text += &format!("snapshots and energy.csv are in {}\n", folder.path.display());
    if !outcome.complete {
        text += &format!("stopped; resume with: gravitile resume {}\n", folder.path.display());
    }
    print::text(&text)
}
