//! A simulation on a worker thread, drawn from buffers that each frame fills.

use super::cadence::Purpose;
use super::mailbox::Progress;
use super::mover::{Drawn, FrameSlice, Mover, Reached};
use super::worker::{Backend, WorkerLink};
use super::{BlockFacts, Event, Rates};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::direct::gpu::KernelRequest;
use crate::frame::Frame;
use crate::gpu::layout::VEC4;
use crate::gpu::{DevicePart, Gpu, storage};
use crate::sim::{Settings, Work};

/// A worker, and the buffers its bodies are drawn from.
pub(super) struct OnHost {
    worker: WorkerLink,
    reached: Progress,
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

impl OnHost {
    /// Starts the worker for bodies on `backend`; `drawing` is the device of the window.
    ///
    /// # Errors
    ///
    /// More bodies than can be drawn; the thread cannot be spawned.
    pub fn start(
        drawing: &Gpu,
        bodies: Bodies,
        backend: Backend,
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
            reached: Progress { time: settings.begins_at(), ..Progress::default() },
            has_kernel: matches!(backend, Backend::Devices(_)),
            worker: WorkerLink::start(bodies, backend, settings)?,
        })
    }
}

impl Mover for OnHost {
    fn describe(&self) -> String {
        self.worker.description.clone()
    }

    fn record(&mut self, slice: FrameSlice<'_>) -> Result<Work> {
        self.worker.allow(slice.due, slice.dt);
        self.worker.with_points(|new| {
            let send = |buffer, from: &[[f32; 4]]| {
                slice.gpu.queue.write_buffer(buffer, 0, bytemuck::cast_slice(from));
            };
            send(&self.position_mass, &new.position_mass);
            send(&self.velocity, &new.velocity);
            send(&self.acceleration, &new.acceleration);
            (self.frame, self.drawn_after) = (new.frame, new.steps);
            slice.tracker.take_from(&new.position_mass, new.frame);
        });
        Ok(Work::default())
    }

    fn reached(&self) -> Reached {
        let Progress { time, steps, ready, .. } = self.reached;
        Reached { time, steps, ready }
    }

    fn drawn_after(&self) -> Option<u64> {
        Some(self.drawn_after)
    }

    fn is_busy(&self) -> bool {
        self.worker.is_busy()
    }

    fn has_ended(&self) -> bool {
        self.worker.has_ended()
    }

    fn drawn(&self) -> Drawn<'_> {
        let Self { position_mass, velocity, acceleration, frame, .. } = self;
        Drawn { position_mass, velocity, acceleration, frame: *frame }
    }

    fn poll(&mut self, rates: &mut Rates, events: &mut Vec<Event>) -> u64 {
        let (done, now, new_events) = self.worker.take();
        rates.host(done, now);
        self.reached = now;
        events.extend(new_events);
        done
    }

    fn set_softening(&mut self, _: &KernelRequest, softening: f64) -> Result<()> {
        self.worker.set_softening(softening);
        Ok(())
    }

    /// A host engine only validates it; it takes effect once the GPU becomes the engine.
    fn set_kernel(&mut self, gpu: &Gpu, request: &KernelRequest, _: f64) -> Result<()> {
        let n = (self.position_mass.size() / VEC4) as usize;
        request.resolve(gpu, n, n)?;
        if self.has_kernel {
            self.worker.set_kernel(*request);
        }
        Ok(())
    }

    fn request_report(&mut self) {
        self.worker.request_report();
    }

    fn request_bodies(&mut self, purpose: Purpose) {
        self.worker.request_bodies(purpose);
    }

    fn request_blocks(&mut self) {
        self.worker.request_blocks();
    }

    fn take_blocks(&mut self) -> Option<BlockFacts> {
        self.worker.take_blocks()
    }

    fn parts(&self) -> &[DevicePart] {
        &self.worker.parts
    }

    /// Withdraws the allowed steps at once: otherwise the worker would continue until the next
    /// frame, beyond the state that is requested after the pause.
    fn pause(&mut self, dt: f64) {
        self.worker.allow(0, dt);
    }
}
