//! Leapfrog in its kick-drift-kick form: second order, symplectic, time-reversible.
//!
//! v += a dt/2;  x += v dt;  a = a(x);  v += a dt/2  (Verlet 1967; GPU Gems 3, section 31.1).

use std::ops::Range;

use glam::DVec3;
use minijinja::context;

use super::{Accelerate, DeviceIntegrator, HostSide, Integrator};
use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::{BoxFuture, DeviceField};
use crate::gpu::layout::LeapfrogParams;
use crate::gpu::{Binding, BodyBuffers, BoundKernel, Checks, Gpu, Params, compile, template};

/// The registry's entry.
pub const LEAPFROG: Integrator = Integrator {
    name: "leapfrog",
    summary: "kick-drift-kick, second order, symplectic, time-reversible; one force per step",
    order: 2,
    reversible: true,
    host: HostSide::Shared(step),
    device: Some(make_device),
};

/// Takes one step on the host.
pub(super) fn step(
    bodies: &mut Bodies,
    acceleration: &mut Vec<DVec3>,
    dt: f64,
    accelerate: &mut Accelerate<'_>,
) -> Result<()> {
    let half = 0.5 * dt;
    let moved = bodies.position.iter_mut().zip(&mut bodies.velocity);
    for ((position, velocity), acceleration) in moved.zip(acceleration.iter()) {
        *velocity += *acceleration * half;
        *position += *velocity * dt;
    }
    accelerate(bodies, acceleration)?;
    for (velocity, acceleration) in bodies.velocity.iter_mut().zip(acceleration) {
        *velocity += *acceleration * half;
    }
    Ok(())
}

/// Threads per workgroup of the leapfrog kernel; it is memory-bound, so any multiple of a subgroup
/// will do.
const WORKGROUP: u32 = 64;

struct DeviceLeapfrog {
    kernel: BoundKernel,
    params: Params<LeapfrogParams>,
    sinks: Range<u32>,
    slices: u32,
}

/// The assembled WGSL of the leapfrog kernel, for bodies in an external field.
pub fn wgsl(field: &DeviceField) -> Result<String> {
    let values = context! { workgroup => WORKGROUP, potentials => field.potentials() };
    template::assemble("integrate/leapfrog.wgsl", values)
}

fn make_device<'a>(
    gpu: &'a Gpu,
    bodies: &'a BodyBuffers,
    (partial_sums, slices): (&'a wgpu::Buffer, u32),
    field: &'a DeviceField,
) -> BoxFuture<'a, Result<Box<dyn DeviceIntegrator>>> {
    Box::pin(async move {
        let size = size_of::<LeapfrogParams>() as u64;
        let bindings =
            [Binding::Write, Binding::Write, Binding::Write, Binding::Read, Binding::Params(size)];
        let kernel =
            compile(gpu, "integrate/leapfrog.wgsl", &wgsl(field)?, &bindings, Checks::Off).await?;
        // A run of equal steps has three different rows: first, between, last.
        let params = Params::new(gpu, "leapfrog params", 16);
        let resources = [
            bodies.position_mass.as_entire_binding(),
            bodies.velocity.as_entire_binding(),
            bodies.acceleration.as_entire_binding(),
            partial_sums.as_entire_binding(),
            params.binding(),
        ];
        let kernel = kernel.bind(gpu, "leapfrog", &resources);
        let device = DeviceLeapfrog { kernel, params, sinks: bodies.sinks.clone(), slices };
        Ok(Box::new(device) as Box<dyn DeviceIntegrator>)
    })
}

impl DeviceLeapfrog {
    fn record(&mut self, gpu: &Gpu, pass: &mut wgpu::ComputePass<'_>, params: LeapfrogParams) {
        let (first, count) = (self.sinks.start, self.sinks.end - self.sinks.start);
        let offset = self.params.offset_of(LeapfrogParams { count, first, ..params });
        let groups = count.div_ceil(WORKGROUP);
        let x = groups.clamp(1, gpu.limits.workgroups);
        self.kernel.set(pass, &[offset]);
        pass.dispatch_workgroups(x, groups.div_ceil(x), 1);
    }
}

impl DeviceIntegrator for DeviceLeapfrog {
    fn begin_submission(&mut self) {
        self.params.clear();
    }

    fn end_submission(&mut self, gpu: &Gpu) {
        self.params.upload(gpu);
    }

    fn set_sinks(&mut self, sinks: Range<u32>) {
        self.sinks = sinks;
    }

    fn open(
        &mut self,
        gpu: &Gpu,
        pass: &mut wgpu::ComputePass<'_>,
        dt: f64,
        close_last: Option<f64>,
    ) {
        let params = LeapfrogParams {
            slices: if close_last.is_some() { self.slices } else { 0 },
            close_kick: (0.5 * close_last.unwrap_or(0.0)) as f32,
            open_kick: (0.5 * dt) as f32,
            drift: dt as f32,
            ..Default::default()
        };
        self.record(gpu, pass, params);
    }

    fn close(&mut self, gpu: &Gpu, pass: &mut wgpu::ComputePass<'_>, dt: f64) {
        let params = LeapfrogParams {
            slices: self.slices,
            close_kick: (0.5 * dt) as f32,
            ..Default::default()
        };
        self.record(gpu, pass, params);
    }
}
