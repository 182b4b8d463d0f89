//! Forces of bodies in arrays.

use gravitile::error::Result;
use gravitile::forces::tree::{CpuTree, TreeConfig};
use gravitile::forces::{
    ForceEngine, Forces, Identity, Method, NO_SOURCE, Order, Outputs, Sinks, Sources, Within,
};
use gravitile::glam::DVec3;
use gravitile::gpu::blocking;
use gravitile::memory;
use gravitile::sim::{EngineKind, Settings, direct_engine, host_engine};
use numpy::{PyArray1, PyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{Reals, Vectors, check_room, from_vectors, numbers, vectors};
use crate::attend::{attend, briefly};
use crate::devices;
use crate::errors::raised;
use crate::how::How;

/// With fewer pairs a call returns within a few milliseconds, on the slowest engine.
const FEW_PAIRS: usize = 100_000;

/// Bodies that attract, in arrays of the library.
pub struct Attracting {
    /// Positions.
    pub position: Vec<DVec3>,
    /// G m.
    pub mass: Vec<f64>,
    /// The points at which forces are wanted; `None`: the bodies' own.
    pub at: Option<Vec<DVec3>>,
}

impl Attracting {
    fn sinks(&self) -> Sinks<'_> {
        match &self.at {
            Some(at) => Sinks::new(at, Identity::Foreign),
            None => Sinks::new(&self.position, Identity::Offset(0)),
        }
    }

    fn pairs(&self) -> usize {
        self.position.len().saturating_mul(self.sinks().position.len())
    }

    /// Accelerations and, if requested, potentials at the points. Unless the settings `have_rule`,
    /// a tree is walked by the rule that suits the engine.
    ///
    /// # Errors
    /// Those of the engine that the settings choose.
    pub fn evaluate(
        &self,
        mut settings: Settings,
        have_rule: bool,
        outputs: &Outputs<'_>,
    ) -> Result<Forces> {
        let mut out = Forces::default();
        self.sinks().check(settings.softening, outputs)?;
        if self.pairs() == 0 {
            out.resize(self.sinks().position.len(), outputs);
            return Ok(out);
        }
        // Few points among many bodies cost as much as fewer bodies on each other.
        let n = (self.pairs() as f64).sqrt().ceil() as usize;
        let choice = devices::choice(n, &mut settings)?;
        settings.method = Some(choice.method);
        if !have_rule && (outputs.potential || choice.kind == EngineKind::Gpu) {
            // On a device a walk for the accelerations that alpha needs takes as long as the other.
            settings.tree.opening = TreeConfig::FIRST;
        }
        let mut engine: Box<dyn ForceEngine> = match (choice.kind, choice.method) {
            (EngineKind::Cpu, Method::Tree) => Box::new(CpuTree::new(settings.tree).estimating()),
            (kind, _) => {
                blocking(host_engine(kind, choice.gpu.as_ref(), &choice.others, &settings))?
            }
        };
        let sources = Sources::new(&self.position, &self.mass);
        let (sinks, eps) = (self.sinks(), settings.softening);
        engine.evaluate_from(&sources, &sinks, eps, outputs, &mut out)?;
        Ok(out)
    }
}

/// Runs short work at once and long work so that Ctrl-C ends it.
fn run<T: Send + 'static>(
    py: Python<'_>,
    pairs: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    match pairs < FEW_PAIRS {
        true => briefly(py, work),
        false => attend(py, work, &mut |_| Ok(())),
    }
}

/// An array of accelerations, and one of potentials.
pub type Pulls<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// Arrays of accelerations and potentials.
pub fn pulls(py: Python<'_>, forces: Forces) -> PyResult<Pulls<'_>> {
    Ok((from_vectors(py, forces.acceleration)?, PyArray1::from_vec(py, forces.potential)))
}

/// Accelerations and, if requested, potentials (else an empty array) of bodies with masses G m.
#[pyfunction]
pub fn accelerations<'py>(
    py: Python<'py>,
    position: Vectors<'py>,
    mass: Reals<'py>,
    at: Option<Vectors<'py>>,
    eps: f64,
    potential: bool,
    how: How,
) -> PyResult<Pulls<'py>> {
    check_room(position.shape()[0].max(at.as_ref().map_or(0, |at| at.shape()[0])), memory::FORCE)?;
    let bodies = Attracting {
        position: vectors(&position)?,
        mass: numbers(&mass),
        at: at.as_ref().map(vectors).transpose()?,
    };
    let settings = Settings { softening: eps, ..how.settings().map_err(raised)? };
    let have_rule = how.has_rule();
    let outputs = if potential { Outputs::POTENTIAL } else { Outputs::ACCELERATION };
    let forces = run(py, bodies.pairs(), move || bodies.evaluate(settings, have_rule, &outputs))?;
    pulls(py, forces)
}

/// What [`derivatives`] returns.
#[derive(IntoPyObject)]
pub struct Derivatives<'py> {
    acceleration: Bound<'py, PyArray2<f64>>,
    potential: Bound<'py, PyArray1<f64>>,
    jerk: Bound<'py, PyArray2<f64>>,
    snap: Option<Bound<'py, PyArray2<f64>>>,
    nearest: Bound<'py, PyArray1<i64>>,
    distance: Bound<'py, PyArray1<f64>>,
    neighbours: Option<Vec<Bound<'py, PyArray1<i64>>>>,
}

/// Moving bodies, and the points at which their forces are wanted.
struct Moving {
    bodies: Attracting,
    velocity: Vec<DVec3>,
    at_velocity: Option<Vec<DVec3>>,
    radius: Option<Vec<f64>>,
    snap: bool,
    eps: f64,
}

/// Entries stored per list of neighbours in the first attempt.
const NEIGHBOURS: usize = 64;

impl Moving {
    fn evaluate(&self, settings: &Settings) -> Result<Forces> {
        let Self { bodies, velocity, eps, .. } = self;
        let mut sinks = bodies.sinks();
        sinks.velocity = self.at_velocity.as_deref().unwrap_or(velocity);
        let mut out = Forces::default();
        let radius = self.radius.as_deref();
        let within = |capacity| radius.map(|radius| Within { radius, capacity });
        let mut outputs = Outputs {
            potential: true,
            nearest: true,
            within: within(NEIGHBOURS),
            ..Outputs::only(Order::Jerk)
        };
        if bodies.pairs() == 0 {
            outputs.order = if self.snap { Order::Snap } else { Order::Jerk };
            out.resize(sinks.position.len(), &outputs);
            if radius.is_some() {
                (0..sinks.position.len()).for_each(|_| out.neighbours.push(&[], 0));
            }
            return Ok(out);
        }
        let (kind, method) = match settings.engine.by(settings.method)? {
            // As for individual steps: forces with derivatives in f64.
            (EngineKind::Auto, method) => (EngineKind::Cpu, method),
            found => found,
        };
        let gpu = match kind {
            EngineKind::Gpu => devices::open(&settings.adapter, false)?,
            _ => None,
        };
        let mut engine = direct_engine(kind, method, gpu.as_ref(), None, settings.precision)?;
        let mut sources = Sources { velocity, ..Sources::new(&bodies.position, &bodies.mass) };
        let (own, at) = match self.snap {
            false => Default::default(),
            true => {
                let own = Sinks::new(&bodies.position, Identity::Offset(0));
                let own = Sinks { velocity, ..own };
                let mut pull =
                    |sinks: &Sinks<'_>| accelerations_of(&mut *engine, &sources, sinks, *eps);
                let at = bodies.at.is_some().then(|| pull(&sinks)).transpose()?;
                (pull(&own)?, at)
            }
        };
        if self.snap {
            outputs.order = Order::Snap;
            sources.acceleration = &own;
            sinks.acceleration = at.as_deref().unwrap_or(&own);
        }
        engine.evaluate_from(&sources, &sinks, *eps, &outputs, &mut out)?;
        let lists = &out.neighbours;
        let most = (0..lists.len()).map(|i| lists.found(i)).max().unwrap_or(0);
        if most > NEIGHBOURS {
            outputs.within = within(most);
            engine.evaluate_from(&sources, &sinks, *eps, &outputs, &mut out)?;
        }
        Ok(out)
    }
}

fn accelerations_of(
    engine: &mut dyn ForceEngine,
    sources: &Sources<'_>,
    sinks: &Sinks<'_>,
    eps: f64,
) -> Result<Vec<DVec3>> {
    let mut out = Forces::default();
    let outputs = &Outputs::only(Order::Jerk);
    engine.evaluate_from(sources, sinks, eps, outputs, &mut out)?;
    Ok(out.acceleration)
}

/// Forces with derivatives, nearest bodies and neighbours, of bodies with masses G m.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn derivatives<'py>(
    py: Python<'py>,
    position: Vectors<'py>,
    velocity: Vectors<'py>,
    mass: Reals<'py>,
    at: Option<(Vectors<'py>, Vectors<'py>)>,
    radius: Option<Reals<'py>>,
    snap: bool,
    eps: f64,
    how: How,
) -> PyResult<Derivatives<'py>> {
    let (at, at_velocity) = at.unzip();
    let points = at.as_ref().map_or(0, |at| at.shape()[0]);
    // Velocities of sources and sinks, two derivatives, nearest bodies.
    check_room(position.shape()[0].max(points), memory::FORCE + 4 * 24 + 12)?;
    let moving = Moving {
        bodies: Attracting {
            position: vectors(&position)?,
            mass: numbers(&mass),
            at: at.as_ref().map(vectors).transpose()?,
        },
        velocity: vectors(&velocity)?,
        at_velocity: at_velocity.as_ref().map(vectors).transpose()?,
        radius: radius.as_ref().map(numbers),
        snap,
        eps,
    };
    let settings = how.settings().map_err(raised)?;
    let has_lists = moving.radius.is_some();
    let forces = run(py, moving.bodies.pairs(), move || moving.evaluate(&settings))?;
    let index = |&j: &u32| if j == NO_SOURCE { -1 } else { i64::from(j) };
    let list = |i| {
        let list: Vec<i64> = forces.neighbours.of(i).iter().map(index).collect();
        PyArray1::from_vec(py, list)
    };
    Ok(Derivatives {
        nearest: PyArray1::from_vec(py, forces.nearest.iter().map(index).collect()),
        neighbours: has_lists.then(|| (0..forces.neighbours.len()).map(list).collect()),
        distance: PyArray1::from_vec(py, forces.nearest_distance),
        potential: PyArray1::from_vec(py, forces.potential),
        acceleration: from_vectors(py, forces.acceleration)?,
        jerk: from_vectors(py, forces.jerk)?,
        snap: snap.then(|| from_vectors(py, forces.snap)).transpose()?,
    })
}
