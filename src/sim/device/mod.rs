//! Bodies on a device: many steps per submission, or one large step in several submissions.
//!
//! A step is two kinds of dispatches, force and leapfrog. Many steps share a compute pass and a
//! submission. The kick that ends a step and the kick that begins the next one share one pass over
//! the bodies but remain two additions, so a pause between steps does not change the bits.
//!
//! How much work goes into a dispatch follows from a time budget and the measured rate
//! (`forces/throughput.rs`); `gpu/pieces.rs` says how a large force is cut, and `stepper` which
//! kinds of steps there are.

mod advance;
mod backend;
mod change;
mod combined;
mod diagnosis;
#[cfg(not(target_arch = "wasm32"))]
mod lockstep;
mod long;
mod potentials;
#[cfg(not(target_arch = "wasm32"))]
mod range_exchange;
mod stepper;
mod strongest;

use std::ops::Range;
use std::sync::Arc;

use glam::DVec3;

pub use self::backend::BACKEND;
pub use self::change::{CompiledKernel, NextKernel};
use self::combined::Combined;
pub use self::diagnosis::Diagnosis;
use self::long::SavedMotion;
pub use self::potentials::add_potentials;
#[cfg(not(target_arch = "wasm32"))]
pub(super) use self::range_exchange::RangeExchange;
use self::stepper::{Stepper, SubmissionRequest};
pub(super) use self::strongest::Strongest;
use super::Settings;
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::direct::gpu::{AllPairs, DEFAULT_BLOCK, KernelConfig, KernelVariant, Masses};
use crate::forces::tree::TreeConfig;
use crate::forces::{
    Budget, DeviceField, DeviceForces, DeviceTools, Method, Throughput, on_device,
};
use crate::frame::{Frame, Rests};
use crate::gpu::{BodyBuffers, Gpu, Readback};
use crate::integrate::Integrator;
use crate::tuned::KnownResults;

/// The progress within a step after all submissions so far.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// Positions, velocities and accelerations belong to one time.
    Between,
    /// The step of this length has begun; its force is being computed.
    Force { dt: f64 },
}

/// The work of a slice, which is the part of the steps that one submission records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Steps that it completes.
    pub steps: u64,
    /// Interactions computed in it.
    pub interactions: u64,
    /// Dispatches in it.
    pub dispatches: u64,
}

/// A submitted slice.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The submission to wait for.
    pub submission: wgpu::SubmissionIndex,
    /// The work that is done when it completes.
    pub work: Work,
}

/// Bodies, force kernel and integrator on one device.
pub struct DeviceState {
    gpu: Arc<Gpu>,
    buffers: BodyBuffers,
    stepper: Stepper,
    /// The forces with potential, bound on the first request.
    potential: Option<Box<dyn DeviceForces>>,
    /// Forces and potentials by one kernel, for many bodies.
    combined: Option<Combined>,
    phase: Phase,
    interactions: u64,
    throughput: Throughput,
    /// Seconds that the last step took, if any.
    step_secs: Option<f64>,
    /// Seconds that submissions have taken since the last step ended.
    since_step: f64,
    /// The frame of the f32 numbers on the device. `largest_mass` is in its units.
    frame: Frame,
    /// The digits that the bodies read last lack in f64.
    rests: Rests,
    largest_mass: f64,
    /// In the caller's units.
    softening: f64,
    method: Method,
    integrator: &'static Integrator,
    tree: TreeConfig,
    field: DeviceField,
    /// The accelerations read last, in the frame, if the next forces depend on them.
    last: Vec<[f32; 3]>,
    /// Positions, in the frame, over which the tree was built that serves several steps, as of the
    /// last reading.
    built_at: Vec<DVec3>,
    /// Steps of the run that are complete after all submissions so far.
    steps: u64,
    /// Stored results of tuning.
    known: KnownResults,
    /// Reused readback buffers.
    readback: Readback,
    /// The kernel of the largest acceleration, bound on the first request.
    strongest: Option<Strongest>,
    /// The motion before a step that is taken in shorter ones, and the steps before it.
    saved: Option<(SavedMotion, u64)>,
}

impl DeviceState {
    /// Uploads `bodies`, with the `rests` that were read with them, if any, and computes their
    /// accelerations.
    pub async fn new(
        gpu: Arc<Gpu>,
        bodies: &Bodies,
        rests: Option<&Rests>,
        settings: &Settings,
    ) -> Result<Self> {
        let mut state = Self::begin(gpu, bodies, rests, settings).await?;
        state.settle().await?;
        Ok(state)
    }

    /// Uploads the bodies without waiting: the first slices compute the first accelerations.
    pub async fn begin(
        gpu: Arc<Gpu>,
        bodies: &Bodies,
        rests: Option<&Rests>,
        settings: &Settings,
    ) -> Result<Self> {
        Self::begin_sinks(gpu, bodies, 0..bodies.len() as u32, rests, settings).await
    }

    /// [`DeviceState::begin`] for a device that moves only the `sinks`. All bodies attract them;
    /// the others stay in place until the caller writes their positions ([`DeviceState::buffers`]).
    ///
    /// # Errors
    /// A range beyond the bodies; one workgroup requested for a part of them.
    pub async fn begin_sinks(
        gpu: Arc<Gpu>,
        bodies: &Bodies,
        sinks: Range<u32>,
        rests: Option<&Rests>,
        settings: &Settings,
    ) -> Result<Self> {
        let (g, now) = (settings.gravitational_constant, settings.begins_at());
        let frame = settings.frame_of(bodies, now)?;
        let field = DeviceField::new(&settings.gravitating_field(), &frame)?;
        frame.dt(settings.dt)?;
        let method = settings.engine.by(settings.method)?.1;
        on_device(method)?.check_room(&gpu, bodies.len())?;
        let buffers = BodyBuffers::upload(&gpu, bodies, g, &frame.at(now), rests)?;
        let buffers = buffers.with_sinks(sinks)?;
        let masses = Masses::of(&buffers.mass, DEFAULT_BLOCK);
        let config = settings.known.resolve(&settings.kernel, &gpu, bodies.len(), masses)?;
        let heaviest = bodies.mass.iter().copied().fold(0.0, f64::max);
        let largest_mass = heaviest * g / frame.mass;
        let softening = settings.softening / frame.length;
        let kernel = KernelVariant::new(config, softening, largest_mass, false);
        let walk = settings.known.walk(&gpu, bodies.len());
        let tools = DeviceTools { kernel, softening, tree: settings.tree, walk, field };
        let mut stepper =
            Stepper::bind(&gpu, &buffers, method, &tools, settings.integrator).await?;
        stepper.begin_step(settings.steps_before);
        let throughput = Throughput::guess(gpu.adapter.class);
        Ok(Self {
            gpu,
            buffers,
            stepper,
            potential: None,
            combined: None,
            // A step of length 0 that has begun: its force and its end remain.
            phase: Phase::Force { dt: 0.0 },
            interactions: 0,
            throughput,
            step_secs: None,
            since_step: 0.0,
            frame,
            rests: Rests::default(),
            largest_mass,
            softening: settings.softening,
            method,
            integrator: settings.integrator,
            tree: settings.tree,
            field: tools.field,
            last: Vec::new(),
            built_at: Vec::new(),
            steps: settings.steps_before,
            known: settings.known.clone(),
            readback: Readback::default(),
            strongest: None,
            saved: None,
        })
    }

    /// The device.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// The frame of the numbers in the buffers while the clock of whole steps shows `time`. In the
    /// middle of a step the positions are already those of its end.
    pub fn frame_at(&self, time: f64) -> Frame {
        match self.phase {
            Phase::Between => self.frame.at(time),
            Phase::Force { dt } => self.frame.at(time + dt * self.frame.time),
        }
    }

    /// The external field.
    pub fn field(&self) -> &DeviceField {
        &self.field
    }

    /// The softening of its forces.
    pub fn softening(&self) -> f64 {
        self.softening
    }

    /// The frame with which the state began.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Restores the bodies' accelerations from before a restart, in the caller's units, if the next
    /// forces depend on them; no first forces are then computed. `built_at` restores the positions,
    /// in the frame, over which a tree that serves several steps was built, if the bodies have
    /// moved since. For a state that has just begun.
    fn restore_last(&mut self, acceleration: &[DVec3], built_at: Option<&[DVec3]>) {
        let needs_last = self.stepper.needs_last_accelerations();
        if !needs_last || acceleration.len() != self.buffers.count as usize {
            return;
        }
        let unit = self.frame.acceleration_unit();
        let narrow = |(acceleration, &rests): (&DVec3, &f32)| {
            let [x, y, z] = crate::frame::narrow(*acceleration / unit);
            [x, y, z, rests]
        };
        let rests = self.buffers.rests.iter();
        let narrow: Vec<[f32; 4]> = acceleration.iter().zip(rests).map(narrow).collect();
        let buffer = &self.buffers.acceleration;
        self.gpu.queue.write_buffer(buffer, 0, bytemuck::cast_slice(&narrow));
        self.phase = Phase::Between;
        let padded = |at: &DVec3| {
            let [x, y, z] = crate::frame::narrow(*at);
            [x, y, z, 0.0]
        };
        let built_at: Option<Vec<_>> = built_at.map(|all| all.iter().map(padded).collect());
        if let Some(forces) = self.stepper.forces.steps() {
            forces.resume(&self.gpu, &self.buffers, self.steps, built_at.as_deref());
        }
    }

    /// The bodies' buffers, for rendering and for reading.
    pub fn buffers(&self) -> &BodyBuffers {
        &self.buffers
    }

    /// The indices of the bodies that the device moves.
    pub fn sinks(&self) -> Range<usize> {
        self.buffers.sinks.start as usize..self.buffers.sinks.end as usize
    }

    /// The shape of the all-pairs kernel, if it computes the forces.
    pub fn config(&self) -> Option<KernelConfig> {
        self.variant().map(|variant| variant.config)
    }

    /// The variant of the all-pairs kernel, with its text, if it computes the forces.
    pub fn variant(&self) -> Option<KernelVariant> {
        AllPairs::of(self.stepper.forces.as_ref()).map(|kernel| kernel.variant)
    }

    /// Describes the adapter and the method in one line.
    pub fn describe(&self) -> String {
        let (adapter, forces) = (&self.gpu.adapter, &self.stepper.forces);
        format!("{} ({}), {}", adapter.name, adapter.backend, forces.describe())
    }

    /// Interactions computed by steps so far, the first force included.
    pub fn interactions(&self) -> u64 {
        self.interactions
    }

    /// The rate as measured so far, and the time that work takes at that rate.
    pub fn throughput(&self) -> &Throughput {
        &self.throughput
    }

    /// Whether no step has begun without having ended.
    pub fn is_between_steps(&self) -> bool {
        self.phase == Phase::Between
    }

    /// Submits as much as `budget` allows of up to `steps` steps of `dt`, without waiting. A step
    /// that has begun is finished first, with its own dt, and is counted in [`Work::steps`].
    ///
    /// The bits do not depend on the budget.
    pub fn submit_slice(&mut self, dt: f64, steps: u64, budget: Budget) -> Submitted {
        self.submit_stamped(dt, steps, budget, None)
    }

    fn submit_stamped(
        &mut self,
        dt: f64,
        steps: u64,
        budget: Budget,
        timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) -> Submitted {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let work = self.record_slice(&mut encoder, dt, steps, budget, timestamp_writes);
        Submitted { submission: self.gpu.queue.submit([encoder.finish()]), work }
    }

    /// Records a slice of work into the caller's encoder, for a video frame with a single
    /// submission. At most one slice may be recorded before each submission.
    pub fn record_slice(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        dt: f64,
        steps: u64,
        budget: Budget,
        timestamp_writes: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) -> Work {
        let request = SubmissionRequest {
            gpu: &self.gpu,
            throughput: &self.throughput,
            dt: dt / self.frame.time,
            steps,
            budget,
        };
        self.stepper.begin_submission();
        let work = {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("steps"),
                timestamp_writes,
            });
            self.stepper.record(&mut pass, &mut self.phase, &request)
        };
        self.stepper.end_submission(&self.gpu);
        self.interactions += work.interactions;
        self.steps += work.steps;
        work
    }

    /// The buffer of the computed potentials and its number of slices: see
    /// [`DeviceForces::partial_sums`].
    pub fn potential_sums(&self) -> (&wgpu::Buffer, u32) {
        let forces = self.potential.as_ref().unwrap_or(&self.stepper.forces);
        (forces.partial_sums(), forces.slices())
    }

    /// Sets the rate in interactions per second, as measured by an earlier run, say.
    pub fn learn_rate(&mut self, interactions_per_sec: f64) {
        self.throughput = self.throughput.with_rate(interactions_per_sec);
    }

    /// Reports how long a slice took, so that the next ones stay within the budget.
    pub fn learn(&mut self, work: Work, secs: f64) {
        self.throughput.learn(work.interactions, work.dispatches, secs);
        self.since_step += secs;
        if work.steps > 0 {
            self.step_secs = Some(self.since_step / work.steps as f64);
            self.since_step = 0.0;
        }
        if let Some(steps) = self.stepper.forces.steps() {
            steps.learn_steps(work.steps, secs);
        }
    }
}
