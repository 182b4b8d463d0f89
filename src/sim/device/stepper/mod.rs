//! Modes of stepping on a device: the ordinary one, one with the integrator fused into the force
//! kernel, and one that takes many steps in one workgroup. Each has a file here and a variant of
//! [`StepperMode`].
//!
//! `Dispatch` in the kernel's request selects one. `Auto` takes fused steps where they are
//! possible: leapfrog on at most 65,536 bodies whose force needs neither slices nor several chunks.
//! Their bits are those of ordinary steps. `--one-workgroup` takes many steps in one dispatch if
//! all bodies fit one workgroup, and sums in an order of its own. Fused steps and steps in one
//! workgroup are written for all pairs without an external field; everything else knows forces only
//! through the trait `DeviceForces`.

mod fused;
mod one_workgroup;
mod ordinary;

use super::{Phase, Work};
use crate::error::{Error, Result};
use crate::forces::direct::gpu::{AllPairs, Dispatch};
use crate::forces::{Budget, DeviceForces, DeviceTools, Method, Throughput, on_device};
use crate::gpu::{BodyBuffers, Gpu};
use crate::integrate::{DeviceIntegrator, Fused, Integrator, OneWorkgroup};

/// Dispatches per submission, so that command buffers stay small however fast the device is.
const MOST_DISPATCHES: u64 = 8192;

/// The work requested of a submission.
#[derive(Clone, Copy)]
pub(super) struct SubmissionRequest<'a> {
    pub gpu: &'a Gpu,
    pub throughput: &'a Throughput,
    /// Time step in the frame's unit of time.
    pub dt: f64,
    /// The maximum number of steps, not counting one that has already begun.
    pub steps: u64,
    pub budget: Budget,
}

impl SubmissionRequest<'_> {
    /// Whether the submission has time for more after `work`.
    fn has_time_after(&self, work: &Work) -> bool {
        let secs = self.throughput.secs(work.interactions, work.dispatches);
        secs < self.budget.submission_secs
    }
}

/// Forces by any method, an integrator, and how steps are made of them.
pub(super) struct Stepper {
    /// The forces of its steps. Forces that replace them must write partial sums to the same
    /// buffer.
    pub forces: Box<dyn DeviceForces>,
    integrator: Box<dyn DeviceIntegrator>,
    mode: StepperMode,
}

/// How steps are taken, with the kernels for it.
enum StepperMode {
    /// Forces in as many dispatches as needed, and the integrator between them.
    Ordinary,
    /// One dispatch per step, between an ordinary beginning and end.
    Fused(Fused),
    /// Many steps per dispatch.
    OneWorkgroup(OneWorkgroup),
}

impl Stepper {
    /// Binds the mode that the kernel's shape requests, or else the one that suits shape, method
    /// and integrator.
    ///
    /// # Errors
    /// A requested mode that is not possible; a method or an integrator without a device side;
    /// shaders that do not compile or do not fit.
    pub async fn bind(
        gpu: &Gpu,
        bodies: &BodyBuffers,
        method: Method,
        tools: &DeviceTools,
        integrator: &Integrator,
    ) -> Result<Self> {
        let forces = (on_device(method)?.bind)(gpu, bodies, tools).await?;
        let make = integrator.device.ok_or_else(|| {
            gpu.refuse(format!("the integrator '{}' has no device side", integrator.name))
        })?;
        let sums = (forces.partial_sums(), forces.slices());
        let side = make(gpu, bodies, sums, &tools.field).await?;
        let pairs = AllPairs::of(forces.as_ref());
        let dispatch = pairs.map_or(Dispatch::Ordinary, |pairs| pairs.variant.config.dispatch);
        let mode = match (pairs, dispatch) {
            // Their kernels have no field.
            _ if !tools.field.is_empty() => match dispatch {
                Dispatch::Auto | Dispatch::Ordinary => StepperMode::Ordinary,
                _ => return Err(in_field(dispatch)),
            },
            (Some(pairs), Dispatch::OneWorkgroup) => {
                OneWorkgroup::takes(integrator)?;
                let variant = &pairs.variant;
                StepperMode::OneWorkgroup(
                    OneWorkgroup::new(gpu, variant, bodies, tools.softening).await?,
                )
            }
            (Some(pairs), Dispatch::Auto | Dispatch::Fused) => {
                match Fused::new(gpu, bodies, pairs, integrator).await? {
                    Some(fused) => StepperMode::Fused(fused),
                    None if dispatch == Dispatch::Fused => {
                        return Err(cannot_be_fused(bodies, integrator));
                    }
                    None => StepperMode::Ordinary,
                }
            }
            _ => StepperMode::Ordinary,
        };
        Ok(Self { forces, integrator: side, mode })
    }

    /// Forgets the parameters of the last submission.
    pub fn begin_submission(&mut self) {
        self.forces.begin_submission();
        self.integrator.begin_submission();
        match &mut self.mode {
            StepperMode::Ordinary => {}
            StepperMode::Fused(fused) => fused.begin_submission(),
            StepperMode::OneWorkgroup(one) => one.begin_submission(),
        }
    }

    /// Sends the parameters of everything recorded.
    pub fn end_submission(&mut self, gpu: &Gpu) {
        self.forces.end_submission(gpu);
        self.integrator.end_submission(gpu);
        match &mut self.mode {
            StepperMode::Ordinary => {}
            StepperMode::Fused(fused) => fused.end_submission(gpu),
            StepperMode::OneWorkgroup(one) => one.end_submission(gpu),
        }
    }

    /// Uses another softening from now on. A force that has begun is dropped.
    pub fn set_softening(&mut self, softening: f32) {
        self.forces.set_softening(softening);
        match &mut self.mode {
            StepperMode::Ordinary => {}
            StepperMode::Fused(fused) => fused.set_softening(softening),
            StepperMode::OneWorkgroup(one) => one.set_softening(softening),
        }
    }

    /// Whether every step uses [`Stepper::forces`], none having the forces fused into another
    /// kernel.
    pub fn uses_separate_forces(&self) -> bool {
        matches!(self.mode, StepperMode::Ordinary)
    }

    /// Records steps from `phase` on and advances `phase` past them. A step already begun ends with
    /// its own dt. The bits do not depend on the budget.
    pub fn record(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        phase: &mut Phase,
        request: &SubmissionRequest,
    ) -> Work {
        let Self { forces, integrator, mode } = self;
        let mut ordinary =
            ordinary::OrdinarySteps { forces: forces.as_mut(), integrator: integrator.as_mut() };
        match mode {
            StepperMode::Ordinary => ordinary.record(pass, phase, request, &mut |_, _| ()),
            StepperMode::Fused(fused) => fused::record(fused, &mut ordinary, pass, phase, request),
            StepperMode::OneWorkgroup(one) => {
                one_workgroup::record(one, &mut ordinary, pass, phase, request)
            }
        }
    }

    /// Records as much of a force as the budget allows; returns true if the force is complete.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn force(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        request: &SubmissionRequest,
    ) -> (Work, bool) {
        let SubmissionRequest { gpu, throughput, budget, .. } = *request;
        let forces = self.forces.as_mut();
        let (interactions, dispatches, complete) =
            crate::forces::record_within(forces, gpu, pass, throughput, budget, (0, 0));
        (Work { steps: 0, interactions, dispatches }, complete)
    }

    /// Announces that the next force is that of the bodies after `step` steps.
    pub fn begin_step(&mut self, step: u64) {
        if let Some(steps) = self.forces.steps() {
            steps.begin_step(step);
        }
    }

    /// Whether forces depend on the accelerations of the last step.
    pub fn needs_last_accelerations(&mut self) -> bool {
        self.forces.steps().is_some_and(|steps| steps.needs_last_accelerations())
    }

    /// Records the end of a step of length `end`, if given, and the beginning of another of length
    /// `begin`, if given, up to the drift of the positions to its end. Returns the number of
    /// dispatches.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn end_and_begin(
        &mut self,
        gpu: &Gpu,
        pass: &mut wgpu::ComputePass<'_>,
        end: Option<f64>,
        begin: Option<f64>,
    ) -> u64 {
        // The first force of a run ends a step of length 0, without kicks to share a pass with.
        let (alone, together) = match begin {
            Some(_) => (end.filter(|dt| *dt == 0.0), end.filter(|dt| *dt != 0.0)),
            None => (end, None),
        };
        if let Some(dt) = alone {
            self.integrator.close(gpu, pass, dt);
        }
        if let Some(dt) = begin {
            self.integrator.open(gpu, pass, dt, together);
        }
        u64::from(alone.is_some()) + u64::from(begin.is_some())
    }
}

fn in_field(dispatch: Dispatch) -> Error {
    let what = format!("{dispatch:?}").to_lowercase();
    Error::value("the kind of steps", what, "ordinary in an external field")
}

fn cannot_be_fused(bodies: &BodyBuffers, integrator: &Integrator) -> Error {
    let what = format!("{} on {} bodies", integrator.name, bodies.sink_count());
    let most = Fused::MOST_BODIES;
    let allowed = format!("leapfrog on all bodies, at most {most}, whose force is one dispatch");
    Error::value("what is to be fused", what, allowed)
}
