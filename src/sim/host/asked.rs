//! Forces of bodies on the host on each other, as engines are asked for them, and what is asked of those first.

use std::sync::Arc;

use glam::DVec3;

use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::forces::direct::{CpuDouble, GpuTiers};
use crate::forces::{Answers, ForceEngine, Identity, Precision, Sinks, Sources, Want};
use crate::sim::Choice;

/// Refuses devices of several kinds for block steps: each of them moves all bodies, in its own way, and for some a block is
/// large that others take alone.
pub(super) fn check_kinds(choice: &Choice) -> Result<()> {
    let mut names = choice.devices().map(|gpu| &gpu.adapter.name);
    let Some(first) = names.next() else { return Ok(()) };
    match names.find(|name| *name != first) {
        None => Ok(()),
        Some(other) => {
            let allowed =
                "of one kind with individual steps, in which each of them moves all bodies";
            Err(Error::value("what the devices are", format!("{first} and {other}"), allowed))
        }
    }
}

/// Accelerations, and potentials if wanted, of all `bodies` on each other; those of the last step, if there are any,
/// tell engines how large they are.
pub(super) async fn evaluate(
    engine: &mut dyn ForceEngine,
    bodies: &Bodies,
    (gravitating_mass, acceleration): (&[f64], &[DVec3]),
    softening: f64,
    want: &Want<'_>,
    out: &mut Answers,
) -> Result<()> {
    let (sources, sinks) = all_on_all(bodies, gravitating_mass, acceleration);
    let mut evaluated = engine.set_sources(&sources);
    if evaluated.is_ok() {
        evaluated = engine.answer(&sinks, softening, want, out).await;
    }
    let checked = evaluated.and_then(|()| out.check(engine.precision()));
    checked.map_err(|error| error.with_ids(&bodies.id))
}

/// `bodies` as sources and as sinks, with the accelerations of the last step.
pub(super) fn all_on_all<'a>(
    bodies: &'a Bodies,
    gravitating_mass: &'a [f64],
    acceleration: &'a [DVec3],
) -> (Sources<'a>, Sinks<'a>) {
    let position = &bodies.position;
    let sources = Sources::new(position, gravitating_mass);
    let whole = acceleration.len() == position.len();
    let acceleration = if whole { acceleration } else { &[] };
    (sources, Sinks { acceleration, ..Sinks::new(position, Identity::Offset(0)) })
}

/// Tells an engine that does not build at each step which one comes next.
pub(super) fn begin_step(engine: &mut dyn ForceEngine, step: u64, anew: bool) {
    if let Some(rebuilds) = engine.rebuilds() {
        rebuilds.begin_step(step, anew);
    }
}

/// An engine in f64 where `engine` computes, or else on the CPU; ranks share its sinks, too.
pub(super) async fn in_f64(engine: &dyn ForceEngine) -> Result<Box<dyn ForceEngine>> {
    let mut made: Box<dyn ForceEngine> = Box::new(CpuDouble::new());
    if let Some(there) = engine.on_device()
        && there.gpu().adapter.class != crate::gpu::DeviceClass::Software
        && let Ok(there) = GpuTiers::open(Arc::clone(there.gpu()), Precision::Double).await
    {
        made = Box::new(there);
    }
    #[cfg(not(target_arch = "wasm32"))]
    if let Some(ranks) = engine.ranks() {
        made = Box::new(crate::forces::Spread::new(made, ranks.clone())?);
    }
    Ok(made)
}
