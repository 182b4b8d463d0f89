//! Forces of bodies that live on a device, recorded piece by piece between the kernels of an integrator.

use std::future::Future;
use std::ops::Range;
use std::pin::Pin;

use super::Throughput;
use super::direct::gpu::AllPairs;
use crate::error::Result;
use crate::gpu::{BodyBuffers, Gpu};

/// What is recorded at once of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Interactions in it, by the method's own count.
    pub interactions: u64,
    /// Whether the evaluation is complete with it.
    pub is_last: bool,
}

/// What is being made, or awaited from a device.
pub type Making<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// A method of forces, bound to bodies on a device.
///
/// An evaluation is recorded in pieces, over as many submissions as its time asks for; how it is cut does
/// not change its bits. Bodies keep their order and are only read: whoever sorts them sorts a copy.
/// Work is counted in the method's own interactions, whose rate the caller learns ([`Throughput`]).
pub trait DeviceForces: Send {
    /// The kernel's shape, in a few words for reports.
    fn describe(&self) -> String;

    /// Interactions of one whole evaluation; where that is not known beforehand, of the last one.
    fn interactions(&self) -> u64;

    /// Whether that says how long an evaluation takes: else pieces that count for as much may take a thousand times as long.
    fn is_even(&self) -> bool {
        true
    }

    /// Forgets the parameters of the last submission.
    fn begin_submission(&mut self);

    /// Sends the parameters of all that was recorded. Call before submitting.
    fn end_submission(&mut self, gpu: &Gpu);

    /// True when this submission can take no further piece.
    fn is_full(&self) -> bool;

    /// True while an evaluation has begun and not ended.
    fn is_begun(&self) -> bool;

    /// Gives up an evaluation that has begun: the next piece is the first of another.
    fn begin_again(&mut self);

    /// Records the next piece, of about `interactions`, and of the least that keeps the device busy.
    fn record(&mut self, gpu: &Gpu, pass: &mut wgpu::ComputePass<'_>, interactions: u64) -> Piece;

    /// What the last evaluation left: `array<vec4<f32>>`, [`DeviceForces::slices`] times as many entries as
    /// sinks, acceleration and potential, to be added over the slices in their order. One of the two may be 0.
    fn partial_sums(&self) -> &wgpu::Buffer;

    /// How many partial sums each sink has.
    fn slices(&self) -> u32;

    /// Makes what computes potentials, with these forces or without; it may take the memory of these partial sums.
    fn with_potential<'a>(
        &'a self,
        gpu: &'a Gpu,
        bodies: &'a BodyBuffers,
    ) -> Making<'a, Box<dyn DeviceForces>>;

    /// Makes what computes potentials with these forces, to the bits of these forces as far as can be foreseen: it may take
    /// their place in a step. It takes the memory of these partial sums. `None` where a method has no such thing.
    fn with_both<'a>(
        &'a self,
        gpu: &'a Gpu,
        bodies: &'a BodyBuffers,
    ) -> Option<Making<'a, Box<dyn DeviceForces>>> {
        let _ = (gpu, bodies);
        None
    }

    /// Whether an evaluation depends on the accelerations that the last one left with the bodies: a snapshot then
    /// holds them, and a run goes on from them.
    fn needs_last_accelerations(&self) -> bool {
        false
    }

    /// The bodies have such accelerations already, from before a restart.
    fn go_on_from_last(&mut self) {}

    /// The next evaluation is that of the bodies after `step` steps: methods that do not build at each step have to know.
    fn begin_step(&mut self, step: u64) {
        let _ = step;
    }

    /// So many more steps have been done, which took `secs` on the device: methods that may build seldom go by that.
    fn learn_steps(&mut self, steps: u64, secs: f64) {
        let _ = (steps, secs);
    }

    /// Where the bodies were when what serves now was built, `array<vec4<f32>>`; `None` where they are there still, or
    /// nothing is kept.
    fn built_at(&self) -> Option<&wgpu::Buffer> {
        None
    }

    /// Goes on after `step` with what is built over the bodies where they were, `built_at`; `None`:
    /// over `bodies` as they are, if that step is one to build at, and otherwise with nothing. Submits work and waits for
    /// none.
    fn go_on(&mut self, gpu: &Gpu, bodies: &BodyBuffers, step: u64, built_at: Option<&[[f32; 4]]>) {
        let _ = (gpu, bodies, step, built_at);
    }

    /// Makes what is needed to answer for a part of the sinks, where several devices have all bodies and share the
    /// forces; `None` where a method has no such thing.
    fn share<'a>(&'a mut self, gpu: &'a Gpu) -> Option<Making<'a, ()>> {
        let _ = gpu;
        None
    }

    /// What [`DeviceForces::share`] has made.
    fn shared(&mut self) -> Option<&mut dyn SharedForces> {
        None
    }

    /// The all-pairs kernel, if it is that: its text can be shown, and steps fused into it.
    fn all_pairs(&self) -> Option<&AllPairs> {
        None
    }
}

/// Forces of which several devices with all bodies compute a part each. Sinks have an order of the method's own, which is
/// the same on all devices, and a device's part is a range of them.
pub trait SharedForces {
    /// Parts begin at multiples of this.
    fn unit(&self) -> usize;

    /// From the next evaluation on it is of these sinks, in the method's order; `None`: of all, as without sharing.
    fn answer_for(&mut self, sinks: Option<&Range<u32>>);

    /// Where the answers of a part are, and those of the others are awaited: `array<vec4<f32>>` in the method's order,
    /// accelerations. The fourth number of every [`SharedForces::unit`]-th one is what it and those up to the next took.
    fn answers(&self) -> &wgpu::Buffer;

    /// Records what makes partial sums of the answers of all, as an evaluation of all sinks leaves them.
    fn take_answers(&mut self, gpu: &Gpu, pass: &mut wgpu::ComputePass<'_>);
}

/// Records pieces until the evaluation is complete, the submission is full or `budget` is spent. Returns the
/// interactions and dispatches, and whether it is complete.
pub fn record_within(
    forces: &mut dyn DeviceForces,
    gpu: &Gpu,
    pass: &mut wgpu::ComputePass<'_>,
    throughput: &Throughput,
    budget: super::Budget,
    (mut interactions, mut dispatches): (u64, u64),
) -> (u64, u64, bool) {
    let mut complete = false;
    while !complete
        && !forces.is_full()
        && throughput.secs(interactions, dispatches) < budget.submission_secs
    {
        let wanted = throughput.interactions_in(budget.dispatch_secs);
        let piece = forces.record(gpu, pass, wanted);
        complete = piece.is_last;
        interactions += piece.interactions;
        dispatches += 1;
    }
    (interactions, dispatches, complete)
}

/// Evaluates once, in slices that keep the headless budget.
///
/// Errors: the device failed; [`crate::error::Error::Stopped`].
pub async fn evaluate(
    forces: &mut dyn DeviceForces,
    gpu: &Gpu,
    throughput: &mut Throughput,
) -> Result<()> {
    let budget = super::Budget::HEADLESS;
    forces.begin_again();
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
        let begun = web_time::Instant::now();
        let submission = gpu.queue.submit([encoder.finish()]);
        gpu.finish(submission).await?;
        throughput.learn(interactions, dispatches, begun.elapsed().as_secs_f64());
    }
    Ok(())
}

/// [`evaluate`], waiting.
pub fn evaluate_blocking(
    forces: &mut dyn DeviceForces,
    gpu: &Gpu,
    throughput: &mut Throughput,
) -> Result<()> {
    crate::gpu::blocking(evaluate(forces, gpu, throughput))
}
