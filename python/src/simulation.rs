//! A simulation, shared by the threads of an interpreter.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use gravitile::bodies::Bodies;
use gravitile::diagnostics::{Diagnostics, density_centre, lagrangian_radii};
use gravitile::error::{Error, Result};
use gravitile::field::Field;
use gravitile::film::shoot;
use gravitile::forces::{Forces, Identity, Outputs, Sinks, Sources, WithSources};
use gravitile::glam::DVec3;
use gravitile::gpu::blocking;
use gravitile::integrate;
use gravitile::integrate::blocks::{BlockSettings, Restart, power_of_two_below};
use gravitile::memory;
use gravitile::record::{Plan, restart_of, set_restart};
use gravitile::sim::{
    Choice, EngineKind, Settings, Simulation, State, collisional, host_engine, run_steps, suggest,
    suits_encounters,
};
use gravitile::snapshot::{self, Snapshot, WriteOptions};
use gravitile::units::Units;
use numpy::{PyArray1, PyArray2, PyArray3, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::arrays::{Reals, Vectors, check_room, from_vectors, numbers, vectors};
use crate::attend::{attend, briefly, unusable};
use crate::devices;
use crate::errors::GravitileError;
use crate::fields::{Given, Taken, taken};
use crate::forces::{Pulls, pulls};
use crate::how::How;
use crate::own::{self, Raised, WithOwn};
use crate::pictures::{Look, from_image};

/// The keyword arguments of a new simulation. `None`: what suits the bodies.
#[derive(Clone, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Request {
    eps: Option<f64>,
    dt: Option<f64>,
    integrator: Option<String>,
    eta: Option<f64>,
    eta6: Option<f64>,
    dt_max: Option<f64>,
    g: Option<f64>,
    field: Vec<String>,
    how: How,
}

impl Request {
    /// The settings for these bodies. What is missing is chosen as the program does for a snapshot:
    /// for a smooth density, or without a softening for few bodies whose encounters matter.
    ///
    /// # Errors
    /// An unknown name; a number out of range; `eta` and the like with one step for all bodies.
    fn settings(&self, of: &Snapshot, how: Settings) -> Result<Settings> {
        let (bodies, g) = (&of.bodies, self.g.unwrap_or(of.units.gravitational_constant));
        let mut run = suggest(bodies, g);
        let few = collisional(bodies, run.softening, g)
            .filter(|_| suits_encounters(self.eps, how.method));
        let (mut integrator, mut longest) = (integrate::DEFAULT, None);
        if let Some(few) = few {
            (run, integrator, longest) = (few.run, integrate::COLLISIONAL, Some(few.dt_max));
        }
        if let Some(name) = &self.integrator {
            integrator = integrate::find(name)?;
        }
        let given = [("eta", self.eta), ("eta6", self.eta6), ("dt_max", self.dt_max)];
        if !integrator.has_block_steps()
            && let Some((name, value)) = given.iter().find_map(|(name, of)| Some((*name, (*of)?)))
        {
            let allowed = format!("left out: {} has one step for all bodies, dt", integrator.name);
            return Err(Error::value(name, value, allowed));
        }
        let defaults = BlockSettings::default();
        let suited = power_of_two_below(self.dt.unwrap_or(4.0 * run.dt));
        let suited = longest.unwrap_or(if suited > 0.0 { suited } else { defaults.dt_max });
        let dt_max = self.dt_max.unwrap_or(suited);
        // Bodies with individual steps all meet at multiples of the longest one.
        let dt = if integrator.has_block_steps() { dt_max } else { run.dt };
        Ok(Settings {
            softening: self.eps.unwrap_or(run.softening),
            dt: self.dt.unwrap_or(dt),
            start: of.time,
            gravitational_constant: g,
            field: Field(self.field.iter().map(|text| text.parse()).collect::<Result<_>>()?),
            integrator,
            blocks: BlockSettings {
                eta: self.eta.unwrap_or(defaults.eta),
                eta6: self.eta6.unwrap_or(defaults.eta6),
                dt_max,
                ..defaults
            },
            ..how
        })
    }
}

/// A running simulation with the units and attributes of its snapshots.
#[pyclass(frozen, module = "gravitile._gravitile")]
pub struct Engine {
    simulation: Arc<Mutex<Simulation>>,
    units: Units,
    /// What a force in Python raised.
    raised: Raised,
}

/// A simulation has few bodies if its steps take microseconds: pairs of bodies and steps in a call.
const FEW_PAIRS: u64 = 100_000;

/// The attribute of a saved simulation with its settings.
const PLAN: &str = "simulation";

/// The attribute of a simulation that was saved with a force in Python, which the file does not
/// hold.
const FORCE: &str = "simulation.force";

/// The present settings, for `repr` and for properties.
#[derive(IntoPyObject)]
pub struct Facts {
    n: usize,
    eps: f64,
    dt: f64,
    g: f64,
    field: Vec<String>,
    integrator: &'static str,
    engine: &'static str,
    method: &'static str,
    because: String,
    described: String,
}

/// What [`Engine::energy`] returns.
#[derive(IntoPyObject)]
pub struct Energies {
    kinetic: f64,
    potential: f64,
    field: f64,
    total: f64,
    virial_ratio: f64,
    momentum: [f64; 3],
    angular_momentum: [f64; 3],
    centre: [f64; 3],
    drift: [f64; 3],
    half_mass_radius: f64,
}

impl From<Diagnostics> for Energies {
    fn from(found: Diagnostics) -> Self {
        Self {
            kinetic: found.kinetic,
            potential: found.potential,
            field: found.field.map_or(0.0, |field| field.potential + field.bulk),
            total: found.energy(),
            virial_ratio: found.virial_ratio(),
            momentum: found.momentum.into(),
            angular_momentum: found.angular_momentum.into(),
            centre: found.centre.into(),
            drift: found.drift.into(),
            half_mass_radius: found.half_mass_radius,
        }
    }
}

impl Engine {
    fn of(simulation: Simulation, units: Units, raised: Raised) -> Self {
        Self { simulation: Arc::new(Mutex::new(simulation)), units, raised }
    }

    /// Does work of any length on the simulation.
    fn at_work<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Simulation) -> Result<T> + Send + 'static,
        tick: &mut dyn FnMut(Python<'_>) -> PyResult<()>,
    ) -> PyResult<T> {
        self.check_call()?;
        let shared = Arc::clone(&self.simulation);
        let done = attend(py, move || work(&mut *shared.lock().map_err(unusable)?), tick);
        done.map_err(|error| own::take(&self.raised).unwrap_or(error))
    }

    /// A force that asked the simulation that waits for it would wait for ever.
    fn check_call(&self) -> PyResult<()> {
        match own::is_in_call() {
            false => Ok(()),
            true => Err(GravitileError::new_err(
                "a force cannot use the simulation that calls it: it gets the positions",
            )),
        }
    }

    /// Does work of any length that reports nothing.
    pub fn with<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Simulation) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        self.at_work(py, work, &mut |_| Ok(()))
    }

    /// [`Engine::with`] for work that takes some microseconds on few bodies and as many or `points`
    /// points: it is then done on the calling thread.
    fn with_few<T: Send + 'static>(
        &self,
        py: Python<'_>,
        points: usize,
        work: impl FnOnce(&mut Simulation) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        self.check_call()?;
        let done = briefly(py, || {
            let Ok(mut simulation) = self.simulation.try_lock() else { return Ok(Err(work)) };
            let n = simulation.len() as u64;
            let pairs = n.saturating_mul(n.max(points as u64));
            match simulation.device().is_none() && pairs < FEW_PAIRS {
                true => work(&mut simulation).map(Ok),
                false => Ok(Err(work)),
            }
        });
        match done.map_err(|error| own::take(&self.raised).unwrap_or(error))? {
            Ok(found) => Ok(found),
            Err(work) => self.with(py, work),
        }
    }

    /// Looks at what costs nothing; waits for the end of another thread's call.
    fn look<T: Send + 'static>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&Simulation) -> T + Send + 'static,
    ) -> PyResult<T> {
        self.check_call()?;
        if let Ok(simulation) = self.simulation.try_lock() {
            return Ok(look(&simulation));
        }
        self.with(py, move |simulation| Ok(look(simulation)))
    }

    /// Steps of microseconds, unless another thread is at work; returns whether they were taken.
    fn step_briefly(&self, py: Python<'_>, steps: u64) -> PyResult<bool> {
        let done = briefly(py, || match self.simulation.try_lock() {
            Ok(mut simulation) => simulation.step(steps).map(|()| true),
            Err(_) => Ok(false),
        });
        done.map_err(|error| own::take(&self.raised).unwrap_or(error))
    }
}

/// Opens a simulation, with a force in Python if there is one: the host then steps the bodies.
fn opened(
    choice: Choice,
    bodies: Bodies,
    mut settings: Settings,
    restart: Option<&Restart>,
    force: Option<(Py<PyAny>, Raised)>,
) -> Result<Simulation> {
    let Some((force, raised)) = force else {
        return Simulation::builder(bodies, settings).choice(choice).restart(restart).build();
    };
    (settings.engine, settings.method) = (choice.kind, Some(choice.method));
    let engine =
        blocking(host_engine(choice.kind, choice.gpu.as_ref(), &choice.others, &settings))?;
    let engine = WithSources::of(WithOwn { engine, force, raised });
    Simulation::builder(bodies, settings).engine(Box::new(engine)).restart(restart).build()
}

/// The bodies of a state as a snapshot.
fn snapshot_of(state: State, units: Units) -> Snapshot {
    let State { bodies, time, .. } = state;
    Snapshot { units, ..Snapshot::new(bodies, time) }
}

#[pymethods]
impl Engine {
    /// Opens a simulation and computes its first accelerations.
    #[new]
    fn new(
        py: Python<'_>,
        bodies: Given<'_>,
        request: Request,
        force: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        check_room(bodies.len(), memory::BODIES + memory::SIMULATION)?;
        let mut snapshot = bodies.snapshot()?;
        if let Some(g) = request.g
            && g != snapshot.units.gravitational_constant
        {
            // Units in which G has another value would be wrong.
            snapshot.units = Units { gravitational_constant: g, ..Units::default() };
        }
        let units = snapshot.units.clone();
        let raised = Raised::default();
        let force = force.map(|force| (force, Arc::clone(&raised)));
        let open = move || {
            let mut settings = request.settings(&snapshot, request.how.settings()?)?;
            settings.validate()?;
            let choice = devices::choice(snapshot.bodies.len(), &mut settings)?;
            opened(choice, snapshot.bodies, settings, None, force)
        };
        let simulation = attend(py, open, &mut |_| Ok(()))
            .map_err(|error| own::take(&raised).unwrap_or(error))?;
        Ok(Self::of(simulation, units, raised))
    }

    /// The time and the number of steps.
    fn clock(&self, py: Python<'_>) -> PyResult<(f64, u64)> {
        self.look(py, |simulation| (simulation.time(), simulation.steps()))
    }

    /// The settings that do not change.
    fn facts(&self, py: Python<'_>) -> PyResult<Facts> {
        self.look(py, |simulation| {
            let (settings, choice) = (simulation.settings(), simulation.choice());
            Facts {
                n: simulation.len(),
                eps: settings.softening,
                dt: simulation.dt(),
                g: settings.gravitational_constant,
                field: settings.field.0.iter().map(ToString::to_string).collect(),
                integrator: settings.integrator.name,
                // With a force in Python the choice is the caller's engine, whatever that wraps.
                engine: match settings.engine {
                    EngineKind::Auto => choice.kind.name(),
                    kind => kind.name(),
                },
                method: settings.method.unwrap_or(choice.method).name(),
                because: choice.because().into_owned(),
                described: simulation.describe_engine(),
            }
        })
    }

    /// Takes steps. `tick` is called every 50 ms with the number done.
    fn step(&self, py: Python<'_>, steps: u64, tick: Option<Py<PyAny>>) -> PyResult<()> {
        let n = self.look(py, Simulation::len)? as u64;
        let pairs = n.saturating_mul(n).saturating_add(100).saturating_mul(steps);
        if pairs < FEW_PAIRS && self.step_briefly(py, steps)? {
            return Ok(());
        }
        let counted = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&counted);
        let work = move |simulation: &mut Simulation| {
            let mut watch = |done| {
                counter.store(done, Ordering::Relaxed);
                true
            };
            simulation.step_watched(steps, &mut watch).map(|_| ())
        };
        let mut report = |py: Python<'_>| match &tick {
            Some(tick) => tick.call1(py, (counted.load(Ordering::Relaxed),)).map(|_| ()),
            None => Ok(()),
        };
        self.at_work(py, work, &mut report)
    }

    /// The number of steps until the clock shows at least `time`.
    fn steps_until(&self, py: Python<'_>, time: f64) -> PyResult<u64> {
        let (now, dt) = self.look(py, |simulation| (simulation.time(), simulation.dt()))?;
        // A time that the clock shows up to rounding is reached.
        let is_reached = ((time - now) / dt).abs() < 1e-6;
        briefly(py, || if is_reached { Ok(0) } else { run_steps(now, time, dt) })
    }

    /// The bodies now.
    fn bodies<'py>(&self, py: Python<'py>) -> PyResult<Taken<'py>> {
        let units = self.units.clone();
        let state = self.with_few(py, 0, |simulation| simulation.state())?;
        taken(py, snapshot_of(state, units))
    }

    /// The accelerations now.
    fn acceleration<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let state = self.with_few(py, 0, |simulation| simulation.state())?;
        from_vectors(py, state.acceleration)
    }

    /// Changes the bodies' places, motions or masses, and computes their accelerations.
    fn change(
        &self,
        py: Python<'_>,
        position: Option<Vectors<'_>>,
        velocity: Option<Vectors<'_>>,
        mass: Option<Reals<'_>>,
    ) -> PyResult<()> {
        let position = position.as_ref().map(vectors).transpose()?;
        let velocity = velocity.as_ref().map(vectors).transpose()?;
        let mass = mass.as_ref().map(numbers);
        let change = move |bodies: &mut Bodies| {
            bodies.position = position.unwrap_or(std::mem::take(&mut bodies.position));
            bodies.velocity = velocity.unwrap_or(std::mem::take(&mut bodies.velocity));
            bodies.mass = mass.unwrap_or(std::mem::take(&mut bodies.mass));
            Ok(())
        };
        self.with_few(py, 0, move |simulation| simulation.edit(change))
    }

    /// Adds bodies.
    fn add(&self, py: Python<'_>, bodies: Given<'_>) -> PyResult<()> {
        let more = bodies.snapshot()?.bodies;
        self.with(py, move |simulation| simulation.edit(|all| all.append(&more)))
    }

    /// Leaves only the bodies whose entry is true.
    fn retain(&self, py: Python<'_>, stays: PyReadonlyArray1<'_, bool>) -> PyResult<()> {
        let stays = numbers(&stays);
        let change = move |all: &mut Bodies| {
            let stays = |i: &usize| stays.get(*i).copied().unwrap_or(true);
            let index: Vec<usize> = (0..all.len()).filter(stays).collect();
            *all = Bodies {
                id: index.iter().map(|&i| all.id[i]).collect(),
                mass: index.iter().map(|&i| all.mass[i]).collect(),
                position: index.iter().map(|&i| all.position[i]).collect(),
                velocity: index.iter().map(|&i| all.velocity[i]).collect(),
                component: index.iter().map(|&i| all.component[i]).collect(),
                components: std::mem::take(&mut all.components),
            };
            Ok(())
        };
        self.with(py, move |simulation| simulation.edit(change))
    }

    /// Energies, momenta and the like.
    fn energy(&self, py: Python<'_>) -> PyResult<Energies> {
        Ok(self.with_few(py, 0, |simulation| simulation.diagnostics())?.into())
    }

    /// Potentials of all bodies in each other's field and the external one.
    fn potential<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let potential = self.with_few(py, 0, |simulation| {
            let mut potential = simulation.potentials()?;
            let g = simulation.settings().gravitational_constant;
            let field = simulation.settings().field.gravitating(g);
            if !field.is_empty() {
                let bodies = simulation.bodies()?;
                for (of, place) in potential.iter_mut().zip(bodies.position) {
                    *of += field.potential(place);
                }
            }
            Ok(potential)
        })?;
        Ok(PyArray1::from_vec(py, potential))
    }

    /// Radii around the density centre that hold these parts of the mass of one component, or of
    /// all bodies.
    fn lagrangian_radii(
        &self,
        py: Python<'_>,
        fractions: Vec<f64>,
        component: Option<String>,
    ) -> PyResult<Vec<f64>> {
        let wrong = fractions.iter().find(|fraction| !(0.0..=1.0).contains(*fraction));
        if let Some(wrong) = wrong {
            let error = Error::value("a fraction of the mass", wrong, "from 0 to 1");
            return Err(crate::errors::raised(error));
        }
        self.with_few(py, 0, move |simulation| {
            let bodies = simulation.bodies()?;
            let members: Vec<usize> = match &component {
                None => (0..bodies.len()).collect(),
                Some(name) => {
                    let names = || bodies.components.iter().map(|known| known.name.clone());
                    let index = names().position(|known| known == *name);
                    let index = index.ok_or_else(|| {
                        let known = names().collect::<Vec<_>>().join(", ");
                        Error::Unknown { kind: "component", name: name.clone(), known }
                    })?;
                    bodies.of_component(index as u8).collect()
                }
            };
            let centre = density_centre(&bodies, &members);
            Ok(lagrangian_radii(&bodies, &members, centre, &fractions))
        })
    }

    /// Accelerations and potentials at points, by the simulation's engine and with its external
    /// field.
    fn field<'py>(&self, py: Python<'py>, at: Vectors<'py>) -> PyResult<Pulls<'py>> {
        let at = vectors(&at)?;
        let forces = self.with_few(py, at.len(), move |simulation| {
            let bodies = simulation.bodies()?;
            field_at(simulation, &bodies, &at)
        })?;
        pulls(py, forces)
    }

    /// Writes the bodies with everything that continues to the same bits.
    fn save(&self, py: Python<'_>, path: PathBuf, has_force: bool) -> PyResult<()> {
        let units = self.units.clone();
        self.with(py, move |simulation| {
            let state = simulation.state()?;
            let steps = state.steps;
            let mut plan =
                Plan::of(simulation, "Python".to_owned(), steps.max(1), 1).in_units(&units);
            if has_force {
                let settings = simulation.settings();
                plan.engine = settings.engine.name().to_owned();
                plan.method = settings.method.map(|method| method.name().to_owned());
            }
            let plan = toml::to_string(&plan)
                .map_err(|problem| Error::Outside(format!("settings as TOML: {problem}")))?;
            let settings = simulation.settings();
            let mut snapshot = snapshot_of(state, units);
            let facts = [
                ("step", steps.to_string()),
                ("softening", settings.softening.to_string()),
                ("dt", simulation.dt().to_string()),
                ("integrator", settings.integrator.name.to_owned()),
                (PLAN, plan),
            ];
            let facts = facts.map(|(name, value)| (name.to_owned(), value));
            snapshot.attributes.extend(facts);
            if !settings.field.is_empty() {
                snapshot.attributes.insert("field".to_owned(), settings.field.to_string());
            }
            if has_force {
                snapshot.attributes.insert(FORCE.to_owned(), "in Python".to_owned());
            }
            set_restart(&mut snapshot, simulation.restart());
            let format = Some("gravitile".to_owned());
            snapshot::write(path, &snapshot, &WriteOptions { format, ..Default::default() })
                .map(|_| ())
        })
    }

    /// The simulation that [`Engine::save`] wrote.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf, force: Option<Py<PyAny>>) -> PyResult<Self> {
        let raised = Raised::default();
        let force = force.map(|force| (force, Arc::clone(&raised)));
        let open = move || {
            let saved = snapshot::read(&path)?;
            let none = || Error::file(&path, "holds bodies, but no saved simulation: see read()");
            let plan = saved.attributes.get(PLAN).ok_or_else(none)?;
            let wrong = |problem: String| {
                let problem = problem.trim().replace('\n', " ");
                Error::file(&path, format!("the settings of the simulation are damaged: {problem}"))
            };
            let plan: Plan = toml::from_str(plan).map_err(|error| wrong(error.to_string()))?;
            let step = saved.attributes.get("step").and_then(|step| step.parse().ok());
            let step = step.ok_or_else(|| wrong("the number of steps is missing".to_owned()))?;
            let mut settings = plan.settings(step)?;
            let had_force = saved.attributes.contains_key(FORCE);
            if had_force != force.is_some() {
                let needs = if had_force { "with a force: pass it" } else { "without a force" };
                return Err(Error::file(&path, format!("was saved {needs}")));
            }
            let restart = restart_of(&saved);
            let choice = devices::choice(saved.bodies.len(), &mut settings)?;
            let simulation = opened(choice, saved.bodies, settings, restart.as_ref(), force)?;
            Ok((simulation, saved.units))
        };
        let (simulation, units) = attend(py, open, &mut |_| Ok(()))
            .map_err(|error| own::take(&raised).unwrap_or(error))?;
        Ok(Self::of(simulation, units, raised))
    }

    /// A picture of the present state.
    fn picture<'py>(&self, py: Python<'py>, look: Look) -> PyResult<Bound<'py, PyArray3<u8>>> {
        let image = self.with(py, move |simulation| look.still(simulation))?;
        from_image(py, &image)
    }

    /// Films `frames` pictures with `steps_per_frame` steps between two; returns the number of
    /// pictures. `tick` as in [`Engine::step`], with the number of pictures.
    #[allow(clippy::too_many_arguments)]
    fn film(
        &self,
        py: Python<'_>,
        path: PathBuf,
        look: Look,
        frames: u64,
        fps: u32,
        steps_per_frame: u64,
        tick: Option<Py<PyAny>>,
    ) -> PyResult<u64> {
        let counted = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&counted);
        let work = move |simulation: &mut Simulation| {
            let (shot, film) = look.shot(simulation, &path, (frames, fps, steps_per_frame))?;
            let mut watch = |done| {
                counter.store(done, Ordering::Relaxed);
                !gravitile::stop::is_wanted()
            };
            shoot(simulation, &shot, film, &mut watch)
        };
        let mut report = |py: Python<'_>| match &tick {
            Some(tick) => tick.call1(py, (counted.load(Ordering::Relaxed),)).map(|_| ()),
            None => Ok(()),
        };
        self.at_work(py, work, &mut report)
    }
}

/// Accelerations and potentials of the simulation's bodies and its external field at points.
fn field_at(simulation: &Simulation, bodies: &Bodies, at: &[DVec3]) -> Result<Forces> {
    let (settings, choice) = (simulation.settings(), simulation.choice());
    let mut out = Forces::default();
    if at.is_empty() {
        return Ok(out);
    }
    let engine = host_engine(choice.kind, choice.gpu.as_ref(), &choice.others, settings);
    let mass = bodies.gravitating_mass(settings.gravitational_constant);
    let sources = Sources::new(&bodies.position, &mass);
    let sinks = Sinks::new(at, Identity::Foreign);
    let outputs = &Outputs::POTENTIAL;
    blocking(engine)?.evaluate_from(&sources, &sinks, settings.softening, outputs, &mut out)?;
    let field = settings.field.gravitating(settings.gravitational_constant);
    if !field.is_empty() {
        for (i, place) in at.iter().enumerate() {
            out.acceleration[i] += field.acceleration(*place);
            out.potential[i] += field.potential(*place);
        }
    }
    Ok(out)
}
