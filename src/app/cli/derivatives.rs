//! The part of `gravitile forces` that asks for jerks, snaps and neighbours.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};

use super::forces::Args;
use super::{Ended, print, progress};
use crate::bodies::Bodies;
use crate::direct::{
    Answers, DirectEngine, Identity, NO_SOURCE, Order, Precision, Reference, Sinks, Sources, Want,
    Within,
};
use crate::error::Error;
use crate::files::replace_with;
use crate::gpu::Gpu;
use crate::measure::{acceleration_errors, potential_errors};
use crate::sim::{EngineKind, Settings, direct_engine};

/// What is asked for besides accelerations and potentials.
#[derive(Clone, Debug, clap::Args)]
#[command(
    next_help_heading = "Derivatives and neighbours (in f64 on the CPU, in double-single on a GPU)"
)]
pub struct DerivativeOptions {
    /// Also the accelerations' first derivatives: jx,jy,jz
    #[arg(long)]
    pub jerk: bool,
    /// Also their second derivatives: sx,sy,sz
    #[arg(long)]
    pub snap: bool,
    /// Also nearest_id, nearest_distance and n_neighbours, the number of bodies within H; which ones
    /// these are goes into a second file, FILE.neighbours.csv: id,neighbour_id
    #[arg(long, value_name = "H")]
    pub neighbours: Option<f64>,
    /// Neighbours listed per body at most; n_neighbours counts all
    #[arg(long, value_name = "K", default_value_t = 1024)]
    pub capacity: usize,
    /// How precisely forces are computed: single, double-single or double; not every engine has each
    #[arg(long, value_name = "TIER")]
    pub precision: Option<String>,
}

impl DerivativeOptions {
    /// The tier by name.
    pub fn tier(&self) -> Result<Option<Precision>, Error> {
        self.precision.as_deref().map(Precision::from_name).transpose()
    }

    /// Whether an engine for derivatives is needed.
    pub fn wanted(&self) -> Result<bool, Error> {
        let more = self.jerk || self.snap || self.neighbours.is_some();
        Ok(more || self.tier()?.is_some_and(|tier| tier != Precision::Single))
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

    fn order(&self) -> Order {
        match (self.snap, self.jerk) {
            (true, _) => Order::Snap,
            (_, true) => Order::Jerk,
            _ => Order::Acceleration,
        }
    }
}

/// Where the lists of neighbours go: `acc.neighbours.csv` beside `acc.csv`.
pub fn lists_path(out: &Path) -> PathBuf {
    out.with_extension("neighbours.csv")
}

/// The engine that is asked for, in that tier; the CPU's where it may be any.
///
/// Errors: a tier that it does not have, an adapter that is not there.
pub fn engine(
    settings: &Settings,
    tier: Option<Precision>,
) -> Result<Box<dyn DirectEngine>, Error> {
    let gpu = match settings.engine {
        EngineKind::Gpu => Some(Gpu::open_blocking(&settings.adapter)?),
        _ => None,
    };
    direct_engine(settings.engine, gpu.as_ref(), tier)
}

/// `bodies`, with gravitating masses `mass`, on each other.
pub fn main(
    args: &Args,
    engine: &mut dyn DirectEngine,
    bodies: &Bodies,
    mass: &[f64],
    eps: f64,
) -> Result<Ended> {
    let options = &args.derivatives;
    let radius = vec![options.neighbours.unwrap_or(0.0); bodies.len()];
    let within = Within { radius: &radius, capacity: options.capacity };
    let want = Want {
        order: options.order(),
        potential: true,
        nearest: options.neighbours.is_some(),
        within: options.neighbours.map(|_| within),
    };
    let waiting = progress::waiting("forces");
    let found = all_on_all(engine, bodies, mass, eps, &want)?;
    let compared = if args.compare {
        let right = all_on_all(&mut Reference::default(), bodies, mass, eps, &want)?;
        Some(compare(&found, &right))
    } else {
        None
    };
    drop(waiting);
    let lists = args.out.as_deref().filter(|_| want.nearest).map(lists_path);
    if let Some(path) = &args.out {
        replace_with(path, |out| table(out, options, bodies, &found))?;
    }
    if let Some(path) = &lists {
        replace_with(path, |out| list(out, bodies, &found))?;
    }
    let halves = found.potential.iter().zip(&bodies.mass).map(|(phi, m)| 0.5 * m * phi);
    let potential_energy = crate::math::sum(halves);
    let cut = (0..found.neighbours.len()).filter(|&i| found.neighbours.overflowed(i)).count();
    if args.json {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let mut answer = json!({
            "n": bodies.len(),
            "softening": eps,
            "engine": engine.name(),
            "configuration": engine.describe(),
            "precision": engine.precision().name(),
            "total_mass": bodies.total_mass(),
            "potential_energy": potential_energy,
            "lists_cut_short": cut,
            "out": path(&args.out),
            "neighbours_out": path(&lists),
        });
        for (name, rms, worst) in compared.unwrap_or_default() {
            answer[format!("{name}_rms_error")] = Value::from(rms);
            answer[format!("{name}_worst_error")] = Value::from(worst);
        }
        print::json(&answer)?;
        return Ok(Ended::Done);
    }
    let mut text = format!("{} bodies, eps {eps}, engine {}\n", bodies.len(), engine.name());
    text += &format!("computed on {}\n", engine.describe());
    text += &format!("potential energy {potential_energy}\n");
    for (name, rms, worst) in compared.unwrap_or_default() {
        text += &format!("against f64: {name} rms {rms:.2e}, worst {worst:.2e}\n");
    }
    if cut > 0 {
        text += &format!(
            "{cut} bodies have more than {} neighbours: their lists hold that many (--capacity)\n",
            options.capacity
        );
    }
    for path in args.out.iter().chain(&lists) {
        text += &format!("wrote {}\n", path.display());
    }
    print::text(&text)?;
    Ok(Ended::Done)
}

/// Everything that `want` says. Snaps need the accelerations first.
fn all_on_all(
    engine: &mut dyn DirectEngine,
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

/// Name, rms and worst error of everything that was computed.
fn compare(found: &Answers, right: &Answers) -> Vec<(&'static str, f64, f64)> {
    let mut rows = Vec::new();
    for (name, found, right) in [
        ("acceleration", &found.acceleration, &right.acceleration),
        ("jerk", &found.jerk, &right.jerk),
        ("snap", &found.snap, &right.snap),
    ] {
        if !found.is_empty() {
            let errors = acceleration_errors(found, right);
            rows.push((name, errors.rms, errors.worst));
        }
    }
    let errors = potential_errors(&found.potential, &right.potential);
    rows.push(("potential", errors.rms, errors.worst));
    rows
}

/// The table's columns: those of plain forces, then what else was asked for.
fn table(
    out: &mut dyn Write,
    options: &DerivativeOptions,
    bodies: &Bodies,
    found: &Answers,
) -> std::io::Result<()> {
    let mut header = "id,ax,ay,az,potential".to_owned();
    for (wanted, columns) in [
        (options.jerk, ",jx,jy,jz"),
        (options.snap, ",sx,sy,sz"),
        (options.neighbours.is_some(), ",nearest_id,nearest_distance,n_neighbours"),
    ] {
        if wanted {
            header += columns;
        }
    }
    writeln!(out, "{header}")?;
    for i in 0..bodies.len() {
        let a = found.acceleration[i];
        write!(out, "{},{},{},{},{}", bodies.id[i], a.x, a.y, a.z, found.potential[i])?;
        for (wanted, derivative) in [(options.jerk, &found.jerk), (options.snap, &found.snap)] {
            if wanted {
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

/// One row per body and neighbour.
fn list(out: &mut dyn Write, bodies: &Bodies, found: &Answers) -> std::io::Result<()> {
    writeln!(out, "id,neighbour_id")?;
    for i in 0..bodies.len() {
        for &j in found.neighbours.of(i) {
            writeln!(out, "{},{}", bodies.id[i], bodies.id[j as usize])?;
        }
    }
    Ok(())
}
