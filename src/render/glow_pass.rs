//! The glow on the device; see [`super::glow`] for what it does.

use super::light::{HDR_FORMAT, shader};
use super::targets::Targets;
use crate::error::Result;
use crate::gpu::{
    Binding, DARK, DrawPipeline, Handles, begin_drawing, bind, group_layout, smooth_sampler,
};

/// The file of the passes, below `shaders/`.
pub const SHADER: &str = "render/glow.wgsl";

/// The pipelines, which serve every picture size.
pub struct GlowPass {
    wide_layout: wgpu::BindGroupLayout,
    layout: wgpu::BindGroupLayout,
    sampler: wgpu::Sampler,
    shrink: wgpu::RenderPipeline,
    /// For light in 32-bit floats, which are not filtered.
    shrink_wide: wgpu::RenderPipeline,
    halve: wgpu::RenderPipeline,
    double: wgpu::RenderPipeline,
}

/// Bind groups for one set of textures: each reads one of them.
pub struct GlowGroups {
    hdr: wgpu::BindGroup,
    quarter: wgpu::BindGroup,
    levels: Vec<wgpu::BindGroup>,
}

impl GlowPass {
    /// Builds the pipelines.
    pub fn new(gpu: Handles) -> Result<Self> {
        let wide_layout = group_layout(
            gpu.device,
            "shrink wide",
            &[(Binding::Unfiltered, wgpu::ShaderStages::FRAGMENT)],
        );
        let layout = group_layout(
            gpu.device,
            "glow",
            &[
                (Binding::Texture, wgpu::ShaderStages::FRAGMENT),
                (Binding::Sampler, wgpu::ShaderStages::FRAGMENT),
            ],
        );
        let module = shader(gpu.device, SHADER, HDR_FORMAT)?;
        // The level's weight comes as the blend constant, so one bind group a texture is enough.
        let add_weighted = wgpu::BlendComponent {
            src_factor: wgpu::BlendFactor::Constant,
            dst_factor: wgpu::BlendFactor::One,
            operation: wgpu::BlendOperation::Add,
        };
        let pipeline = |entry: &str, layout, blend| {
            let pipeline = DrawPipeline {
                module: &module,
                entry_points: ["vs_screen", entry],
                constants: &[],
                layout,
                format: HDR_FORMAT,
                blend,
            };
            pipeline.make(gpu.device)
        };
        Ok(Self {
            shrink: pipeline("fs_shrink", &layout, None),
            shrink_wide: pipeline("fs_shrink_wide", &wide_layout, None),
            halve: pipeline("fs_halve", &layout, None),
            double: pipeline("fs_double", &layout, Some(add_weighted)),
            sampler: smooth_sampler(gpu.device),
            wide_layout,
            layout,
        })
    }

    /// Bind groups for these textures.
    pub fn groups(&self, gpu: Handles, targets: &Targets) -> GlowGroups {
        let group = |view: &wgpu::TextureView| {
            bind(
                gpu.device,
                "glow",
                &self.layout,
                &[
                    wgpu::BindingResource::TextureView(view),
                    wgpu::BindingResource::Sampler(&self.sampler),
                ],
            )
        };
        GlowGroups {
            hdr: match targets.light_format {
                HDR_FORMAT => group(&targets.hdr),
                _ => bind(
                    gpu.device,
                    "shrink wide",
                    &self.wide_layout,
                    &[wgpu::BindingResource::TextureView(&targets.hdr)],
                ),
            },
            quarter: group(&targets.quarter),
            levels: targets.levels.iter().map(|(view, _)| group(view)).collect(),
        }
    }

    /// HDR picture to quarter picture, which the meter needs also without a glow.
    pub fn shrink(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        targets: &Targets,
        groups: &GlowGroups,
    ) {
        let pass = begin_drawing(encoder, "shrink", &targets.quarter, DARK);
        let pipeline = match targets.light_format {
            HDR_FORMAT => &self.shrink,
            _ => &self.shrink_wide,
        };
        draw(pass, pipeline, &groups.hdr);
    }

    /// Quarter picture to glow.
    pub fn spread(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        targets: &Targets,
        groups: &GlowGroups,
    ) {
        for (k, (level, _)) in targets.levels.iter().enumerate() {
            let source = if k == 0 { &groups.quarter } else { &groups.levels[k - 1] };
            draw(begin_drawing(encoder, "halve", level, DARK), &self.halve, source);
        }
        for k in (0..targets.levels.len()).rev() {
            // As on the CPU: a level holds its light divided by its own weight.
            let (target, load, finer_weight) = match k.checked_sub(1) {
                Some(finer) => {
                    let (view, weight) = &targets.levels[finer];
                    (view, wgpu::LoadOp::Load, *weight)
                }
                None => (&targets.glow, DARK, 1.0),
            };
            let scale = f64::from(targets.levels[k].1 / finer_weight);
            let mut pass = begin_drawing(encoder, "double", target, load);
            pass.set_blend_constant(wgpu::Color { r: scale, g: scale, b: scale, a: scale });
            draw(pass, &self.double, &groups.levels[k]);
        }
    }
}

fn draw(mut pass: wgpu::RenderPass, pipeline: &wgpu::RenderPipeline, group: &wgpu::BindGroup) {
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, group, &[]);
    pass.draw(0..3, 0..1);
}
