//! Far stars and galaxies on the device; see [`super::sky`].

use super::camera::View;
use super::light::{HDR_FORMAT, shader};
use super::sky::{COUNTS, Sky, SkySprite};
use super::targets::encodes;
use crate::error::Result;
use crate::gpu::{Binding, DrawPipeline, Handles, bind, group_layout, new_buffer, uniform_buffer};

/// The same layout on the host and in `sky.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct SkyUniform {
    /// Size of the picture.
    pub size_px: [f32; 2],
    /// 1 if the target holds sRGB-encoded values, not linear ones.
    pub encodes: u32,
    /// Padding to a multiple of 16 bytes.
    pub pad: u32,
}

/// The pipeline, and the sprites of the last view.
pub struct SkyPass {
    pipeline: wgpu::RenderPipeline,
    uniform: wgpu::Buffer,
    sprites: wgpu::Buffer,
    group: wgpu::BindGroup,
    encodes: bool,
    sky: Sky,
    shown: Option<(View, f32)>,
    count: u32,
}

impl SkyPass {
    /// For targets of that format.
    pub fn new(gpu: Handles, format: wgpu::TextureFormat) -> Result<Self> {
        let (both, bindings) =
            (wgpu::ShaderStages::VERTEX_FRAGMENT, [Binding::Uniform, Binding::Read]);
        let layout = group_layout(gpu.device, "sky", both, &bindings);
        // The brighter the picture, the less of the sky shows.
        let over = wgpu::BlendComponent {
            src_factor: wgpu::BlendFactor::One,
            dst_factor: wgpu::BlendFactor::OneMinusSrc,
            operation: wgpu::BlendOperation::Add,
        };
        let module = shader(gpu.device, "sky", HDR_FORMAT)?;
        let uniform = uniform_buffer(gpu.device, "sky", size_of::<SkyUniform>());
        let bytes = ((COUNTS[0] + COUNTS[1]) * size_of::<SkySprite>()) as u64;
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let sprites = new_buffer(gpu.device, "far stars", bytes, usage);
        let bound = [&uniform, &sprites].map(wgpu::Buffer::as_entire_binding);
        Ok(Self {
            group: bind(gpu.device, "sky", &layout, &bound),
            pipeline: DrawPipeline::new(&module, ["vs_sky", "fs_sky"], &[&layout], format)
                .blended(over)
                .make(gpu.device),
            encodes: encodes(format),
            sky: Sky::default(),
            shown: None,
            count: 0,
            uniform,
            sprites,
        })
    }

    /// Draws the sky of that strength (0 to 1) into the columns of the picture before `shown_px`.
    pub fn draw(
        &mut self,
        gpu: Handles,
        pass: &mut wgpu::RenderPass,
        (view, shown_px): (&View, u32),
        strength: f32,
    ) {
        if strength <= 0.0 || shown_px == 0 {
            return;
        }
        // The eye's position does not matter for sources at infinity.
        let key = (View { eye_in_world: [0.0; 3], near: 0.0, ..*view }, strength);
        if self.shown != Some(key) {
            let sprites = self.sky.sprites(view, strength);
            gpu.queue.write_buffer(&self.sprites, 0, bytemuck::cast_slice(&sprites));
            let uniform = SkyUniform {
                size_px: [view.width_px, view.height_px],
                encodes: u32::from(self.encodes),
                pad: 0,
            };
            gpu.queue.write_buffer(&self.uniform, 0, bytemuck::bytes_of(&uniform));
            (self.shown, self.count) = (Some(key), sprites.len() as u32);
        }
        pass.set_scissor_rect(0, 0, shown_px, view.height_px as u32);
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        pass.draw(0..6 * self.count, 0..1);
    }
}
