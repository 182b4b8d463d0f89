//! Times steps on one and on several devices.

use std::sync::Arc;

use web_time::Instant;

use super::{DT, StepMode};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::Method;
use crate::gpu::Gpu;
use crate::measure::Session;
use crate::measure::bench::figures::tree::sphere;
use crate::scene::Scene;
use crate::sim::{ASKED_FOR, Choice, DeviceGroup, EngineKind, Settings, Simulation};

/// Bytes per body that devices exchange, with all pairs and with the tree.
const BYTES: f64 = 16.0;

/// A sample of a run on individual steps covers many blocks, and may take this many times as long.
const LONGER: f64 = 10.0;

/// The times of steps on one or several devices.
pub(super) struct Timed {
    /// Seconds per step.
    pub secs: Vec<f64>,
    /// Steps per sample.
    pub steps: u64,
    /// Interactions per step; with the tree, bodies.
    pub work: f64,
    pub shared: Shared,
}

/// The cost of exchanges in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shared {
    /// Seconds that the first device spent on it, including waiting.
    pub secs: f64,
    /// Number of exchanges.
    pub times: f64,
    pub bytes: f64,
    /// Interactions in shared blocks, if there are blocks.
    pub interactions: f64,
}

/// A Plummer sphere in virial equilibrium.
pub(super) fn virial(n: usize) -> Result<Bodies> {
    let mut scene = Scene::builtin("plummer")?;
    scene.set_n(n)?;
    scene.build_with(&|path| Ok(crate::snapshot::read(path)?.bodies))
}

/// Steps of `n` bodies on `devices`, as runs take them; `None` if one exceeds the limit.
pub(super) fn timed(
    session: &Session<'_>,
    devices: &[Arc<Gpu>],
    n: usize,
    mode: StepMode,
) -> Result<Option<Timed>> {
    let settings = mode.settings(session)?;
    if mode == StepMode::Blocks {
        return blocks(session, devices, &virial(n)?, &settings);
    }
    let bodies = sphere(n);
    let work = if mode == StepMode::Tree { n as f64 } else { (n as f64).powi(2) };
    if devices.len() == 1 {
        let mut sim = Simulation::on(choice(devices, &settings), bodies, settings)?;
        return samples(session, work, &mut |steps| {
            sim.step(steps)?;
            Ok(Shared::default())
        });
    }
    let mut group = pollster::block_on(DeviceGroup::open(devices, None, &bodies, None, &settings))?;
    samples(session, work, &mut |steps| {
        group.advance(DT, steps, &mut |_| true)?;
        let exchanged = group.take_exchanged();
        let times = exchanged.times as f64;
        let bytes = times * BYTES * n as f64;
        Ok(Shared { secs: exchanged.secs, times, bytes, interactions: 0.0 })
    })
}

fn choice(devices: &[Arc<Gpu>], settings: &Settings) -> Choice {
    let method = settings.method.unwrap_or(Method::Direct);
    let choice = Choice::of(EngineKind::Gpu, method, ASKED_FOR, devices.first().cloned());
    Choice { beside: devices[1..].to_vec(), ..choice }
}

/// Samples of `take`, which performs the given number of steps and returns the cost of exchanges.
fn samples(
    session: &Session<'_>,
    work: f64,
    take: &mut dyn FnMut(u64) -> Result<Shared>,
) -> Result<Option<Timed>> {
    let mut timed = |steps: u64| -> Result<(f64, Shared)> {
        let begun = Instant::now();
        let shared = take(steps)?;
        Ok((begun.elapsed().as_secs_f64() / steps as f64, shared.per(steps as f64)))
    };
    // The first step may include compilation. Its time sets the number of steps per sample.
    timed(1)?;
    let first = timed(1)?.0;
    if first > session.sizes.sample_secs {
        return Ok(None);
    }
    // Enough steps that the fixed cost of an advance is negligible.
    let steps = (0.5 / first).clamp(2.0, 1000.0) as u64;
    timed(steps)?;
    let (mut secs, mut all) = (Vec::new(), Shared::default());
    for _ in 0..session.sizes.rounds.0.max(3) {
        let (step, shared) = timed(steps)?;
        secs.push(step);
        all = all.plus(&shared);
    }
    let shared = all.per(secs.len() as f64);
    Ok(Some(Timed { secs, steps, work, shared }))
}

/// The same with individual steps: the blocks do not depend on the number of devices.
fn blocks(
    session: &Session<'_>,
    devices: &[Arc<Gpu>],
    bodies: &Bodies,
    settings: &Settings,
) -> Result<Option<Timed>> {
    let n = bodies.len() as f64;
    let mut sim = Simulation::on(choice(devices, settings), bodies.clone(), settings.clone())?;
    let mut timed = || -> Result<(f64, Shared, f64)> {
        let now = |sim: &Simulation| {
            let steps = sim.blocks();
            let shared = steps.map(|steps| steps.shared()).unwrap_or_default();
            (shared, steps.map_or(0, |steps| steps.stats().interactions))
        };
        let (before, begun) = (now(&sim), Instant::now());
        sim.step(1)?;
        let (secs, after) = (begun.elapsed().as_secs_f64(), now(&sim));
        let (then, all) = (before.0, after.0);
        let shared = Shared {
            secs: all.secs - then.secs,
            times: (all.blocks - then.blocks) as f64,
            bytes: (all.bytes - then.bytes) as f64,
            interactions: (all.body_steps - then.body_steps) as f64 * n,
        };
        Ok((secs, shared, (after.1 - before.1) as f64))
    };
    // The first may include compilation.
    if timed()?.0 > LONGER * session.sizes.sample_secs {
        return Ok(None);
    }
    let (mut secs, mut all, mut work) = (Vec::new(), Shared::default(), 0.0);
    for _ in 0..session.sizes.rounds.0.max(3) {
        let (step, shared, interactions) = timed()?;
        secs.push(step);
        all = all.plus(&shared);
        work += interactions;
    }
    let samples = secs.len() as f64;
    Ok(Some(Timed { secs, steps: 1, work: work / samples, shared: all.per(samples) }))
}

impl Shared {
    fn plus(self, other: &Self) -> Self {
        Self {
            secs: self.secs + other.secs,
            times: self.times + other.times,
            bytes: self.bytes + other.bytes,
            interactions: self.interactions + other.interactions,
        }
    }

    fn per(self, steps: f64) -> Self {
        Self {
            secs: self.secs / steps,
            times: self.times / steps,
            bytes: self.bytes / steps,
            interactions: self.interactions / steps,
        }
    }
}
