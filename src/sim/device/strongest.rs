//! The largest acceleration of all bodies on a device, for a step that varies.

use minijinja::context;

use super::DeviceState;
use crate::error::Result;
use crate::gpu::layout::{DiagnosisParams, VEC4};
use crate::gpu::{
    Binding, BodyBuffers, BoundKernel, Checks, Gpu, Params, Readback, begin_computing, compile,
    storage, template,
};

/// Threads of a workgroup, as in the shader.
const THREADS: u32 = 256;
/// The most workgroups: 2^18 threads hide the latency of memory, and each workgroup adds one atomic
/// operation on the same number.
const MOST_WORKGROUPS: u32 = 1024;

/// The kernel, bound to the bodies' accelerations.
pub(super) struct Strongest {
    kernel: BoundKernel,
    largest: wgpu::Buffer,
    workgroups: u32,
    readback: Readback,
}

/// The text of the kernel.
fn wgsl() -> Result<String> {
    template::assemble("integrate/strongest.wgsl", context! {})
}

impl Strongest {
    async fn new(gpu: &Gpu, bodies: &BodyBuffers) -> Result<Self> {
        let params = Binding::Params(size_of::<DiagnosisParams>() as u64);
        let bindings = [Binding::Read, Binding::Write, params];
        let file = "integrate/strongest.wgsl";
        let kernel = compile(gpu, file, &wgsl()?, &bindings, Checks::Off).await?;
        let mut params = Params::new(gpu, "strongest params", 1);
        params.offset_of(DiagnosisParams { count: bodies.count, ..Default::default() });
        params.upload(gpu);
        let largest = storage(gpu, "largest acceleration", 1);
        let resources = [
            bodies.acceleration.as_entire_binding(),
            largest.as_entire_binding(),
            params.binding(),
        ];
        Ok(Self {
            kernel: kernel.bind(gpu, "strongest", &resources),
            workgroups: bodies.count.div_ceil(THREADS).min(MOST_WORKGROUPS),
            largest,
            readback: Readback::default(),
        })
    }
}

impl DeviceState {
    /// The largest acceleration of all bodies now, in the caller's units; infinite or NaN if one
    /// is, or if its square is beyond f32 in the frame's units.
    ///
    /// # Errors
    /// The device failed.
    pub(in crate::sim) async fn largest_acceleration(&mut self) -> Result<f64> {
        self.settle().await?;
        // On an error it is dropped and not reused.
        let mut strongest = match self.strongest.take() {
            Some(strongest) => strongest,
            None => Strongest::new(&self.gpu, &self.buffers).await?,
        };
        let Strongest { kernel, largest, workgroups, readback } = &mut strongest;
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        encoder.clear_buffer(largest, 0, None);
        {
            let mut pass = begin_computing(&mut encoder, "largest acceleration");
            kernel.set(&mut pass, &[0]);
            pass.dispatch_workgroups(*workgroups, 1, 1);
        }
        readback.record(&self.gpu.device, &mut encoder, &[(largest, 0..VEC4)]);
        let submission = self.gpu.queue.submit([encoder.finish()]);
        readback.submitted();
        self.gpu.finish(submission).await?;
        let bits = readback.arrive_as(|read: &[&[u32]]| read[0][0]).await?;
        self.strongest = Some(strongest);
        let squared = f64::from(f32::from_bits(bits));
        Ok(squared.sqrt() * self.frame.acceleration_unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Language, translate};

    #[test]
    fn shader_validates_and_translates() {
        for language in [Language::SpirV, Language::Msl, Language::Hlsl] {
            let out = translate("strongest", &wgsl().unwrap(), language, Checks::Off);
            assert!(out.unwrap().len() > 500);
        }
    }
}
