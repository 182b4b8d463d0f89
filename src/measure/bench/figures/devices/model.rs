//! Predicts the time on several devices.

use std::sync::Arc;

use web_time::Instant;

use super::timed::{Shared, virial};
use super::{SOFTENING, STRICT, StepMode};
use crate::error::Result;
use crate::forces::direct::GpuTiers;
use crate::forces::tree::TreeConfig;
use crate::forces::tree::gpu::Part;
use crate::forces::{Answers, ForceEngine, Identity, Order, Precision, Sinks, Sources, Want};
use crate::gpu::Gpu;
use crate::measure::{Cloud, TreeTimer};

/// Fixed time of an exchange, in seconds: on two H200 a step of 65,536 bodies by all pairs took
/// 1.31 ms, of which half of one device's step is 1.08 ms and the transfer 0.04 ms.
const LATENCY: f64 = 200e-6;
/// Bytes per second between a device and the host.
const BANDWIDTH: f64 = 25e9;

/// Measurements on one device.
pub(super) struct Model {
    /// Seconds of a step on one device.
    alone: f64,
    mode: StepMode,
    /// Seconds of a step that do not scale with the number of devices.
    own: f64,
    /// Interactions per second for forces of all bodies on all.
    rate: f64,
}

impl Model {
    /// The model for `n` bodies, with `alone` seconds per step on `gpu` alone; the other times are
    /// measured, unless it is the only device.
    ///
    /// # Errors
    ///
    /// The device failed.
    pub fn of(mode: StepMode, gpu: &Arc<Gpu>, n: usize, alone: f64, is_only: bool) -> Result<Self> {
        let own = if mode == StepMode::Tree && !is_only { building(gpu, n)? } else { 0.0 };
        let rate = if mode == StepMode::Blocks && !is_only { rate(gpu, n)? } else { f64::INFINITY };
        Ok(Self { alone, mode, own, rate })
    }

    /// Seconds of a step on one device.
    pub fn alone(&self) -> f64 {
        self.alone
    }

    /// Predicted seconds of a step on `count` devices with this exchange.
    pub fn secs(&self, count: usize, shared: &Shared) -> f64 {
        if count == 1 {
            return self.alone;
        }
        let divided = match self.mode {
            StepMode::Blocks => shared.interactions / self.rate,
            _ => self.alone - self.own,
        };
        let divided = divided.clamp(0.0, self.alone);
        self.alone - divided
            + divided / count as f64
            + LATENCY * shared.times
            + shared.bytes / BANDWIDTH
    }
}

/// Seconds that building a tree takes.
fn building(gpu: &Arc<Gpu>, n: usize) -> Result<f64> {
    let config = TreeConfig { opening: STRICT, ..TreeConfig::default() };
    let mut timer = TreeTimer::new(gpu, &config, &Cloud::Plummer.places(n), SOFTENING as f32)?;
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let parts = timer.parts()?;
        let stages = parts.parts.iter().filter(|(part, _)| matches!(part, Part::Build(_)));
        best = best.min(stages.map(|(_, secs)| secs).sum());
    }
    Ok(best)
}

/// Interactions per second of accelerations and jerks of all bodies on all.
fn rate(gpu: &Arc<Gpu>, n: usize) -> Result<f64> {
    let bodies = virial(n)?;
    let mut engine = GpuTiers::new(Arc::clone(gpu), Precision::DoubleSingle)?;
    let mut sources = Sources::new(&bodies.position, &bodies.mass);
    sources.velocity = &bodies.velocity;
    engine.set_sources(&sources)?;
    let mut sinks = Sinks::new(&bodies.position, Identity::Offset(0));
    sinks.velocity = &bodies.velocity;
    let (mut out, mut best) = (Answers::default(), f64::INFINITY);
    // The first may include compilation.
    for _ in 0..4 {
        let begun = Instant::now();
        engine.evaluate(&sinks, SOFTENING, &Want::only(Order::Jerk), &mut out)?;
        best = best.min(begun.elapsed().as_secs_f64());
    }
    Ok((n as f64).powi(2) / best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unshared_time_is_not_divided_by_device_count() {
        let model = |mode, own, rate| Model { alone: 1.0, mode, own, rate };
        let shared = Shared { times: 1.0, bytes: 2.5e9, interactions: 3e9, secs: 0.0 };
        let overhead = LATENCY + 0.1;
        let pairs = model(StepMode::Pairs, 0.0, f64::INFINITY);
        assert!((pairs.secs(2, &shared) - (0.5 + overhead)).abs() < 1e-12);
        assert_eq!(pairs.secs(1, &shared), 1.0);
        let tree = model(StepMode::Tree, 0.4, f64::INFINITY);
        assert!((tree.secs(3, &shared) - (0.4 + 0.2 + overhead)).abs() < 1e-12);
        let blocks = model(StepMode::Blocks, 0.0, 6e9);
        assert!((blocks.secs(2, &shared) - (0.75 + overhead)).abs() < 1e-12);
    }
}
