//! Calls to force engines for bodies on the host, and the checks before them.

use std::sync::Arc;

use glam::DVec3;

use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::forces::direct::{CpuDouble, GpuTiers};
use crate::forces::{ForceEngine, Forces, Identity, Outputs, Precision, Sinks, Sources};
use crate::sim::Choice;

/// Rejects devices of several kinds for block steps: each device moves all bodies, and devices of
/// different kinds neither give the same bits nor agree from which size on a block is shared.
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

/// Computes `outputs` for all `bodies` on each other. The accelerations of the last
/// step, if given, serve engines as an estimate of the magnitude.
pub(super) async fn evaluate(
    engine: &mut dyn ForceEngine,
    bodies: &Bodies,
    (gravitating_mass, acceleration): (&[f64], &[DVec3]),
    softening: f64,
    outputs: &Outputs<'_>,
    out: &mut Forces,
) -> Result<()> {
    let (sources, sinks) = all_on_all(bodies, gravitating_mass, acceleration);
    // In a browser only `answer` can wait.
    let evaluated = if cfg!(target_arch = "wasm32") {
        let mut evaluated = engine.set_sources(&sources);
        if evaluated.is_ok() {
            evaluated = engine.answer(&sinks, softening, outputs, out).await;
        }
        evaluated.and_then(|()| out.check(engine.precision()))
    } else {
        engine.evaluate_from(&sources, &sinks, softening, outputs, out)
    };
    evaluated.map_err(|error| error.with_ids(&bodies.id))
}

/// `bodies` as sources and as sinks, with the accelerations of the last step.
pub(super) fn all_on_all<'a>(
    bodies: &'a Bodies,
    gravitating_mass: &'a [f64],
    acceleration: &'a [DVec3],
) -> (Sources<'a>, Sinks<'a>) {
    let position = &bodies.position;
    let sources = Sources::new(position, gravitating_mass);
    let is_complete = acceleration.len() == position.len();
    let acceleration = if is_complete { acceleration } else { &[] };
    (sources, Sinks { acceleration, ..Sinks::new(position, Identity::Offset(0)) })
}

/// Announces the next step to an engine that does not rebuild at each step. With `is_new` the
/// bodies are others than before.
pub(super) fn begin_step(engine: &mut dyn ForceEngine, step: u64, is_new: bool) {
    if let Some(rebuilds) = engine.interfaces().rebuilds {
        rebuilds.begin_step(step, is_new);
    }
}

/// An engine in f64 on the device of `engine` if that is possible, else on the CPU; ranks share its
/// sinks as they do those of `engine`.
pub(super) async fn in_f64(engine: &dyn ForceEngine) -> Result<Box<dyn ForceEngine>> {
    let mut made: Box<dyn ForceEngine> = Box::new(CpuDouble::new());
    let capabilities = engine.capabilities();
    if let Some(device) = capabilities.device
        && device.gpu().adapter.class != crate::gpu::DeviceClass::Software
        && let Ok(double) = GpuTiers::open(Arc::clone(device.gpu()), Precision::Double).await
    {
        made = Box::new(double);
    }
    if let Some(ranks) = capabilities.ranks {
        made = Box::new(crate::forces::RankEngine::new(made, ranks.clone())?);
    }
    Ok(made)
}
