//! The last pass: HDR picture, glow and exposure to the target's format; see [`super::tone`]. A
//! picture that was drawn with larger pixels is then enlarged to the target.

use std::cell::OnceCell;

use super::exposure_pass::ExposurePass;
use super::image::PictureSize;
use super::light::{DEEP_FORMAT, HDR_FORMAT, shader};
use super::style::Style;
use super::targets::{Targets, encodes, texture_view};
use super::tone::srgb_encode;
use crate::error::{Error, Result};
use crate::gpu::{
    Binding, DrawPipeline, Handles, begin_drawing, bind, group_layout, smooth_sampler,
    uniform_buffer,
};

/// A finished picture with larger pixels, which is then enlarged.
pub struct Enlarged {
    /// Its size.
    pub drawn: PictureSize,
    /// The size to which it is enlarged.
    pub shown: PictureSize,
    view: wgpu::TextureView,
    group: wgpu::BindGroup,
}

/// The pipelines for one target format.
pub struct ToneMapPass {
    layout: wgpu::BindGroupLayout,
    sampler: wgpu::Sampler,
    /// Whether the shader encodes sRGB, instead of the device.
    encodes: bool,
    format: wgpu::TextureFormat,
    enlarging: (wgpu::BindGroupLayout, wgpu::RenderPipeline),
    /// By dither (no, yes) and then by glow (without, with).
    pipelines: [[wgpu::RenderPipeline; 2]; 2],
    /// Of maps; compiled when one is drawn.
    map: OnceCell<wgpu::RenderPipeline>,
    device: wgpu::Device,
    module: wgpu::ShaderModule,
}

impl ToneMapPass {
    /// For targets of `format`: `Rgba8` or `Bgra8`, `Unorm` (the pass encodes sRGB itself) or
    /// `UnormSrgb` (the device does); or `Rgba16Float`, linear and without dither. Others are an
    /// error.
    pub fn new(gpu: Handles, format: wgpu::TextureFormat) -> Result<Self> {
        use wgpu::TextureFormat as Format;
        let entries = match format {
            Format::Rgba8UnormSrgb | Format::Bgra8UnormSrgb => ["fs_linear", "fs_linear_dithered"],
            Format::Rgba8Unorm | Format::Bgra8Unorm => ["fs_encoded", "fs_encoded"],
            DEEP_FORMAT => ["fs_linear", "fs_linear"],
            other => {
                let allowed =
                    "Rgba8Unorm, Bgra8Unorm, Rgba8UnormSrgb, Bgra8UnormSrgb or Rgba16Float";
                return Err(Error::value("the picture's format", format!("{other:?}"), allowed));
            }
        };
        use Binding::{Read, Sampler, Texture, Unfiltered, Uniform};
        let bindings = [Uniform, Read, Unfiltered, Texture, Sampler, Read];
        let both = wgpu::ShaderStages::VERTEX_FRAGMENT;
        let layout = group_layout(gpu.device, "tone map", both, &bindings);
        let module = shader(gpu.device, "tone_map", HDR_FORMAT)?;
        let pipelines = entries.map(|entry| {
            [0.0, 1.0].map(|has_glow| {
                let constants = [("HAS_GLOW", has_glow)];
                let (entries, layouts) = (["vs_tile", entry], [&layout]);
                let drawn = DrawPipeline::new(&module, entries, &layouts, format);
                DrawPipeline { constants: &constants, ..drawn }.make(gpu.device)
            })
        });
        let pixels = group_layout(gpu.device, "enlarging", both, &[Texture, Uniform]);
        let layouts = [&layout, &pixels];
        let entries = ["vs_tile", "fs_enlarged"];
        let pipeline = DrawPipeline::new(&module, entries, &layouts, format).make(gpu.device);
        let enlarging = (pixels, pipeline);
        let encodes = encodes(format);
        Ok(Self {
            layout,
            encodes,
            format,
            enlarging,
            sampler: smooth_sampler(gpu.device),
            pipelines,
            map: OnceCell::new(),
            device: gpu.device.clone(),
            module,
        })
    }

    /// The pipeline of maps.
    fn map(&self) -> &wgpu::RenderPipeline {
        self.map.get_or_init(|| {
            let constants = [("ENCODES", f64::from(u8::from(self.encodes)))];
            let layouts = [&self.layout];
            let drawn =
                DrawPipeline::new(&self.module, ["vs_tile", "fs_map"], &layouts, self.format);
            DrawPipeline { constants: &constants, ..drawn }.make(&self.device)
        })
    }

    /// The bind group for these textures.
    pub fn group(
        &self,
        gpu: Handles,
        targets: &Targets,
        exposure: &ExposurePass,
    ) -> wgpu::BindGroup {
        use wgpu::BindingResource::{Sampler, TextureView};
        let resources = [
            exposure.uniform.as_entire_binding(),
            exposure.state.as_entire_binding(),
            TextureView(&targets.hdr),
            TextureView(targets.enlarged_glow.as_ref().unwrap_or(&targets.glow)),
            Sampler(&self.sampler),
            targets.tile_light.as_entire_binding(),
        ];
        bind(gpu.device, "tone map", &self.layout, &resources)
    }

    /// A picture of `drawn` pixels that is to be enlarged to `shown`.
    pub fn enlarged(&self, gpu: Handles, drawn: PictureSize, shown: PictureSize) -> Enlarged {
        use wgpu::TextureUsages as Usage;
        let usage = Usage::RENDER_ATTACHMENT | Usage::TEXTURE_BINDING;
        let view = texture_view(gpu, "larger pixels", drawn, self.format, usage);
        let per_pixel = [
            drawn.width() as f32 / shown.width() as f32,
            drawn.height() as f32 / shown.height() as f32,
            0.0,
            0.0,
        ];
        let uniform = uniform_buffer(gpu.device, "enlarging", size_of_val(&per_pixel));
        gpu.queue.write_buffer(&uniform, 0, bytemuck::cast_slice(&per_pixel));
        let resources = [wgpu::BindingResource::TextureView(&view), uniform.as_entire_binding()];
        let group = bind(gpu.device, "enlarging", &self.enlarging.0, &resources);
        Enlarged { drawn, shown, view, group }
    }

    /// Fills `target`, which has the picture's size, and returns the pass, for more to be drawn.
    /// `style` decides about glow and dither; everything else comes from the exposure's buffers.
    /// Columns from `shown_px` on stay empty sky.
    pub fn draw<'e>(
        &self,
        encoder: &'e mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        targets: &Targets,
        (group, enlarged): (&wgpu::BindGroup, Option<&Enlarged>),
        style: &Style,
        shown_px: u32,
    ) -> wgpu::RenderPass<'e> {
        // The result of a dark pixel: a device that encodes sRGB also encodes the clear colour.
        let sky = style.background.map(|c| match self.encodes {
            true => f64::from(srgb_encode(c)),
            false => f64::from(c),
        });
        let load = wgpu::LoadOp::Clear(wgpu::Color { r: sky[0], g: sky[1], b: sky[2], a: 1.0 });
        let has_glow = style.bloom > 0.0 || style.local_exposure > 0.0;
        let pipeline = match style.colour_by.is_map() {
            true => self.map(),
            false => &self.pipelines[usize::from(style.dither)][usize::from(has_glow)],
        };
        let draw = |pass: &mut wgpu::RenderPass, columns, lines, pipeline| {
            if columns == 0 {
                return;
            }
            pass.set_scissor_rect(0, 0, columns, lines);
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, group, &[]);
            pass.draw(0..6 * targets.tiles[0] * targets.tiles[1], 0..1);
        };
        let Some(Enlarged { drawn, shown, view, group: pixels }) = enlarged else {
            let mut pass = begin_drawing(encoder, "tone map", target, load);
            draw(&mut pass, shown_px, targets.size.height(), pipeline);
            return pass;
        };
        // The filter reads two pixels beyond the last column.
        let columns = shown_px as f32 * drawn.width() as f32 / shown.width() as f32;
        let columns = (columns.ceil() as u32 + 2).min(drawn.width());
        let mut pass = begin_drawing(encoder, "tone map", view, load);
        draw(&mut pass, columns, drawn.height(), pipeline);
        drop(pass);
        let mut pass = begin_drawing(encoder, "enlarging", target, load);
        pass.set_bind_group(1, pixels, &[]);
        draw(&mut pass, shown_px, shown.height(), &self.enlarging.1);
        pass
    }
}
