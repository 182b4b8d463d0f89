//! Drives a simulation frame by frame as the window does, without a window.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gravitile::bodies::Bodies;
use gravitile::forces::Budget;
use gravitile::gpu::Gpu;
use gravitile::live::{Command, Event, Live, Report};
use gravitile::measure::choose_on;
use gravitile::sim::{Choice, Settings, State, Work};

use super::common;

/// The longest wait of any test, for machines where other programs take most of the processor.
const PATIENCE: Duration = Duration::from_secs(300);
/// Enough for a whole step of the small tests.
pub const LARGE: Budget = Budget { dispatch_secs: 1.0, submission_secs: 10.0 };

pub struct Watcher {
    pub live: Live,
    pub budget: Budget,
    /// Frames so far.
    pub frames: u64,
    pub reports: Vec<Report>,
    pub moments: Vec<Arc<State>>,
    pub retained: Vec<Arc<State>>,
    pub failures: Vec<String>,
    /// Submitted frames that the device may not have finished yet.
    in_flight: VecDeque<wgpu::SubmissionIndex>,
}

impl Watcher {
    /// A paused simulation, which does only what the test requests.
    pub fn new(bodies: Bodies, settings: Settings) -> Self {
        Self::on(&common::gpu(), bodies, settings)
    }

    pub fn on(gpu: &Arc<Gpu>, bodies: Bodies, settings: Settings) -> Self {
        let choice = choose_on(Some(gpu), bodies.len(), &settings);
        Self::chosen(gpu, pollster::block_on(choice).unwrap(), bodies, settings)
    }

    /// With a given choice of engine.
    pub fn chosen(gpu: &Arc<Gpu>, choice: Choice, bodies: Bodies, settings: Settings) -> Self {
        let mut live = pollster::block_on(Live::open(gpu, choice, bodies, settings, 1.0)).unwrap();
        live.apply(Command::Pause(true)).unwrap();
        let (reports, failures, in_flight) = (Vec::new(), Vec::new(), VecDeque::new());
        let (moments, retained) = (Vec::new(), Vec::new());
        Self { live, budget: LARGE, frames: 0, reports, moments, retained, failures, in_flight }
    }

    /// One frame as in the window: process events, then record the frame's share of the work.
    pub fn frame(&mut self) -> Work {
        let gpu = Arc::clone(self.live.gpu());
        gpu.poll().unwrap();
        self.live.watch_blocks();
        for event in self.live.poll() {
            match event {
                Event::Report(report) => self.reports.push(report),
                Event::State(state) => self.moments.push(state),
                Event::Checkpoint(state) => self.retained.push(state),
                Event::Failed(error) => self.failures.push(error.to_string()),
            }
        }
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let work = self.live.record(&mut encoder, 1.0 / 60.0, self.budget).unwrap();
        self.in_flight.push_back(gpu.queue.submit([encoder.finish()]));
        self.live.submitted();
        self.frames += 1;
        // Limits frames in flight as a surface does; otherwise they are queued faster than the
        // device finishes them.
        if self.in_flight.len() > 2
            && let Some(submission) = self.in_flight.pop_front()
        {
            gpu.wait_for(submission).unwrap();
        }
        work
    }

    /// Runs frames until `done` returns true.
    pub fn until(&mut self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let begun = Instant::now();
        while !done(self) {
            assert!(begun.elapsed() < PATIENCE, "waited too long for {what}");
            self.frame();
            // The worker and software drivers share the processor with this loop.
            std::thread::sleep(Duration::from_micros(200));
        }
        assert!(self.failures.is_empty(), "{:?}", self.failures);
    }

    /// Runs frames until a failure is reported.
    pub fn until_failure(&mut self) {
        let begun = Instant::now();
        while self.failures.is_empty() {
            assert!(begun.elapsed() < PATIENCE, "nothing fails");
            self.frame();
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Waits for the first accelerations.
    pub fn ready(mut self) -> Self {
        self.until("the first forces", |w| w.live.status().ready);
        self
    }

    /// Applies a command, and runs frames until it is in effect.
    pub fn apply(&mut self, command: Command) {
        self.live.apply(command).unwrap();
        if self.live.is_changing() {
            self.until("the change", |w| !w.live.is_changing());
        }
    }

    /// Takes exactly this many single steps.
    pub fn steps(&mut self, steps: u64) {
        let end = self.live.status().steps + steps;
        self.apply(Command::Step(steps));
        self.until("steps", |w| w.live.status().steps >= end);
        assert_eq!(self.live.status().steps, end);
    }

    /// The current state, between two steps; a step in progress is finished first.
    pub fn state(&mut self) -> Arc<State> {
        // A state requested earlier may still arrive, with fewer steps.
        let (steps, before) = (self.live.status().steps, self.moments.len());
        let is_it = move |state: &&Arc<State>| state.steps >= steps;
        self.apply(Command::State);
        self.until("a state", |w| w.moments[before..].iter().any(|m| is_it(&m)));
        let found = self.moments[before..].iter().rev().find(is_it);
        Arc::clone(found.expect("it has come"))
    }

    /// Diagnostics of the current state.
    pub fn report(&mut self) -> Report {
        // A report requested earlier describes an earlier state.
        let (steps, before) = (self.live.status().steps, self.reports.len());
        let softening = self.live.settings().softening;
        let is_it = move |r: &&Report| r.steps == steps && r.softening == softening;
        self.apply(Command::Report);
        self.until("a report", |w| w.reports[before..].iter().any(|r| is_it(&r)));
        self.reports[before..].iter().find(is_it).expect("it has come").clone()
    }
}

/// Positions, velocities and accelerations of a state, bit for bit.
pub fn bits(state: &State) -> Vec<[u64; 9]> {
    let bodies = &state.bodies;
    let all = bodies.position.iter().zip(&bodies.velocity).zip(&state.acceleration);
    all.map(|((x, v), a)| [x.x, x.y, x.z, v.x, v.y, v.z, a.x, a.y, a.z].map(f64::to_bits)).collect()
}

/// The largest distance between two bodies of the same index.
pub fn distance(a: &State, b: &State) -> f64 {
    let pairs = a.bodies.position.iter().zip(&b.bodies.position);
    pairs.map(|(x, y)| x.distance(*y)).fold(0.0, f64::max)
}
