//! Forces on bodies that live on a device, recorded chunk by chunk between the kernels of an
//! integrator.
//!
//! A method whose bodies stay on a device implements [`DeviceForces`] and has an entry in
//! `forces::ON_DEVICE`. Steps, integrators and potentials know forces only through this trait,
//! except for the two kinds of steps that are written for all pairs (`sim/device/stepper/`).

use super::{BoxFuture, Budget, Throughput};
use crate::error::Result;
use crate::gpu::{BodyBuffers, Gpu};
use std::any::Any;

/// A chunk of an evaluation that is recorded at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedChunk {
    /// Interactions in it, as counted by the method.
    pub interactions: u64,
    /// Whether it completes the evaluation.
    pub is_last: bool,
}

/// A method of computing forces, bound to bodies on a device.
///
/// An evaluation is recorded in chunks, over as many submissions as its time requires; the cuts do
/// not change its bits. Bodies keep their order and are only read: a method that sorts them sorts a
/// copy. Work is counted in the method's own interactions, whose rate the caller measures
/// ([`Throughput`]).
pub trait DeviceForces: Any + Send {
    /// The kernel's shape, in a few words for reports.
    fn describe(&self) -> String;

    /// Interactions of one whole evaluation, or of the last one if the number is not known
    /// beforehand.
    fn interactions(&self) -> u64;

    /// Whether equal counts of interactions take equal time. If not, some chunks may take a
    /// thousand times as long as others of equal count.
    fn is_even(&self) -> bool;

    /// Discards the parameters of the last submission.
    fn begin_submission(&mut self);

    /// Uploads the parameters of everything recorded. Call before submitting.
    fn end_submission(&mut self, gpu: &Gpu);

    /// Whether this submission cannot take another chunk.
    fn is_full(&self) -> bool;

    /// Whether an evaluation has begun and not ended.
    fn is_begun(&self) -> bool;

    /// Drops an evaluation that has begun: the next chunk is the first of a new one.
    fn restart(&mut self);

    /// Uses another softening from the next evaluation on, which starts from the beginning and has
    /// the bits of forces newly bound with it. It only changes parameters of the kernels.
    fn set_softening(&mut self, softening: f32);

    /// Records the next chunk, of about `interactions`, but large enough to keep the device busy.
    fn record(
        &mut self,
        gpu: &Gpu,
        pass: &mut wgpu::ComputePass<'_>,
        interactions: u64,
    ) -> RecordedChunk;

    /// The result of the last evaluation: `array<vec4<f32>>`, [`DeviceForces::slices`] times as
    /// many entries as sinks, acceleration and potential, to be added over the slices in order. One
    /// of the two may be 0.
    fn partial_sums(&self) -> &wgpu::Buffer;

    /// Number of partial sums of each sink.
    fn slices(&self) -> u32;

    /// Makes forces that compute potentials, with or without accelerations; they may use the memory
    /// of these partial sums.
    fn with_potential<'a>(
        &'a self,
        gpu: &'a Gpu,
        bodies: &'a BodyBuffers,
    ) -> BoxFuture<'a, Result<Box<dyn DeviceForces>>>;

    /// Makes forces that compute potentials and accelerations, the latter as far as can be foreseen
    /// with the same bits as these, so that they can replace these in a step. They use the memory
    /// of these partial sums. `None` if the method does not have them.
    fn with_both<'a>(
        &'a self,
        gpu: &'a Gpu,
        bodies: &'a BodyBuffers,
    ) -> Option<BoxFuture<'a, Result<Box<dyn DeviceForces>>>>;

    /// The interface of methods whose forces depend on earlier steps.
    fn steps(&mut self) -> Option<&mut dyn StepForces>;
}

/// Forces that depend on earlier steps: on the accelerations of the last one, or on a structure
/// that is reused for several.
pub trait StepForces {
    /// Whether an evaluation depends on the accelerations that the last one left with the bodies: a
    /// snapshot then stores them for resuming the run.
    fn needs_last_accelerations(&self) -> bool;

    /// The bodies' positions when the present structure was built, `array<vec4<f32>>`; `None` if
    /// they have not moved since, or if no structure is reused.
    fn built_at(&self) -> Option<&wgpu::Buffer>;

    /// Announces that the next evaluation is that of the bodies after `step` steps.
    fn begin_step(&mut self, step: u64);

    /// Reports that this many more steps took `secs` on the device, from which the method chooses
    /// how often to rebuild.
    fn learn_steps(&mut self, steps: u64, secs: f64);

    /// Continues after `step` with bodies that have the accelerations of that step, and with the
    /// structure built over them at `built_at`. With `None` it is built over `bodies` if that step
    /// is one to build at; otherwise there is none. Submits work without waiting for it.
    fn resume(&mut self, gpu: &Gpu, bodies: &BodyBuffers, step: u64, built_at: Option<&[[f32; 4]]>);
}

/// Records chunks until the evaluation is complete, the submission is full or `budget` is spent.
/// Returns the interactions and dispatches, and whether it is complete.
pub fn record_within(
    forces: &mut dyn DeviceForces,
    gpu: &Gpu,
    pass: &mut wgpu::ComputePass<'_>,
    throughput: &Throughput,
    budget: Budget,
    (mut interactions, mut dispatches): (u64, u64),
) -> (u64, u64, bool) {
    let mut complete = false;
    while !complete
        && !forces.is_full()
        && throughput.secs(interactions, dispatches) < budget.submission_secs
    {
        let limit = throughput.interactions_in(budget.dispatch_secs);
        let piece = forces.record(gpu, pass, limit);
        complete = piece.is_last;
        interactions += piece.interactions;
        dispatches += 1;
    }
    (interactions, dispatches, complete)
}

/// Evaluates once, in submissions that respect the headless budget.
///
/// # Errors
/// The device failed; [`crate::error::Error::Stopped`].
pub async fn evaluate(
    forces: &mut dyn DeviceForces,
    gpu: &Gpu,
    throughput: &mut Throughput,
) -> Result<()> {
    let budget = Budget::HEADLESS;
    forces.restart();
    let mut complete = false;
    while !complete {
        crate::stop::check()?;
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        forces.begin_submission();
        let (interactions, dispatches);
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            (interactions, dispatches, complete) =
                record_within(forces, gpu, &mut pass, throughput, budget, (0, 0));
        }
        forces.end_submission(gpu);
        let begun = crate::wall_clock::Instant::now();
        let submission = gpu.queue.submit([encoder.finish()]);
        gpu.finish(submission).await?;
        throughput.learn(interactions, dispatches, begun.elapsed().as_secs_f64());
    }
    Ok(())
}

/// Blocking version of [`evaluate`].
pub fn evaluate_blocking(
    forces: &mut dyn DeviceForces,
    gpu: &Gpu,
    throughput: &mut Throughput,
) -> Result<()> {
    crate::gpu::blocking(evaluate(forces, gpu, throughput))
}
