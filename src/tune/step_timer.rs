//! Times whole steps on the device, force and leapfrog together: what a run will pay.

use std::collections::HashMap;
use std::sync::Arc;

use glam::DVec3;
use web_time::Instant;

use super::Timer;
use crate::bodies::Bodies;
use crate::error::Result;
use crate::force::{ForceEngine, Forces, Identity, KernelConfig, Reference, Sinks, Sources, Want};
use crate::gpu::Gpu;
use crate::measure::acceleration_errors;
use crate::sim::{DeviceState, EngineKind, Settings};

const SOFTENING: f64 = 0.05;
const DT: f64 = 1e-6;
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

/// See the module's text. Wall clock, from an empty queue to an empty queue.
pub struct StepTimer {
    gpu: Arc<Gpu>,
    bodies: Bodies,
    prepared: HashMap<KernelConfig, (DeviceState, u64)>,
}

impl StepTimer {
    /// A timer of steps of `n` bodies, n >= 1.
    pub fn new(gpu: &Arc<Gpu>, n: usize) -> Self {
        let mut bodies = Bodies::with_capacity(n);
        for i in 0..n {
            // Any spread-out points do: the work does not depend on them.
            let along = (i + 1) as f64;
            let [x, y, z] = [0.819_172_513_4, 0.671_043_606_7, 0.549_700_477_9]
                .map(|step| f64::from(((along * step).fract() - 0.5) as f32));
            let mass = f64::from((1.0 / n as f64) as f32);
            bodies.push(mass, DVec3::new(x, y, z), DVec3::ZERO, 0);
        }
        Self { gpu: Arc::clone(gpu), bodies, prepared: HashMap::new() }
    }

    /// Whether the accelerations that belong to the state's bodies are those of f64.
    fn check(&self, state: &mut DeviceState, config: &KernelConfig) -> Result<()> {
        let mut now = self.bodies.clone();
        let found = state.read(&mut now)?;
        let n = now.len();
        let probes: Vec<usize> = (0..PROBED.min(n)).map(|k| k * n / PROBED.min(n)).collect();
        let position: Vec<DVec3> = probes.iter().map(|i| now.position[*i]).collect();
        let mut right = Forces::default();
        Reference.evaluate(
            // The softened force of a body on itself is nothing.
            &Sinks { position: &position, identity: Identity::Foreign },
            &Sources { position: &now.position, mass: &now.mass },
            SOFTENING,
            Want::Acceleration,
            &mut right,
        )?;
        let found: Vec<DVec3> = probes.iter().map(|i| found[*i]).collect();
        let error = acceleration_errors(&found, &right.acceleration);
        if error.rms < RMS_LIMIT && error.worst < WORST_LIMIT {
            return Ok(());
        }
        Err(self.gpu.refuse(format!(
            "the kernel {config} is wrong: rms error {:.1e}, worst {:.1e}",
            error.rms, error.worst
        )))
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
        let mut state = pollster::block_on(DeviceState::new(gpu, &self.bodies, &settings))?;
        // A step more than the first force: what steps alone do is checked too.
        state.run(DT, 1, &mut |_| true)?;
        self.check(&mut state, candidate)?;
        // Warm-up, longer and longer, until the number of steps that fill a sample is known.
        let mut steps = 1;
        loop {
            let begun = Instant::now();
            state.run(DT, steps, &mut |_| true)?;
            let secs = begun.elapsed().as_secs_f64();
            let fill = SAMPLE_SECS * steps as f64 / secs.max(1e-7);
            if secs > 0.3 * SAMPLE_SECS || steps as f64 >= MOST_STEPS {
                steps = fill.clamp(1.0, MOST_STEPS) as u64;
                break;
            }
            steps = (0.7 * fill).clamp((steps + 1) as f64, 16.0 * steps as f64) as u64;
        }
        self.prepared.insert(*candidate, (state, steps));
        Ok(())
    }

    fn sample(&mut self, candidate: &KernelConfig) -> Result<f64> {
        self.prepare(candidate)?;
        let (state, steps) = self.prepared.get_mut(candidate).expect("prepared above");
        self.gpu.wait()?;
        let begun = Instant::now();
        state.run(DT, *steps, &mut |_| true)?;
        Ok(begun.elapsed().as_secs_f64() / *steps as f64)
    }

    fn forget(&mut self, candidate: &KernelConfig) {
        self.prepared.remove(candidate);
    }
}
