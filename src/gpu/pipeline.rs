//! From shader text to a compute pipeline with its bind group layout.

use super::Gpu;
use crate::error::{Error, Result};

/// Whether the driver's run-time checks stay in a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Checks {
    /// None: no index clamps, no loop counters, no zeroing of workgroup memory. For our own kernels,
    /// which tests run both ways.
    #[default]
    Off,
    /// All that wgpu offers.
    On,
}

/// A compute pipeline and the layout of its one bind group.
#[derive(Clone, Debug)]
pub struct ComputeKernel {
    /// The pipeline; entry point `main`.
    pub pipeline: wgpu::ComputePipeline,
    /// Bind group 0.
    pub layout: wgpu::BindGroupLayout,
}

/// A binding of bind group 0, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// A read-only storage buffer.
    Read,
    /// A storage buffer that is written.
    Write,
    /// A uniform buffer of that many bytes, whose offset each dispatch gives.
    Params(u64),
}

/// Compiles `text` and makes a pipeline of its entry point `main`, once per text and device.
///
/// Errors: [`Error::Shader`] with the compiler's words.
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
    let entries: Vec<_> =
        (0u32..).zip(bindings).map(|(i, binding)| layout_entry(i, *binding)).collect();
    let scope = gpu.device.push_error_scope(wgpu::ErrorFilter::Validation);
    let description = wgpu::ShaderModuleDescriptor {
        label: Some(name),
        source: wgpu::ShaderSource::Wgsl(text.into()),
    };
    let module = match checks {
        Checks::On => gpu.device.create_shader_module(description),
        // SAFETY: the kernels keep every index below the lengths that the host binds, and every loop
        // ends; tests run them with checks on and off, poison what they write and look past its end.
        Checks::Off => unsafe {
            gpu.device
                .create_shader_module_trusted(description, wgpu::ShaderRuntimeChecks::unchecked())
        },
    };
    let layout = gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some(name),
        entries: &entries,
    });
    let pipeline_layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(name),
        bind_group_layouts: &[Some(&layout)],
        immediate_size: 0,
    });
    let pipeline = gpu.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(name),
        layout: Some(&pipeline_layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            zero_initialize_workgroup_memory: checks == Checks::On,
            ..Default::default()
        },
        cache: None,
    });
    match scope.pop().await {
        None => {
            let kernel = ComputeKernel { pipeline, layout };
            lock().insert(key, kernel.clone());
            Ok(kernel)
        }
        Some(error) => Err(Error::Shader { name: name.to_owned(), problem: error.to_string() }),
    }
}

/// A kernel bound to its buffers.
#[derive(Clone, Debug)]
pub struct Stage {
    pipeline: wgpu::ComputePipeline,
    group: wgpu::BindGroup,
}

impl Stage {
    /// `kernel` with `resources` as its bindings 0, 1, 2, ...
    pub fn new(
        gpu: &Gpu,
        label: &str,
        kernel: &ComputeKernel,
        resources: &[wgpu::BindingResource<'_>],
    ) -> Self {
        let entries: Vec<_> = (0u32..)
            .zip(resources)
            .map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource: resource.clone() })
            .collect();
        let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(label),
            layout: &kernel.layout,
            entries: &entries,
        });
        Self { pipeline: kernel.pipeline.clone(), group }
    }

    /// Makes the stage the one that is dispatched next; one offset for each table of parameters.
    pub fn set(&self, pass: &mut wgpu::ComputePass<'_>, offsets: &[u32]) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, offsets);
    }
}

fn layout_entry(binding: u32, kind: Binding) -> wgpu::BindGroupLayoutEntry {
    let storage = |read_only| wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Storage { read_only },
        has_dynamic_offset: false,
        min_binding_size: None,
    };
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: match kind {
            Binding::Read => storage(true),
            Binding::Write => storage(false),
            Binding::Params(size) => wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Uniform,
                has_dynamic_offset: true,
                min_binding_size: wgpu::BufferSize::new(size),
            },
        },
        count: None,
    }
}
