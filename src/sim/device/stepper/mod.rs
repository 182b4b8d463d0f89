//! Modes of stepping on a device: the ordinary one, one with the integrator fused into the force
//! kernel, and one that takes many steps in one workgroup. Each has a file here and a line in
//! [`bind`].
//!
//! `Dispatch` in the kernel's request selects one. `Auto` takes fused steps where they are
//! possible: leapfrog on at most 65,536 bodies whose force needs neither slices nor several chunks.
//! Their bits are those of ordinary steps. `--one-workgroup` takes many steps in one dispatch if
//! all bodies fit one workgroup, and sums in an order of its own. Fused steps and steps in one
//! workgroup are written for all pairs; everything else knows forces only through the trait
//! `DeviceForces`.

mod fused;
mod one_workgroup;
mod ordinary;

use ordinary::{Ordinary, StepByStep};

use super::{Phase, Work};
use crate::error::{Error, Result};
use crate::forces::direct::gpu::{AllPairs, Dispatch};
use crate::forces::{Budget, DeviceForces, DeviceTools, Method, Throughput, on_device};
use crate::gpu::{BodyBuffers, Gpu};
use crate::integrate::{Fused, Integrator, OneWorkgroup};

/// Dispatches per submission, so that command buffers stay small however fast the device is.
const MOST_DISPATCHES: u64 = 8192;

/// The work requested of a submission.
#[derive(Clone, Copy)]
pub(super) struct StepRequest<'a> {
    pub gpu: &'a Gpu,
    pub throughput: &'a Throughput,
    /// Time step in the frame's unit of time.
    pub dt: f64,
    /// The maximum number of steps, not counting one that has already begun.
    pub steps: u64,
    pub budget: Budget,
}

impl StepRequest<'_> {
    /// Whether the submission has time for more after `work`.
    fn has_time_after(&self, work: &Work) -> bool {
        let secs = self.throughput.secs(work.interactions, work.dispatches);
        secs < self.budget.submission_secs
    }
}

/// A mode of stepping. It may leave the beginning, end and resumption of steps to [`Ordinary`].
trait StepMode: Send {
    /// Forgets the parameters of its last submission.
    fn begin_submission(&mut self) {}

    /// Sends the parameters of everything it recorded.
    fn end_submission(&mut self, gpu: &Gpu) {
        let _ = gpu;
    }

    /// Records steps from `phase` on and advances `phase` past them. A step already begun ends with
    /// its own dt. The bits do not depend on the budget.
    fn record(
        &mut self,
        ordinary: &mut Ordinary,
        pass: &mut wgpu::ComputePass<'_>,
        phase: &mut Phase,
        request: &StepRequest,
    ) -> Work;
}

/// A mode of stepping with its kernels, bound to the bodies.
pub(super) struct Stepper {
    ordinary: Ordinary,
    mode: Box<dyn StepMode>,
    /// Whether every step is taken in the ordinary mode.
    is_ordinary: bool,
}

impl Stepper {
    /// Forgets the parameters of the last submission.
    pub fn begin_submission(&mut self) {
        self.ordinary.begin_submission();
        self.mode.begin_submission();
    }

    /// Sends the parameters of everything recorded.
    pub fn end_submission(&mut self, gpu: &Gpu) {
        self.ordinary.end_submission(gpu);
        self.mode.end_submission(gpu);
    }

    /// [`StepMode::record`].
    pub fn record(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        phase: &mut Phase,
        request: &StepRequest,
    ) -> Work {
        self.mode.record(&mut self.ordinary, pass, phase, request)
    }

    /// [`Ordinary::turn`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn turn(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        phase: &mut Phase,
        request: &StepRequest,
        next: Option<f64>,
    ) -> (Work, bool) {
        self.ordinary.turn(pass, phase, request, next)
    }

    /// [`Ordinary::close_and_open`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn close_and_open(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        gpu: &Gpu,
        close_last: Option<f64>,
        next: Option<f64>,
    ) {
        self.ordinary.close_and_open(pass, gpu, close_last, next);
    }

    /// [`Ordinary::force`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn force(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        request: &StepRequest,
    ) -> (Work, bool) {
        self.ordinary.force(pass, request)
    }

    /// Whether every step uses [`Stepper::forces`], none having the forces fused into another
    /// kernel.
    pub fn uses_separate_forces(&self) -> bool {
        self.is_ordinary
    }

    /// Replaces the forces between two steps by others that write partial sums to the same buffer.
    pub fn swap_forces(&mut self, forces: &mut Box<dyn DeviceForces>) {
        self.ordinary.swap_forces(forces);
    }

    /// The forces of its steps.
    pub fn forces(&self) -> &dyn DeviceForces {
        self.ordinary.forces()
    }

    /// [`Stepper::forces`], mutably.
    pub fn forces_mut(&mut self) -> &mut dyn DeviceForces {
        self.ordinary.forces_mut()
    }

    /// Announces that the next force is that of the bodies after `step` steps.
    pub fn begin_step(&mut self, step: u64) {
        if let Some(steps) = self.forces_mut().steps() {
            steps.begin_step(step);
        }
    }

    /// Whether forces depend on the accelerations of the last step.
    pub fn needs_last_accelerations(&mut self) -> bool {
        self.forces_mut().steps().is_some_and(|steps| steps.needs_last_accelerations())
    }

    /// Discards a partly computed force; the next submission computes it from the beginning.
    pub fn restart_force(&mut self) {
        self.ordinary.restart_force();
    }
}

/// Binds the stepper that the kernel's shape requests, or else the one that suits shape, method and
/// integrator.
///
/// # Errors
/// A requested mode that is not possible; a method or an integrator without a device side; shaders
/// that do not compile or do not fit.
pub(super) async fn bind(
    gpu: &Gpu,
    bodies: &BodyBuffers,
    method: Method,
    tools: &DeviceTools,
    integrator: &Integrator,
) -> Result<Stepper> {
    let forces = (on_device(method)?.bind)(gpu, bodies, tools).await?;
    let make = integrator.device.ok_or_else(|| {
        gpu.refuse(format!("the integrator '{}' has no device side", integrator.name))
    })?;
    let side = make(gpu, bodies, forces.as_ref()).await?;
    let pairs = AllPairs::of(forces.as_ref());
    let dispatch = pairs.map_or(Dispatch::Ordinary, |pairs| pairs.variant.config.dispatch);
    let mode: Option<Box<dyn StepMode>> = match (pairs, dispatch) {
        (Some(pairs), Dispatch::OneWorkgroup) => {
            OneWorkgroup::takes(integrator)?;
            let one = OneWorkgroup::new(gpu, &pairs.variant, bodies, tools.softening).await?;
            Some(Box::new(one))
        }
        (Some(pairs), Dispatch::Auto | Dispatch::Fused) => {
            match Fused::new(gpu, bodies, pairs, integrator).await? {
                Some(fused) => Some(Box::new(fused)),
                None if dispatch == Dispatch::Fused => {
                    return Err(cannot_be_fused(bodies, integrator));
                }
                None => None,
            }
        }
        _ => None,
    };
    let is_ordinary = mode.is_none();
    let mode = mode.unwrap_or_else(|| Box::new(StepByStep));
    Ok(Stepper { ordinary: Ordinary::new(forces, side), mode, is_ordinary })
}

fn cannot_be_fused(bodies: &BodyBuffers, integrator: &Integrator) -> Error {
    let what = format!("{} on {} bodies", integrator.name, bodies.sink_count());
    let most = Fused::MOST_BODIES;
    let allowed = format!("leapfrog on all bodies, at most {most}, whose force is one dispatch");
    Error::value("what is to be fused", what, allowed)
}
