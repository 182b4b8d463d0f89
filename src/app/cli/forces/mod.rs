//! `gravitile forces`: one evaluation, as a table.

mod derivatives;
mod report;

use std::path::PathBuf;

use anyhow::Result;

use super::options::fresh;
use super::{Ended, print, progress};
use crate::app::lookup;
use crate::bodies::Bodies;
use crate::error::Error;
use crate::files::replace_with;
use crate::forces::direct::Reference;
use crate::forces::{
    self, Answers, ForceEngine, Identity, Order, Precision, Sinks, Sources, Tools, Want, Within,
    check_softening,
};
use crate::gpu::Gpu;
use crate::settings::{EngineRequest, InputRequest};
use crate::sim::{EngineKind, Settings, direct_engine};
use derivatives::{DerivativeOptions, lists_path};
use report::{Report, compare, list, table};

/// Compute accelerations and potentials once, and on request derivatives and neighbours: id,ax,ay,az,potential
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  gravitile forces plummer -n 1000 --eps 0.05 --out acc.csv
  gravitile forces galaxy.bin --engine gpu --compare --out acc.csv
  gravitile forces plummer -n 1000 --eps 0 --jerk --snap --neighbours 0.1 --out acc.csv"
)]
pub struct Args {
    #[command(flatten)]
    input: InputRequest,
    /// Plummer softening length; what suits the bodies if left out
    #[arg(long, value_name = "E")]
    eps: Option<f64>,
    /// Where to write the table
    #[arg(long, value_name = "FILE.csv")]
    out: Option<PathBuf>,
    /// Replace what is there
    #[arg(long)]
    force: bool,
    /// Also compute with the f64 reference and report the difference
    #[arg(long)]
    compare: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    derivatives: DerivativeOptions,
    #[command(flatten)]
    engine: EngineRequest,
}

pub fn main(args: &Args) -> Result<Ended> {
    let mut settings = args.engine.settings()?;
    if let Some(eps) = args.eps {
        check_softening(eps)?;
    }
    let options = &args.derivatives;
    options.check()?;
    // What no engine has is refused before the bodies are made.
    let with_derivatives = match options.wanted()? {
        true => Some(engine_with_derivatives(&settings, options.tier()?)?),
        false => None,
    };
    let plain = with_derivatives.is_none();
    let lists = args.out.as_deref().filter(|_| options.neighbours.is_some()).map(lists_path);
    for path in args.out.iter().chain(&lists) {
        fresh(path, args.force)?;
    }
    let input = args.input.load(args.eps)?;
    let eps = args.eps.unwrap_or(input.run.softening);
    check_softening(eps)?;
    let bodies = &input.snapshot.bodies;
    let mass = bodies.gravitating_mass(input.snapshot.units.gravitational_constant);
    let mut engine = match with_derivatives {
        Some(engine) => engine,
        None => plain_engine(&mut settings, bodies.len())?,
    };
    let radius = vec![options.neighbours.unwrap_or(0.0); bodies.len()];
    let within = Within { radius: &radius, capacity: options.capacity };
    let want = Want {
        order: options.order(),
        potential: true,
        nearest: options.neighbours.is_some(),
        within: options.neighbours.map(|_| within),
    };
    let waiting = progress::waiting("forces");
    let found = all_on_all(engine.as_mut(), bodies, &mass, eps, &want)?;
    let errors = match args.compare {
        true => {
            let right = all_on_all(&mut Reference::default(), bodies, &mass, eps, &want)?;
            compare(&found, &right)
        }
        false => Vec::new(),
    };
    drop(waiting);
    if let Some(path) = &args.out {
        replace_with(path, |out| table(out, options, bodies, &found))?;
    }
    if let Some(path) = &lists {
        replace_with(path, |out| list(out, bodies, &found))?;
    }
    let report = Report {
        bodies,
        eps,
        engine: engine.as_ref(),
        plain,
        capacity: options.capacity,
        found: &found,
        errors,
        out: args.out.as_deref(),
        lists: lists.as_deref(),
    };
    match args.json {
        true => print::json(&report.json())?,
        false => print::text(&report.text())?,
    }
    Ok(Ended::Done)
}

/// The engine that is asked for, in that tier; the CPU's where it may be any.
///
/// Errors: a tier that it does not have, an adapter that is not there.
fn engine_with_derivatives(
    settings: &Settings,
    tier: Option<Precision>,
) -> Result<Box<dyn ForceEngine>, Error> {
    let (kind, method) = settings.engine.by(settings.method)?;
    let gpu = match kind {
        EngineKind::Gpu => Some(Gpu::open_blocking(&settings.adapter)?),
        _ => None,
    };
    direct_engine(kind, method, gpu.as_ref(), tier)
}

/// The engine for accelerations and potentials of `n` bodies.
fn plain_engine(settings: &mut Settings, n: usize) -> Result<Box<dyn ForceEngine>, Error> {
    let choice = lookup::choose(n, settings)?;
    let tools = Tools { gpu: choice.gpu.as_ref(), kernel: settings.kernel };
    forces::make(choice.kind.place(), choice.method, None, Order::Acceleration, &tools)
}

/// Everything that `want` says. Snaps need the accelerations first.
fn all_on_all(
    engine: &mut dyn ForceEngine,
    bodies: &Bodies,
    mass: &[f64],
    eps: f64,
    want: &Want,
) -> Result<Answers, Error> {
    let (position, velocity) = (&bodies.position[..], &bodies.velocity[..]);
    let mut found = Answers::default();
    let identity = Identity::Offset(0);
    let with_ids = |error: Error| error.with_ids(&bodies.id);
    let mut acceleration = Vec::new();
    if want.order == Order::Snap {
        engine
            .set_sources(&Sources { position, velocity, acceleration: &[], mass })
            .map_err(with_ids)?;
        let sinks = Sinks { position, velocity, acceleration: &[], identity };
        let want = Want::only(Order::Acceleration);
        engine.evaluate(&sinks, eps, &want, &mut found).map_err(with_ids)?;
        acceleration = std::mem::take(&mut found.acceleration);
    }
    let acceleration = &acceleration[..];
    engine.set_sources(&Sources { position, velocity, acceleration, mass }).map_err(with_ids)?;
    let sinks = Sinks { position, velocity, acceleration, identity };
    engine.evaluate(&sinks, eps, want, &mut found).map_err(with_ids)?;
    Ok(found)
}
