//! Background worker for simulations that frames do not record: on a thread or, in a browser,
//! between frames. The frame loop never waits for it: it sets how many steps are due and takes the
//! latest finished state.
//!
//! This serves CPU engines and groups of devices. It works with any `Residence`, and hands over a
//! finished state when the frame loop requests one. With several devices, the first one is the
//! window's own; the window draws states that came back through the host. Step threads have a lower
//! priority than threads that draw (`priority`).

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use glam::DVec3;
use web_time::Instant;

use super::beside::run_in_background;
use super::blocks::BlockWatch;
use super::cadence::Purpose;
use super::mailbox::{Inbox, Progress, Shared, lock};
use super::parts::PartWatch;
use super::points::{Narrowing, Points};
use super::{BlockFacts, Event, Report};
use crate::bodies::Bodies;
use crate::diagnostics::diagnose;
use crate::error::Result;
use crate::forces::ForceEngine;
use crate::forces::direct::gpu::KernelRequest;
use crate::forces::tree::Rebuild;
use crate::gpu::DevicePart;
use crate::sim::{Clock, HostState, Moment, Residence, Settings};

/// Where the bodies live and what moves them.
pub(super) enum Backend {
    /// An engine with the bodies on the host; the worker computes the first accelerations.
    Host(Box<dyn ForceEngine>),
    /// Devices that hold the bodies and their first accelerations.
    Devices(Box<dyn Residence>),
}

impl Backend {
    fn describe(&self) -> String {
        match self {
            Self::Host(engine) => engine.describe(),
            Self::Devices(residence) => residence.describe(),
        }
    }
}

/// The frame loop's handle to the worker.
pub(super) struct WorkerLink {
    shared: Arc<Shared>,
    /// Steps since the start, as of the last [`WorkerLink::take`].
    known: u64,
    pub description: String,
    /// What each device computes, if there are several.
    pub parts: Vec<DevicePart>,
}

impl WorkerLink {
    /// Starts the worker.
    ///
    /// # Errors
    ///
    /// The thread cannot be spawned.
    pub fn start(bodies: Bodies, backend: Backend, settings: &Settings) -> Result<Self> {
        let description = backend.describe();
        let inbox = Inbox {
            until: 0,
            dt: settings.dt,
            softening: None,
            kernel: None,
            report: false,
            bodies: None,
            blocks: false,
            wanted: true,
            quit: false,
            frames: 0,
            waiting: None,
        };
        let shared = Arc::new(Shared {
            inbox: Mutex::new(inbox),
            outbox: Mutex::default(),
            cancelled: Arc::default(),
        });
        let (for_worker, settings) = (Arc::clone(&shared), settings.clone());
        run_in_background("the simulation", move || async move {
            // The flag is per thread, and in a browser all tasks share one thread. Devices stop
            // after the current step.
            if cfg!(not(target_arch = "wasm32")) && matches!(backend, Backend::Host(_)) {
                crate::stop::heed(&for_worker.cancelled);
            }
            let running = async {
                let mut worker = Worker::new(bodies, backend, &settings, &for_worker).await?;
                worker.run(&for_worker).await
            };
            let ended = running.await;
            let mut outbox = lock(&for_worker.outbox);
            outbox.events.extend(ended.err().map(Event::Failed));
            outbox.ended = true;
        })?;
        Ok(Self { shared, known: 0, description, parts: Vec::new() })
    }

    /// Allows the worker `due` steps of length `dt` beyond those reported by the last
    /// [`WorkerLink::take`]. Counting from that number, and not from the worker's current one,
    /// allows no step twice.
    pub fn allow(&self, due: u64, dt: f64) {
        self.shared.send(|inbox| {
            (inbox.until, inbox.dt) = (self.known.saturating_add(due), dt);
            inbox.frames += 1;
        });
    }

    pub fn set_softening(&self, softening: f64) {
        self.shared.send(|inbox| inbox.softening = Some(softening));
    }

    pub fn set_kernel(&self, request: KernelRequest) {
        self.shared.send(|inbox| inbox.kernel = Some(request));
    }

    pub fn request_report(&self) {
        self.shared.send(|inbox| inbox.report = true);
    }

    pub fn request_bodies(&self, purpose: Purpose) {
        self.shared.send(|inbox| {
            if inbox.bodies != Some(Purpose::Answer) {
                inbox.bodies = Some(purpose);
            }
        });
    }

    pub fn request_blocks(&self) {
        self.shared.send(|inbox| inbox.blocks = true);
    }

    /// The individual steps, if reported since the last call.
    pub fn take_blocks(&self) -> Option<BlockFacts> {
        lock(&self.shared.outbox).blocks.take()
    }

    /// Steps done since the last call, the worker's progress, and its events.
    pub fn take(&mut self) -> (u64, Progress, Vec<Event>) {
        let mut outbox = lock(&self.shared.outbox);
        let steps = outbox.done - self.known;
        self.known = outbox.done;
        if let Some(description) = outbox.description.take() {
            self.description = description;
        }
        if let Some(parts) = outbox.parts.take() {
            self.parts = parts;
        }
        (steps, outbox.progress, std::mem::take(&mut outbox.events))
    }

    /// Whether it is working, or has results that have not been taken.
    pub fn is_busy(&self) -> bool {
        let works = lock(&self.shared.inbox).waiting.is_none();
        let outbox = lock(&self.shared.outbox);
        let has_results = outbox.points.is_some() || !outbox.events.is_empty();
        has_results || outbox.done != self.known || works && !outbox.ended
    }

    /// Whether it has failed and its events have been taken.
    pub fn has_ended(&self) -> bool {
        let outbox = lock(&self.shared.outbox);
        outbox.ended && outbox.events.is_empty()
    }

    /// Passes the latest finished state to `show`, unless taken already, and requests the next.
    pub fn with_points(&self, show: impl FnOnce(&Points)) {
        let taken = lock(&self.shared.outbox).points.take();
        if let Some(points) = taken {
            show(&points);
            lock(&self.shared.outbox).spare = Some(points);
            self.shared.send(|inbox| inbox.wanted = true);
        }
    }
}

impl Drop for WorkerLink {
    /// Stops the worker without waiting for it: at once, or after the current step if the bodies
    /// are on devices.
    fn drop(&mut self) {
        self.shared.cancelled.store(true, Ordering::Relaxed);
        self.shared.send(|inbox| inbox.quit = true);
    }
}

struct Worker {
    residence: Box<dyn Residence>,
    /// The bodies as last read back from devices.
    read: Read,
    clock: Clock,
    settings: Settings,
    drawn: Narrowing,
    progress: Progress,
    watch: BlockWatch,
    parts: PartWatch,
    shown: bool,
}

impl Worker {
    async fn new(
        bodies: Bodies,
        backend: Backend,
        settings: &Settings,
        shared: &Shared,
    ) -> Result<Self> {
        let clock = Clock::new(settings.start, settings.steps_before, settings.dt);
        let g = settings.gravitational_constant;
        let drawn = Narrowing::of(&bodies, g, clock.time());
        let zero = vec![DVec3::ZERO; bodies.len()];
        let progress = Progress { time: clock.time(), steps: clock.steps(), ..Default::default() };
        // The bodies are shown before their first forces are computed.
        publish(shared, &bodies, &zero, &drawn, progress);
        let read = Read { acceleration: zero, bodies: bodies.clone() };
        let mut residence: Box<dyn Residence> = match backend {
            Backend::Host(engine) => {
                Box::new(HostState::open(bodies, engine, settings, None).await?)
            }
            Backend::Devices(residence) => residence,
        };
        let progress = Progress { ready: true, ..progress };
        let watch = BlockWatch::new(clock.time());
        lock(&shared.outbox).description = Some(residence.describe());
        let parts = PartWatch::begin(residence.as_mut(), shared);
        let (shown, settings) = (false, settings.clone());
        Ok(Self { residence, read, clock, settings, drawn, progress, watch, parts, shown })
    }

    async fn run(&mut self, shared: &Shared) -> Result<()> {
        let mut done = 0;
        loop {
            let shown = self.shown;
            let todo = shared.receive(|inbox| {
                let steps = inbox.due(done);
                let has_work = steps > 0 || inbox.has_request() || (inbox.wanted && !shown);
                if !has_work && !inbox.quit {
                    return None;
                }
                let changes = (inbox.softening.take(), inbox.kernel.take());
                let requests = (inbox.report, inbox.bodies.take(), inbox.blocks);
                (inbox.report, inbox.blocks) = (false, false);
                Some((inbox.quit, inbox.frames, (inbox.dt, steps, changes, requests)))
            });
            let (quit, frames, todo) = todo.await;
            if quit {
                return Ok(());
            }
            let (dt, steps, changes, (mut report, bodies, blocks)) = todo;
            if changes.0.is_some() {
                // Reports before and after the change at the same time give the jump of the energy.
                self.fetch().await?;
                self.send_report(shared).await;
                report = true;
            }
            if let Err(error) = self.change(changes, shared).await {
                lock(&shared.outbox).events.push(Event::Failed(error));
            }
            if steps > 0 {
                done += self.step(dt, steps, shared).await?;
                self.parts.look(self.residence.as_mut(), shared);
                self.shown = false;
            }
            if report || bodies.is_some() || lock(&shared.inbox).wanted {
                self.fetch().await?;
            }
            let (now, acceleration) = self.read.of(self.residence.as_ref());
            self.shown |= publish(shared, now, acceleration, &self.drawn, self.progress);
            lock(&shared.outbox).done = done;
            if let (true, Some(steps)) = (blocks, self.residence.blocks()) {
                let facts = self.watch.look(steps, self.clock.time());
                lock(&shared.outbox).blocks = Some(facts);
            }
            if let Some(purpose) = bodies {
                let event = purpose.event(Arc::new(self.moment()));
                lock(&shared.outbox).events.push(event);
            }
            if report {
                self.send_report(shared).await;
            }
            if steps > 0 && cfg!(target_arch = "wasm32") {
                // Frames share the only thread: the next step comes after the next frame.
                shared.receive(|inbox| (inbox.frames > frames || inbox.quit).then_some(())).await;
            }
        }
    }

    /// Takes one step on the host, or up to `steps` on devices until something is requested;
    /// returns the number of steps.
    async fn step(&mut self, dt: f64, steps: u64, shared: &Shared) -> Result<u64> {
        if dt != self.clock.dt() {
            self.clock.set_dt(dt);
        }
        let begun = Instant::now();
        let steps = if self.residence.on_host().is_some() { 1 } else { steps };
        let mut watch = |_| !lock(&shared.inbox).wants_worker();
        let (done, ended) = self.residence.advance(dt, steps, &mut watch).await;
        self.clock.advance(done);
        ended?;
        self.progress.busy_secs += begun.elapsed().as_secs_f64();
        self.progress.interactions = self.residence.interactions();
        (self.progress.time, self.progress.steps) = (self.clock.time(), self.clock.steps());
        if self.settings.tree.rebuild == Rebuild::Auto {
            // The description names the interval between rebuilds, which may have changed.
            lock(&shared.outbox).description = Some(self.residence.describe());
        }
        Ok(done)
    }

    /// Continues from the current bodies with another softening or kernel.
    async fn change(
        &mut self,
        changes: (Option<f64>, Option<KernelRequest>),
        shared: &Shared,
    ) -> Result<()> {
        if changes == (None, None) {
            return Ok(());
        }
        self.fetch().await?;
        let softening = changes.0.unwrap_or(self.settings.softening);
        let kernel = changes.1.unwrap_or(self.settings.kernel);
        let (dt, steps_before) = (self.clock.dt(), self.clock.steps());
        // The start is that of a run with the same number of steps, all of the current length.
        let start = self.clock.time() - steps_before as f64 * dt;
        let settings = Settings { softening, kernel, ..self.settings.clone() };
        let now = Settings { start, dt, steps_before, ..settings.clone() };
        let bodies = self.read.of(self.residence.as_ref()).0.clone();
        self.residence.replace(&bodies, &now).await?;
        self.parts = PartWatch::begin(self.residence.as_mut(), shared);
        lock(&shared.outbox).description = Some(self.residence.describe());
        self.settings = settings;
        Ok(())
    }

    /// Reads the bodies back to the host, if they are on devices.
    async fn fetch(&mut self) -> Result<()> {
        if self.residence.on_host().is_none() {
            let read = self.residence.read(&mut self.read.bodies, self.clock.time());
            self.read.acceleration = read.await?;
        }
        Ok(())
    }

    fn moment(&self) -> Moment {
        let (bodies, acceleration) = self.read.of(self.residence.as_ref());
        Moment {
            time: self.clock.time(),
            steps: self.clock.steps(),
            bodies: bodies.clone(),
            acceleration: acceleration.to_vec(),
            softening: self.settings.softening,
        }
    }

    async fn send_report(&mut self, shared: &Shared) {
        let event = self.report().await.map_or_else(Event::Failed, Event::Report);
        lock(&shared.outbox).events.push(event);
    }

    async fn report(&mut self) -> Result<Report> {
        let potential = self.residence.potential().await?;
        let (bodies, _) = self.read.of(self.residence.as_ref());
        let diagnostics = diagnose(bodies, &potential)?;
        let (time, steps) = (self.clock.time(), self.clock.steps());
        Ok(Report { time, steps, softening: self.settings.softening, diagnostics })
    }
}

/// Bodies and accelerations that were read back from devices.
struct Read {
    bodies: Bodies,
    acceleration: Vec<DVec3>,
}

impl Read {
    /// Those of `residence` if it has them on the host, else the last ones read back.
    fn of<'a>(&'a self, residence: &'a dyn Residence) -> (&'a Bodies, &'a [DVec3]) {
        residence.on_host().unwrap_or((&self.bodies, &self.acceleration))
    }
}

/// Publishes the state if it was requested; returns whether it was.
fn publish(
    shared: &Shared,
    bodies: &Bodies,
    acceleration: &[DVec3],
    drawn: &Narrowing,
    progress: Progress,
) -> bool {
    let wanted = std::mem::take(&mut lock(&shared.inbox).wanted);
    let spare = {
        let mut outbox = lock(&shared.outbox);
        outbox.progress = progress;
        outbox.spare.take()
    };
    if wanted {
        let mut points = spare.unwrap_or_default();
        drawn.fill(&mut points, bodies, acceleration, progress.time);
        points.steps = progress.steps;
        lock(&shared.outbox).points = Some(points);
    }
    wanted
}

#[cfg(test)]
mod tests;
