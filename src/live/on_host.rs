//! A simulation on a worker thread, drawn from buffers that the frames fill.

use super::cadence::Purpose;
use super::mailbox::Progress;
use super::mover::{Drawn, FramePart, Mover, Reached};
use super::worker::{Home, WorkerLink};
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
    /// The frame of their numbers.
    frame: Frame,
    /// The steps after which they are.
    drawn_after: u64,
    /// Whether all-pairs kernels of devices move the bodies.
    has_kernel: bool,
}

impl OnHost {
    /// Starts the worker for bodies at `home`; `drawing` is the device of the window.
    ///
    /// Errors: more bodies than can be drawn; no thread.
    pub fn start(drawing: &Gpu, bodies: Bodies, home: Home, settings: &Settings) -> Result<Self> {
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
            has_kernel: matches!(home, Home::Elsewhere(_)),
            worker: WorkerLink::start(bodies, home, settings)?,
        })
    }
}

impl Mover for OnHost {
    fn describe(&self) -> String {
        self.worker.description.clone()
    }

    fn record(&mut self, part: FramePart<'_>) -> Result<Work> {
        self.worker.allow(part.due, part.dt);
        self.worker.with_points(|new| {
            let send = |buffer, from: &[[f32; 4]]| {
                part.gpu.queue.write_buffer(buffer, 0, bytemuck::cast_slice(from));
            };
            send(&self.position_mass, &new.position_mass);
            send(&self.velocity, &new.velocity);
            send(&self.acceleration, &new.acceleration);
            (self.frame, self.drawn_after) = (new.frame, new.steps);
            part.tracker.take_from(&new.position_mass, new.frame);
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
        let (done, now, said) = self.worker.take();
        rates.host(done, now);
        self.reached = now;
        events.extend(said);
        done
    }

    fn set_softening(&mut self, _: &KernelRequest, softening: f64) -> Result<()> {
        self.worker.set_softening(softening);
        Ok(())
    }

    /// With an engine of the host it is only kept, for when the engine becomes the GPU.
    fn set_kernel(&mut self, gpu: &Gpu, request: &KernelRequest, _: f64) -> Result<()> {
        let n = (self.position_mass.size() / VEC4) as usize;
        request.resolve(gpu, n, n)?;
        if self.has_kernel {
            self.worker.set_kernel(*request);
        }
        Ok(())
    }

    fn ask_report(&mut self) {
        self.worker.ask_report();
    }

    fn ask_bodies(&mut self, purpose: Purpose) {
        self.worker.ask_bodies(purpose);
    }

    fn ask_blocks(&mut self) {
        self.worker.ask_blocks();
    }

    fn take_blocks(&mut self) -> Option<BlockFacts> {
        self.worker.take_blocks()
    }

    fn parts(&self) -> &[DevicePart] {
        &self.worker.parts
    }

    /// Otherwise a worker would go on until the next frame, beyond what is asked for after this.
    fn pause(&mut self, dt: f64) {
        self.worker.allow(0, dt);
    }
}
