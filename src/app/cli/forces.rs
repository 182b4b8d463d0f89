//! `gravitile forces`: one evaluation, as a table.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;

use super::derivatives::{self, DerivativeOptions, lists_path};
use super::input::InputOptions;
use super::options::{EngineOptions, fresh};
use super::{Ended, print, progress};
use crate::error::Error;
use crate::files;
use crate::force::{
    Cpu, ForceEngine, Forces, GpuEngine, Identity, Reference, Sinks, Sources, Want, check_softening,
};
use crate::measure::{acceleration_errors, potential_errors};
use crate::sim::{EngineKind, Settings, choose};

/// Compute accelerations and potentials once, derivatives and neighbours if wanted: id,ax,ay,az,potential
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
    pub(super) input: InputOptions,
    /// Plummer softening length; what suits the bodies if left out
    #[arg(long, value_name = "E")]
    eps: Option<f64>,
    /// Where to write the table
    #[arg(long, value_name = "FILE.csv")]
    pub(super) out: Option<PathBuf>,
    /// Replace what is there
    #[arg(long)]
    force: bool,
    /// Also compute with the f64 reference and tell the difference
    #[arg(long)]
    pub(super) compare: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) derivatives: DerivativeOptions,
    #[command(flatten)]
    pub(super) engine: EngineOptions,
}

pub fn main(args: &Args) -> Result<Ended> {
    let settings = Settings {
        engine: args.engine.kind()?,
        adapter: args.engine.adapter.wish(),
        kernel: args.engine.kernel.wish(),
        ..Settings::default()
    };
    if let Some(eps) = args.eps {
        check_softening(eps)?;
    }
    args.derivatives.check()?;
    let with_derivatives = args.derivatives.wanted()?;
    // What no engine has is refused before the bodies are made.
    let direct = match with_derivatives {
        true => Some(derivatives::engine(&settings, args.derivatives.tier()?)?),
        false => None,
    };
    if let Some(path) = &args.out {
        fresh(path, args.force)?;
        if args.derivatives.neighbours.is_some() {
            fresh(&lists_path(path), args.force)?;
        }
    }
    let input = args.input.load(args.eps)?;
    let eps = args.eps.unwrap_or(input.run.softening);
    check_softening(eps)?;
    let bodies = &input.snapshot.bodies;
    let g = input.snapshot.units.gravitational_constant;
    let mass: Vec<f64> = bodies.mass.iter().map(|mass| mass * g).collect();
    if let Some(mut engine) = direct {
        return derivatives::main(args, engine.as_mut(), bodies, &mass, eps);
    }
    let choice = pollster::block_on(choose(bodies.len(), &settings))?;
    let mut engine: Box<dyn ForceEngine> = match (choice.kind, choice.gpu) {
        (EngineKind::Gpu, Some(gpu)) => Box::new(GpuEngine::new(gpu, settings.kernel)),
        (EngineKind::Reference, _) => Box::new(Reference),
        _ => Box::new(Cpu::new()),
    };
    let sources = Sources { position: &bodies.position, mass: &mass };
    let sinks = Sinks { position: &bodies.position, identity: Identity::Offset(0) };
    let want = Want::AccelerationAndPotential;
    let mut found = Forces::default();
    let waiting = progress::waiting("forces");
    let evaluated = engine.evaluate(&sinks, &sources, eps, want, &mut found);
    evaluated.map_err(|error| error.with_ids(&bodies.id))?;

    let halves = found.potential.iter().zip(&bodies.mass).map(|(phi, m)| 0.5 * m * phi);
    let potential_energy = crate::math::sum(halves);
    let errors = if args.compare {
        let mut right = Forces::default();
        Reference.evaluate(&sinks, &sources, eps, want, &mut right)?;
        Some((
            acceleration_errors(&found.acceleration, &right.acceleration),
            potential_errors(&found.potential, &right.potential),
        ))
    } else {
        None
    };
    drop(waiting);
    if let Some(path) = &args.out {
        write(path, &bodies.id, &found)?;
    }
    if args.json {
        print::json(&json!({
            "n": bodies.len(),
            "softening": eps,
            "engine": engine.name(),
            "configuration": engine.describe(),
            "total_mass": bodies.total_mass(),
            "potential_energy": potential_energy,
            "acceleration_rms_error": errors.map(|(a, _)| a.rms),
            "acceleration_worst_error": errors.map(|(a, _)| a.worst),
            "potential_rms_error": errors.map(|(_, p)| p.rms),
            "out": args.out.as_ref().map(|path| path.display().to_string()),
        }))?;
        return Ok(Ended::Done);
    }
    let mut text = format!("{} bodies, eps {eps}, engine {}\n", bodies.len(), engine.name());
    text += &format!("computed on {}\n", engine.describe());
    text += &format!("potential energy {potential_energy}\n");
    if let Some((acceleration, potential)) = errors {
        text += &format!(
            "against f64: acceleration rms {:.2e}, worst {:.2e}; potential rms {:.2e}, worst {:.2e}\n",
            acceleration.rms, acceleration.worst, potential.rms, potential.worst
        );
    }
    if let Some(path) = &args.out {
        text += &format!("wrote {}\n", path.display());
    }
    print::text(&text)?;
    Ok(Ended::Done)
}

/// Writes the table whole or not at all.
fn write(path: &Path, id: &[u64], forces: &Forces) -> Result<(), Error> {
    files::replace_with(path, |out| {
        writeln!(out, "id,ax,ay,az,potential")?;
        for ((id, a), phi) in id.iter().zip(&forces.acceleration).zip(&forces.potential) {
            writeln!(out, "{id},{},{},{},{phi}", a.x, a.y, a.z)?;
        }
        Ok(())
    })
}
