//! Trails on the device; see [`super::trails`]. Two blended passes over the picture.

use super::light::{HDR_FORMAT, LightPipelines, shader};
use super::targets::{Targets, texture_view};
use super::trails::TRAIL_PART;
use crate::error::Result;
use crate::gpu::{Binding, DARK, Handles, begin_drawing, bind, group_layout};

/// The pipeline, and the trail's texture while trails are shown.
pub struct TrailPass {
    layout: wgpu::BindGroupLayout,
    pipelines: LightPipelines,
    trail: Option<Trail>,
}

struct Trail {
    view: wgpu::TextureView,
    /// The picture and the trail as inputs.
    hdr_group: wgpu::BindGroup,
    trail_group: wgpu::BindGroup,
}

impl TrailPass {
    /// Builds the pipeline; the trail's texture is created with the first trail.
    pub fn new(gpu: Handles) -> Result<Self> {
        let fragment = wgpu::ShaderStages::FRAGMENT;
        let layout = group_layout(gpu.device, "trail", fragment, &[Binding::Unfiltered]);
        // source * constant + target * (1 - constant)
        let mixed = wgpu::BlendComponent {
            src_factor: wgpu::BlendFactor::Constant,
            dst_factor: wgpu::BlendFactor::OneMinusConstant,
            operation: wgpu::BlendOperation::Add,
        };
        let module = shader(gpu.device, "trail", HDR_FORMAT)?;
        let pipelines =
            LightPipelines::new(gpu, &module, ["vs_screen", "fs_mix"], &[&layout], mixed);
        Ok(Self { layout, pipelines, trail: None })
    }

    /// Frees the texture, when trails are off or the picture has another size or format.
    pub fn forget(&mut self) {
        self.trail = None;
    }

    /// Adds the picture to the trail, of which the fraction `retained` stays, and mixes the trail
    /// into the picture.
    pub fn mix(
        &mut self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        targets: &Targets,
        retained: f32,
    ) {
        let Some(pipeline) = self.pipelines.find(targets.light_format) else { return };
        let is_new = self.trail.is_none();
        let trail = self.trail.get_or_insert_with(|| Trail::new(gpu, &self.layout, targets));
        let load = if is_new || retained <= 0.0 { DARK } else { wgpu::LoadOp::Load };
        // A new, dark texture is replaced by the whole picture.
        let retained = if is_new { 0.0 } else { retained };
        let pass = begin_drawing(encoder, "trail", &trail.view, load);
        draw(pass, pipeline, &trail.hdr_group, 1.0 - retained);
        let pass = begin_drawing(encoder, "mix", &targets.hdr, wgpu::LoadOp::Load);
        draw(pass, pipeline, &trail.trail_group, TRAIL_PART);
    }
}

fn draw(
    mut pass: wgpu::RenderPass,
    pipeline: &wgpu::RenderPipeline,
    group: &wgpu::BindGroup,
    part: f32,
) {
    let part = f64::from(part);
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, group, &[]);
    pass.set_blend_constant(wgpu::Color { r: part, g: part, b: part, a: part });
    pass.draw(0..3, 0..1);
}

impl Trail {
    fn new(gpu: Handles, layout: &wgpu::BindGroupLayout, targets: &Targets) -> Self {
        let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
        let view = texture_view(gpu, "trail", targets.size, targets.light_format, usage);
        let group = |view: &wgpu::TextureView| {
            bind(gpu.device, "trail", layout, &[wgpu::BindingResource::TextureView(view)])
        };
        Self { hdr_group: group(&targets.hdr), trail_group: group(&view), view }
    }
}
