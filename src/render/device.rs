//! Small helpers over wgpu for the render passes.

use crate::error::Result;
use crate::gpu::template;

/// The format of smoothed pictures in linear light: blendable and filterable on every device.
pub const HDR_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba16Float;

/// Bodies from which a software adapter adds light up in 32-bit floats.
const MANY: u32 = 100_000;

/// The format in which the light of `count` bodies is added up: 32-bit floats where the device can
/// blend them, else 16-bit ones. Faint sprites over a bright core fall below the last bit of a half
/// float: a million bodies come out up to 12 of 255 steps wrong there. Few bodies do not, and software
/// is slow with large pictures (llvmpipe clears 1280x720 in 7 ms instead of 3). Never filtered.
pub fn light_format(device: &wgpu::Device, count: u32) -> wgpu::TextureFormat {
    let is_software = device.adapter_info().device_type == wgpu::DeviceType::Cpu;
    match light_formats(device) {
        [_, Some(wide)] if count >= MANY || !is_software => wide,
        [narrow, _] => narrow.unwrap_or(HDR_FORMAT),
    }
}

/// The formats that [`light_format`] chooses from.
pub(crate) fn light_formats(device: &wgpu::Device) -> [Option<wgpu::TextureFormat>; 2] {
    let wide = device.features().contains(wgpu::Features::FLOAT32_BLENDABLE);
    [Some(HDR_FORMAT), wide.then_some(wgpu::TextureFormat::Rgba32Float)]
}

/// The text of a file below `shaders/` for light in that format.
pub(crate) fn wgsl_for(file: &str, light_format: wgpu::TextureFormat) -> Result<String> {
    let name = match light_format {
        wgpu::TextureFormat::Rgba32Float => "rgba32float",
        _ => "rgba16float",
    };
    template::assemble(file, minijinja::context! { light_format => name })
}

/// A device with its queue, and a name for errors. Borrowed: the engine owns them.
#[derive(Clone, Copy)]
pub struct Gpu<'a> {
    /// Where resources are made.
    pub device: &'a wgpu::Device,
    /// Where work is handed in.
    pub queue: &'a wgpu::Queue,
}

/// A kind of binding, for [`Gpu::layout`].
#[derive(Clone, Copy)]
pub(crate) enum Slot {
    /// A uniform buffer.
    Uniform,
    /// A storage buffer that is only read.
    Read,
    /// A storage buffer.
    ReadWrite,
    /// A picture of that format that is only stored into.
    Store(wgpu::TextureFormat),
    /// A float texture that can be filtered.
    Texture,
    /// A float texture that is only loaded from.
    Unfiltered,
    /// A filtering sampler.
    Sampler,
}

impl Gpu<'_> {
    /// The module of a file below `shaders/`, as it stands now ([`template::reload`]).
    pub(crate) fn shader(&self, file: &str) -> Result<wgpu::ShaderModule> {
        self.shader_for(file, HDR_FORMAT)
    }

    /// The same for light in that format, where the text depends on it.
    pub(crate) fn shader_for(
        &self,
        file: &str,
        light_format: wgpu::TextureFormat,
    ) -> Result<wgpu::ShaderModule> {
        let text = wgsl_for(file, light_format)?;
        Ok(self.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(file),
            source: wgpu::ShaderSource::Wgsl(text.into()),
        }))
    }

    /// A layout whose bindings are numbered in order; each visible in the stages given.
    pub(crate) fn layout(
        &self,
        label: &str,
        slots: &[(Slot, wgpu::ShaderStages)],
    ) -> wgpu::BindGroupLayout {
        let buffer = |ty| wgpu::BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: None,
        };
        let texture = |filterable| wgpu::BindingType::Texture {
            sample_type: wgpu::TextureSampleType::Float { filterable },
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        };
        let entries: Vec<_> = slots
            .iter()
            .zip(0..)
            .map(|(&(slot, visibility), binding)| wgpu::BindGroupLayoutEntry {
                binding,
                visibility,
                ty: match slot {
                    Slot::Uniform => buffer(wgpu::BufferBindingType::Uniform),
                    Slot::Read => buffer(wgpu::BufferBindingType::Storage { read_only: true }),
                    Slot::ReadWrite => {
                        buffer(wgpu::BufferBindingType::Storage { read_only: false })
                    }
                    Slot::Store(format) => wgpu::BindingType::StorageTexture {
                        access: wgpu::StorageTextureAccess::WriteOnly,
                        format,
                        view_dimension: wgpu::TextureViewDimension::D2,
                    },
                    Slot::Texture => texture(true),
                    Slot::Unfiltered => texture(false),
                    Slot::Sampler => {
                        wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering)
                    }
                },
                count: None,
            })
            .collect();
        self.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some(label),
            entries: &entries,
        })
    }

    /// A bind group whose resources are numbered in order.
    pub(crate) fn bind(
        &self,
        label: &str,
        layout: &wgpu::BindGroupLayout,
        resources: &[wgpu::BindingResource],
    ) -> wgpu::BindGroup {
        let entries: Vec<_> = resources
            .iter()
            .zip(0..)
            .map(|(resource, binding)| wgpu::BindGroupEntry { binding, resource: resource.clone() })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(label),
            layout,
            entries: &entries,
        })
    }

    /// A pipeline that draws into one target, with vertices made from their index alone.
    pub(crate) fn draw_pipeline(
        &self,
        module: &wgpu::ShaderModule,
        [vertex, fragment]: [&str; 2],
        constants: &[(&str, f64)],
        layout: &wgpu::BindGroupLayout,
        format: wgpu::TextureFormat,
        blend: Option<wgpu::BlendComponent>,
    ) -> wgpu::RenderPipeline {
        let compilation_options =
            || wgpu::PipelineCompilationOptions { constants, ..Default::default() };
        self.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(fragment),
            layout: Some(&self.pipeline_layout(fragment, &[layout])),
            vertex: wgpu::VertexState {
                module,
                entry_point: Some(vertex),
                compilation_options: compilation_options(),
                buffers: &[],
            },
            primitive: Default::default(),
            depth_stencil: None,
            multisample: Default::default(),
            fragment: Some(wgpu::FragmentState {
                module,
                entry_point: Some(fragment),
                compilation_options: compilation_options(),
                targets: &[Some(wgpu::ColorTargetState {
                    format,
                    blend: blend.map(|b| wgpu::BlendState { color: b, alpha: b }),
                    write_mask: wgpu::ColorWrites::ALL,
                })],
            }),
            multiview_mask: None,
            cache: None,
        })
    }

    /// A compute pipeline with a bind group for each layout.
    pub(crate) fn compute_pipeline(
        &self,
        module: &wgpu::ShaderModule,
        entry_point: &str,
        layouts: &[&wgpu::BindGroupLayout],
    ) -> wgpu::ComputePipeline {
        self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry_point),
            layout: Some(&self.pipeline_layout(entry_point, layouts)),
            module,
            entry_point: Some(entry_point),
            compilation_options: Default::default(),
            cache: None,
        })
    }

    fn pipeline_layout(
        &self,
        label: &str,
        layouts: &[&wgpu::BindGroupLayout],
    ) -> wgpu::PipelineLayout {
        let layouts: Vec<_> = layouts.iter().map(|layout| Some(*layout)).collect();
        self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(label),
            bind_group_layouts: &layouts,
            immediate_size: 0,
        })
    }

    pub(crate) fn smooth_sampler(&self) -> wgpu::Sampler {
        self.device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("smooth, edges repeated"),
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            ..Default::default()
        })
    }
}

/// Begins a pass that draws into one view.
pub(crate) fn begin_pass<'e>(
    encoder: &'e mut wgpu::CommandEncoder,
    label: &str,
    view: &wgpu::TextureView,
    load: wgpu::LoadOp<wgpu::Color>,
) -> wgpu::RenderPass<'e> {
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some(label),
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view,
            depth_slice: None,
            resolve_target: None,
            ops: wgpu::Operations { load, store: wgpu::StoreOp::Store },
        })],
        depth_stencil_attachment: None,
        timestamp_writes: None,
        occlusion_query_set: None,
        multiview_mask: None,
    })
}

/// Load operation that starts from darkness.
pub(crate) const DARK: wgpu::LoadOp<wgpu::Color> = wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT);
