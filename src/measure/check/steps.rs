//! Checks the kernel that takes many steps in one workgroup, against f64 and against itself in
//! chunks.

use glam::DVec3;

use super::kernels::{CaseResult, KernelCase};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::direct::gpu::{Dispatch, KernelConfig, KernelVariant};
use crate::forces::{Identity, Outputs, Sinks, Sources};
use crate::frame::Frame;
use crate::gpu::{BodyBuffers, Checks, Gpu, read_blocking, storage};
use crate::integrate::{self, OneWorkgroup};
use crate::measure::{acceleration_errors, reference};
use crate::scene::{Spread, test_bodies};

/// Number of steps taken.
const STEPS: u32 = 24;
/// Their length: so short that no close encounter amplifies rounding.
const DT: f64 = 1e-3;
/// Largest distance, in units of the cloud's size, from the position that f64 gives. A position of
/// size 1 is rounded to 6e-8 in each step.
const DRIFT_LIMIT: f64 = 2e-6;
/// Entries beyond the last body that must not change.
const GUARD: usize = 64;

/// One shape at one size.
#[derive(Clone, Copy, Debug)]
pub struct StepsRow {
    /// Errors of the accelerations at the end, against f64 at the same positions; whether one
    /// dispatch of all steps and one for each give the same bits.
    pub forces: CaseResult,
    /// Largest distance from the end of the same steps in f64.
    pub drift: f64,
}

impl StepsRow {
    /// Whether the kernel is correct.
    pub fn passed(&self) -> bool {
        self.forces.passed() && self.drift < DRIFT_LIMIT
    }
}

/// Shapes that together use every path of the kernel, at sizes around their capacity, without those
/// that the adapter cannot run.
pub fn steps_cases(gpu: &Gpu) -> Vec<KernelCase> {
    let base = KernelConfig { u: 4, dispatch: Dispatch::OneWorkgroup, ..KernelConfig::tiled(64) };
    let shapes = [
        KernelConfig { p: 1, u: 1, ..base },
        base,
        KernelConfig { checks: Checks::On, q: 2, ..base },
        KernelConfig { q: 4, r: 3, ..base },
        KernelConfig { p: 256, r: 2, u: 8, ..base },
        KernelConfig { p: 256, q: 4, ..base },
        KernelConfig { p: 32, q: 3, r: 4, u: 2, ..base },
    ];
    let case = |config, n, softening| KernelCase {
        config,
        potential: false,
        one_mass: false,
        softening,
        sinks: n,
        sources: n,
    };
    let mut cases: Vec<KernelCase> = Vec::new();
    for config in shapes {
        if config.validate(Some(gpu)).is_err() {
            continue;
        }
        let most = (config.p * config.r) as usize;
        for n in [1, 2, most / 2 + 1, most - 1, most] {
            let known = cases.iter().any(|known| known.config == config && known.sinks == n);
            if n >= 1 && n <= most && !known {
                cases.push(case(config, n, 0.05));
            }
        }
        cases.push(case(config, most, 0.0));
    }
    cases
}

/// Runs one case on `gpu`.
pub fn check_steps(gpu: &Gpu, case: KernelCase) -> Result<StepsRow> {
    let KernelCase { config, softening, sinks: n, .. } = case;
    let bodies = test_bodies(n, Spread::Even);
    let whole = run(gpu, config, &bodies, softening, &[STEPS])?;
    let mut dispatches = vec![1; STEPS as usize - 7];
    dispatches.push(7);
    let cut = run(gpu, config, &bodies, softening, &dispatches)?;
    let bits = |buffers: &[Vec<[f32; 4]>]| -> Vec<u32> {
        let entries = buffers.iter().flat_map(|buffer| buffer[..n].iter().flatten());
        entries.map(|x| x.to_bits()).collect()
    };
    let in_bounds = whole.iter().all(|buffer| buffer[n..].iter().flatten().all(|x| x.is_nan()));

    let widen = |v: &[f32; 4]| DVec3::new(v[0].into(), v[1].into(), v[2].into());
    let end: Vec<DVec3> = whole[0][..n].iter().map(widen).collect();
    let found: Vec<DVec3> = whole[2][..n].iter().map(widen).collect();
    let right = accelerations(&end, &bodies.mass, softening)?;

    let mut host = bodies.clone();
    let mut acceleration = accelerations(&host.position, &host.mass, softening)?;
    let integrate::HostSide::Shared(step) = integrate::find("leapfrog")?.host else {
        unreachable!("leapfrog has one step for all bodies");
    };
    for _ in 0..STEPS {
        step(&mut host, &mut acceleration, DT, &mut |bodies, out| {
            *out = accelerations(&bodies.position, &bodies.mass, softening)?;
            Ok(())
        })?;
    }
    let apart = |(a, b): (&DVec3, &DVec3)| (*a - *b).length();
    // Not f64::max, which ignores NaN.
    let farther = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
    let forces = CaseResult {
        case,
        acceleration: acceleration_errors(&found, &right),
        potential: None,
        in_bounds,
        same_in_pieces: bits(&whole) == bits(&cut),
    };
    let drift = end.iter().zip(&host.position).map(apart).fold(0.0, farther);
    Ok(StepsRow { forces, drift })
}

/// Computes the first force, then one dispatch for each number of steps; returns positions,
/// velocities, accelerations.
fn run(
    gpu: &Gpu,
    config: KernelConfig,
    bodies: &Bodies,
    softening: f64,
    dispatches: &[u32],
) -> Result<Vec<Vec<[f32; 4]>>> {
    let n = bodies.len();
    let narrow = BodyBuffers::upload(gpu, bodies, 1.0, &Frame::PLAIN, None)?;
    // The buffers extend beyond the last body and are filled with NaN there, to reveal stray
    // writes.
    let entries = n + GUARD;
    let guarded = |label, from: &wgpu::Buffer| -> Result<wgpu::Buffer> {
        let buffer = storage(gpu, label, entries);
        let mut data = vec![[f32::NAN; 4]; entries];
        data[..n].copy_from_slice(&read_blocking::<[f32; 4]>(gpu, &[from], n)?[0]);
        gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&data));
        Ok(buffer)
    };
    let buffers = BodyBuffers {
        count: n as u32,
        sinks: 0..n as u32,
        mass: narrow.mass.clone(),
        position_mass: guarded("positions", &narrow.position_mass)?,
        velocity: guarded("velocities", &narrow.velocity)?,
        acceleration: guarded("accelerations", &narrow.acceleration)?,
        rests: narrow.rests.clone(),
    };
    let variant = KernelVariant::new(config, softening, 1.0, false);
    let mut kernel = pollster::block_on(OneWorkgroup::new(gpu, &variant, &buffers, softening))?;
    let first = std::iter::once((0.0, 0));
    for (dt, steps) in first.chain(dispatches.iter().map(|steps| (DT, *steps))) {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        kernel.begin_submission();
        kernel.record(&mut encoder.begin_compute_pass(&Default::default()), dt, steps);
        kernel.end_submission(gpu);
        gpu.queue.submit([encoder.finish()]);
    }
    let all = [&buffers.position_mass, &buffers.velocity, &buffers.acceleration];
    read_blocking::<[f32; 4]>(gpu, &all, entries)
}

fn accelerations(position: &[DVec3], mass: &[f64], softening: f64) -> Result<Vec<DVec3>> {
    let (sources, sinks) =
        (Sources::new(position, mass), Sinks::new(position, Identity::Offset(0)));
    Ok(reference(&sources, &sinks, softening, &Outputs::ACCELERATION)?.acceleration)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::ErrorStats;

    #[test]
    fn each_fault_fails_the_check() {
        let base =
            KernelConfig { u: 4, dispatch: Dispatch::OneWorkgroup, ..KernelConfig::tiled(64) };
        let case = KernelCase {
            config: base,
            potential: false,
            one_mass: false,
            softening: 0.05,
            sinks: 64,
            sources: 64,
        };
        let acceleration = ErrorStats { worst: 1e-6, rms: 1e-7 };
        let forces = CaseResult {
            case,
            acceleration,
            potential: None,
            in_bounds: true,
            same_in_pieces: true,
        };
        let right = StepsRow { forces, drift: 1e-7 };
        assert!(right.passed());
        let bad = ErrorStats { worst: 1e-6, rms: 1e-5 };
        let faulty = |forces| !StepsRow { forces, ..right }.passed();
        assert!(faulty(CaseResult { acceleration: bad, ..forces }));
        assert!(!StepsRow { drift: 1e-5, ..right }.passed());
        assert!(!StepsRow { drift: f64::NAN, ..right }.passed());
        assert!(faulty(CaseResult { same_in_pieces: false, ..forces }));
        assert!(faulty(CaseResult { in_bounds: false, ..forces }));
    }
}
