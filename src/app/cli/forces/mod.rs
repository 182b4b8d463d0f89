//! `gravitile forces`: one evaluation of the forces, as a table.

mod evaluation;
mod report;

use std::path::PathBuf;

use anyhow::Result;

use super::options::{OwnKernel, check_overwrite};
use super::{Ended, print, progress};
use crate::lookup;
use evaluation::{DerivativeOptions, Evaluation, lists_path};
use gravitile::error::Error;
use gravitile::files::replace_with;
use gravitile::forces::direct::Reference;
use gravitile::forces::{self, ForceEngine, Forces, Order, Precision, Tools, check_softening};
use gravitile::gpu::Gpu;
use gravitile::messages::any_of;
use gravitile::settings::{EngineRequest, InputRequest};
use gravitile::sim::{EngineKind, Settings, direct_engine};
use report::{Report, compare, list, table};

/// Compute accelerations and potentials once, optionally derivatives and neighbours:
/// id,ax,ay,az,potential
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
    /// Plummer softening length [default: chosen to suit the bodies]
    #[arg(long, value_name = "E")]
    eps: Option<f64>,
    /// File to write the table to
    // Not part of a group: without `help_heading = None` clap would list these under the heading of
    // the previous group.
    #[arg(long, value_name = "FILE.csv", help_heading = None)]
    out: Option<PathBuf>,
    /// Replace the output if it exists
    #[arg(long, help_heading = None)]
    force: bool,
    /// Also compute the forces with the f64 reference and report the difference
    #[arg(long, help_heading = None)]
    compare: bool,
    /// Print one JSON object
    #[arg(long, help_heading = None)]
    json: bool,
    #[command(flatten)]
    derivatives: DerivativeOptions,
    #[command(flatten)]
    engine: EngineRequest,
    #[command(flatten)]
    own: OwnKernel,
}

pub fn main(args: &Args) -> Result<Ended> {
    let mut engine = args.engine.clone();
    args.own.apply(&mut engine.by, &mut engine.kernel)?;
    let mut settings = engine.settings()?;
    settings.check_one_device()?;
    let options = &args.derivatives;
    args.eps.map_or(Ok(()), check_softening)?;
    options.check()?;
    // Opened before the bodies are made, since it may not have the requested tier.
    let with_derivatives = match options.are_requested()? {
        true => Some(engine_with_derivatives(&settings, options)?),
        false => None,
    };
    let plain = with_derivatives.is_none();
    let files = Files::of(args)?;
    let input = args.input.load(args.eps)?;
    print::notes(&input.snapshot.notes);
    let evaluation = Evaluation::of(&input, args.eps, options)?;
    let engine = match with_derivatives {
        Some(engine) => engine,
        None => plain_engine(&mut settings, evaluation.bodies.len())?,
    };
    let mut engine = evaluation.in_field(engine);
    let waiting = progress::waiting("forces");
    let found = evaluation.by(engine.as_mut())?;
    let errors = match args.compare {
        true => {
            let mut reference = evaluation.in_field(Box::new(Reference::default()));
            compare(&found, &evaluation.by(reference.as_mut())?)
        }
        false => Vec::new(),
    };
    drop(waiting);
    files.write(&evaluation, &found)?;
    let report = Report {
        evaluation: &evaluation,
        notes: &input.snapshot.notes,
        engine: engine.as_ref(),
        plain,
        found: &found,
        errors,
        files: &files,
    };
    match args.json {
        true => print::json(&report.json())?,
        false => print::text(&report.text())?,
    }
    Ok(Ended::Done)
}

/// Where the tables go.
struct Files {
    out: Option<PathBuf>,
    /// Where the lists of neighbours go.
    lists: Option<PathBuf>,
}

impl Files {
    /// The requested files.
    ///
    /// # Errors
    /// One that exists and may not be replaced.
    fn of(args: &Args) -> Result<Self, Error> {
        let out = args.out.clone();
        let with_lists = args.derivatives.neighbours.is_some();
        let lists = out.as_deref().filter(|_| with_lists).map(lists_path);
        for path in out.iter().chain(&lists) {
            check_overwrite(path, args.force)?;
        }
        Ok(Self { out, lists })
    }

    fn write(&self, evaluation: &Evaluation, found: &Forces) -> Result<(), Error> {
        let Evaluation { bodies, options, .. } = evaluation;
        if let Some(path) = &self.out {
            replace_with(path, |out| table(out, options, bodies, found))?;
        }
        if let Some(path) = &self.lists {
            replace_with(path, |out| list(out, bodies, found))?;
        }
        Ok(())
    }
}

/// The requested engine in the requested tier; the CPU's if any engine will do.
///
/// # Errors
/// A tier that the engine does not have; an adapter that is not present.
fn engine_with_derivatives(
    settings: &Settings,
    options: &DerivativeOptions,
) -> Result<Box<dyn ForceEngine>, Error> {
    let tier = options.tier()?;
    let (kind, method) = settings.engine.by(settings.method)?;
    if let (false, Some(tier)) = (options.needs_more(), tier)
        && forces::tiers(kind.placement(), method, Order::Snap).is_empty()
    {
        let has = forces::tiers(kind.placement(), method, Order::Acceleration);
        let has = any_of(&has.into_iter().map(Precision::name).collect::<Vec<_>>());
        let allowed = format!("{has} with the method {}", method.name());
        return Err(Error::value("the precision", tier.name(), allowed));
    }
    let gpu = match kind {
        EngineKind::Gpu => Some(Gpu::open_blocking(&settings.adapter)?),
        _ => None,
    };
    let shapes = gpu.as_ref().map(|gpu| lookup::known().shapes(gpu));
    direct_engine(kind, method, gpu.as_ref(), shapes.as_ref(), tier)
}

/// The engine for accelerations and potentials of `n` bodies: all pairs unless a method is
/// requested.
fn plain_engine(settings: &mut Settings, n: usize) -> Result<Box<dyn ForceEngine>, Error> {
    if settings.tree.rebuild.keeps() {
        let allowed = "left out: a single evaluation builds its own tree";
        return Err(Error::value("--rebuild", settings.tree.rebuild, allowed));
    }
    // A table of forces is taken for exact, however many bodies there are: the tree must be
    // requested.
    let (_, method) = settings.engine.by(settings.method)?;
    settings.method = Some(method);
    let choice = lookup::choose(n, settings)?;
    let (kernel, tree) = (settings.kernel, settings.tree);
    let tools = Tools { gpu: choice.gpu.as_ref(), kernel, tree, ..Tools::default() };
    forces::make(choice.kind.placement(), choice.method, None, Order::Acceleration, &tools)
}
