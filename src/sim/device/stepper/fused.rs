//! Steps whose force kernel also does the integration: one dispatch each, taken in pairs.

use super::ordinary::OrdinarySteps;
use super::{MOST_DISPATCHES, SubmissionRequest};
use crate::integrate::Fused;
use crate::sim::device::{Phase, Work};

/// [`super::Stepper::record`]. The ordinary mode begins the first step of a submission and ends the
/// last; the steps between are fused.
pub(super) fn record(
    fused: &mut Fused,
    ordinary: &mut OrdinarySteps<'_>,
    pass: &mut wgpu::ComputePass<'_>,
    phase: &mut Phase,
    request: &SubmissionRequest,
) -> Work {
    let per_step = ordinary.forces.interactions();
    let within = request.throughput.interactions_in(request.budget.dispatch_secs);
    ordinary.record(pass, phase, request, &mut |pass, work| {
        // Takes pairs of whole steps as long as one more step follows, which the ordinary mode
        // ends.
        while within >= per_step
            && work.steps + 2 < request.steps
            && work.dispatches < MOST_DISPATCHES
            && request.has_time_after(work)
        {
            fused.record_two(pass, request.dt);
            work.steps += 2;
            work.interactions += 2 * per_step;
            work.dispatches += 2;
        }
    })
}
