//! Times whole steps on the device, force and leapfrog together: what a run will pay.

use std::collections::HashMap;
use std::sync::Arc;

use glam::DVec3;

use super::{Method, Stopwatch, Timer};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::direct::Reference;
use crate::forces::direct::gpu::{KernelConfig, Masses};
use crate::forces::{Answers, ForceEngine, Identity, Sinks, Sources, Want};
use crate::gpu::Gpu;
use crate::measure::{ErrorStats, acceleration_errors};
use crate::scene::{Spread, test_bodies};
use crate::sim::{DeviceState, EngineKind, Settings};

const SOFTENING: f64 = 0.05;
pub(super) const DT: f64 = 1e-6;
/// Sinks that are compared with f64.
const PROBED: usize = 48;
/// Largest errors of a right kernel. Rounding grows with the root of the number of tiles, of which
/// there are at most some ten thousand.
const RMS_LIMIT: f64 = 1e-5;
const WORST_LIMIT: f64 = 1e-3;
/// Seconds that a sample takes about.
const SAMPLE_SECS: f64 = 0.01;
/// Most steps in a sample.
const MOST_STEPS: f64 = 20_000.0;

/// Times whole steps on the device, force and leapfrog together. A sample is many steps in as few submissions as a
/// run makes of them, from the begin of the first pass to the end of the last ([`Stopwatch::span`]): by the device's
/// clock where it has one, so that neither the waiting host nor other programs count, else by the wall clock.
pub struct StepTimer {
    gpu: Arc<Gpu>,
    watch: Stopwatch,
    bodies: Bodies,
    prepared: HashMap<KernelConfig, Prepared>,
    /// How the samples so far were taken.
    sampled_by: Option<Method>,
    mixed: bool,
}

struct Prepared {
    state: DeviceState,
    /// Steps per sample.
    steps: u64,
    error: ErrorStats,
}

impl StepTimer {
    /// A timer of steps of `n` bodies, n >= 1, by the device's clock where it has one.
    pub fn new(gpu: &Arc<Gpu>, n: usize) -> Self {
        Self::with(Stopwatch::new(gpu), gpu, n)
    }

    /// A timer that goes by the wall clock, whatever the device offers.
    pub fn by_wall_clock(gpu: &Arc<Gpu>, n: usize) -> Self {
        Self::with(Stopwatch::by_wall_clock(gpu), gpu, n)
    }

    fn with(watch: Stopwatch, gpu: &Arc<Gpu>, n: usize) -> Self {
        Self {
            gpu: Arc::clone(gpu),
            watch,
            bodies: test_bodies(n, Spread::Even),
            prepared: HashMap::new(),
            sampled_by: None,
            mixed: false,
        }
    }

    /// The same for bodies of such masses; equal ones are what it begins with.
    #[must_use]
    pub fn of_masses(mut self, masses: Masses) -> Self {
        let n = self.bodies.len();
        let spread = if masses == Masses::Various { Spread::Uneven } else { Spread::Even };
        self.bodies.mass = test_bodies(n, spread).mass;
        self
    }

    /// How the next sample will be taken.
    pub fn method(&self) -> Method {
        self.watch.method()
    }

    /// Why the device's timestamps are no longer believed, if that came to pass.
    pub fn doubt(&self) -> Option<&str> {
        self.watch.doubt()
    }

    /// True when the clock was changed between two samples: they cannot be compared.
    pub fn is_mixed(&self) -> bool {
        self.mixed
    }

    /// Error of a prepared candidate against f64, on a sample of the bodies.
    pub fn error_of(&self, candidate: &KernelConfig) -> Option<ErrorStats> {
        self.prepared.get(candidate).map(|prepared| prepared.error)
    }

    /// Steps per sample of a prepared candidate.
    pub fn steps_of(&self, candidate: &KernelConfig) -> Option<u64> {
        self.prepared.get(candidate).map(|prepared| prepared.steps)
    }

    /// Whether the accelerations that belong to the state's bodies are those of f64.
    fn check(&self, state: &mut DeviceState, config: &KernelConfig) -> Result<ErrorStats> {
        let mut now = self.bodies.clone();
        let found = pollster::block_on(state.read(&mut now, 0.0))?;
        let n = now.len();
        let probes: Vec<usize> = (0..PROBED.min(n)).map(|k| k * n / PROBED.min(n)).collect();
        let position: Vec<DVec3> = probes.iter().map(|i| now.position[*i]).collect();
        let mut right = Answers::default();
        // The softened force of a body on itself is nothing.
        let sinks = Sinks::new(&position, Identity::Foreign);
        let sources = Sources::new(&now.position, &now.mass);
        let want = &Want::ACCELERATION;
        Reference::default().evaluate_from(&sources, &sinks, SOFTENING, want, &mut right)?;
        let found: Vec<DVec3> = probes.iter().map(|i| found[*i]).collect();
        let error = acceleration_errors(&found, &right.acceleration);
        if error.rms < RMS_LIMIT && error.worst < WORST_LIMIT {
            return Ok(error);
        }
        Err(self.gpu.refuse(format!(
            "the kernel {config} is wrong: rms error {:.1e}, worst {:.1e}",
            error.rms, error.worst
        )))
    }
}

/// Seconds that `steps` steps take.
pub(super) fn time(watch: &mut Stopwatch, state: &mut DeviceState, steps: u64) -> Result<f64> {
    watch.span(|stamps| {
        pollster::block_on(state.advance(DT, steps, stamps, &mut |_| true)).map(|_| ())
    })
}

/// Warms up, longer and longer, until the number of steps that fill a sample is known.
pub(super) fn steps_of_a_sample(watch: &mut Stopwatch, state: &mut DeviceState) -> Result<u64> {
    let mut steps = 1;
    loop {
        let secs = time(watch, state, steps)?;
        let fill = SAMPLE_SECS * steps as f64 / secs.max(1e-7);
        if secs > 0.3 * SAMPLE_SECS || steps as f64 >= MOST_STEPS {
            return Ok(fill.clamp(1.0, MOST_STEPS) as u64);
        }
        steps = (0.7 * fill).clamp((steps + 1) as f64, 16.0 * steps as f64) as u64;
    }
}

impl Timer for StepTimer {
    fn prepare(&mut self, candidate: &KernelConfig) -> Result<()> {
        if self.prepared.contains_key(candidate) {
            return Ok(());
        }
        let settings = Settings {
            softening: SOFTENING,
            dt: DT,
            engine: EngineKind::Gpu,
            kernel: (*candidate).into(),
            ..Settings::default()
        };
        let gpu = Arc::clone(&self.gpu);
        let mut state = pollster::block_on(DeviceState::new(gpu, &self.bodies, None, &settings))?;
        // A step more than the first force: what steps alone do is checked too.
        state.run(DT, 1, &mut |_| true)?;
        let error = self.check(&mut state, candidate)?;
        let steps = steps_of_a_sample(&mut self.watch, &mut state)?;
        self.prepared.insert(*candidate, Prepared { state, steps, error });
        Ok(())
    }

    fn sample(&mut self, candidate: &KernelConfig) -> Result<f64> {
        self.prepare(candidate)?;
        let Prepared { state, steps, .. } =
            self.prepared.get_mut(candidate).expect("prepared above");
        let secs = time(&mut self.watch, state, *steps)?;
        let method = self.watch.method();
        self.mixed |= self.sampled_by.is_some_and(|earlier| earlier != method);
        self.sampled_by = Some(method);
        Ok(secs / *steps as f64)
    }

    fn forget(&mut self, candidate: &KernelConfig) {
        self.prepared.remove(candidate);
    }
}
