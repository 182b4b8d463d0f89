//! Steps by two kinds of kernels: forces, in as many dispatches as needed, and the integrator
//! between them.

use super::{MOST_DISPATCHES, SubmissionRequest};
use crate::forces::{DeviceForces, record_within};
use crate::integrate::DeviceIntegrator;
use crate::sim::device::{Phase, Work};

/// Forces by any method, and an integrator.
pub(super) struct OrdinarySteps<'a> {
    pub forces: &'a mut dyn DeviceForces,
    pub integrator: &'a mut dyn DeviceIntegrator,
}

/// Called when a step has begun; may record any number of whole steps. Afterwards a step has
/// begun, which the caller ends.
pub(super) type Ahead<'a> = dyn FnMut(&mut wgpu::ComputePass<'_>, &mut Work) + 'a;

impl OrdinarySteps<'_> {
    /// [`super::Stepper::record`]; `ahead` may record whole steps each time a step has begun.
    pub fn record(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        phase: &mut Phase,
        request: &SubmissionRequest,
        ahead: &mut Ahead<'_>,
    ) -> Work {
        let SubmissionRequest { gpu, throughput, budget, .. } = *request;
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
                record_within(self.forces, gpu, pass, throughput, budget, done);
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
