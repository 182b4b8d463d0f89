//! Steps taken by a single workgroup: whole steps only, many per dispatch.

use super::ordinary::{Ordinary, StepByStep};
use super::{StepMode, StepRequest};
use crate::forces::Throughput;
use crate::gpu::Gpu;
use crate::integrate::OneWorkgroup;
use crate::sim::device::{Phase, Work};

/// The ordinary mode is used only to finish a step that another kernel has begun.
impl StepMode for OneWorkgroup {
    fn begin_submission(&mut self) {
        OneWorkgroup::begin_submission(self);
    }

    fn end_submission(&mut self, gpu: &Gpu) {
        OneWorkgroup::end_submission(self, gpu);
    }

    fn record(
        &mut self,
        ordinary: &mut Ordinary,
        pass: &mut wgpu::ComputePass<'_>,
        phase: &mut Phase,
        request: &StepRequest,
    ) -> Work {
        if matches!(phase, Phase::Force { dt } if *dt != 0.0) {
            // Finishes that step and begins none.
            return StepByStep.record(ordinary, pass, phase, &StepRequest { steps: 0, ..*request });
        }
        let (throughput, budget) = (request.throughput, request.budget);
        let per_step = self.interactions();
        let mut work = Work::default();
        if *phase != Phase::Between {
            // The first force of the run.
            OneWorkgroup::record(self, pass, 0.0, 0);
            (work.interactions, work.dispatches) = (per_step, 1);
            *phase = Phase::Between;
        }
        let chunk = steps_in(throughput, per_step, budget.dispatch_secs);
        while work.steps < request.steps
            && !self.is_full()
            && (work.dispatches == 0 || request.has_time_after(&work))
        {
            let count = chunk.min(request.steps - work.steps);
            OneWorkgroup::record(self, pass, request.dt, count as u32);
            work.steps += count;
            work.interactions += count * per_step;
            work.dispatches += 1;
        }
        work
    }
}

/// The number of steps that take `secs`, at least one.
fn steps_in(throughput: &Throughput, per_step: u64, secs: f64) -> u64 {
    (throughput.interactions_in(secs) / per_step.max(1)).clamp(1, u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dispatch_stays_within_budget_and_takes_at_least_one_step() {
        let throughput = Throughput::fixed(1e9);
        assert_eq!(steps_in(&throughput, 1_000_000, 0.05), 50);
        assert_eq!(steps_in(&throughput, 1_000_000_000, 0.05), 1);
        assert_eq!(steps_in(&Throughput::fixed(1e30), 1, 1.0), u64::from(u32::MAX));
    }
}
