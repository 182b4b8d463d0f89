//! Times whole steps on the device, force and leapfrog together, as a run pays for them.

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;
use std::sync::Arc;

use glam::DVec3;

use super::{Stopwatch, Timer, TimingMethod};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::direct::Reference;
use crate::forces::direct::gpu::{KernelConfig, Masses};
use crate::forces::tree::{TreeConfig, gpu::WalkShape};
use crate::forces::{ForceEngine, Forces, Identity, Outputs, Sinks, Sources};
use crate::gpu::Gpu;
use crate::measure::{ErrorStats, acceleration_errors};
use crate::scene::{Spread, test_bodies};
use crate::sim::{DeviceState, EngineKind, Settings};
use crate::tuned::KnownResults;

const SOFTENING: f64 = 0.05;
const DT: f64 = 1e-6;
/// Number of sinks compared with f64.
const PROBED: usize = 48;
/// Largest errors of a correct kernel. Rounding grows as the square root of the number of tiles, of
/// which there are at most some ten thousand.
const RMS_LIMIT: f64 = 1e-5;
const WORST_LIMIT: f64 = 1e-3;
/// Number of them compared at once.
const PROBED_AT_ONCE: usize = 4;
/// Approximate seconds of a sample. The timestamps of browsers may be 0.1 ms apart.
const SAMPLE_SECS: f64 = if cfg!(target_arch = "wasm32") { 0.05 } else { 0.01 };
/// The most steps in a sample.
const MOST_STEPS: f64 = 20_000.0;

/// Times whole steps on the device, force and leapfrog together: with kernels of all pairs, or with
/// walks of the tree. A sample is many steps in as few submissions as in a run, from the beginning
/// of the first pass to the end of the last ([`Stopwatch::span`]). The device's clock, if it has
/// one, counts neither the waiting host nor other programs; otherwise the wall clock is used.
pub struct StepTimer<C = KernelConfig> {
    gpu: Arc<Gpu>,
    watch: Stopwatch,
    bodies: Bodies,
    /// The settings of a run with a candidate.
    settings: Box<dyn Fn(&C) -> Settings + Send>,
    /// Whether accelerations are compared with f64.
    is_checked: bool,
    prepared: HashMap<C, PreparedSteps>,
    /// The clock used for the samples so far.
    sampled_by: Option<TimingMethod>,
    mixed: bool,
}

struct PreparedSteps {
    state: DeviceState,
    /// Steps per sample.
    steps: u64,
    error: Option<ErrorStats>,
}

impl StepTimer {
    /// A timer for steps of `n` bodies, n >= 1, by the device's clock if it has one.
    pub fn new(gpu: &Arc<Gpu>, n: usize) -> Self {
        Self::of_kernels(Stopwatch::new(gpu), gpu, n)
    }

    /// A timer that uses the wall clock, whatever the device offers.
    pub fn by_wall_clock(gpu: &Arc<Gpu>, n: usize) -> Self {
        Self::of_kernels(Stopwatch::by_wall_clock(gpu), gpu, n)
    }

    fn of_kernels(watch: Stopwatch, gpu: &Arc<Gpu>, n: usize) -> Self {
        let settings = |candidate: &KernelConfig| Settings {
            softening: SOFTENING,
            dt: DT,
            engine: EngineKind::Gpu,
            kernel: (*candidate).into(),
            ..Settings::default()
        };
        let bodies = test_bodies(n, Spread::Even);
        Self { is_checked: true, ..Self::with(watch, gpu, bodies, Box::new(settings)) }
    }

    /// Times bodies of these masses instead of equal ones.
    #[must_use]
    pub fn of_masses(mut self, masses: Masses) -> Self {
        let n = self.bodies.len();
        let spread = if masses == Masses::Various { Spread::Uneven } else { Spread::Even };
        self.bodies.mass = test_bodies(n, spread).mass;
        self
    }
}

impl StepTimer<WalkShape> {
    /// A timer for steps of these bodies (G = 1) with the tree and this rule.
    pub fn of_tree(gpu: &Arc<Gpu>, bodies: Bodies, softening: f64, config: TreeConfig) -> Self {
        let (device, n) = (Arc::clone(gpu), bodies.len());
        let settings = move |candidate: &WalkShape| Settings {
            softening,
            dt: DT,
            engine: EngineKind::Gpu,
            method: Some(crate::forces::Method::Tree),
            tree: config,
            known: KnownResults::of_walk(&device, n, *candidate),
            ..Settings::default()
        };
        Self::with(Stopwatch::new(gpu), gpu, bodies, Box::new(settings))
    }
}

impl<C: Copy + Eq + Hash + Display> StepTimer<C> {
    fn with(
        watch: Stopwatch,
        gpu: &Arc<Gpu>,
        bodies: Bodies,
        settings: Box<dyn Fn(&C) -> Settings + Send>,
    ) -> Self {
        let (gpu, prepared) = (Arc::clone(gpu), HashMap::new());
        let (is_checked, sampled_by, mixed) = (false, None, false);
        Self { gpu, watch, bodies, settings, is_checked, prepared, sampled_by, mixed }
    }

    /// The clock in use, with the reason if the device's was implausible.
    pub fn stopwatch(&self) -> &Stopwatch {
        &self.watch
    }

    /// Whether the clock was changed between two samples, which then cannot be compared.
    pub fn is_mixed(&self) -> bool {
        self.mixed
    }

    /// Error of a prepared candidate against f64, for a sample of the bodies.
    pub fn error_of(&self, candidate: &C) -> Option<ErrorStats> {
        self.prepared.get(candidate).and_then(|prepared| prepared.error)
    }

    /// Steps per sample of a prepared candidate.
    pub fn steps_of(&self, candidate: &C) -> Option<u64> {
        self.prepared.get(candidate).map(|prepared| prepared.steps)
    }

    /// Checks that the accelerations of the state's bodies agree with f64.
    async fn check(&self, state: &mut DeviceState, candidate: &C) -> Result<ErrorStats> {
        let mut now = self.bodies.clone();
        let found = state.read(&mut now, 0.0).await?;
        let n = now.len();
        let probes: Vec<usize> = (0..PROBED.min(n)).map(|k| k * n / PROBED.min(n)).collect();
        let position: Vec<DVec3> = probes.iter().map(|i| now.position[*i]).collect();
        let mut right = Vec::with_capacity(probes.len());
        let mut reference = Reference::default();
        reference.set_sources(&Sources::new(&now.position, &now.mass))?;
        for few in position.chunks(PROBED_AT_ONCE) {
            // The softened force of a body on itself is 0.
            let sinks = Sinks::new(few, Identity::Foreign);
            let mut forces = Forces::default();
            reference.begin(&sinks, SOFTENING, &Outputs::ACCELERATION)?;
            reference.collect(&mut forces)?;
            right.extend(forces.acceleration);
            // Yields to the browser.
            self.gpu.finish(self.gpu.queue.submit([])).await?;
        }
        let found: Vec<DVec3> = probes.iter().map(|i| found[*i]).collect();
        let error = acceleration_errors(&found, &right);
        if error.rms < RMS_LIMIT && error.worst < WORST_LIMIT {
            return Ok(error);
        }
        Err(self.gpu.refuse(format!(
            "the kernel {candidate} is wrong: rms error {:.1e}, worst {:.1e}",
            error.rms, error.worst
        )))
    }
}

/// Seconds that `steps` steps take.
async fn time(watch: &mut Stopwatch, state: &mut DeviceState, steps: u64) -> Result<f64> {
    let run = async |stamps: Option<&wgpu::QuerySet>| {
        state.advance(DT, steps, stamps, &mut |_| true).await.map(|_| ())
    };
    watch.span(run).await
}

/// Warms up with growing numbers of steps until the number that fills a sample is known.
async fn steps_of_a_sample(watch: &mut Stopwatch, state: &mut DeviceState) -> Result<u64> {
    let mut steps = 1;
    loop {
        let secs = time(watch, state, steps).await?;
        let fill = SAMPLE_SECS * steps as f64 / secs.max(1e-7);
        if secs > 0.3 * SAMPLE_SECS || steps as f64 >= MOST_STEPS {
            return Ok(fill.clamp(1.0, MOST_STEPS) as u64);
        }
        steps = (0.7 * fill).clamp((steps + 1) as f64, 16.0 * steps as f64) as u64;
    }
}

impl<C: Copy + Eq + Hash + Display> Timer<C> for StepTimer<C> {
    async fn prepare(&mut self, candidate: &C) -> Result<()> {
        if self.prepared.contains_key(candidate) {
            return Ok(());
        }
        let settings = (self.settings)(candidate);
        let gpu = Arc::clone(&self.gpu);
        let mut state = DeviceState::new(gpu, &self.bodies, None, &settings).await?;
        let mut error = None;
        if self.is_checked {
            // A step in addition to the first force, so that the code of steps is checked too.
            state.advance(DT, 1, None, &mut |_| true).await?;
            error = Some(self.check(&mut state, candidate).await?);
        }
        let steps = steps_of_a_sample(&mut self.watch, &mut state).await?;
        self.prepared.insert(*candidate, PreparedSteps { state, steps, error });
        Ok(())
    }

    async fn sample(&mut self, candidate: &C) -> Result<f64> {
        self.prepare(candidate).await?;
        let PreparedSteps { state, steps, .. } =
            self.prepared.get_mut(candidate).expect("prepared above");
        let secs = time(&mut self.watch, state, *steps).await?;
        let method = self.watch.method();
        self.mixed |= self.sampled_by.is_some_and(|earlier| earlier != method);
        self.sampled_by = Some(method);
        Ok(secs / *steps as f64)
    }

    fn forget(&mut self, candidate: &C) {
        self.prepared.remove(candidate);
    }
}
