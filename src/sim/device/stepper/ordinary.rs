//! Steps by two kinds of kernels: forces, in as many dispatches as needed, and the integrator
//! between them.

use super::{MOST_DISPATCHES, StepMode, StepRequest};
use crate::forces::{DeviceForces, record_within};
use crate::gpu::Gpu;
use crate::integrate::DeviceIntegrator;
use crate::sim::device::{Phase, Work};

/// Forces by any method, and an integrator.
pub(super) struct Ordinary {
    forces: Box<dyn DeviceForces>,
    integrator: Box<dyn DeviceIntegrator>,
}

/// Called when a step has begun; may record any number of whole steps. Afterwards again a step has
/// begun, which the caller ends.
pub(super) type Ahead<'a> = dyn FnMut(&mut wgpu::ComputePass<'_>, &mut Work) + 'a;

impl Ordinary {
    pub fn new(forces: Box<dyn DeviceForces>, integrator: Box<dyn DeviceIntegrator>) -> Self {
        Self { forces, integrator }
    }

    /// Forgets the parameters of the last submission.
    pub fn begin_submission(&mut self) {
        self.forces.begin_submission();
        self.integrator.begin_submission();
    }

    /// Sends the parameters of everything recorded.
    pub fn end_submission(&mut self, gpu: &Gpu) {
        self.forces.end_submission(gpu);
        self.integrator.end_submission(gpu);
    }

    /// The forces of its steps.
    pub fn forces(&self) -> &dyn DeviceForces {
        self.forces.as_ref()
    }

    /// [`Ordinary::forces`], mutably.
    pub fn forces_mut(&mut self) -> &mut dyn DeviceForces {
        self.forces.as_mut()
    }

    /// Swaps the forces for others.
    pub fn swap_forces(&mut self, forces: &mut Box<dyn DeviceForces>) {
        std::mem::swap(&mut self.forces, forces);
    }

    /// Discards a partly computed force; the next submission computes it from the beginning.
    pub fn restart_force(&mut self) {
        self.forces.restart();
    }

    /// [`StepMode::record`]; `ahead` may record whole steps each time a step has begun.
    pub fn steps(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        phase: &mut Phase,
        request: &StepRequest,
        ahead: &mut Ahead<'_>,
    ) -> Work {
        let StepRequest { gpu, throughput, budget, .. } = *request;
        let mut work = Work::default();
        let mut close_last = None;
        loop {
            let dt = match *phase {
                Phase::Force { dt } => dt,
                Phase::Between if work.steps < request.steps => {
                    self.integrator.open(gpu, pass, request.dt, close_last.take());
                    work.dispatches += 1;
                    request.dt
                }
                Phase::Between => break,
            };
            if dt == request.dt && !self.forces.is_begun() {
                ahead(pass, &mut work);
            }
            let done = (work.interactions, work.dispatches);
            let (interactions, dispatches, complete) =
                record_within(self.forces.as_mut(), gpu, pass, throughput, budget, done);
            (work.interactions, work.dispatches) = (interactions, dispatches);
            if !complete {
                *phase = Phase::Force { dt };
                break;
            }
            // The first force of the run is the end of a step of length 0 and does not count as a
            // step.
            let is_step = dt != 0.0;
            work.steps += u64::from(is_step);
            *phase = Phase::Between;
            let has_room = request.has_time_after(&work) && work.dispatches < MOST_DISPATCHES;
            if is_step && work.steps < request.steps && has_room && !self.forces.is_full() {
                close_last = Some(dt);
            } else {
                self.integrator.close(gpu, pass, dt);
                work.dispatches += 1;
                break;
            }
        }
        work
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Ordinary {
    /// Records the rest of the step that has begun, and the beginning of another of length `next`,
    /// if given, up to the drift of the positions to its end. Work that exceeds the budget is left
    /// for the next submission; returns true once all is recorded.
    pub fn turn(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        phase: &mut Phase,
        request: &StepRequest,
        next: Option<f64>,
    ) -> (Work, bool) {
        let StepRequest { gpu, throughput, budget, .. } = *request;
        let mut work = Work::default();
        let mut close_last = None;
        if let Phase::Force { dt } = *phase {
            let forces = self.forces.as_mut();
            let (interactions, dispatches, complete) =
                record_within(forces, gpu, pass, throughput, budget, (0, 0));
            (work.interactions, work.dispatches) = (interactions, dispatches);
            if !complete {
                return (work, false);
            }
            // The first force of the run is the end of a step of length 0 and does not count as a
            // step.
            let is_step = dt != 0.0;
            work.steps = u64::from(is_step);
            *phase = Phase::Between;
            if is_step && next.is_some() {
                close_last = Some(dt);
            } else {
                self.integrator.close(gpu, pass, dt);
                work.dispatches += 1;
            }
        }
        if let Some(dt) = next {
            self.integrator.open(gpu, pass, dt, close_last);
            work.dispatches += 1;
            *phase = Phase::Force { dt };
        }
        (work, true)
    }

    /// Records the end of a step of `close_last`, if given, with the forces gathered from all
    /// devices, and the beginning of another of `next`, if given.
    pub fn close_and_open(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        gpu: &Gpu,
        close_last: Option<f64>,
        next: Option<f64>,
    ) {
        if close_last.is_some()
            && let Some(shared) = self.forces.shared()
        {
            shared.take_answers(gpu, pass);
        }
        match (next, close_last) {
            (Some(dt), close_last) => self.integrator.open(gpu, pass, dt, close_last),
            (None, Some(dt)) => self.integrator.close(gpu, pass, dt),
            (None, None) => (),
        }
    }

    /// Records as much of a force as the budget allows; returns true if the force is complete.
    pub fn force(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        request: &StepRequest,
    ) -> (Work, bool) {
        let StepRequest { gpu, throughput, budget, .. } = *request;
        let forces = self.forces.as_mut();
        let (interactions, dispatches, complete) =
            record_within(forces, gpu, pass, throughput, budget, (0, 0));
        (Work { steps: 0, interactions, dispatches }, complete)
    }
}

/// The ordinary mode, in which every step is taken by [`Ordinary`] alone.
pub(super) struct StepByStep;

impl StepMode for StepByStep {
    fn record(
        &mut self,
        ordinary: &mut Ordinary,
        pass: &mut wgpu::ComputePass<'_>,
        phase: &mut Phase,
        request: &StepRequest,
    ) -> Work {
        ordinary.steps(pass, phase, request, &mut |_, _| ())
    }
}
