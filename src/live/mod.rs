//! Interactive simulation: controls simulated time, takes commands, does a bounded slice of work
//! per frame and never blocks the caller.
//!
//! ```text
//! commands -> Live -> device: a slice of steps in the frame's encoder
//!               |     host: steps on worker threads
//!               |---> the buffers that the sprites read
//!               |---> events: reports, moments, checkpoints, errors
//! ```
//!
//! The simulation is bit-reproducible: its results depend on the commands and the steps between
//! which they come, never on frames, budgets or on whether a panel is shown.

mod background;
mod blocks;
mod body;
mod cadence;
mod command;
mod force_error;
mod frame_pace;
mod inspection;
mod mailbox;
mod mover;
mod moves;
mod on_device;
mod on_worker;
mod points;
#[cfg(all(feature = "priority", not(target_arch = "wasm32")))]
mod priority;
mod rates;
mod status;
mod tempo;
mod tracking;
mod worker;

use std::sync::Arc;

use crate::wall_clock::{Duration, Instant};
use glam::DVec4;

pub use background::Background;
pub use blocks::BlockFacts;
pub use body::{BodyFacts, Neighbour};
pub use command::{Command, Event, Report};
pub use force_error::{ForceError, SAMPLES};
pub use inspection::{InspectRequest, Inspected, InspectedTree, InspectedWalk};
#[cfg(all(feature = "priority", not(target_arch = "wasm32")))]
pub use priority::lower_engine_priority;
pub use rates::Rates;
pub use status::Status;
pub use tempo::{Tempo, TimeKeeper};
use tracking::Tracker;
pub use tracking::Tracking;

use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::forces::direct::gpu::KernelRequest;
use crate::forces::{Budget, check_softening};
use crate::gpu::{FrameTimes, Gpu};
use crate::sim::{
    Choice, EngineKind, Settings, Simulation, VaryingStep, Work, check_advance, check_forwards,
    host_engine,
};
use cadence::{Cadence, CopyPurpose};
use command::{Changed, KernelChange};
use frame_pace::FramePace;
use inspection::Inspection;
use mover::Mover;
use moves::{FrameSlice, Reached};
use on_device::LiveOnDevice;
use on_worker::OnWorker;
use worker::WorkerSource;

/// An interactive simulation: it takes commands and does a bounded slice of work per frame.
pub struct Live {
    gpu: Arc<Gpu>,
    mover: Mover,
    settings: Settings,
    choice: Choice,
    /// The time step with its direction.
    dt: f64,
    keeper: TimeKeeper,
    rates: Rates,
    status: Status,
    opened: Instant,
    blocks: Option<BlockFacts>,
    varying: Option<VaryingStep>,
    events: Vec<Event>,
    /// When diagnostics are requested.
    reports: Cadence,
    /// When states are requested, to continue from if the device is lost.
    checkpoints: Cadence,
    inspection: Inspection,
    /// No step begins at this time or later.
    until: Option<f64>,
    /// Steps are taken to this time even while paused.
    follows: Option<f64>,
    /// The time that the steps allowed so far lead to.
    allowed: f64,
    frame: u64,
    count: usize,
    tracker: Tracker,
    resting: bool,
    /// Kernel and softening in use while new ones are not in effect yet.
    before_change: Option<(KernelRequest, f64)>,
    /// The work given to the last frame, and its budget.
    last_slice: (Work, Budget),
    frame_pace: FramePace,
}

/// Shortest pause between diagnostics.
const REPORTS: Duration = Duration::from_millis(500);
/// Shortest pause between checkpoints.
const CHECKPOINTS: Duration = Duration::from_secs(1);

impl Live {
    /// Puts the bodies on the chosen engine: the window's device for a single GPU, all chosen
    /// devices for several. `units_per_sec` is the default speed in units of simulated time per
    /// second. The first accelerations are computed later, by the first frames or the worker. May
    /// be awaited on any thread.
    ///
    /// # Errors
    ///
    /// Those of [`crate::sim::SimulationBuilder::open`].
    pub async fn open(
        gpu: &Arc<Gpu>,
        choice: Choice,
        bodies: Bodies,
        mut settings: Settings,
        units_per_sec: f64,
    ) -> Result<Self> {
        bodies.validate()?;
        settings.validate()?;
        settings.method = Some(choice.method);
        let count = bodies.len();
        let mover = match choice.kind {
            // A worker may wait for the number on which the next step depends; a frame may not.
            EngineKind::Gpu
                if !settings.steps_on_host()
                    && (!choice.others.is_empty() || settings.auto_dt.is_some()) =>
            {
                let (choice, bodies_of_group) = (choice.clone(), bodies.clone());
                let opening =
                    Simulation::open_unchecked(choice, bodies_of_group, settings.clone(), None);
                let simulation = Box::new(opening.await?);
                settings.frame = simulation.settings().frame;
                let source = WorkerSource::Devices(simulation);
                Mover::Worker(Box::new(OnWorker::start(gpu, bodies, source, &settings)?))
            }
            EngineKind::Gpu if !settings.steps_on_host() => {
                let mover = LiveOnDevice::open(Arc::clone(gpu), bodies, &settings).await?;
                settings.frame = Some(mover.frame());
                Mover::Device(Box::new(mover))
            }
            kind => {
                let (gpus, others) = (choice.gpu.as_ref(), &choice.others);
                let engine = host_engine(kind, gpus, others, &settings).await?;
                let source = WorkerSource::Engine(choice.clone(), engine);
                Mover::Worker(Box::new(OnWorker::start(gpu, bodies, source, &settings)?))
            }
        };
        let (time, steps) = (settings.begins_at(), settings.steps_before);
        let status = Status { time, steps, ..Status::default() };
        Ok(Self {
            gpu: Arc::clone(gpu),
            mover,
            dt: settings.dt,
            settings,
            choice,
            keeper: TimeKeeper::new(units_per_sec),
            rates: Rates::default(),
            status,
            opened: Instant::now(),
            blocks: None,
            varying: None,
            events: Vec::new(),
            reports: Cadence::new(REPORTS),
            checkpoints: Cadence::new(CHECKPOINTS),
            inspection: Inspection::default(),
            until: None,
            follows: None,
            allowed: time,
            frame: 0,
            count,
            tracker: Tracker::default(),
            resting: false,
            before_change: None,
            last_slice: (Work::default(), Budget::INTERACTIVE),
            frame_pace: FramePace::default(),
        })
    }

    /// Carries out a command.
    ///
    /// # Errors
    ///
    /// The command is invalid in the current state; nothing is changed then.
    pub fn apply(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Pause(paused) => {
                self.keeper.paused = paused;
                if paused {
                    self.pause_worker();
                }
            }
            Command::Step(steps) => self.keeper.request_steps(steps),
            Command::Tempo(tempo) => self.keeper.tempo = tempo,
            Command::Factor(factor) => {
                if !(factor > 0.0 && factor.is_finite()) {
                    return Err(Error::value("the speed", factor, "greater than 0"));
                }
                self.keeper.factor = factor;
            }
            Command::Reverse => {
                let integrator = self.settings.integrator;
                if !integrator.reversible {
                    let allowed = format!("forwards only with {}", integrator.name);
                    return Err(Error::value("the direction of time", "backwards", allowed));
                }
                if self.settings.auto_dt.is_some() {
                    check_forwards(-self.dt)?;
                }
                self.dt = -self.dt;
            }
            Command::Dt(dt) => {
                let changed = Settings { dt, ..self.settings.clone() };
                changed.validate()?;
                check_advance(self.status.time, dt.copysign(self.dt))?;
                (self.settings, self.dt) = (changed, dt.copysign(self.dt));
            }
            Command::Softening(softening) => {
                check_softening(softening)?;
                Settings { softening, ..self.settings.clone() }.validate()?;
                self.change(KernelChange { softening, ..self.change_of(Changed::Softening) })?;
                self.settings.softening = softening;
            }
            Command::Kernel(kernel) => {
                self.change(KernelChange { kernel, ..self.change_of(Changed::Kernel) })?;
                self.settings.kernel = kernel;
                self.rates.forget();
            }
            Command::Recompile => self.change(self.change_of(Changed::Shaders))?,
            Command::Report => self.request_report(),
            Command::State => self.request_bodies(CopyPurpose::Answer),
        }
        Ok(())
    }

    /// Records the frame's slice of the simulation into `encoder`. `wall_secs` is the time since
    /// the last frame, `budget` the device time that this frame may take.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        wall_secs: f64,
        budget: Budget,
    ) -> Result<Work> {
        self.frame += 1;
        let is_still = self.resting || self.mover.is_changing();
        let due = if is_still { 0 } else { self.keeper.due(wall_secs, self.dt) };
        let due = self.until.map_or(due, |until| due.min(self.steps_to(until)));
        let due = if is_still { 0 } else { due.max(self.steps_behind()) };
        self.allowed = self.mover.reached().time + due as f64 * self.dt;
        let slice = FrameSlice {
            gpu: &self.gpu,
            encoder,
            due,
            dt: self.dt,
            budget,
            number: self.frame,
            tracker: &mut self.tracker,
        };
        let recorded = self.mover.record(slice);
        if recorded.is_err() {
            self.reports.give_up();
        }
        let work = recorded?;
        self.last_slice = (work, budget);
        if !self.status.ready {
            self.status.first_interactions += work.interactions;
        }
        self.keeper.done(work.steps, self.dt);
        self.take_reached();
        self.status.behind = self.keeper.is_behind();
        self.rates.frame(wall_secs, work.steps, work.interactions);
        self.request_what_is_due();
        Ok(work)
    }

    /// Sets the time from which on no step begins, so that the state of that time is drawn; `None`
    /// removes the limit.
    pub fn go_until(&mut self, time: Option<f64>) {
        self.until = time;
    }

    /// Takes the steps to this time, even while paused or beyond [`Live::go_until`]; `None` ends
    /// that. Used for a simulation that follows the clock of another one.
    pub fn follow(&mut self, time: Option<f64>) {
        self.follows = time;
    }

    /// The time that the steps allowed so far lead to; infinite if their number has no limit.
    pub fn allowed_until(&self) -> f64 {
        self.allowed
    }

    /// Number of steps to the time that it follows.
    fn steps_behind(&self) -> u64 {
        self.follows.map_or(0, |time| self.steps_to(time))
    }

    /// Number of steps to a time, in the direction of time; the last one may pass it.
    fn steps_to(&self, time: f64) -> u64 {
        let steps = (time - self.mover.reached().time) / self.dt;
        // Rounding errors must not add a step to a whole number of steps.
        (steps - 1e-6).ceil().max(0.0) as u64
    }

    /// Call after the frame's submission.
    pub fn submitted(&mut self) {
        self.mover.device_mut().into_iter().for_each(LiveOnDevice::submitted);
        self.tracker.submitted();
    }

    /// Sets the bodies whose positions are read back.
    pub fn track(&mut self, what: Tracking) {
        self.tracker.what = what;
    }

    /// The latest positions of the tracked bodies, if any have come since the last call: one for a
    /// single body, else all in the order of the bodies. The fourth number is G m in the frame's
    /// unit of mass.
    pub fn tracked(&mut self) -> Option<Vec<DVec4>> {
        self.tracker.take()
    }

    /// Sets what is inspected in the forces, in the background and without any effect on the
    /// results.
    pub fn inspect(&mut self, request: InspectRequest) {
        self.inspection.request(request);
    }

    /// The results of the inspection so far.
    pub fn inspected(&self) -> &Inspected {
        self.inspection.inspected()
    }

    /// Takes in the times of an earlier frame, of which the span `steps` is the simulation's. The
    /// frame's number is what [`Live::frame`] returned after its recording.
    pub fn learn(&mut self, times: &FrameTimes) {
        let learned = self.mover.device_mut().and_then(|device| device.learn(times));
        if let Some((work, secs)) = learned {
            self.rates.kernel(work.interactions, secs);
        }
    }

    /// For devices without timestamps: takes in that the last frame came after `wall_secs`, and
    /// adapts the size of the slices.
    pub fn learn_from_frames(&mut self, wall_secs: f64) {
        if let Some(device) = self.mover.device_mut() {
            let throughput = device.throughput();
            let (work, budget) = self.last_slice;
            let slice_secs = throughput.secs(work.interactions, work.dispatches);
            let factor = self.frame_pace.learn(wall_secs, slice_secs, budget.submission_secs);
            device.learn_rate((throughput.rate() * factor).clamp(1e6, 1e14));
        }
    }

    /// The events since the last call. The device must have been polled.
    pub fn poll(&mut self) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.events);
        let done = self.mover.poll(&mut self.rates, &mut events);
        self.keeper.done(done, self.dt);
        let blocks = self.mover.worker().and_then(OnWorker::take_blocks);
        self.blocks = blocks.or(self.blocks.take());
        let varying = self.mover.worker().and_then(OnWorker::take_varying);
        self.varying = varying.or(self.varying.take());
        self.take_reached();
        match self.mover.device_mut().and_then(LiveOnDevice::take_change) {
            Some(Ok(())) => self.before_change = None,
            Some(Err(error)) => {
                if let Some((kernel, softening)) = self.before_change.take() {
                    (self.settings.kernel, self.settings.softening) = (kernel, softening);
                }
                events.push(Event::Failed(error));
            }
            None => {}
        }
        for event in &events {
            match event {
                Event::Report(report) => self.reports.receive(report.steps),
                Event::State(state) | Event::Checkpoint(state) => {
                    self.checkpoints.receive(state.steps);
                    self.inspection.receive(state);
                }
                Event::Failed(_) => {
                    self.reports.give_up();
                    self.checkpoints.give_up();
                }
            }
        }
        events.extend(self.inspection.poll(&self.settings).err().map(Event::Failed));
        events
    }

    /// A change with the current kernel and softening, in which the caller sets the new value.
    fn change_of(&self, what: Changed) -> KernelChange {
        let Settings { kernel, softening, .. } = self.settings;
        KernelChange { kernel, softening, what }
    }

    /// Begins a change. The current kernel and softening are stored, to restore them if the new
    /// ones do not compile.
    fn change(&mut self, change: KernelChange) -> Result<()> {
        self.mover.change(&self.gpu, change)?;
        if self.mover.is_changing() {
            let now = (self.settings.kernel, self.settings.softening);
            self.before_change.get_or_insert(now);
        }
        Ok(())
    }

    /// Whether a requested kernel or softening is not in effect yet; until then no step begins.
    pub fn is_changing(&self) -> bool {
        self.mover.is_changing()
    }

    /// Withdraws the steps that a worker may still take.
    fn pause_worker(&self) {
        if let Some(worker) = self.mover.worker() {
            worker.allow(0, self.dt);
        }
    }

    fn take_reached(&mut self) {
        let Reached { time, steps, ready, .. } = self.mover.reached();
        if ready && !self.status.ready {
            self.reports.expect(self.opened.elapsed(), self.frame);
        }
        (self.status.time, self.status.steps, self.status.ready) = (time, steps, ready);
    }

    fn request_report(&mut self) {
        self.reports.request();
        self.mover.request_report();
    }

    /// Requests diagnostics of the current state, unless they exist or are pending: for a
    /// simulation that takes no steps, whose next regular ones may be due much later.
    pub fn report_at_rest(&mut self) {
        if self.status.ready && self.reports.is_due_at_rest(self.status.steps) {
            self.request_report();
        }
    }

    fn request_bodies(&mut self, purpose: CopyPurpose) {
        self.checkpoints.request();
        self.mover.request_bodies(purpose);
    }

    /// Requests regular diagnostics and checkpoints, and bodies for the inspection.
    fn request_what_is_due(&mut self) {
        if !self.status.ready {
            return;
        }
        if self.reports.is_due(self.status.steps) {
            self.request_report();
        }
        let (steps, settings) = (self.status.steps, &self.settings);
        let is_inspection_due =
            !self.checkpoints.is_pending() && self.inspection.needs_bodies(steps, settings);
        if is_inspection_due || self.checkpoints.is_due(steps) {
            self.request_bodies(CopyPurpose::Checkpoint);
        }
    }
}
