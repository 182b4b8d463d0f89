//! A simulation whose bodies live on the device: many steps per submission, large steps in slices.

mod diagnosis;
#[cfg(not(target_arch = "wasm32"))]
mod headless;
mod kernels;
mod potentials;

use std::sync::Arc;

use crate::bodies::Bodies;
use crate::error::Result;
use crate::force::{
    AllPairs, Budget, KernelConfig, KernelVariant, KernelWish, Pace, Progress, Want,
    check_softening,
};
use crate::frame::{Frame, Rests};
use crate::gpu::{BodyBuffers, Gpu};
use crate::integrate::{DeviceIntegrator, Fused, OneWorkgroup};

pub use self::diagnosis::Diagnosis;
use self::kernels::Kernels;
pub use self::potentials::add_potentials;
use super::{Settings, one_workgroup};
use crate::tuned;

/// Where in a step the device stands after everything submitted so far.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Positions, velocities and accelerations belong to one time.
    Between,
    /// The step of this length has begun; its force is being computed.
    Force { dt: f64, progress: Progress },
}

/// Dispatches per submission, so that command buffers stay small however fast the device is.
const MOST_DISPATCHES: u64 = 8192;

/// What a slice does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Steps that are complete when it is done.
    pub steps: u64,
    /// Interactions computed in it.
    pub interactions: u64,
    /// Dispatches in it.
    pub dispatches: u64,
}

/// A slice on its way.
#[derive(Clone, Debug)]
pub struct Slice {
    /// What to wait for.
    pub submission: wgpu::SubmissionIndex,
    /// What is done then.
    pub work: Work,
}

/// Bodies, force kernel and integrator on one device.
pub struct DeviceState {
    gpu: Arc<Gpu>,
    buffers: BodyBuffers,
    force: AllPairs,
    /// The kernel with potential, bound when first asked for.
    potential: Option<AllPairs>,
    integrator: Box<dyn DeviceIntegrator>,
    /// Force and integrator in one dispatch per step, where that is possible.
    fused: Option<Fused>,
    /// Takes the steps instead of force kernel and integrator, where the kernel's shape says so.
    one_workgroup: Option<OneWorkgroup>,
    phase: Phase,
    pace: Pace,
    /// Of f32 numbers on the device, in whose units everything below is counted too.
    frame: Frame,
    /// What the bodies read last lack in f64.
    rests: Rests,
    largest_mass: f64,
    softening: f64,
}

impl DeviceState {
    /// Uploads `bodies`, read earlier with these `rests` if there are any, and computes their accelerations.
    pub async fn new(
        gpu: Arc<Gpu>,
        bodies: &Bodies,
        rests: Option<&Rests>,
        settings: &Settings,
    ) -> Result<Self> {
        #[cfg_attr(target_arch = "wasm32", expect(unused_mut))]
        let mut state = Self::begin(gpu, bodies, rests, settings).await?;
        #[cfg(not(target_arch = "wasm32"))]
        state.settle()?;
        Ok(state)
    }

    /// The same without waiting: the first slices compute the first accelerations.
    pub async fn begin(
        gpu: Arc<Gpu>,
        bodies: &Bodies,
        rests: Option<&Rests>,
        settings: &Settings,
    ) -> Result<Self> {
        let (g, now) = (settings.gravitational_constant, settings.begins_at());
        let frame = settings.frame.unwrap_or_else(|| Frame::of(bodies, g, now));
        frame.dt(settings.dt)?;
        let buffers = BodyBuffers::upload(&gpu, bodies, g, &frame.at(now), rests)?;
        let config = tuned::resolve(&settings.kernel, &gpu, bodies.len())?;
        let heaviest = bodies.mass.iter().copied().fold(0.0, f64::max);
        let largest_mass = heaviest * g / frame.mass;
        let softening = settings.softening / frame.length;
        let variant = KernelVariant::new(config, softening, largest_mass, Want::Acceleration);
        let kernels =
            Kernels::bind(&gpu, &buffers, variant, softening, &settings.integrator).await?;
        let Kernels { force, integrator, fused, one_workgroup } = kernels;
        let pace = Pace::guess(gpu.adapter.class);
        Ok(Self {
            gpu,
            buffers,
            force,
            potential: None,
            integrator,
            fused,
            one_workgroup,
            // A step of length 0: only its force and its end are left to do.
            phase: Phase::Force { dt: 0.0, progress: Progress::default() },
            pace,
            frame,
            rests: Rests::default(),
            largest_mass,
            softening,
        })
    }

    /// Goes on with another kernel or softening. A force that is half done begins again with them; a
    /// new softening gives new accelerations before the next step. Nothing else of the state changes.
    ///
    /// Errors leave everything as it was: a shape that the adapter cannot hold, a softening below 0.
    pub async fn change_kernel(
        &mut self,
        wish: &KernelWish,
        softening: f64,
        integrator: &str,
    ) -> Result<()> {
        check_softening(softening)?;
        let softening = softening / self.frame.length;
        let n = self.buffers.count as usize;
        let config = tuned::resolve(wish, &self.gpu, n)?;
        let variant = KernelVariant::new(config, softening, self.largest_mass, Want::Acceleration);
        let kernels =
            Kernels::bind(&self.gpu, &self.buffers, variant, softening, integrator).await?;
        self.phase = match self.phase {
            Phase::Force { dt, .. } => Phase::Force { dt, progress: Progress::default() },
            Phase::Between if softening != self.softening => {
                Phase::Force { dt: 0.0, progress: Progress::default() }
            }
            Phase::Between => Phase::Between,
        };
        if variant != self.force.variant {
            self.pace = Pace::guess(self.gpu.adapter.class);
        }
        (self.softening, self.potential) = (softening, None);
        let Kernels { force, integrator, fused, one_workgroup } = kernels;
        (self.force, self.integrator) = (force, integrator);
        (self.fused, self.one_workgroup) = (fused, one_workgroup);
        Ok(())
    }

    /// The device.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// The frame of the numbers in the buffers while the clock of whole steps shows `time`. In the middle of
    /// a step positions are those of its end already.
    pub fn frame_at(&self, time: f64) -> Frame {
        match self.phase {
            Phase::Between => self.frame.at(time),
            Phase::Force { dt, .. } => self.frame.at(time + dt * self.frame.time),
        }
    }

    /// The frame it was begun with.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// What the bodies that were read last lack in f64; empty before.
    pub fn rests(&self) -> &Rests {
        &self.rests
    }

    /// The bodies' buffers, for the sprites and for readers.
    pub fn buffers(&self) -> &BodyBuffers {
        &self.buffers
    }

    /// The kernel's shape.
    pub fn config(&self) -> KernelConfig {
        self.force.variant.config
    }

    /// The variant that runs, with its text.
    pub fn variant(&self) -> KernelVariant {
        self.force.variant
    }

    /// The rate as measured so far, and the time a piece of work takes at it.
    pub fn pace(&self) -> &Pace {
        &self.pace
    }

    /// True when no step is half done.
    pub fn is_between_steps(&self) -> bool {
        self.phase == Phase::Between
    }

    /// Submits as much as `budget` allows of up to `steps` steps of `dt`, without waiting. A step that
    /// was left half done is finished first, with its own dt, and counts.
    ///
    /// The bits do not depend on the budget.
    pub fn submit_slice(&mut self, dt: f64, steps: u64, budget: Budget) -> Slice {
        self.submit_stamped(dt, steps, budget, None)
    }

    fn submit_stamped(
        &mut self,
        dt: f64,
        steps: u64,
        budget: Budget,
        timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) -> Slice {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let work = self.record_slice(&mut encoder, dt, steps, budget, timestamp_writes);
        Slice { submission: self.gpu.queue.submit([encoder.finish()]), work }
    }

    /// The same into the caller's encoder, for a frame that goes in one submission. At most one slice
    /// may be recorded before each submission.
    pub fn record_slice(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        dt: f64,
        steps: u64,
        budget: Budget,
        timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) -> Work {
        let dt = dt / self.frame.time;
        // A step that another kernel has begun is ended in the ordinary way, and no further one begun.
        let half_done = matches!(self.phase, Phase::Force { dt, .. } if dt != 0.0);
        let steps = if half_done && self.one_workgroup.is_some() { 0 } else { steps };
        if let Some(kernel) = self.one_workgroup.as_mut().filter(|_| !half_done) {
            let first = self.phase != Phase::Between;
            self.phase = Phase::Between;
            let (gpu, pace) = (&self.gpu, &self.pace);
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("steps in one workgroup"),
                timestamp_writes,
            });
            return one_workgroup::record(gpu, kernel, &mut pass, pace, first, dt, steps, budget);
        }
        let (mut finished, mut interactions, mut dispatches) = (0, 0, 0);
        self.force.begin_submission();
        self.integrator.begin_submission();
        if let Some(fused) = &mut self.fused {
            fused.begin_submission();
        }
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("steps"),
                timestamp_writes,
            });
            let mut close_last = None;
            loop {
                let (step_dt, mut progress) = match self.phase {
                    Phase::Force { dt, progress } => (dt, progress),
                    Phase::Between if finished < steps => {
                        self.integrator.open(&self.gpu, &mut pass, dt, close_last.take());
                        dispatches += 1;
                        (dt, Progress::default())
                    }
                    Phase::Between => break,
                };
                if let Some(fused) = &mut self.fused
                    && step_dt == dt
                    && progress == Progress::default()
                {
                    // Pairs of whole steps, as long as one more is wanted, which is ended below.
                    let per_step = self.force.interactions();
                    let one_dispatch = self.pace.interactions_in(budget.dispatch_secs) >= per_step;
                    while one_dispatch
                        && finished + 2 < steps
                        && dispatches < MOST_DISPATCHES
                        && self.pace.secs(interactions, dispatches) < budget.submission_secs
                    {
                        fused.record_two(&mut pass, dt);
                        finished += 2;
                        interactions += 2 * per_step;
                        dispatches += 2;
                    }
                }
                let mut complete = false;
                while !complete
                    && !self.force.is_full()
                    && self.pace.secs(interactions, dispatches) < budget.submission_secs
                {
                    let piece = self.pace.interactions_in(budget.dispatch_secs);
                    let done;
                    (done, complete) =
                        self.force.record(&self.gpu, &mut pass, &mut progress, piece);
                    interactions += done;
                    dispatches += 1;
                }
                if !complete {
                    self.phase = Phase::Force { dt: step_dt, progress };
                    break;
                }
                // The first force of all is the end of a step of length 0 and counts as none.
                let is_step = step_dt != 0.0;
                finished += u64::from(is_step);
                self.phase = Phase::Between;
                let room = self.pace.secs(interactions, dispatches) < budget.submission_secs
                    && dispatches < MOST_DISPATCHES;
                if is_step && finished < steps && room && !self.force.is_full() {
                    close_last = Some(step_dt);
                } else {
                    self.integrator.close(&self.gpu, &mut pass, step_dt);
                    dispatches += 1;
                    break;
                }
            }
        }
        self.force.end_submission(&self.gpu);
        self.integrator.end_submission(&self.gpu);
        if let Some(fused) = &mut self.fused {
            fused.end_submission(&self.gpu);
        }
        Work { steps: finished, interactions, dispatches }
    }

    /// Where the force kernels leave their sums: see [`AllPairs::partial_sums`].
    pub fn partial_sums(&self) -> &wgpu::Buffer {
        &self.force.partial_sums
    }

    /// Takes a rate in interactions per second for granted, known from an earlier run, say.
    pub fn learn_rate(&mut self, interactions_per_sec: f64) {
        self.pace = self.pace.with_rate(interactions_per_sec);
    }

    /// Tells how long a slice took, so that the next ones keep the budget.
    pub fn learn(&mut self, work: Work, secs: f64) {
        self.pace.learn(work.interactions, work.dispatches, secs);
    }
}
