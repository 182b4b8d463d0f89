//! Times whole steps with the tree on the device, force and leapfrog together, as a run pays for
//! them.

use std::collections::HashMap;
use std::sync::Arc;

use super::step_timer::{DT, steps_of_a_sample, time};
use super::{Method, Stopwatch, Timer};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces;
use crate::forces::tree::TreeConfig;
use crate::forces::tree::gpu::WalkShape;
use crate::gpu::Gpu;
use crate::sim::{DeviceState, EngineKind, Settings};
use crate::tuned::Known;

/// Times whole steps with the tree, many per sample and in as few submissions as in a run: by the
/// device's clock if it has one, otherwise by the wall clock.
pub struct TreeStepTimer {
    gpu: Arc<Gpu>,
    watch: Stopwatch,
    bodies: Bodies,
    softening: f64,
    config: TreeConfig,
    prepared: HashMap<WalkShape, (DeviceState, u64)>,
}

impl TreeStepTimer {
    /// A timer for steps of these bodies (G = 1) with this rule.
    pub fn new(gpu: &Arc<Gpu>, bodies: Bodies, softening: f64, config: TreeConfig) -> Self {
        let (watch, prepared) = (Stopwatch::new(gpu), HashMap::new());
        Self { gpu: Arc::clone(gpu), watch, bodies, softening, config, prepared }
    }

    /// The clock for the next sample.
    pub fn method(&self) -> Method {
        self.watch.method()
    }

    /// Why the device's timestamps are no longer trusted, if so.
    pub fn doubt(&self) -> Option<&str> {
        self.watch.doubt()
    }
}

impl Timer<WalkShape> for TreeStepTimer {
    fn prepare(&mut self, candidate: &WalkShape) -> Result<()> {
        if self.prepared.contains_key(candidate) {
            return Ok(());
        }
        let settings = Settings {
            softening: self.softening,
            dt: DT,
            engine: EngineKind::Gpu,
            method: Some(forces::Method::Tree),
            tree: self.config,
            known: Known::of_walk(&self.gpu, self.bodies.len(), *candidate),
            ..Settings::default()
        };
        let gpu = Arc::clone(&self.gpu);
        let mut state = pollster::block_on(DeviceState::new(gpu, &self.bodies, None, &settings))?;
        let steps = pollster::block_on(steps_of_a_sample(&mut self.watch, &mut state))?;
        self.prepared.insert(*candidate, (state, steps));
        Ok(())
    }

    fn sample(&mut self, candidate: &WalkShape) -> Result<f64> {
        self.prepare(candidate)?;
        let (state, steps) = self.prepared.get_mut(candidate).expect("prepared above");
        let secs = pollster::block_on(time(&mut self.watch, state, *steps))?;
        Ok(secs / *steps as f64)
    }

    fn forget(&mut self, candidate: &WalkShape) {
        self.prepared.remove(candidate);
    }
}
