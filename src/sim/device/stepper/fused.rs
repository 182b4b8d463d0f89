//! Steps whose force kernel also does the integration: one dispatch each, taken in pairs.

use super::ordinary::Ordinary;
use super::{MOST_DISPATCHES, Wanted, Way};
use crate::gpu::Gpu;
use crate::integrate::Fused;
use crate::sim::device::{Phase, Work};

/// The ordinary way begins the first step of a slice and ends the last; the steps between are
/// fused.
impl Way for Fused {
    fn begin_submission(&mut self) {
        Fused::begin_submission(self);
    }

    fn end_submission(&mut self, gpu: &Gpu) {
        Fused::end_submission(self, gpu);
    }

    fn record(
        &mut self,
        ordinary: &mut Ordinary,
        pass: &mut wgpu::ComputePass<'_>,
        phase: &mut Phase,
        wanted: &Wanted,
    ) -> Work {
        let per_step = ordinary.forces().interactions();
        let within = wanted.throughput.interactions_in(wanted.budget.dispatch_secs);
        ordinary.steps(pass, phase, wanted, &mut |pass, work| {
            // Takes pairs of whole steps as long as one more step follows, which the ordinary way
            // ends.
            while within >= per_step
                && work.steps + 2 < wanted.steps
                && work.dispatches < MOST_DISPATCHES
                && wanted.has_time_after(work)
            {
                self.record_two(pass, wanted.dt);
                work.steps += 2;
                work.interactions += 2 * per_step;
                work.dispatches += 2;
            }
        })
    }
}
