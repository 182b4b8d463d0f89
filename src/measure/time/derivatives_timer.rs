//! Times forces with derivatives including transfers, as an integrator on the host or a client of
//! the C library experiences them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::wall_clock::Instant;
use glam::DVec3;

use super::Timer;
use crate::error::{Error, Result};
use crate::forces::direct::CpuDouble;
use crate::forces::direct::gpu::tiers::{GpuTiers, TierShape};
use crate::forces::{ForceEngine, Forces, Identity, Order, Outputs, Precision, TestBodies};
use crate::gpu::{Checks, Gpu};

const SOFTENING: f64 = 1.0 / 256.0;

/// Number of sinks compared with f64.
const PROBED: usize = 16;

/// Allowed error of a correct kernel in multiples of its precision's noise, and a floor relative to
/// the mean acceleration whatever the precision; for jerks a hundred times that.
const NOISES: f64 = 100.0;
const LEAST_BOUND: f64 = 1e-9;

/// Approximate seconds of a sample, and the most evaluations in it.
const SAMPLE_SECS: f64 = 0.01;
const MOST: f64 = 1000.0;

/// Times forces up to a derivative, with potentials and nearest sources, on some sinks; the sources
/// stay on the device.
pub struct DerivativesTimer {
    order: Order,
    bodies: TestBodies,
    sinks: usize,
    /// Always present except while its shape is changed.
    engine: Option<GpuTiers>,
    default_shape: TierShape,
    /// Results in f64 for the first sinks.
    right: Forces,
    /// Evaluations per sample for each shape that is ready.
    prepared: HashMap<TierShape, usize>,
    found: Forces,
}

impl DerivativesTimer {
    /// A timer on `gpu` for evaluations with this many sinks and sources, each 1 or more.
    ///
    /// # Errors
    ///
    /// A precision that does not hold there; bodies that do not fit.
    pub fn new(
        gpu: &Arc<Gpu>,
        precision: Precision,
        order: Order,
        (sinks, sources): (usize, usize),
    ) -> Result<Self> {
        let bodies = TestBodies::new(sources, 1);
        let mut engine = GpuTiers::new(Arc::clone(gpu), precision)?;
        engine.set_sources(&bodies.sources(sources))?;
        let mut cpu = CpuDouble::new();
        cpu.set_sources(&bodies.sources(sources))?;
        let probed = bodies.sinks(0..sinks.min(PROBED), Identity::Offset(0));
        let mut right = Forces::default();
        cpu.evaluate(&probed, SOFTENING, &outputs(order), &mut right)?;
        let mut found = Forces::default();
        let all = bodies.sinks(0..sinks, Identity::Offset(0));
        engine.evaluate(&all, SOFTENING, &outputs(order), &mut found)?;
        let default_shape = engine
            .last_shape()
            .ok_or_else(|| Error::value("the number of sinks or sources", 0, "at least 1"))?;
        let prepared = HashMap::new();
        Ok(Self {
            order,
            bodies,
            sinks,
            engine: Some(engine),
            default_shape,
            right,
            prepared,
            found,
        })
    }

    /// The shape chosen by the engine's rule.
    pub fn default_shape(&self) -> TierShape {
        self.default_shape
    }

    fn evaluate(&mut self, shape: &TierShape) -> Result<f64> {
        // Checked first, so that an invalid shape does not lose the engine.
        shape.validate()?;
        let Some(engine) = self.engine.take() else {
            return Err(Error::Outside("the engine was lost with an earlier shape".to_owned()));
        };
        let engine = self.engine.insert(engine.with_shape(*shape, Checks::default())?);
        let sinks = self.bodies.sinks(0..self.sinks, Identity::Offset(0));
        let begun = Instant::now();
        engine.evaluate(&sinks, SOFTENING, &outputs(self.order), &mut self.found)?;
        Ok(begun.elapsed().as_secs_f64())
    }

    /// Checks that a shape's forces agree with f64.
    fn check(&self, shape: &TierShape) -> Result<()> {
        let precision = self.engine.as_ref().map_or(Precision::Double, GpuTiers::precision);
        let noise = precision.noise(self.bodies.len()).acceleration;
        let bound = (NOISES * noise).max(LEAST_BOUND);
        let rows = [
            (&self.found.acceleration, &self.right.acceleration, bound),
            (&self.found.jerk, &self.right.jerk, 100.0 * bound),
            (&self.found.snap, &self.right.snap, 1e4 * bound),
        ];
        for (found, right, bound) in rows {
            let mean = right.iter().map(|v| v.length()).sum::<f64>() / right.len().max(1) as f64;
            let off = |(a, b): (&DVec3, &DVec3)| (*a - *b).length();
            let worst = found.iter().zip(right).map(off).fold(0.0, |a: f64, b| a.max(b));
            // Also rejects NaN.
            if !(worst <= bound * mean || right.is_empty()) {
                let words = format!("{shape}, off by {:.1e}", worst / mean);
                return Err(Error::value("a kernel", words, format!("right to {bound:.0e}")));
            }
        }
        Ok(())
    }
}

fn outputs(order: Order) -> Outputs<'static> {
    Outputs { potential: true, nearest: true, distance: false, ..Outputs::only(order) }
}

impl Timer<TierShape> for DerivativesTimer {
    async fn prepare(&mut self, candidate: &TierShape) -> Result<()> {
        if self.prepared.contains_key(candidate) {
            return Ok(());
        }
        // The first evaluation compiles.
        self.evaluate(candidate)?;
        self.check(candidate)?;
        let secs = self.evaluate(candidate)?.max(1e-9);
        self.prepared.insert(*candidate, (SAMPLE_SECS / secs).clamp(1.0, MOST) as usize);
        Ok(())
    }

    async fn sample(&mut self, candidate: &TierShape) -> Result<f64> {
        self.prepare(candidate).await?;
        let evaluations = self.prepared[candidate];
        // The first one after another shape may reallocate buffers.
        if evaluations > 1 {
            self.evaluate(candidate)?;
        }
        let begun = Instant::now();
        for _ in 0..evaluations {
            self.evaluate(candidate)?;
        }
        Ok(begun.elapsed().as_secs_f64() / evaluations as f64)
    }

    fn forget(&mut self, _: &TierShape) {}
}
