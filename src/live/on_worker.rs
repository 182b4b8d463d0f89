//! A simulation on a worker thread, drawn from buffers that each frame fills.

use std::sync::Arc;

use super::blocks::BlockFacts;
use super::cadence::CopyPurpose;
use super::command::{Changed, KernelChange};
use super::mailbox::{WorkerProgress, lock};
use super::moves::{Drawn, FrameSlice, Moves, Reached};
use super::worker::{WorkerLink, WorkerSource};
use super::{Event, Rates};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::frame::Frame;
use crate::gpu::layout::VEC4;
use crate::gpu::{DevicePart, Gpu, storage};
use crate::sim::{Settings, VaryingStep, Work};

/// A worker, and the buffers its bodies are drawn from.
pub(super) struct OnWorker {
    link: WorkerLink,
    /// Steps since the start, and progress, as of the last [`Moves::poll`].
    known: u64,
    reached: WorkerProgress,
    description: String,
    /// What each device computes, if several move the bodies.
    parts: Vec<DevicePart>,
    position_mass: wgpu::Buffer,
    velocity: wgpu::Buffer,
    acceleration: wgpu::Buffer,
    /// The coordinate frame of the buffers.
    frame: Frame,
    /// The number of steps of the state in the buffers.
    drawn_after: u64,
    /// Whether all-pairs kernels on devices move the bodies.
    has_kernel: bool,
}

impl OnWorker {
    /// Starts the worker for the bodies of `source`; `drawing` is the device of the window.
    ///
    /// # Errors
    ///
    /// More bodies than can be drawn; the thread cannot be spawned.
    pub fn start(
        drawing: &Arc<Gpu>,
        bodies: Bodies,
        source: WorkerSource,
        settings: &Settings,
    ) -> Result<Self> {
        let (n, most) = (bodies.len(), drawing.limits.storage_buffer / VEC4);
        if n as u64 > most {
            return Err(drawing.refuse(format!("it can draw at most {most} bodies")));
        }
        Ok(Self {
            position_mass: storage(drawing, "drawn positions", n),
            velocity: storage(drawing, "drawn velocities", n),
            acceleration: storage(drawing, "drawn accelerations", n),
            frame: Frame::PLAIN,
            drawn_after: settings.steps_before,
            known: 0,
            reached: WorkerProgress { time: settings.begins_at(), ..WorkerProgress::default() },
            description: source.describe(),
            parts: Vec::new(),
            has_kernel: matches!(source, WorkerSource::Devices(_)),
            link: WorkerLink::start(bodies, source, settings)?,
        })
    }

    /// Allows the worker `due` steps of length `dt` beyond those that the last poll reported.
    /// Counting from that number, and not from the worker's current one, allows no step twice.
    ///
    /// With 0, allowed steps are withdrawn at once: after a pause the worker would otherwise
    /// continue until the next frame, beyond the state that is then requested.
    pub fn allow(&self, due: u64, dt: f64) {
        self.link.shared.send(|inbox| {
            (inbox.until, inbox.dt) = (self.known.saturating_add(due), dt);
            inbox.frames += 1;
        });
    }

    /// Requests the statistics of individual steps, or of a step that varies.
    pub fn request_blocks(&self) {
        self.link.shared.send(|inbox| inbox.requests.blocks = true);
    }

    /// The statistics of individual steps, if reported since the last call.
    pub fn take_blocks(&self) -> Option<BlockFacts> {
        lock(&self.link.shared.outbox).blocks.take()
    }

    /// The step of all bodies, if it varies and was reported since the last call.
    pub fn take_varying(&self) -> Option<VaryingStep> {
        lock(&self.link.shared.outbox).varying.take()
    }

    pub fn parts(&self) -> &[DevicePart] {
        &self.parts
    }

    /// Whether it has failed and its events have been taken.
    pub fn has_ended(&self) -> bool {
        let outbox = lock(&self.link.shared.outbox);
        outbox.ended && outbox.events.is_empty()
    }
}

impl Moves for OnWorker {
    fn describe(&self) -> String {
        self.description.clone()
    }

    fn record(&mut self, slice: FrameSlice<'_>) -> Result<Work> {
        self.allow(slice.due, slice.dt);
        let shared = &self.link.shared;
        let taken = lock(&shared.outbox).points.take();
        if let Some(new) = taken {
            let send = |buffer, from: &[[f32; 4]]| {
                slice.gpu.queue.write_buffer(buffer, 0, bytemuck::cast_slice(from));
            };
            send(&self.position_mass, &new.position_mass);
            send(&self.velocity, &new.velocity);
            send(&self.acceleration, &new.acceleration);
            (self.frame, self.drawn_after) = (new.frame, new.steps);
            slice.tracker.take_from(&new.position_mass, new.frame);
            lock(&shared.outbox).spare = Some(new);
            shared.send(|inbox| inbox.points_requested = true);
        }
        Ok(Work::default())
    }

    fn reached(&self) -> Reached {
        let WorkerProgress { time, steps, ready, .. } = self.reached;
        Reached { time, steps, ready, drawn_after: Some(self.drawn_after) }
    }

    fn drawn(&self) -> Drawn<'_> {
        let Self { position_mass, velocity, acceleration, frame, .. } = self;
        Drawn { position_mass, velocity, acceleration, frame: *frame }
    }

    fn poll(&mut self, rates: &mut Rates, events: &mut Vec<Event>) -> u64 {
        let mut outbox = lock(&self.link.shared.outbox);
        let done = outbox.done - self.known;
        (self.known, self.reached) = (outbox.done, outbox.progress);
        if let Some(description) = outbox.description.take() {
            self.description = description;
        }
        if let Some(parts) = outbox.parts.take() {
            self.parts = parts;
        }
        events.append(&mut outbox.events);
        rates.host(done, self.reached);
        done
    }

    /// A host engine only validates a kernel; it takes effect once the GPU becomes the engine.
    fn change(&mut self, gpu: &Gpu, change: KernelChange) -> Result<()> {
        if change.what == Changed::Kernel {
            let n = (self.position_mass.size() / VEC4) as usize;
            change.kernel.resolve(gpu, n, n)?;
        }
        if change.what == Changed::Softening || change.what == Changed::Kernel && self.has_kernel {
            self.link.shared.send(|inbox| inbox.requests.change = Some(change));
        }
        Ok(())
    }

    fn request_report(&mut self) {
        self.link.shared.send(|inbox| inbox.requests.report = true);
    }

    fn request_bodies(&mut self, purpose: CopyPurpose) {
        self.link.shared.send(|inbox| purpose.request(&mut inbox.requests.bodies));
    }

    fn is_busy(&self) -> bool {
        let shared = &self.link.shared;
        let works = lock(&shared.inbox).waiting.is_none();
        let outbox = lock(&shared.outbox);
        let has_results = outbox.points.is_some() || !outbox.events.is_empty();
        has_results || outbox.done != self.known || works && !outbox.ended
    }
}
