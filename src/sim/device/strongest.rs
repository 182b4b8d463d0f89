//! The largest acceleration of all bodies on a device, for a step that varies.

use minijinja::context;

use super::DeviceState;
use crate::error::Result;
use crate::frame::Frame;
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
pub(in crate::sim) struct Strongest {
    kernel: BoundKernel,
    params: Params<DiagnosisParams>,
    largest: wgpu::Buffer,
    readback: Readback,
}

/// The text of the kernel, for places of which some hold no body if `numbered`.
fn wgsl(numbered: bool) -> Result<String> {
    template::assemble("integrate/strongest.wgsl", context! { numbered })
}

impl Strongest {
    /// With the `numbers` of bodies, places of which no body has the number are left out.
    ///
    /// # Errors
    /// The kernel does not compile.
    pub async fn new(
        gpu: &Gpu,
        bodies: &BodyBuffers,
        numbers: Option<&wgpu::Buffer>,
    ) -> Result<Self> {
        let params = Binding::Params(size_of::<DiagnosisParams>() as u64);
        let mut bindings = vec![Binding::Read, Binding::Write, params];
        bindings.extend(numbers.map(|_| Binding::Read));
        let (file, wgsl) = ("integrate/strongest.wgsl", wgsl(numbers.is_some())?);
        let kernel = compile(gpu, file, &wgsl, &bindings, Checks::Off).await?;
        let params = Params::new(gpu, "strongest params", 1);
        let largest = storage(gpu, "largest acceleration", 1);
        let mut resources = vec![
            bodies.acceleration.as_entire_binding(),
            largest.as_entire_binding(),
            params.binding(),
        ];
        resources.extend(numbers.map(wgpu::Buffer::as_entire_binding));
        let kernel = kernel.bind(gpu, "strongest", &resources);
        Ok(Self { kernel, params, largest, readback: Readback::default() })
    }

    /// The bits of the square of the largest acceleration of the first `count` bodies, an f32 that
    /// is not negative: infinite or NaN if one is, or if the square is beyond f32.
    ///
    /// # Errors
    /// The device failed; this is then unusable.
    pub async fn squared_bits(&mut self, gpu: &Gpu, count: u32) -> Result<u32> {
        let Self { kernel, params, largest, readback } = self;
        params.clear();
        let at = params.offset_of(DiagnosisParams { count, ..Default::default() });
        params.upload(gpu);
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        encoder.clear_buffer(largest, 0, None);
        {
            let mut pass = begin_computing(&mut encoder, "largest acceleration");
            kernel.set(&mut pass, &[at]);
            let workgroups = count.div_ceil(THREADS).min(MOST_WORKGROUPS);
            pass.dispatch_workgroups(workgroups, 1, 1);
        }
        readback.record(&gpu.device, &mut encoder, &[(largest, 0..VEC4)]);
        let submission = gpu.queue.submit([encoder.finish()]);
        readback.submitted();
        gpu.finish(submission).await?;
        readback.arrive_as(|read: &[&[u32]]| read[0][0]).await
    }

    /// The acceleration of these bits in the caller's units.
    pub fn acceleration(squared_bits: u32, frame: &Frame) -> f64 {
        f64::from(f32::from_bits(squared_bits)).sqrt() * frame.acceleration_unit()
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
            None => Strongest::new(&self.gpu, &self.buffers, None).await?,
        };
        let bits = strongest.squared_bits(&self.gpu, self.buffers.count).await?;
        self.strongest = Some(strongest);
        Ok(Strongest::acceleration(bits, &self.frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Language, translate};

    #[test]
    fn shader_validates_and_translates() {
        for language in [Language::SpirV, Language::Msl, Language::Hlsl] {
            for numbered in [false, true] {
                let out = translate("strongest", &wgsl(numbered).unwrap(), language, Checks::Off);
                assert!(out.unwrap().len() > 500);
            }
        }
    }
}
