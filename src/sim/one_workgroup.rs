//! Steps that are taken by one workgroup, recorded: whole steps only, many in each dispatch.

use super::Work;
use crate::force::{Budget, Pace};
use crate::gpu::Gpu;
use crate::integrate::OneWorkgroup;

/// Records as much as `budget` allows of `steps` steps of `dt`, after a first force if that is still
/// missing. The bits do not depend on the budget: it decides how many steps share a dispatch.
#[allow(clippy::too_many_arguments)]
pub(super) fn record(
    gpu: &Gpu,
    kernel: &mut OneWorkgroup,
    pass: &mut wgpu::ComputePass<'_>,
    pace: &Pace,
    first_force: bool,
    dt: f64,
    steps: u64,
    budget: Budget,
) -> Work {
    let per_step = kernel.interactions();
    let (mut finished, mut interactions, mut dispatches) = (0, 0, 0);
    kernel.begin_submission();
    if first_force {
        kernel.record(pass, 0.0, 0);
        (interactions, dispatches) = (per_step, 1);
    }
    let piece = steps_in(pace, per_step, budget.dispatch_secs);
    while finished < steps
        && !kernel.is_full()
        && (dispatches == 0 || pace.secs(interactions, dispatches) < budget.submission_secs)
    {
        let now = piece.min(steps - finished);
        kernel.record(pass, dt, now as u32);
        finished += now;
        interactions += now * per_step;
        dispatches += 1;
    }
    kernel.end_submission(gpu);
    Work { steps: finished, interactions, dispatches }
}

/// Steps that a dispatch of `secs` takes, at least one.
fn steps_in(pace: &Pace, per_step: u64, secs: f64) -> u64 {
    (pace.interactions_in(secs) / per_step.max(1)).clamp(1, u64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dispatch_keeps_its_budget_and_takes_a_step_at_least() {
        let pace = Pace::fixed(1e9);
        assert_eq!(steps_in(&pace, 1_000_000, 0.05), 50);
        assert_eq!(steps_in(&pace, 1_000_000_000, 0.05), 1);
        assert_eq!(steps_in(&Pace::fixed(1e30), 1, 1.0), u64::from(u32::MAX));
    }
}
