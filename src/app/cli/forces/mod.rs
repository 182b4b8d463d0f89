//! `gravitile forces`: one evaluation of the forces, as a table.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::options::{OwnKernel, check_output};
use super::{Ended, print};
use crate::lookup;
use gravitile::bodies::Bodies;
use gravitile::error::Error;
use gravitile::field::Field;
use gravitile::files::replace_with;
use gravitile::forces::direct::Reference;
use gravitile::forces::{
    self, ForceEngine, Forces, Identity, InField, NO_SOURCE, Order, Outputs, Precision, Sinks,
    Sources, Within, check_softening,
};
use gravitile::gpu::Gpu;
use gravitile::input::Input;
use gravitile::measure::{ErrorStats, ForceErrors};
use gravitile::messages::any_of;
use gravitile::settings::{EngineRequest, InputRequest};
use gravitile::sim::{EngineKind, Settings, direct_engine};

/// Compute accelerations and potentials once, optionally derivatives and neighbours:
/// id,ax,ay,az,potential
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    mut_arg("devices", |arg| arg.hide(true)),
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
    let files = TablePaths::of(args)?;
    let input = args.input.load(args.eps)?;
    print::notes(&input.snapshot.notes);
    let evaluation = ForcesTask::of(&input, args.eps, options)?;
    let engine = match with_derivatives {
        Some(engine) => engine,
        None => plain_engine(&mut settings, evaluation.bodies.len())?,
    };
    let mut engine = evaluation.in_field(engine);
    let waiting = print::waiting("forces");
    let found = evaluation.by(engine.as_mut())?;
    let errors = match args.compare {
        true => {
            let mut reference = evaluation.in_field(Box::new(Reference::default()));
            let right = evaluation.by(reference.as_mut())?;
            let errors = ForceErrors::of(&found, &right, options.order()).quantities();
            errors.into_iter().filter_map(|(name, stats)| Some((name, stats?))).collect()
        }
        false => Vec::new(),
    };
    drop(waiting);
    files.write(&evaluation, &found)?;
    let report = ForcesReport {
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
struct TablePaths {
    out: Option<PathBuf>,
    /// Where the lists of neighbours go.
    lists: Option<PathBuf>,
}

impl TablePaths {
    /// The requested files.
    ///
    /// # Errors
    /// One that exists and may not be replaced.
    fn of(args: &Args) -> Result<Self, Error> {
        let out = args.out.clone();
        let with_lists = args.derivatives.neighbours.is_some();
        let lists = out.as_deref().filter(|_| with_lists).map(lists_path);
        for path in out.iter().chain(&lists) {
            check_output(path, args.force)?;
        }
        Ok(Self { out, lists })
    }

    fn write(&self, evaluation: &ForcesTask, found: &Forces) -> Result<(), Error> {
        let ForcesTask { bodies, options, .. } = evaluation;
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
    lookup::engine(n, settings)
}

// What `gravitile forces` found, as text, JSON and tables.

/// One evaluation of all bodies on all.
struct ForcesReport<'a> {
    evaluation: &'a ForcesTask<'a>,
    /// What was assumed about the bodies.
    notes: &'a [String],
    engine: &'a dyn ForceEngine,
    /// Whether the engine computes nothing but accelerations and potentials.
    plain: bool,
    found: &'a Forces,
    /// Differences from f64 by quantity; empty if not compared.
    errors: Vec<(&'static str, ErrorStats)>,
    /// Where the tables were written.
    files: &'a TablePaths,
}

impl ForcesReport<'_> {
    /// Each pair counts once, and so does the external field.
    fn potential_energy(&self) -> f64 {
        let ForcesTask { bodies, field, .. } = self.evaluation;
        let each = self.found.potential.iter().zip(&bodies.mass).zip(&bodies.position);
        gravitile::math::sum(each.map(|((phi, m), x)| 0.5 * m * (phi + field.potential(*x))))
    }

    /// Number of lists that lack some neighbours.
    fn cut(&self) -> usize {
        let lists = &self.found.neighbours;
        (0..lists.len()).filter(|&i| lists.overflowed(i)).count()
    }

    fn json(&self) -> Value {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let mut object = json!({
            "n": self.evaluation.bodies.len(),
            "softening": self.evaluation.eps,
            "engine": self.engine.name(),
            "configuration": self.engine.describe(),
            "total_mass": self.evaluation.bodies.total_mass(),
            "potential_energy": self.potential_energy(),
            "notes": self.notes,
            "out": path(&self.files.out),
        });
        let mut errors = Map::new();
        for (name, stats) in &self.errors {
            errors.insert(format!("{name}_rms_error"), stats.rms.into());
            errors.insert(format!("{name}_worst_error"), stats.worst.into());
        }
        if self.plain {
            // The same keys whether compared or not.
            for key in ["acceleration_rms_error", "acceleration_worst_error", "potential_rms_error"]
            {
                object[key] = errors.remove(key).into();
            }
        } else {
            object["precision"] = self.engine.precision().name().into();
            object["lists_cut_short"] = self.cut().into();
            object["neighbours_out"] = path(&self.files.lists).into();
            for (key, error) in errors {
                object[key] = error;
            }
        }
        object
    }

    fn text(&self) -> String {
        let (n, eps, engine) = (self.evaluation.bodies.len(), self.evaluation.eps, self.engine);
        let mut text = format!("{}, eps {eps}, engine {}\n", crate::bodies(n), engine.name());
        text += &format!("computed on {}\n", engine.describe());
        text += &format!("potential energy {}\n", self.potential_energy());
        let errors = self.errors.iter().map(|(name, ErrorStats { rms, worst })| {
            format!("{name} rms {rms:.2e}, worst {worst:.2e}")
        });
        let errors: Vec<String> = errors.collect();
        // Two quantities fit one line.
        let lines = if self.plain { vec![errors.join("; ")] } else { errors };
        for line in lines.iter().filter(|line| !line.is_empty()) {
            text += &format!("against f64: {line}\n");
        }
        let (cut, most) = (self.cut(), self.evaluation.options.capacity);
        if cut > 0 {
            text += &format!(
                "{cut} bodies have more than {most} neighbours: their lists are cut to that many (--capacity)\n"
            );
        }
        for path in self.files.out.iter().chain(&self.files.lists) {
            text += &format!("wrote {}\n", path.display());
        }
        text
    }
}

/// Writes the table: the columns of plain forces, then whatever else was requested.
fn table(
    out: &mut dyn Write,
    options: &DerivativeOptions,
    bodies: &Bodies,
    found: &Forces,
) -> std::io::Result<()> {
    let mut header = "id,ax,ay,az,potential".to_owned();
    for (requested, columns) in [
        (options.jerk, ",jx,jy,jz"),
        (options.snap, ",sx,sy,sz"),
        (options.neighbours.is_some(), ",nearest_id,nearest_distance,n_neighbours"),
    ] {
        if requested {
            header += columns;
        }
    }
    writeln!(out, "{header}")?;
    for i in 0..bodies.len() {
        let a = found.acceleration[i];
        write!(out, "{},{},{},{},{}", bodies.id[i], a.x, a.y, a.z, found.potential[i])?;
        for (requested, derivative) in [(options.jerk, &found.jerk), (options.snap, &found.snap)] {
            if requested {
                let d = derivative[i];
                write!(out, ",{},{},{}", d.x, d.y, d.z)?;
            }
        }
        if options.neighbours.is_some() {
            match found.nearest[i] {
                NO_SOURCE => write!(out, ",-1,inf,0")?,
                j => {
                    let (id, distance) = (bodies.id[j as usize], found.nearest_distance[i]);
                    write!(out, ",{id},{distance},{}", found.neighbours.found(i))?;
                }
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes one row per body and neighbour.
fn list(out: &mut dyn Write, bodies: &Bodies, found: &Forces) -> std::io::Result<()> {
    writeln!(out, "id,neighbour_id")?;
    for i in 0..bodies.len() {
        for &j in found.neighbours.of(i) {
            writeln!(out, "{},{}", bodies.id[i], bodies.id[j as usize])?;
        }
    }
    Ok(())
}

// What `gravitile forces` computes: one evaluation of the forces of all bodies on all, by any
// engine.

/// What to compute besides accelerations and potentials.
#[derive(Clone, Debug, clap::Args)]
#[command(
    next_help_heading = "Derivatives and neighbours (in f64 on the CPU, in double-single on a GPU)"
)]
struct DerivativeOptions {
    /// Also write the first time derivative of each acceleration: jx,jy,jz
    #[arg(long)]
    pub jerk: bool,
    /// Also write the second time derivative: sx,sy,sz
    #[arg(long)]
    pub snap: bool,
    /// Also write nearest_id, nearest_distance and n_neighbours, the number of bodies within H; the
    /// neighbours' ids go to a second file, FILE.neighbours.csv: id,neighbour_id
    #[arg(long, value_name = "H")]
    pub neighbours: Option<f64>,
    /// Largest number of neighbours listed per body; n_neighbours still counts all
    #[arg(long, value_name = "K", default_value_t = 1024)]
    pub capacity: usize,
    /// Precision of the forces: single, double-single or double; not every engine has all of them
    #[arg(long, value_name = "TIER")]
    pub precision: Option<String>,
}

impl DerivativeOptions {
    /// The requested tier of precision.
    pub fn tier(&self) -> Result<Option<Precision>, Error> {
        self.precision.as_deref().map(Precision::from_name).transpose()
    }

    /// Whether an engine for derivatives is needed.
    pub fn are_requested(&self) -> Result<bool, Error> {
        let precise = self.tier()?.is_some_and(|tier| tier != Precision::Single);
        Ok(self.needs_more() || precise)
    }

    /// Whether derivatives or neighbours are requested.
    pub fn needs_more(&self) -> bool {
        self.jerk || self.snap || self.neighbours.is_some()
    }

    /// Refuses a radius out of range.
    pub fn check(&self) -> Result<(), Error> {
        match self.neighbours {
            Some(radius) if !(radius.is_finite() && radius >= 0.0) => {
                Err(Error::value("--neighbours", radius, "finite and at least 0"))
            }
            _ => Ok(()),
        }
    }

    /// The highest requested derivative.
    fn order(&self) -> Order {
        match (self.snap, self.jerk) {
            (true, _) => Order::Snap,
            (_, true) => Order::Jerk,
            _ => Order::Acceleration,
        }
    }
}

/// Where the lists of neighbours go: `acc.neighbours.csv` next to `acc.csv`.
pub fn lists_path(out: &Path) -> PathBuf {
    out.with_extension("neighbours.csv")
}

/// What to compute, by one engine or by several that are compared.
struct ForcesTask<'a> {
    pub bodies: &'a Bodies,
    pub eps: f64,
    /// Masses times the gravitational constant.
    mass: Vec<f64>,
    /// The external field, with such masses.
    pub field: Field,
    /// Radius around each body within which its neighbours lie.
    radius: Vec<f64>,
    pub options: &'a DerivativeOptions,
}

impl<'a> ForcesTask<'a> {
    /// An evaluation for these bodies, softened by `eps` or by a length that suits them.
    pub fn of(
        input: &'a Input,
        eps: Option<f64>,
        options: &'a DerivativeOptions,
    ) -> Result<Self, Error> {
        let eps = eps.unwrap_or(input.run.softening);
        check_softening(eps)?;
        let bodies = &input.snapshot.bodies;
        let mass = bodies.gravitating_mass(input.snapshot.units.gravitational_constant);
        let field = input.field.gravitating(input.snapshot.units.gravitational_constant);
        let radius = vec![options.neighbours.unwrap_or(0.0); bodies.len()];
        Ok(Self { bodies, eps, mass, field, radius, options })
    }

    /// This engine, with the field in its accelerations.
    pub fn in_field(&self, engine: Box<dyn ForceEngine>) -> Box<dyn ForceEngine> {
        InField::engine(engine, self.field.clone())
    }

    /// Computes everything with this engine, which is [`ForcesTask::in_field`]. Snaps need the
    /// accelerations of a first pass.
    pub fn by(&self, engine: &mut dyn ForceEngine) -> Result<Forces, Error> {
        let mut found = Forces::default();
        let mut acceleration = Vec::new();
        let order = self.options.order();
        if order == Order::Snap {
            self.evaluate(engine, &[], &Outputs::only(Order::Acceleration), &mut found)?;
            acceleration = std::mem::take(&mut found.acceleration);
        }
        let within = Within { radius: &self.radius, capacity: self.options.capacity };
        let outputs = Outputs {
            order,
            potential: true,
            nearest: self.options.neighbours.is_some(),
            distance: true,
            within: self.options.neighbours.map(|_| within),
        };
        self.evaluate(engine, &acceleration, &outputs, &mut found)?;
        if !self.field.is_empty() {
            for (potential, position) in found.potential.iter_mut().zip(&self.bodies.position) {
                *potential += self.field.potential(*position);
            }
        }
        Ok(found)
    }

    fn evaluate(
        &self,
        engine: &mut dyn ForceEngine,
        acceleration: &[glam::DVec3],
        outputs: &Outputs,
        found: &mut Forces,
    ) -> Result<(), Error> {
        let (position, velocity) = (&self.bodies.position[..], &self.bodies.velocity[..]);
        let sources = Sources { position, velocity, acceleration, mass: &self.mass };
        let identity = Identity::Offset(0);
        let sinks = Sinks { velocity, acceleration, ..Sinks::new(position, identity) };
        let result = engine
            .set_sources(&sources)
            .and_then(|()| engine.evaluate(&sinks, self.eps, outputs, found));
        result.map_err(|error| error.with_ids(&self.bodies.id))
    }
}
