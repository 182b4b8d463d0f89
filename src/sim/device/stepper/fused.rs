//! Steps whose force kernel ends with the integrator: one dispatch each, in pairs.

use super::ordinary::Ordinary;
use super::{MOST_DISPATCHES, Stepper, Wanted};
use crate::forces::DeviceForces;
use crate::gpu::Gpu;
use crate::integrate::Fused;
use crate::sim::device::{Phase, Work};

/// The ordinary way begins the first step of a slice and ends the last; what lies between is fused.
pub(super) struct FusedSteps {
    pub ordinary: Ordinary,
    pub kernel: Fused,
}

impl Stepper for FusedSteps {
    fn begin_submission(&mut self) {
        self.ordinary.begin_submission();
        self.kernel.begin_submission();
    }

    fn end_submission(&mut self, gpu: &Gpu) {
        self.ordinary.end_submission(gpu);
        self.kernel.end_submission(gpu);
    }

    fn record(
        &mut self,
        pass: &mut wgpu::ComputePass<'_>,
        phase: &mut Phase,
        wanted: &Wanted,
    ) -> Work {
        let Self { ordinary, kernel } = self;
        let per_step = ordinary.forces().interactions();
        let within = wanted.throughput.interactions_in(wanted.budget.dispatch_secs);
        ordinary.steps(pass, phase, wanted, &mut |pass, work| {
            // Pairs of whole steps, as long as one more is wanted, which is ended in the ordinary way.
            while within >= per_step
                && work.steps + 2 < wanted.steps
                && work.dispatches < MOST_DISPATCHES
                && wanted.has_time_after(work)
            {
                kernel.record_two(pass, wanted.dt);
                work.steps += 2;
                work.interactions += 2 * per_step;
                work.dispatches += 2;
            }
        })
    }

    fn forces(&self) -> &dyn DeviceForces {
        self.ordinary.forces()
    }

    fn begin_force_again(&mut self) {
        self.ordinary.begin_force_again();
    }
}
