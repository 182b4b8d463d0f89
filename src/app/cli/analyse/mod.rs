//! `gravitile analyse`: what snapshots and runs show, as tables over time, profiles and pictures.

mod pictures;
mod table;

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;

use super::options::check_output;
use super::{Ended, interrupt, print};
use crate::lookup;
use gravitile::analysis::{Group, Ring, Rings, Shell, Shells, groups};
use gravitile::bodies::Role;
use gravitile::error::Error;
use gravitile::files::replace;
use gravitile::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources, check_softening};
use gravitile::input::Input;
use gravitile::record::RunFolder;
use gravitile::settings::{EngineRequest, InputRequest, SnapshotChoice, ValueRange};
use gravitile::sim::Settings;
use gravitile::snapshot;
use gravitile::units::Units;

/// Measure snapshots and runs over time: radii, motions and bound mass of all bodies and of each
/// component, profiles in shells, disks in rings; as CSV, JSON or SVG
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    mut_arg("devices", |arg| arg.hide(true)),
    after_help = "\
Examples:
  gravitile analyse run/ --out radii.csv
  gravitile analyse run/ --fractions 0.01,0.1,0.75,0.9 --json
  gravitile analyse cluster.nemo --profile --snapshot last
  gravitile analyse a.gvt b.gvt c.gvt --rings --bins 30 --svg pictures/

Radii, profiles and motions are about the density centre and relative to its velocity; numbers are in
the units of the snapshots, which are in the header."
)]
pub struct Args {
    /// Folders of runs, snapshots, or scenes at their beginning; of files that hold several
    /// snapshots, all are measured
    #[arg(required = true, value_name = "RUN|SNAPSHOT")]
    inputs: Vec<String>,
    /// Fractions of the mass whose radii are computed, besides the half-mass radius
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "0.1,0.9")]
    fractions: Vec<f64>,
    /// Instead of the table over time, write profiles in shells: density, dispersion, anisotropy
    #[arg(long)]
    profile: bool,
    /// Instead of the table over time, write rings of each disk: surface density, rotation,
    /// dispersions (without components of that role: of all bodies)
    #[arg(long, conflicts_with = "profile")]
    rings: bool,
    /// Number of shells and of rings
    #[arg(long, value_name = "COUNT", default_value_t = 24)]
    bins: usize,
    /// Radii between which the shells are, and out to which the rings are [default: 0.1 to 99.9 %
    /// of the mass for shells, 98 % for rings]
    #[arg(long, value_name = "LEAST,MOST")]
    range: Option<ValueRange>,
    /// Component about whose density centre the shells are [default: all bodies]
    #[arg(long, value_name = "COMPONENT")]
    about: Option<String>,
    /// Which snapshot of a file or run that holds several: its number from 0, t=TIME for the
    /// nearest, or last [default: all]
    #[arg(long, value_name = "N|t=TIME|last")]
    snapshot: Option<SnapshotChoice>,
    /// Gravitational constant in the snapshots' units [default: what they or their format say, or
    /// 1]
    #[arg(long, value_name = "G")]
    gravity: Option<f64>,
    /// Take the bodies of a periodic or comoving snapshot as isolated ones in empty space
    #[arg(long)]
    isolated: bool,
    /// Plummer softening length of the potentials for the bound mass [default: that of the run, or
    /// one that suits the bodies]
    #[arg(long, value_name = "E")]
    eps: Option<f64>,
    /// Compute no potentials, and so no bound mass
    #[arg(long)]
    no_bound: bool,
    /// File to write the table to [default: standard output]
    #[arg(long, value_name = "FILE.csv")]
    out: Option<PathBuf>,
    /// Folder for pictures: profiles of the last snapshot and the density of the first, and radii
    /// over time
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,
    /// Replace outputs that exist
    #[arg(long)]
    force: bool,
    /// Print one JSON object with all that is computed
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    engine: EngineRequest,
}

/// The analysis of one snapshot.
struct SnapshotAnalysis {
    input: String,
    time: f64,
    /// Names of the components.
    names: Vec<String>,
    groups: Vec<Group>,
    /// For each group its shells about a common centre.
    shells: Vec<Vec<Shell>>,
    /// For each disk its component and its rings.
    rings: Vec<(Option<u8>, Vec<Ring>)>,
}

impl SnapshotAnalysis {
    fn name(&self, component: Option<u8>) -> &str {
        component.map_or("all", |component| &self.names[usize::from(component)])
    }
}

pub fn main(args: &Args) -> Result<Ended> {
    let (with_shells, with_rings) =
        (args.profile || args.svg.is_some(), args.rings || args.svg.is_some());
    if let Some(path) = &args.out {
        check_output(path, args.force)?;
    }
    if let Some(folder) = &args.svg {
        pictures::check(folder, args.force)?;
    }
    let mut potentials = Potentials::of(args)?;
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    let mut units: Option<Units> = None;
    let requests = requests(args)?;
    let bar = print::bar(requests.len() as u64, "snapshots");
    for request in &requests {
        request.load_each(&mut |input| {
            if interrupt::requested() {
                return Err(Error::Stopped);
            }
            let own = &input.snapshot.units;
            if let Some(first) = units.as_ref().filter(|first| *first != own) {
                let problem = format!(
                    "is in {own}, but {} is in {first}: convert one of them first, or analyse them apart",
                    args.inputs[0]
                );
                return Err(Error::file(Path::new(&request.input), problem));
            }
            units = Some(own.clone());
            for note in &input.snapshot.notes {
                if !notes.contains(note) {
                    notes.push(note.clone());
                }
            }
            found.push(measure(args, request, &input, &mut potentials, with_shells, with_rings)?);
            Ok(())
        })?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let units = units.unwrap_or_default();
    print::notes(&notes);
    let table = table::csv(&found, &units, args);
    if let Some(path) = &args.out {
        replace(path, table.as_bytes())?;
    }
    let drawn = match &args.svg {
        Some(folder) => pictures::write(folder, &found, &units)?,
        None => Vec::new(),
    };
    if args.json {
        print::json(&json!({
            "units": units,
            "fractions": args.fractions,
            "snapshots": found.iter().map(table::json).collect::<Vec<_>>(),
            "engine": potentials.described(),
            "out": args.out.as_ref().map(|path| path.display().to_string()),
            "pictures": drawn,
            "notes": notes,
        }))?;
    } else if let Some(path) = &args.out {
        print::text(&format!("wrote {} snapshots to {}\n", found.len(), path.display()))?;
    } else {
        print::verbatim(&table)?;
    }
    if !args.json && !drawn.is_empty() {
        print::note(&format!("drew {}", drawn.join(", ")));
    }
    Ok(Ended::Done)
}

/// One request per file or scene; for a run one per snapshot.
fn requests(args: &Args) -> Result<Vec<InputRequest>> {
    let mut requests = Vec::new();
    // A pattern of the shell also names the files of a snapshot that is listed by its index.
    let is_named = |index: PathBuf| args.inputs.iter().any(|other| Path::new(other) == index);
    let inputs = args
        .inputs
        .iter()
        .filter(|input| !snapshot::index_of(Path::new(input)).is_some_and(is_named));
    for input in inputs {
        // Ids are not used, so wrong ones do no harm.
        let request = |input: String, is_scene: bool| InputRequest {
            gravity: args.gravity,
            isolated: args.isolated,
            renumber: !is_scene,
            ..InputRequest::named(input)
        };
        let path = Path::new(input);
        if !RunFolder::is_run(path) {
            let is_scene = InputRequest::named(input).scene()?.is_some();
            let snapshot = args.snapshot.filter(|_| !is_scene);
            requests.push(InputRequest { snapshot, ..request(input.clone(), is_scene) });
            continue;
        }
        let folder = RunFolder::look(path)?;
        let mut steps = folder.steps()?;
        if steps.is_empty() {
            return Err(Error::file(path, "is a run without snapshots").into());
        }
        if let Some(choice) = args.snapshot {
            let time = |step: &u64| folder.plan.start + *step as f64 * folder.plan.dt;
            let times: Vec<f64> = steps.iter().map(time).collect();
            let what = format!("the snapshot to read of {input}");
            steps = vec![steps[choice.index(&times, &what)?]];
        }
        let paths = steps.into_iter().map(|step| folder.snapshot_path(step));
        let named = |path: PathBuf| request(path.to_string_lossy().into_owned(), false);
        requests.extend(paths.map(named));
    }
    Ok(requests)
}

fn measure(
    args: &Args,
    request: &InputRequest,
    input: &Input,
    potentials: &mut Potentials,
    with_shells: bool,
    with_rings: bool,
) -> Result<SnapshotAnalysis, Error> {
    let bodies = &input.snapshot.bodies;
    let potential = potentials.compute(input)?;
    let groups = groups(bodies, &args.fractions, potential.as_deref())?;
    let names: Vec<String> = bodies.components.iter().map(|known| known.name.clone()).collect();
    let about = match &args.about {
        None => &groups[0],
        Some(name) => {
            let is_named =
                |component: u8| Some(names[usize::from(component)].as_str()) == Some(name.as_str());
            // A lone component is the group of all bodies.
            let lone = groups.len() == 1 && bodies.component.iter().all(|c| is_named(*c));
            groups
                .iter()
                .find(|group| group.component.is_some_and(is_named))
                .or(groups.first().filter(|_| lone))
                .ok_or_else(|| {
                    Error::value("--about", name, format!("one of: {}", names.join(", ")))
                })?
        }
    };
    if let Some(range) = args.range.filter(|ValueRange([least, _])| *least <= 0.0) {
        return Err(Error::value("--range", range, "two numbers greater than 0"));
    }
    let mut shells = Vec::new();
    if with_shells {
        let edges = match args.range {
            Some(ValueRange([least, most])) => {
                Shells::new((about.centre, about.velocity), (least, most), args.bins)
            }
            None => Shells::about(bodies, about, args.bins),
        }?;
        for group in &groups {
            shells.push(edges.profile(bodies, group.component)?);
        }
    }
    let mut rings = Vec::new();
    if with_rings {
        let is_disk = |component: u8| bodies.components[usize::from(component)].role == Role::Disk;
        let mut disks: Vec<&Group> =
            groups.iter().filter(|group| group.component.is_some_and(is_disk)).collect();
        let lone = groups.len() == 1 && bodies.component.iter().all(|c| is_disk(*c));
        // Pictures of rings are drawn of disks only.
        if disks.is_empty() && (args.rings || lone) {
            disks.push(&groups[0]);
        }
        for disk in disks {
            let outer = args.range.map(|ValueRange([_, most])| most);
            let edges = Rings::about(bodies, disk, outer, args.bins)?;
            rings.push((disk.component, edges.profile(bodies, disk.component)?));
        }
    }
    let time = input.snapshot.time;
    Ok(SnapshotAnalysis { input: request.input.clone(), time, names, groups, shells, rings })
}

// Potentials for the bound mass.

/// Computes potentials with the engine and method that runs of as many bodies have.
struct Potentials {
    /// `None` if no potentials are requested.
    settings: Option<Settings>,
    eps: Option<f64>,
    /// The last engine, and for how many bodies it is.
    engine: Option<(usize, Box<dyn ForceEngine>)>,
}

impl Potentials {
    /// What the options say.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn of(args: &Args) -> Result<Self, Error> {
        args.eps.map_or(Ok(()), check_softening)?;
        let settings = args.engine.settings()?;
        settings.check_one_device()?;
        let settings = Some(settings).filter(|_| !args.no_bound);
        Ok(Self { settings, eps: args.eps, engine: None })
    }

    /// The potential at each body, G included.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn compute(&mut self, input: &Input) -> Result<Option<Vec<f64>>, Error> {
        let Some(settings) = &self.settings else { return Ok(None) };
        let bodies = &input.snapshot.bodies;
        let n = bodies.len();
        let (_, engine) = match self.engine.take().filter(|(of, _)| *of == n) {
            Some(engine) => self.engine.insert(engine),
            None => {
                let engine = lookup::engine(n, &mut settings.clone())?;
                self.engine.insert((n, engine))
            }
        };
        let mass = bodies.gravitating_mass(input.snapshot.units.gravitational_constant);
        let eps = self.eps.unwrap_or(input.run.softening);
        let outputs = Outputs { potential: true, ..Outputs::ACCELERATION };
        let mut found = Forces::default();
        let sinks = Sinks::new(&bodies.position, Identity::Offset(0));
        engine
            .set_sources(&Sources::new(&bodies.position, &mass))
            .and_then(|()| engine.evaluate(&sinks, eps, &outputs, &mut found))
            .map_err(|error| error.with_ids(&bodies.id))?;
        Ok(Some(found.potential))
    }

    /// The engine, in words.
    pub fn described(&self) -> Option<String> {
        self.engine.as_ref().map(|(_, engine)| engine.describe())
    }
}
