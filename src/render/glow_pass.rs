//! Smoothing and glow on the device; see [`super::glow`] for the method.

use super::glow::Smoothing;
use super::light::{HDR_FORMAT, is_software, shader};
use super::targets::Targets;
use crate::error::Result;
use crate::gpu::{
    Binding, DARK, DrawPipeline, Handles, begin_drawing, bind, group_layout, smooth_sampler,
    uniform_buffer,
};

/// The pipelines, shared by all picture sizes.
pub struct GlowPass {
    wide_layout: wgpu::BindGroupLayout,
    layout: wgpu::BindGroupLayout,
    own_layout: wgpu::BindGroupLayout,
    sampler: wgpu::Sampler,
    /// For pictures of any size and format.
    shrink: wgpu::RenderPipeline,
    /// For pictures of 720 lines, in half floats and in 32-bit floats; the latter are not
    /// filterable.
    shrink_by_4: [wgpu::RenderPipeline; 2],
    halve: wgpu::RenderPipeline,
    refine: wgpu::RenderPipeline,
    enlarge: wgpu::RenderPipeline,
    /// Each pass draws all pixels of its target. Loading them is free in software (clearing them
    /// costs llvmpipe 0.5 ms of 5 at 1280x720), and traffic on devices that draw in tiles.
    load: wgpu::LoadOp<wgpu::Color>,
    /// Holds a [`Smoothing`].
    pub uniform: wgpu::Buffer,
}

/// Bind groups for one set of textures; each reads one of them.
pub struct GlowGroups {
    hdr: wgpu::BindGroup,
    hdr_by_4: wgpu::BindGroup,
    base: wgpu::BindGroup,
    levels: Vec<wgpu::BindGroup>,
    smooth: Vec<wgpu::BindGroup>,
    /// The shrunk picture and all levels but the coarsest, before they are refined, each with the
    /// next coarser one.
    own: Vec<wgpu::BindGroup>,
    /// The smooth picture, if it is enlarged.
    glow: Option<wgpu::BindGroup>,
}

impl GlowPass {
    /// Builds the pipelines.
    pub fn new(gpu: Handles) -> Result<Self> {
        use Binding::{Sampler, Texture, Unfiltered, Uniform};
        let layout_of = |label, bindings: &[Binding]| {
            group_layout(gpu.device, label, wgpu::ShaderStages::FRAGMENT, bindings)
        };
        let wide_layout = layout_of("shrink", &[Unfiltered]);
        let layout = layout_of("glow", &[Texture, Sampler]);
        let own_layout = layout_of("refine", &[Unfiltered, Unfiltered, Uniform, Texture]);
        let module = shader(gpu.device, "glow", HDR_FORMAT)?;
        let pipeline = |entry: &str, layouts: &[&wgpu::BindGroupLayout]| {
            DrawPipeline::new(&module, ["vs_screen", entry], layouts, HDR_FORMAT).make(gpu.device)
        };
        Ok(Self {
            shrink: pipeline("fs_shrink", &[&wide_layout]),
            shrink_by_4: [
                pipeline("fs_shrink_by_4", &[&layout]),
                pipeline("fs_shrink_wide_by_4", &[&wide_layout]),
            ],
            halve: pipeline("fs_halve", &[&layout]),
            refine: pipeline("fs_refine", &[&layout, &own_layout]),
            enlarge: pipeline("fs_enlarge", &[&layout, &own_layout]),
            sampler: smooth_sampler(gpu.device),
            load: if is_software(gpu.device) { wgpu::LoadOp::Load } else { DARK },
            uniform: uniform_buffer(gpu.device, "smoothing", size_of::<Smoothing>()),
            wide_layout,
            layout,
            own_layout,
        })
    }

    /// Bind groups for these textures.
    pub fn groups(&self, gpu: Handles, targets: &Targets) -> GlowGroups {
        use wgpu::BindingResource::{Sampler, TextureView};
        let group = |view: &wgpu::TextureView| {
            bind(gpu.device, "glow", &self.layout, &[TextureView(view), Sampler(&self.sampler)])
        };
        let plain = || bind(gpu.device, "shrink", &self.wide_layout, &[TextureView(&targets.hdr)]);
        let own = |(level, wider): (&wgpu::TextureView, &wgpu::TextureView)| {
            let uniform = self.uniform.as_entire_binding();
            let resources =
                [TextureView(level), TextureView(&targets.base), uniform, TextureView(wider)];
            bind(gpu.device, "refine", &self.own_layout, &resources)
        };
        let refined = std::iter::once(&targets.base).chain(&targets.levels);
        GlowGroups {
            hdr: plain(),
            hdr_by_4: match targets.light_format {
                HDR_FORMAT => group(&targets.hdr),
                _ => plain(),
            },
            base: group(&targets.base),
            levels: targets.levels.iter().map(group).collect(),
            smooth: targets.smooth.iter().map(group).collect(),
            own: refined.zip(&targets.levels).map(own).collect(),
            glow: targets.enlarged_glow.as_ref().map(|_| group(&targets.glow)),
        }
    }

    /// HDR picture to shrunk picture; the exposure meter needs it even without glow.
    pub fn shrink(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        targets: &Targets,
        groups: &GlowGroups,
    ) {
        let pass = begin_drawing(encoder, "shrink", &targets.base, self.load);
        if targets.pyramid.factor != 4.0 {
            draw(pass, &self.shrink, &groups.hdr);
            return;
        }
        let [narrow, wide] = &self.shrink_by_4;
        let pipeline = if targets.light_format == HDR_FORMAT { narrow } else { wide };
        draw(pass, pipeline, &groups.hdr_by_4);
    }

    /// Shrunk picture to smooth picture.
    pub fn spread(
        &self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        targets: &Targets,
        groups: &GlowGroups,
        smoothing: &Smoothing,
    ) {
        gpu.queue.write_buffer(&self.uniform, 0, bytemuck::bytes_of(smoothing));
        for (k, level) in targets.levels.iter().enumerate() {
            let source = if k == 0 { &groups.base } else { &groups.levels[k - 1] };
            draw(begin_drawing(encoder, "halve", level, self.load), &self.halve, source);
        }
        for k in (0..targets.levels.len()).rev() {
            let source = groups.smooth.get(k).unwrap_or(&groups.levels[k]);
            let target = match k.checked_sub(1) {
                Some(finer) => &targets.smooth[finer],
                None => &targets.glow,
            };
            let mut pass = begin_drawing(encoder, "refine", target, self.load);
            pass.set_bind_group(1, &groups.own[k], &[]);
            draw(pass, &self.refine, source);
        }
        if let (Some(source), Some(target)) = (&groups.glow, &targets.enlarged_glow) {
            let mut pass = begin_drawing(encoder, "enlarge", target, self.load);
            pass.set_bind_group(1, &groups.own[0], &[]);
            draw(pass, &self.enlarge, source);
        }
    }
}

fn draw(mut pass: wgpu::RenderPass, pipeline: &wgpu::RenderPipeline, group: &wgpu::BindGroup) {
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, group, &[]);
    pass.draw(0..3, 0..1);
}
