//! Drawing: pipelines without vertex buffers, and passes into one picture.

use super::bindings::pipeline_layout;

/// A pipeline that draws into one picture, with vertices computed from their index.
#[derive(Clone, Copy)]
pub struct DrawPipeline<'a> {
    /// The module of both entry points.
    pub module: &'a wgpu::ShaderModule,
    /// Names of the vertex and fragment entry points.
    pub entry_points: [&'a str; 2],
    /// Values of the module's `override` constants.
    pub constants: &'a [(&'a str, f64)],
    /// Layouts of its bind groups.
    pub layouts: &'a [&'a wgpu::BindGroupLayout],
    /// Format of the picture.
    pub format: wgpu::TextureFormat,
    /// How colour and alpha are blended with the picture; `None` replaces it.
    pub blend: Option<wgpu::BlendComponent>,
}

/// Adds to the picture.
pub const ADD: wgpu::BlendComponent = wgpu::BlendComponent {
    src_factor: wgpu::BlendFactor::One,
    dst_factor: wgpu::BlendFactor::One,
    operation: wgpu::BlendOperation::Add,
};

impl<'a> DrawPipeline<'a> {
    /// A pipeline without constants that replaces the picture.
    pub fn new(
        module: &'a wgpu::ShaderModule,
        entry_points: [&'a str; 2],
        layouts: &'a [&'a wgpu::BindGroupLayout],
        format: wgpu::TextureFormat,
    ) -> Self {
        Self { module, entry_points, constants: &[], layouts, format, blend: None }
    }

    /// The same with blending.
    #[must_use]
    pub fn blended(self, blend: wgpu::BlendComponent) -> Self {
        Self { blend: Some(blend), ..self }
    }

    /// Creates the pipeline. Errors are reported to the device's error scope.
    pub fn make(self, device: &wgpu::Device) -> wgpu::RenderPipeline {
        let Self { module, entry_points: [vertex, fragment], constants, .. } = self;
        let compilation_options =
            || wgpu::PipelineCompilationOptions { constants, ..Default::default() };
        device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(fragment),
            layout: Some(&pipeline_layout(device, fragment, self.layouts)),
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
                    format: self.format,
                    blend: self.blend.map(|b| wgpu::BlendState { color: b, alpha: b }),
                    write_mask: wgpu::ColorWrites::ALL,
                })],
            }),
            multiview_mask: None,
            cache: None,
        })
    }
}

/// Load operation that clears to transparent black.
pub const DARK: wgpu::LoadOp<wgpu::Color> = wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT);

/// Begins a pass that draws into one view.
pub fn begin_drawing<'e>(
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

/// A sampler with linear filtering that repeats the edge pixels.
pub fn smooth_sampler(device: &wgpu::Device) -> wgpu::Sampler {
    device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some("smooth, edges repeated"),
        mag_filter: wgpu::FilterMode::Linear,
        min_filter: wgpu::FilterMode::Linear,
        ..Default::default()
    })
}
