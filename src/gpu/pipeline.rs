//! Compiling shader text to kernels, and binding them to buffers.

use super::Gpu;
use super::bindings::{self, Binding, pipeline_layout};
use super::kernel::{Checks, ComputeKernel};
use super::kernel_cache::KernelCache;
use crate::error::{Error, Result};

/// Compiles `text` and creates a pipeline for its entry point `main`, once per text and device.
/// `bindings` are those of bind group 0.
///
/// # Errors
/// [`Error::Shader`] with the compiler's message.
pub async fn compile(
    gpu: &Gpu,
    name: &str,
    text: &str,
    bindings: &[Binding],
    checks: Checks,
) -> Result<ComputeKernel> {
    let key = (text.to_owned(), checks);
    let lock = || gpu.kernels.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = lock().get(&key) {
        return Ok(known.clone());
    }
    let scope = gpu.device.push_error_scope(wgpu::ErrorFilter::Validation);
    let description = wgpu::ShaderModuleDescriptor {
        label: Some(name),
        source: wgpu::ShaderSource::Wgsl(text.into()),
    };
    let module = match checks {
        Checks::On => gpu.device.create_shader_module(description),
        // SAFETY: the kernels keep every index below the lengths that the host binds, and every
        // loop ends; tests run them with checks on and off, poison their outputs and look beyond
        // their ends.
        Checks::Off => unsafe {
            gpu.device
                .create_shader_module_trusted(description, wgpu::ShaderRuntimeChecks::unchecked())
        },
    };
    let layout = bindings::group_layout(&gpu.device, name, wgpu::ShaderStages::COMPUTE, bindings);
    let cache = gpu.kernel_cache.as_ref().map(KernelCache::for_next);
    let begun = crate::wall_clock::Instant::now();
    let pipeline = pipeline(&gpu.device, name, &module, "main", &[&layout], checks, cache);
    log::debug!("{name}: compiled in {:.1} ms", 1e3 * begun.elapsed().as_secs_f64());
    match scope.pop().await {
        None => {
            let kernel = ComputeKernel { pipeline, layout };
            lock().insert(key, kernel.clone());
            Ok(kernel)
        }
        Some(error) => Err(Error::Shader { name: name.to_owned(), problem: error.to_string() }),
    }
}

/// A compute pipeline of a module with several entry points and a bind group for each layout.
/// Errors are reported to the device's error scope.
pub fn compute_pipeline(
    device: &wgpu::Device,
    module: &wgpu::ShaderModule,
    entry_point: &str,
    layouts: &[&wgpu::BindGroupLayout],
) -> wgpu::ComputePipeline {
    pipeline(device, entry_point, module, entry_point, layouts, Checks::On, None)
}

fn pipeline(
    device: &wgpu::Device,
    label: &str,
    module: &wgpu::ShaderModule,
    entry_point: &str,
    layouts: &[&wgpu::BindGroupLayout],
    checks: Checks,
    cache: Option<&wgpu::PipelineCache>,
) -> wgpu::ComputePipeline {
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(label),
        layout: Some(&pipeline_layout(device, label, layouts)),
        module,
        entry_point: Some(entry_point),
        compilation_options: wgpu::PipelineCompilationOptions {
            zero_initialize_workgroup_memory: checks == Checks::On,
            ..Default::default()
        },
        cache,
    })
}

/// Begins a compute pass without timestamps.
pub fn begin_computing<'e>(
    encoder: &'e mut wgpu::CommandEncoder,
    label: &str,
) -> wgpu::ComputePass<'e> {
    let label = Some(label);
    encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label, timestamp_writes: None })
}

impl ComputeKernel {
    /// The kernel with `resources` as its bindings 0, 1, 2, ...
    pub fn bind(
        &self,
        gpu: &Gpu,
        label: &str,
        resources: &[wgpu::BindingResource<'_>],
    ) -> BoundKernel {
        let group = bindings::bind(&gpu.device, label, &self.layout, resources);
        BoundKernel { pipeline: self.pipeline.clone(), group }
    }
}

/// A kernel bound to its buffers.
#[derive(Clone, Debug, PartialEq)]
pub struct BoundKernel {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
}

impl BoundKernel {
    /// Makes this the kernel for the next dispatch; one offset for each table of parameters.
    pub fn set(&self, pass: &mut wgpu::ComputePass<'_>, offsets: &[u32]) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, offsets);
    }

    /// Changes only the buffers, after another kernel bound from the same [`ComputeKernel`].
    pub fn rebind(&self, pass: &mut wgpu::ComputePass<'_>, offsets: &[u32]) {
        pass.set_bind_group(0, &self.group, offsets);
    }
}
