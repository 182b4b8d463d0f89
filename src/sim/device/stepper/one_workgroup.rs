//! Steps taken by a single workgroup: whole steps only, many per dispatch.

use super::StepRequest;
use super::ordinary::Steps;
use crate::forces::Throughput;
use crate::integrate::OneWorkgroup;
use crate::sim::device::{Phase, Work};

/// [`super::Stepper::record`]. The ordinary mode is used only to finish a step that another kernel
/// has begun.
pub(super) fn record(
    one: &mut OneWorkgroup,
    ordinary: &mut Steps<'_>,
    pass: &mut wgpu::ComputePass<'_>,
    phase: &mut Phase,
    request: &StepRequest,
) -> Work {
    if matches!(phase, Phase::Force { dt } if *dt != 0.0) {
        // Finishes that step and begins none.
        let request = StepRequest { steps: 0, ..*request };
        return ordinary.record(pass, phase, &request, &mut |_, _| ());
    }
    let (throughput, budget) = (request.throughput, request.budget);
    let per_step = one.interactions();
    let mut work = Work::default();
    if *phase != Phase::Between {
        // The first force of the run.
        one.record(pass, 0.0, 0);
        (work.interactions, work.dispatches) = (per_step, 1);
        *phase = Phase::Between;
    }
    let chunk = steps_in(throughput, per_step, budget.dispatch_secs);
    while work.steps < request.steps
        && !one.is_full()
        && (work.dispatches == 0 || request.has_time_after(&work))
    {
        let count = chunk.min(request.steps - work.steps);
        one.record(pass, request.dt, count as u32);
        work.steps += count;
        work.interactions += count * per_step;
        work.dispatches += 1;
    }
    work
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
