//! Background worker for simulations that frames do not record: on a thread or, in a browser,
//! between frames. The frame loop never waits for it: it sets how many steps are due and takes the
//! latest finished state.
//!
//! This serves CPU engines and groups of devices. It drives a [`Simulation`], and hands over a
//! finished state when the frame loop requests one. With several devices, the first one is the
//! window's own; the window draws states that came back through the host. Step threads have a lower
//! priority than threads that draw (`priority`).

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use crate::wall_clock::{Duration, Instant};
use glam::DVec3;

use super::background::run_in_background;
use super::blocks::BlockWatch;
use super::command::KernelChange;
use super::mailbox::{Inbox, Mailbox, Requests, WorkerProgress, lock};
use super::points::Narrowing;
use super::{Event, Report};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::ForceEngine;
use crate::forces::tree::Rebuild;
use crate::gpu::DevicePart;
use crate::sim::{Choice, Settings, Simulation, State};

/// Interval of reports about the devices that share the bodies: long enough for meaningful
/// fractions of the time.
const PARTS_EVERY: Duration = Duration::from_millis(500);

/// What the worker's simulation is made of.
pub(super) enum WorkerSource {
    /// An engine for bodies on the host; the worker computes the first accelerations.
    Engine(Choice, Box<dyn ForceEngine>),
    /// Bodies on devices, with their first accelerations.
    Devices(Box<Simulation>),
}

impl WorkerSource {
    pub fn describe(&self) -> String {
        match self {
            Self::Engine(_, engine) => engine.describe(),
            Self::Devices(simulation) => simulation.describe_engine(),
        }
    }
}

/// The worker, which ends when this is dropped.
pub(super) struct WorkerLink {
    pub shared: Arc<Mailbox>,
}

impl WorkerLink {
    /// Starts the worker for `bodies`, which are those of `source`.
    ///
    /// # Errors
    ///
    /// The thread cannot be spawned.
    pub fn start(bodies: Bodies, source: WorkerSource, settings: &Settings) -> Result<Self> {
        let shared = Arc::new(Mailbox {
            inbox: Mutex::new(Inbox::new(settings.dt)),
            outbox: Mutex::default(),
            cancelled: Arc::default(),
        });
        let (for_worker, settings) = (Arc::clone(&shared), settings.clone());
        run_in_background("the simulation", move || async move {
            // The flag is per thread, and in a browser all tasks share one thread. Devices stop
            // after the current step.
            if cfg!(not(target_arch = "wasm32")) && matches!(source, WorkerSource::Engine(..)) {
                crate::stop::heed(&for_worker.cancelled);
            }
            let running = async {
                let mut worker = Worker::new(bodies, source, settings, &for_worker).await?;
                worker.run(&for_worker).await
            };
            let ended = running.await;
            let mut outbox = lock(&for_worker.outbox);
            outbox.events.extend(ended.err().map(Event::Failed));
            outbox.ended = true;
        })?;
        Ok(Self { shared })
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
    simulation: Simulation,
    /// Bodies and accelerations as last read back from devices.
    read: (Bodies, Vec<DVec3>),
    drawn: Narrowing,
    progress: WorkerProgress,
    blocks: BlockWatch,
    parts_reported: Instant,
    shown: bool,
}

impl Worker {
    async fn new(
        bodies: Bodies,
        source: WorkerSource,
        settings: Settings,
        shared: &Mailbox,
    ) -> Result<Self> {
        let (time, steps) = (settings.begins_at(), settings.steps_before);
        let drawn = Narrowing::of(&bodies, settings.gravitational_constant, time);
        let zero = vec![DVec3::ZERO; bodies.len()];
        let progress = WorkerProgress { time, steps, ..WorkerProgress::default() };
        // The bodies are shown before their first forces are computed.
        publish(shared, (&bodies, &zero), &drawn, progress);
        let (simulation, read) = match source {
            WorkerSource::Engine(choice, engine) => {
                let simulation =
                    Simulation::open_engine(choice, engine, bodies, settings, None).await?;
                (simulation, Default::default())
            }
            WorkerSource::Devices(simulation) => (*simulation, (bodies, zero)),
        };
        lock(&shared.outbox).description = Some(simulation.describe_engine());
        let mut worker = Self {
            simulation,
            read,
            drawn,
            progress: WorkerProgress { ready: true, ..progress },
            blocks: BlockWatch::new(time),
            parts_reported: Instant::now(),
            shown: false,
        };
        worker.report_new_parts(shared);
        Ok(worker)
    }

    async fn run(&mut self, shared: &Mailbox) -> Result<()> {
        let mut done = 0;
        loop {
            let shown = self.shown;
            let todo = shared.receive(|inbox| {
                let steps = inbox.due(done);
                let has_work =
                    steps > 0 || inbox.has_request() || (inbox.points_requested && !shown);
                let todo = (inbox.quit, inbox.frames, inbox.dt, steps);
                (has_work || inbox.quit).then(|| (todo, std::mem::take(&mut inbox.requests)))
            });
            let ((quit, frames, dt, steps), requests) = todo.await;
            if quit {
                return Ok(());
            }
            let Requests { change, mut report, bodies, blocks } = requests;
            let softening = self.simulation.settings().softening;
            if change.is_some_and(|change| change.softening != softening) {
                // Reports before and after the change at the same time give the jump of the energy.
                self.fetch().await?;
                self.send_report(shared).await;
                report = true;
            }
            if let Some(change) = change
                && let Err(error) = self.change(change, shared).await
            {
                lock(&shared.outbox).events.push(Event::Failed(error));
            }
            if steps > 0 {
                done += self.step(dt, steps, shared).await?;
                if self.parts_reported.elapsed() > PARTS_EVERY {
                    self.report_parts(shared, |part| part);
                }
                self.shown = false;
            }
            if report || bodies.is_some() || lock(&shared.inbox).points_requested {
                self.fetch().await?;
            }
            self.shown |= publish(shared, self.parts(), &self.drawn, self.progress);
            lock(&shared.outbox).done = done;
            if let (true, Some(steps)) = (blocks, self.simulation.blocks()) {
                let facts = self.blocks.observe(steps, self.simulation.time());
                lock(&shared.outbox).blocks = Some(facts);
            }
            if let (true, Some(step)) = (blocks, self.simulation.varying()) {
                lock(&shared.outbox).varying = Some(step.clone());
            }
            if let Some(purpose) = bodies {
                let event = purpose.event(Arc::new(self.state()));
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
    async fn step(&mut self, dt: f64, steps: u64, shared: &Mailbox) -> Result<u64> {
        let simulation = &mut self.simulation;
        if dt != simulation.dt() {
            simulation.set_dt(dt)?;
        }
        let begun = Instant::now();
        let steps = if simulation.host().is_some() { 1 } else { steps };
        let mut watch = |_| !lock(&shared.inbox).wants_worker();
        let done = simulation.advance(steps, &mut watch).await?;
        self.progress.busy_secs += begun.elapsed().as_secs_f64();
        self.progress.interactions = simulation.interactions();
        (self.progress.time, self.progress.steps) = (simulation.time(), simulation.steps());
        if simulation.settings().tree.rebuild == Rebuild::Auto {
            // The description names the interval between rebuilds, which may have changed.
            lock(&shared.outbox).description = Some(simulation.describe_engine());
        }
        Ok(done)
    }

    /// Continues from the current bodies with another softening or kernel.
    async fn change(&mut self, change: KernelChange, shared: &Mailbox) -> Result<()> {
        self.simulation.set_forces(change.softening, change.kernel).await?;
        self.report_new_parts(shared);
        lock(&shared.outbox).description = Some(self.simulation.describe_engine());
        Ok(())
    }

    /// Reports devices that have just been given the bodies.
    fn report_new_parts(&mut self, shared: &Mailbox) {
        // The time before the first step is not representative.
        self.report_parts(shared, |part| DevicePart { exchanging: None, ..part });
    }

    fn report_parts(&mut self, shared: &Mailbox, edit: impl FnMut(DevicePart) -> DevicePart) {
        let parts = self.simulation.take_observed().parts;
        lock(&shared.outbox).parts = Some(parts.into_iter().map(edit).collect());
        self.parts_reported = Instant::now();
    }

    /// Reads the bodies back to the host, if they are on devices.
    async fn fetch(&mut self) -> Result<()> {
        if self.simulation.host().is_none() {
            self.read.1 = self.simulation.read_into(&mut self.read.0).await?;
        }
        Ok(())
    }

    /// Bodies and accelerations: those on the host, or the last ones read back from devices.
    fn parts(&self) -> (&Bodies, &[DVec3]) {
        self.simulation.host().unwrap_or((&self.read.0, &self.read.1))
    }

    fn state(&self) -> State {
        let (bodies, acceleration) = self.parts();
        State {
            time: self.simulation.time(),
            steps: self.simulation.steps(),
            bodies: bodies.clone(),
            acceleration: acceleration.to_vec(),
            softening: self.simulation.settings().softening,
        }
    }

    async fn send_report(&mut self, shared: &Mailbox) {
        let event = self.report().await.map_or_else(Event::Failed, Event::Report);
        lock(&shared.outbox).events.push(event);
    }

    async fn report(&mut self) -> Result<Report> {
        let potential = self.simulation.fetch_potentials().await?;
        let diagnostics = self.simulation.settings().diagnose(self.parts().0, &potential)?;
        let (time, steps) = (self.simulation.time(), self.simulation.steps());
        Ok(Report { time, steps, softening: self.simulation.settings().softening, diagnostics })
    }
}

/// Publishes the state if it was requested; returns whether it was.
fn publish(
    shared: &Mailbox,
    (bodies, acceleration): (&Bodies, &[DVec3]),
    drawn: &Narrowing,
    progress: WorkerProgress,
) -> bool {
    let requested = std::mem::take(&mut lock(&shared.inbox).points_requested);
    let spare = {
        let mut outbox = lock(&shared.outbox);
        outbox.progress = progress;
        outbox.spare.take()
    };
    if requested {
        let mut points = spare.unwrap_or_default();
        drawn.fill(&mut points, bodies, acceleration, progress.time);
        points.steps = progress.steps;
        lock(&shared.outbox).points = Some(points);
    }
    requested
}

#[cfg(test)]
mod tests;
