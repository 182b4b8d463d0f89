//! Steps taken by a single workgroup: whole steps only, many per dispatch.

use super::SubmissionRequest;
use super::ordinary::OrdinarySteps;
use crate::forces::Throughput;
use crate::integrate::OneWorkgroup;
use crate::sim::device::{Phase, Work};

/// [`super::Stepper::record`]. The ordinary mode is used only to finish a step that another kernel
/// has begun.
pub(super) fn record(
    one: &mut OneWorkgroup,
    ordinary: &mut OrdinarySteps<'_>,
    pass: &mut wgpu::ComputePass<'_>,
    phase: &mut Phase,
    request: &SubmissionRequest,
) -> Work {
    if matches!(phase, Phase::Force { dt } if *dt != 0.0) {
        // Finishes that step and begins none.
        let request = SubmissionRequest { steps: 0, ..*request };
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
    let chunk = steps_in(throughput, per_step, budget.dispatch_secs).min(one.most_steps());
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
    use std::sync::Arc;

    use super::*;
    use crate::forces::direct::gpu::{Dispatch, KernelRequest};
    use crate::gpu::{AdapterRequest, Gpu};
    use crate::scene::{Spread, test_bodies};
    use crate::sim::Settings;
    use crate::sim::device::DeviceState;

    /// Positions and velocities after 20,000 steps, `per_call` at a time, on a device that is taken
    /// to be this fast.
    fn stepped(gpu: &Arc<Gpu>, per_call: u64, rate: f64) -> [Vec<glam::DVec3>; 2] {
        let mut bodies = test_bodies(2, Spread::Even);
        let kernel = KernelRequest { dispatch: Dispatch::OneWorkgroup, ..KernelRequest::default() };
        let settings = Settings { softening: 0.5, dt: 1e-3, kernel, ..Settings::default() };
        let state = DeviceState::new(Arc::clone(gpu), &bodies, None, &settings);
        let mut state = pollster::block_on(state).unwrap();
        for _ in 0..20_000 / per_call {
            state.learn_rate(rate);
            state.run(1e-3, per_call, &mut |_| true).unwrap();
        }
        pollster::block_on(state.read(&mut bodies, 20.0)).unwrap();
        [bodies.position, bodies.velocity]
    }

    #[test]
    fn many_steps_in_a_dispatch_change_no_bits() {
        let gpu = Gpu::open_blocking(&AdapterRequest::default()).unwrap();
        let few = stepped(&gpu, 100, 1e6);
        assert!(few == stepped(&gpu, 20_000, 1e15), "all steps at once");
        assert!(few == stepped(&gpu, 20_000, 1e4), "in small dispatches");
    }

    /// 32 sinks of 300,000 bodies on a device that is taken to be slow, and fast.
    #[test]
    fn long_sums_are_complete_at_any_rate() {
        let gpu = Gpu::open_blocking(&AdapterRequest::default()).unwrap();
        let mut bodies = test_bodies(300_000, Spread::Even);
        let at = bodies.position[3];
        let pull = |j: usize| {
            let away = bodies.position[j] - at;
            away * (bodies.mass[j] / (away.length_squared() + 0.0025).powf(1.5))
        };
        let exact: glam::DVec3 = (0..bodies.len()).map(pull).sum();
        for (u, untiled) in [(Some(1), false), (Some(4), false), (None, true)] {
            let kernel = KernelRequest { u, untiled, s: Some(1), ..KernelRequest::default() };
            for rate in [1e6, 1e15] {
                let settings = Settings { softening: 0.05, kernel, ..Settings::default() };
                let state =
                    DeviceState::begin_sinks(Arc::clone(&gpu), &bodies, 0..32, None, &settings);
                let mut state = pollster::block_on(state).unwrap();
                state.learn_rate(rate);
                let found = pollster::block_on(state.read(&mut bodies, 0.0)).unwrap()[3];
                let error = (found - exact).length() / exact.length();
                assert!(error < 1e-4, "{kernel:?} at {rate:.0e}: {error:.1e}");
            }
        }
    }

    #[test]
    fn dispatch_stays_within_budget_and_takes_at_least_one_step() {
        let throughput = Throughput::fixed(1e9);
        assert_eq!(steps_in(&throughput, 1_000_000, 0.05), 50);
        assert_eq!(steps_in(&throughput, 1_000_000_000, 0.05), 1);
        assert_eq!(steps_in(&Throughput::fixed(1e30), 1, 1.0), u64::from(u32::MAX));
    }
}
