//! A simulation that is watched: it owns time, takes commands, does a bounded slice of work per frame and never makes
//! the watcher wait.
//!
//! ```text
//! commands -> Live -> a slice of steps into the frame's encoder (device) or steps on worker threads (host)
//!               |---> the buffers that the sprites read
//!               |---> events: reports, moments, states to go on from, errors
//! ```
//!
//! The bits of the simulation depend on the commands and the steps they come between, never on frames,
//! budgets or on whether a panel is shown.

mod beside;
mod blocks;
mod body;
mod cadence;
mod change;
mod command;
mod force_error;
mod frame_pace;
mod looking;
mod mailbox;
mod mover;
mod on_device;
mod on_host;
mod parts;
mod points;
#[cfg(all(feature = "window", not(target_arch = "wasm32")))]
mod priority;
mod rates;
mod status;
mod tempo;
mod tracking;
mod worker;

use std::sync::Arc;

use glam::DVec4;
use web_time::{Duration, Instant};

#[cfg(feature = "panel")]
pub(crate) use beside::Beside;
pub use blocks::BlockFacts;
pub use body::{BodyFacts, Neighbour};
pub use command::{Command, Event, Report};
pub use force_error::{ForceError, SAMPLES};
pub use looking::{Seen, SeenTree, SeenWalk, Wish};
#[cfg(all(feature = "window", not(target_arch = "wasm32")))]
pub(crate) use priority::let_engines_give_way;
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
use crate::sim::{Choice, Clock, EngineKind, Settings, Work, host_engine, residence};
use cadence::{Cadence, Purpose};
use frame_pace::FramePace;
use looking::Looking;
use mover::{FramePart, Mover, Reached};
use on_device::OnDevice;
use on_host::OnHost;
use worker::Home;

/// A simulation that is watched: it takes commands and does a bounded slice of work per frame.
pub struct Live {
    gpu: Arc<Gpu>,
    mover: Box<dyn Mover>,
    settings: Settings,
    choice: Choice,
    /// The time step with its direction.
    dt: f64,
    keeper: TimeKeeper,
    rates: Rates,
    status: Status,
    opened: Instant,
    blocks: Option<BlockFacts>,
    events: Vec<Event>,
    /// When diagnostics are asked for, and when states to go on from if the device is lost.
    reports: Cadence,
    kept: Cadence,
    looking: Looking,
    /// No step goes beyond this time.
    until: Option<f64>,
    frame: u64,
    count: usize,
    tracker: Tracker,
    resting: bool,
    /// Kernel and softening in use while others are being compiled.
    before_change: Option<(KernelRequest, f64)>,
    /// The work given to the last frame, and its budget.
    last_slice: (Work, Budget),
    frame_pace: FramePace,
}

/// Diagnostics come at most this often.
const REPORTS: Duration = Duration::from_millis(500);
/// States to go on from come at most this often.
const KEPT: Duration = Duration::from_secs(1);

impl Live {
    /// Hands the bodies to the chosen engine: on the window's device for a single GPU, on all chosen devices for
    /// several. `units_per_sec` is the usual speed in units of simulated time per second. The first accelerations are
    /// computed later, by the first frames or the worker. May be awaited on any thread.
    ///
    /// Errors: as of [`crate::sim::Simulation::open`].
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
        let mover: Box<dyn Mover> = match choice.kind {
            EngineKind::Gpu if !settings.steps_on_host() && !choice.beside.is_empty() => {
                let group = residence(&choice, &bodies, &settings, None).await?;
                let there = group.on_device(settings.begins_at());
                settings.frame = there.map(|there| there.first_frame);
                Box::new(OnHost::start(gpu, bodies, Home::Elsewhere(group), &settings)?)
            }
            EngineKind::Gpu if !settings.steps_on_host() => {
                let mover = OnDevice::open(Arc::clone(gpu), bodies, &settings).await?;
                settings.frame = Some(mover.frame());
                Box::new(mover)
            }
            kind => {
                let mut engine = host_engine(kind, choice.gpu.as_ref(), &settings).await?;
                engine.put_beside(&choice.beside);
                Box::new(OnHost::start(gpu, bodies, Home::Host(engine), &settings)?)
            }
        };
        let clock = Clock::new(settings.start, settings.steps_before, settings.dt);
        let status = Status { time: clock.time(), steps: clock.steps(), ..Status::default() };
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
            events: Vec::new(),
            reports: Cadence::new(REPORTS),
            kept: Cadence::new(KEPT),
            looking: Looking::default(),
            until: None,
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
    /// Errors name what is wrong; everything then stays as it was.
    pub fn apply(&mut self, command: Command) -> Result<()> {
        match command {
            Command::Pause(paused) => {
                self.keeper.paused = paused;
                if paused {
                    self.mover.pause(self.dt);
                }
            }
            Command::Step(steps) => self.keeper.ask_steps(steps),
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
                self.dt = -self.dt;
            }
            Command::Dt(dt) => {
                let changed = Settings { dt, ..self.settings.clone() };
                changed.validate()?;
                (self.settings, self.dt) = (changed, dt.copysign(self.dt));
            }
            Command::Softening(softening) => {
                check_softening(softening)?;
                self.mover.set_softening(&self.settings.kernel, softening)?;
                self.begin_change();
                self.settings.softening = softening;
            }
            Command::Kernel(request) => {
                self.mover.set_kernel(&self.gpu, &request, self.settings.softening)?;
                self.begin_change();
                self.settings.kernel = request;
                self.rates.forget();
            }
            Command::Recompile => {
                self.mover.recompile(&self.settings.kernel, self.settings.softening)?;
                self.begin_change();
            }
            Command::Report => self.ask_report(),
            Command::Moment => self.ask_bodies(Purpose::Answer),
        }
        Ok(())
    }

    /// Records the frame's part of the simulation into `encoder`. `wall_secs` is the time since the last frame,
    /// `budget` the device time that this frame may take.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        wall_secs: f64,
        budget: Budget,
    ) -> Result<Work> {
        self.frame += 1;
        let still = self.resting || self.mover.is_changing();
        let due = if still { 0 } else { self.keeper.due(wall_secs, self.dt) };
        let due = self.until.map_or(due, |until| due.min(self.steps_to(until)));
        let part = FramePart {
            gpu: &self.gpu,
            encoder,
            due,
            dt: self.dt,
            budget,
            number: self.frame,
            tracker: &mut self.tracker,
        };
        let recorded = self.mover.record(part);
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
        self.ask_what_is_due();
        Ok(work)
    }

    /// Lets no step begin at this time or beyond it, until called again: so the state of that time is drawn.
    pub fn go_until(&mut self, time: Option<f64>) {
        self.until = time;
    }

    /// Steps left to a time, in the direction of time; the last may reach beyond it.
    fn steps_to(&self, time: f64) -> u64 {
        let steps = (time - self.mover.reached().time) / self.dt;
        // A time a whole number of steps away, up to rounding, needs no extra one.
        (steps - 1e-6).ceil().max(0.0) as u64
    }

    /// Call after the frame's submission.
    pub fn submitted(&mut self) {
        self.mover.submitted();
        self.tracker.submitted();
    }

    /// Sets whose positions are wanted from now on.
    pub fn track(&mut self, what: Tracking) {
        self.tracker.what = what;
    }

    /// The latest positions of what is tracked, if any have come since the last call: one for a single body, else all
    /// in the order of the bodies. The fourth number is G m in a unit of its own.
    pub fn tracked(&mut self) -> Option<Vec<DVec4>> {
        self.tracker.take()
    }

    /// Sets what is looked for in the forces from now on, in the background and without changing a bit.
    pub fn look(&mut self, wish: Wish) {
        self.looking.wish(wish);
    }

    /// What of it has been found so far.
    pub fn seen(&self) -> &Seen {
        self.looking.seen()
    }

    /// Takes in the times of an earlier frame, whose part `steps` is the simulation's. The frame's number is what
    /// [`Live::frame`] returned after its recording.
    pub fn learn(&mut self, times: &FrameTimes) {
        if let Some((work, secs)) = self.mover.learn(times) {
            self.rates.kernel(work.interactions, secs);
        }
    }

    /// Without timestamps: takes in that the last frame came after `wall_secs`, and makes the slices smaller, or
    /// larger while there is time.
    pub fn learn_from_frames(&mut self, wall_secs: f64) {
        if let Some(throughput) = self.mover.throughput() {
            let (work, budget) = self.last_slice;
            let slice_secs = throughput.secs(work.interactions, work.dispatches);
            let factor = self.frame_pace.learn(wall_secs, slice_secs, budget.submission_secs);
            self.mover.learn_rate((throughput.rate() * factor).clamp(1e6, 1e14));
        }
    }

    /// What has happened since the last call. The device must have been polled.
    pub fn poll(&mut self) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.events);
        let done = self.mover.poll(&mut self.rates, &mut events);
        self.keeper.done(done, self.dt);
        self.blocks = self.mover.take_blocks().or(self.blocks.take());
        self.take_reached();
        match self.mover.take_change() {
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
                Event::Report(report) => self.reports.come(report.steps),
                Event::Moment(moment) | Event::Kept(moment) => {
                    self.kept.come(moment.steps);
                    self.looking.come(moment);
                }
                Event::Failed(_) => {
                    self.reports.give_up();
                    self.kept.give_up();
                }
            }
        }
        events.extend(self.looking.poll(&self.settings).err().map(Event::Failed));
        events
    }

    /// The change holds from now on, unless it turns out not to compile.
    fn begin_change(&mut self) {
        if self.mover.is_changing() {
            let now = (self.settings.kernel, self.settings.softening);
            self.before_change.get_or_insert(now);
        }
    }

    /// Whether a requested kernel or softening is being compiled: no step begins before it is ready.
    pub fn is_changing(&self) -> bool {
        self.mover.is_changing()
    }

    fn take_reached(&mut self) {
        let Reached { time, steps, ready } = self.mover.reached();
        if ready && !self.status.ready {
            self.reports.expect(self.opened.elapsed(), self.frame);
        }
        (self.status.time, self.status.steps, self.status.ready) = (time, steps, ready);
    }

    fn ask_report(&mut self) {
        self.reports.ask();
        self.mover.ask_report();
    }

    fn ask_bodies(&mut self, purpose: Purpose) {
        self.kept.ask();
        self.mover.ask_bodies(purpose);
    }

    /// Asks for regular diagnostics and states to go on from, as long as something moves.
    fn ask_what_is_due(&mut self) {
        if !self.status.ready {
            return;
        }
        if self.reports.is_due(self.status.steps) {
            self.ask_report();
        }
        let (steps, settings) = (self.status.steps, &self.settings);
        let is_looked_for =
            !self.kept.is_on_its_way() && self.looking.wants_bodies(steps, settings);
        if is_looked_for || self.kept.is_due(steps) {
            self.ask_bodies(Purpose::Keep);
        }
    }
}
