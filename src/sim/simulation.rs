//! [`Simulation`], the interface to one simulation on any backend.

use std::ops::Range;
use std::sync::Arc;

use glam::DVec3;

use super::clock::{check_advance, check_dt};
use super::{
    BACKENDS, Backend, BackendEntry, BlocksView, BodyParts, Capabilities, Choice, Clock, HostState,
    Observed, Settings, State, VaryingStep, Watch,
};
use crate::bodies::{Bodies, copied};
use crate::diagnostics::Diagnostics;
use crate::error::{Error, Result};
use crate::exchange::Ranks;
use crate::forces::direct::gpu::{KernelConfig, KernelRequest};
use crate::forces::{ForceEngine, check_softening};
use crate::frame::{Frame, coincident};
use crate::gpu::{BodyBuffers, Gpu};
use crate::integrate::blocks::{BlockSteps, Passage, Restart};

/// A running simulation: bodies, engine, integrator and clock. [`crate::sim`] has an example.
pub struct Simulation {
    backend: Box<dyn Backend>,
    clock: Clock,
    /// The step of all bodies, if it varies; steps of the clock are then the longest ones.
    varying: Option<VaryingStep>,
    settings: Settings,
    choice: Choice,
    /// The fields that do not change: ids, masses, components; without positions and velocities,
    /// which the backend has. Empty if it has bodies in host memory.
    host_fields: Bodies,
}

/// Opens the first backend that suits the simulation.
async fn open_backend(
    choice: &Choice,
    bodies: &mut Bodies,
    settings: &Settings,
    restart: Option<&Restart>,
) -> Result<Box<dyn Backend>> {
    let n = choice.rows.as_ref().map_or(bodies.len(), |rows| rows.n);
    let suits = |entry: &&BackendEntry| (entry.suits)(choice, settings, n);
    let entry = BACKENDS.iter().find(suits).unwrap_or(&super::host::BACKEND);
    (entry.open)(choice, bodies, settings, restart).await
}

impl Simulation {
    /// A simulation on the engine of `choice`, with checked bodies and settings.
    pub(crate) async fn open_unchecked(
        choice: Choice,
        mut bodies: Bodies,
        mut settings: Settings,
        restart: Option<&Restart>,
    ) -> Result<Self> {
        let backend = open_backend(&choice, &mut bodies, &settings, restart).await?;
        let frame = backend.capabilities(settings.begins_at()).first_frame();
        settings.frame = frame.or(settings.frame);
        Self::of(backend, choice, bodies, settings).await
    }

    pub(super) async fn of(
        mut backend: Box<dyn Backend>,
        choice: Choice,
        bodies: Bodies,
        settings: Settings,
    ) -> Result<Self> {
        let varying = match settings.auto_dt {
            Some(accuracy) => {
                let numbers = (accuracy, settings.softening, settings.dt);
                Some(VaryingStep::open(numbers, backend.as_mut()).await?)
            }
            None => None,
        };
        let clock = Clock::new(settings.start, settings.steps_before, settings.dt);
        let host_fields = Bodies::default();
        let mut opened = Self { backend, clock, varying, settings, choice, host_fields };
        opened.keep_fields(bodies);
        Ok(opened)
    }

    /// Stores what the backend does not have.
    fn keep_fields(&mut self, bodies: Bodies) {
        self.host_fields = match self.capabilities().host {
            Some(_) => Bodies::default(),
            None => Bodies { position: Vec::new(), velocity: Vec::new(), ..bodies },
        };
    }

    /// The fields that do not change.
    fn fields(&self) -> &Bodies {
        self.capabilities().host.map_or(&self.host_fields, |host| host.bodies)
    }

    /// A copy of the fields that do not change, with room for positions and velocities.
    fn bodies_to_read(&self) -> Bodies {
        let fields = self.fields();
        let n = fields.len();
        Bodies {
            id: copied(&fields.id),
            mass: copied(&fields.mass),
            position: bytemuck::zeroed_vec(n),
            velocity: bytemuck::zeroed_vec(n),
            component: copied(&fields.component),
            components: fields.components.clone(),
        }
    }

    /// A simulation on an open `engine`, with checked settings.
    pub(crate) async fn open_engine(
        choice: Choice,
        engine: Box<dyn ForceEngine>,
        bodies: Bodies,
        settings: Settings,
        restart: Option<&Restart>,
    ) -> Result<Self> {
        let state = HostState::open(bodies, engine, &settings, restart).await?;
        Self::of(Box::new(state), choice, Bodies::default(), settings).await
    }

    /// Simulated time.
    pub fn time(&self) -> f64 {
        self.clock.time()
    }

    /// Steps since the beginning of the run, including those before a restart.
    pub fn steps(&self) -> u64 {
        self.clock.steps()
    }

    /// Number of bodies.
    pub fn len(&self) -> usize {
        self.choice.rows.as_ref().map_or(self.fields().len(), |rows| rows.n)
    }

    /// The bodies that this process has and reads: all, unless each of several ranks has some
    /// ([`super::divides`]). Then states, potentials and diagnostics are read by all ranks at the
    /// same time.
    pub fn rows(&self) -> Range<usize> {
        self.choice.rows.as_ref().map_or(0..self.len(), |rows| rows.own.clone())
    }

    /// Always false: a simulation has at least one body.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The settings it runs with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The engine that computes the forces, and why.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// Describes what computes the forces, in one line.
    pub fn describe_engine(&self) -> String {
        self.backend.describe()
    }

    /// What the backend offers beyond steps and readings.
    fn capabilities(&self) -> Capabilities<'_> {
        self.backend.capabilities(self.time())
    }

    /// The shape of the all-pairs kernel, if it computes forces of bodies on a device.
    pub fn kernel_config(&self) -> Option<KernelConfig> {
        self.capabilities().device?.kernel
    }

    /// Interactions computed by steps so far (not those of diagnostics), the first force included.
    pub fn interactions(&self) -> u64 {
        self.backend.interactions()
    }

    /// The individual steps, if the integrator has them: histogram and block statistics.
    pub fn blocks(&self) -> Option<&BlockSteps> {
        Some(self.capabilities().blocks?.steps)
    }

    /// The step of all bodies, if it varies ([`Settings::auto_dt`]): the clock's steps, which are
    /// all that [`Simulation::advance`] counts, are then the longest ones.
    pub fn varying(&self) -> Option<&VaryingStep> {
        self.varying.as_ref()
    }

    /// The closest passage since the last call, for bodies on individual steps on the host.
    pub fn take_passage(&mut self) -> Option<Passage> {
        let start = self.settings.start;
        let passage = self.take_observed().passage?;
        Some(Passage { time: start + passage.time, ..passage })
    }

    /// What the backend has observed since the last call.
    pub(crate) fn take_observed(&mut self) -> Observed {
        self.backend.take_observed()
    }

    /// What a snapshot must hold besides the bodies read last, so that a run resumed from it has
    /// the same bits: individual steps, and on a device the digits that f64 lacks far from the
    /// origin. Often nothing.
    pub fn restart(&self) -> Restart {
        self.backend.restart()
    }

    /// The frame of the numbers in the device's buffers now, if the bodies live on one device.
    pub fn frame(&self) -> Option<Frame> {
        Some(self.capabilities().device?.frame)
    }

    /// The time that the bodies reached when a step was cut short; `None` if they are at the end
    /// of a whole step.
    pub fn stopped_at(&self) -> Option<f64> {
        let BlocksView { stopped_at, .. } = self.capabilities().blocks?;
        Some(self.settings.start + stopped_at?)
    }

    /// How many of `bodies` have another so near that f32 cannot tell the two apart
    /// ([`crate::frame::coincident`]); 0 if forces are computed more precisely.
    ///
    /// # Errors
    /// If each rank has some of the bodies: a rank is gone.
    pub fn closer_than_f32(&self, bodies: &Bodies) -> Result<usize> {
        let Capabilities { device, parts_frame, in_f32, .. } = self.capabilities();
        let (x, mass) = (&bodies.position, &bodies.mass);
        let of_parts = || parts_frame.map(|frame| frame.at(self.time()));
        let frame = device.map(|device| device.frame).or_else(of_parts);
        if frame.is_none() && !in_f32 {
            return Ok(0);
        }
        let softening = self.settings.softening;
        if let (Some(ranks), Some(rows)) = (self.readers(), &self.choice.rows) {
            let of_call = || Frame::of_call_all(ranks, rows, x, mass, softening);
            let frame = frame.map_or_else(of_call, Ok)?;
            return crate::frame::coincident_of_all(ranks, &frame, x);
        }
        let of_call = || Frame::of_call(x, x, mass, softening);
        Ok(coincident(&frame.unwrap_or_else(of_call), x))
    }

    /// The ranks, if each has some of the bodies.
    fn readers(&self) -> Option<&Ranks> {
        self.choice.ranks.as_ref().filter(|_| self.choice.rows.is_some())
    }

    /// The device and the bodies' buffers on it, in [`Simulation::frame`], if they live on one.
    pub fn device(&self) -> Option<(&Arc<Gpu>, &BodyBuffers)> {
        let device = self.capabilities().device?;
        Some((device.gpu, device.buffers))
    }

    /// The bodies of several devices and the frame of their numbers now, if each device has a part
    /// of the bodies.
    pub fn parts(&mut self) -> Option<(Frame, &mut dyn BodyParts)> {
        let frame = self.capabilities().parts_frame?.at(self.time());
        self.backend.parts().map(|parts| (frame, parts))
    }

    /// Whether the bodies live on one device or several.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn is_on_devices(&self) -> bool {
        self.capabilities().first_frame().is_some()
    }

    /// The bodies and accelerations, if they live on the host; nothing is copied.
    pub fn host(&self) -> Option<(&Bodies, &[DVec3])> {
        let host = self.capabilities().host?;
        Some((host.bodies, host.acceleration))
    }

    /// Changes the time step from now on; a negative step goes back in time.
    ///
    /// # Errors
    /// A step that is not finite, or too short to advance the clock; one that the integrator cannot
    /// take; a negative one if the step varies.
    pub fn set_dt(&mut self, dt: f64) -> Result<()> {
        check_dt(dt.abs())?;
        if self.varying.is_some() {
            super::check_forwards(dt)?;
        }
        check_advance(self.time(), dt)?;
        if let Some(frame) = self.capabilities().first_frame() {
            frame.dt(dt)?;
        }
        self.clock.set_dt(dt);
        self.varying.iter_mut().for_each(|varying| varying.set_longest(dt));
        Ok(())
    }

    /// The time step; negative if time runs backwards.
    pub fn dt(&self) -> f64 {
        self.clock.dt()
    }

    /// Takes up to `n` steps. `watch` is called with the number done so far after each step or
    /// batch of steps; it returns false to end early. Returns the number of steps done; they are
    /// always whole.
    ///
    /// # Errors
    /// Those of the engine; [`Error::Stopped`] if [`crate::stop`] interrupted it. The bodies are
    /// then at the end of their last whole step.
    pub async fn advance(&mut self, n: u64, watch: &mut Watch<'_>) -> Result<u64> {
        let dt = self.clock.dt();
        let (done, ended) = match &mut self.varying {
            None => self.backend.advance(dt, n, &mut |done| watch(done)).await,
            Some(varying) => varying.advance_steps(n, self.backend.as_mut(), watch).await,
        };
        // Steps done before a failure count.
        self.clock.advance(done);
        let (step, now) = (self.clock.steps(), self.time());
        match ended {
            // Errors of individual steps name the time themselves.
            Err(error) if self.blocks().is_none() => {
                Err(with_time(error, &format!("in the step after {step} (t = {now})")))
            }
            ended => ended.map(|()| done),
        }
    }

    /// Reads the bodies and their accelerations at the present time.
    ///
    /// # Errors
    /// [`Error::Body`] if a body has left the range of numbers, as happens when the step is too
    /// long for the softening.
    pub async fn fetch(&mut self) -> Result<State> {
        let mut bodies = self.bodies_to_read();
        let acceleration = self.read_into(&mut bodies).await?;
        let (step, now) = (self.clock.steps(), self.time());
        let first = self.rows().start;
        let checked = bodies.check_range().map_err(|error| error.numbered_from(first));
        let checked = super::backend::first_of_all(self.readers(), checked);
        checked.map_err(|error| with_time(error, &format!("by step {step} (t = {now})")))?;
        let time = self.stopped_at().unwrap_or(self.time());
        let softening = self.settings.softening;
        Ok(State { time, steps: self.clock.steps(), bodies, acceleration, softening })
    }

    /// Reads positions and velocities into `bodies`, which are of this simulation; returns the
    /// accelerations.
    ///
    /// # Errors
    /// The device failed.
    pub(crate) async fn read_into(&mut self, bodies: &mut Bodies) -> Result<Vec<DVec3>> {
        self.backend.read(bodies, self.clock.time()).await
    }

    /// The potentials of all bodies now, G included, as [`crate::diagnostics::diagnose`] takes
    /// them.
    ///
    /// # Errors
    /// Those of the engine; [`Error::Stopped`].
    pub async fn fetch_potentials(&mut self) -> Result<Vec<f64>> {
        self.backend.potential().await
    }

    /// The diagnostics of `state`, which must be the current one.
    ///
    /// # Errors
    /// Those of [`Simulation::fetch_potentials`].
    pub async fn diagnose(&mut self, state: &State) -> Result<Diagnostics> {
        let potential = self.fetch_potentials().await?;
        self.diagnose_by(&state.bodies, &potential)
    }

    /// [`Simulation::diagnose`] with potentials that are known.
    ///
    /// # Errors
    /// If each rank has some of the bodies: a rank is gone.
    pub(crate) fn diagnose_by(&self, bodies: &Bodies, potential: &[f64]) -> Result<Diagnostics> {
        if let Some(ranks) = self.readers() {
            return self.settings.diagnose_all(ranks, bodies, potential);
        }
        self.settings.diagnose(bodies, potential)
    }

    /// Continues from the present time with other bodies, or with bodies changed in number, place,
    /// motion or mass. Recomputes accelerations and individual steps at once.
    ///
    /// # Errors
    /// Bodies out of range; those of the engine. On an error nothing has changed.
    pub async fn replace(&mut self, bodies: Bodies) -> Result<()> {
        if self.choice.rows.is_some() {
            let allowed = "one that reads all bodies, if they are to be changed";
            return Err(Error::value("this rank", "one that reads some of the bodies", allowed));
        }
        bodies.validate()?;
        // A device takes a new frame that suits the bodies, which may be elsewhere now.
        let settings = Settings { frame: None, ..self.settings.clone() };
        self.replace_with(bodies, settings).await
    }

    /// Continues from the present time with another softening or kernel; recomputes the
    /// accelerations at once.
    ///
    /// # Errors
    /// A softening or a kernel out of range; those of the engine.
    pub(crate) async fn set_forces(&mut self, softening: f64, kernel: KernelRequest) -> Result<()> {
        check_softening(softening)?;
        Settings { softening, ..self.settings.clone() }.validate()?;
        if kernel == self.settings.kernel && self.backend.set_softening(softening).await? {
            self.settings.softening = softening;
            return self.renew_step().await;
        }
        let mut bodies = self.bodies_to_read();
        self.read_into(&mut bodies).await?;
        self.replace_with(bodies, Settings { softening, kernel, ..self.settings.clone() }).await
    }

    async fn replace_with(&mut self, bodies: Bodies, settings: Settings) -> Result<()> {
        // The start is that of a run with the same number of steps, all of the present length.
        let (dt, steps_before) = (self.clock.dt(), self.clock.steps());
        let start = self.clock.time() - steps_before as f64 * dt;
        let now = Settings { start, dt, steps_before, ..settings.clone() };
        self.backend.replace(&bodies, &now).await?;
        let frame = self.capabilities().first_frame();
        self.settings = Settings { frame, ..settings };
        self.keep_fields(bodies);
        self.renew_step().await
    }

    /// Chooses the next step again, if it varies, after the forces have changed.
    async fn renew_step(&mut self) -> Result<()> {
        match &mut self.varying {
            Some(varying) => varying.renew(self.settings.softening, self.backend.as_mut()).await,
            None => Ok(()),
        }
    }
}

/// Adds the time `when` it happened to an error about a body.
fn with_time(error: Error, when: &str) -> Error {
    match error {
        Error::Body { index, id, problem } => {
            Error::Body { index, id, problem: format!("{when}: {problem}") }
        }
        other => other,
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Simulation {
    /// Whether each of several ranks has some of the bodies.
    pub(crate) fn is_divided(&self) -> bool {
        self.choice.rows.is_some()
    }

    /// Takes `n` steps, blocking.
    ///
    /// # Errors
    /// Those of [`Simulation::advance`].
    pub fn step(&mut self, n: u64) -> Result<()> {
        self.step_watched(n, &mut |_| true).map(|_| ())
    }

    /// [`Simulation::advance`], blocking.
    pub fn step_watched(&mut self, n: u64, watch: &mut Watch<'_>) -> Result<u64> {
        pollster::block_on(self.advance(n, watch))
    }

    /// Takes steps until the clock shows at least `time`, blocking.
    ///
    /// # Errors
    /// Those of a step; more than [`super::MOST_STEPS`] steps.
    pub fn run_until(&mut self, time: f64) -> Result<()> {
        let steps = self.clock.steps_until(time);
        if steps > super::MOST_STEPS {
            super::run_steps(self.time(), time, self.clock.dt())?;
        }
        self.step(steps)
    }

    /// [`Simulation::fetch`], blocking.
    pub fn state(&mut self) -> Result<State> {
        pollster::block_on(self.fetch())
    }

    /// [`Simulation::fetch_potentials`], blocking.
    pub fn potentials(&mut self) -> Result<Vec<f64>> {
        pollster::block_on(self.fetch_potentials())
    }

    /// The bodies at the present time, blocking.
    ///
    /// # Errors
    /// Those of [`Simulation::fetch`].
    pub fn bodies(&mut self) -> Result<Bodies> {
        Ok(self.state()?.bodies)
    }

    /// Lets `change` edit the bodies between two steps: move them, change masses, add and remove
    /// bodies.
    ///
    /// # Errors
    /// Those of `change` and of [`Simulation::replace`]. On an error nothing has changed.
    pub fn edit(&mut self, change: impl FnOnce(&mut Bodies) -> Result<()>) -> Result<()> {
        let mut bodies = self.bodies()?;
        change(&mut bodies)?;
        pollster::block_on(self.replace(bodies))
    }

    /// Energies, momenta, virial ratio and Lagrangian radii at the present time. Costs one force
    /// evaluation.
    ///
    /// # Errors
    /// Those of [`Simulation::fetch`] and [`Simulation::fetch_potentials`].
    pub fn diagnostics(&mut self) -> Result<Diagnostics> {
        let state = self.state()?;
        self.diagnostics_of(&state)
    }

    /// [`Simulation::diagnose`], blocking.
    pub fn diagnostics_of(&mut self, state: &State) -> Result<Diagnostics> {
        pollster::block_on(self.diagnose(state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program may open a simulation on one thread and step it on another.
    #[test]
    fn simulation_is_send() {
        fn sendable<T: Send>() {}
        sendable::<Simulation>();
    }
}
