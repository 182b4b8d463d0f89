//! Automatic exposure on the device; see [`super::exposure`]. The levels stay there: the tone map
//! reads them from a small buffer, so there is no read-back and no lag.

use super::exposure::{self, BINS};
use super::glow::Smoothing;
use super::light::{HDR_FORMAT, shader};
use super::look::Look;
use super::map::MapUniform;
use super::palette::SCALE_STEPS;
use super::style::Exposure;
use super::targets::Targets;
use crate::error::Result;
use crate::gpu::{
    Binding, Handles, begin_computing, bind, compute_pipeline, group_layout, new_buffer,
    uniform_buffer,
};

/// Exposure and tone of one picture; the same layout on the host and in two shaders.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct ToneUniform {
    /// Linear RGB of the empty sky.
    pub background: [f32; 3],
    /// How much darker the corners are, 0 to 1, over the square of the picture's diagonal in
    /// pixels.
    pub vignette: f32,
    /// log2 of the fixed white level.
    pub fixed_white_log2: f32,
    /// log2 of the fixed mid level.
    pub fixed_mid_log2: f32,
    /// Brightening in powers of two.
    pub stops: f32,
    /// Fraction of a change towards dark to follow, 0 to 1.
    pub follow_to_dark: f32,
    /// 0 follows, 1 resets, 2 uses the fixed levels.
    pub mode: u32,
    /// 1 hides 8-bit steps.
    pub dither: u32,
    /// Fraction of a change towards bright to follow, 0 to 1.
    pub follow_to_bright: f32,
    /// Tiles in a row of the picture, see [`super::targets::TILE`].
    pub tile_columns: u32,
    /// Rows of tiles.
    pub tile_rows: u32,
    /// Padding: the next field starts at a multiple of 8 bytes.
    pub pad: u32,
    /// A pixel of the picture as a part of the smooth one's width and height.
    pub pixel_of_glow: [f32; 2],
    /// How the smooth picture is mixed in.
    pub smoothing: Smoothing,
    /// The map, if the picture is one.
    pub map: MapUniform,
    /// Its palette, linear RGB.
    pub scale: [[f32; 4]; SCALE_STEPS],
}

/// Exposure state that persists on the device between pictures; the same layout in two shaders.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
pub struct ExposureState {
    /// log2 of the white level.
    pub white_log2: f32,
    /// log2 of the mid level.
    pub mid_log2: f32,
    /// See [`super::tone::ToneCurve`].
    pub slope: f32,
    /// See [`super::tone::ToneCurve`].
    pub scale: f32,
    /// 1 once levels have been measured.
    pub primed: u32,
    /// Padding to a multiple of 16 bytes.
    pub pad: [u32; 3],
}

impl ToneUniform {
    /// For a picture `elapsed_secs` after the last one, or the first after a reset (`resets`).
    pub fn new(
        look: &Look,
        smoothing: Smoothing,
        targets: &Targets,
        elapsed_secs: f64,
        resets: bool,
    ) -> Self {
        let (style, pyramid) = (&look.style, &targets.pyramid);
        let [width, height] = [targets.size.width(), targets.size.height()].map(f64::from);
        let glow = pyramid.enlarged_size().unwrap_or(pyramid.base);
        let (mode, [to_dark, to_bright], fixed) = match style.exposure {
            Exposure::Fixed { white, mid } => (2, [1.0; 2], exposure::Levels::fixed(white, mid)),
            Exposure::Auto { adapt_secs } => {
                let steps = exposure::follow_steps(adapt_secs, elapsed_secs);
                (u32::from(resets), steps, exposure::Levels::fixed(1.0, 1.0))
            }
        };
        Self {
            background: style.background,
            vignette: (style.vignette / (width * width + height * height)) as f32,
            fixed_white_log2: fixed.white_log2,
            fixed_mid_log2: fixed.mid_log2,
            stops: style.stops as f32,
            follow_to_dark: to_dark,
            follow_to_bright: to_bright,
            mode,
            dither: u32::from(style.dither),
            tile_columns: targets.tiles[0],
            tile_rows: targets.tiles[1],
            pad: 0,
            pixel_of_glow: [glow.width(), glow.height()]
                .map(|side| smoothing.enlarged / (pyramid.factor * side as f32)),
            smoothing,
            map: MapUniform::new(look),
            scale: look.uniform.scale,
        }
    }
}

/// Pipelines and buffers.
pub struct ExposurePass {
    layout: wgpu::BindGroupLayout,
    meter: wgpu::ComputePipeline,
    adapt: wgpu::ComputePipeline,
    /// Holds a [`ToneUniform`].
    pub uniform: wgpu::Buffer,
    /// Holds an [`ExposureState`]; the tone map reads it.
    pub state: wgpu::Buffer,
    counts: wgpu::Buffer,
}

impl ExposurePass {
    /// Builds pipelines and buffers.
    pub fn new(gpu: Handles) -> Result<Self> {
        use Binding::{Texture, Unfiltered, Uniform, Write};
        let bindings = [Uniform, Write, Write, Texture, Texture, Write, Unfiltered];
        let layout = group_layout(gpu.device, "exposure", wgpu::ShaderStages::COMPUTE, &bindings);
        let module = shader(gpu.device, "exposure", HDR_FORMAT)?;
        let storage = |label, size: usize, more| {
            new_buffer(gpu.device, label, size as u64, wgpu::BufferUsages::STORAGE | more)
        };
        Ok(Self {
            meter: compute_pipeline(gpu.device, &module, "meter", &[&layout]),
            adapt: compute_pipeline(gpu.device, &module, "adapt", &[&layout]),
            uniform: uniform_buffer(gpu.device, "tone uniform", size_of::<ToneUniform>()),
            state: storage(
                "exposure state",
                size_of::<ExposureState>(),
                wgpu::BufferUsages::COPY_SRC,
            ),
            counts: storage("exposure counts", 4 * BINS, wgpu::BufferUsages::empty()),
            layout,
        })
    }

    /// The bind group for these textures.
    pub fn group(&self, gpu: Handles, targets: &Targets) -> wgpu::BindGroup {
        use wgpu::BindingResource::TextureView;
        let resources = [
            self.uniform.as_entire_binding(),
            self.state.as_entire_binding(),
            self.counts.as_entire_binding(),
            TextureView(&targets.base),
            TextureView(&targets.glow),
            targets.tile_light.as_entire_binding(),
            TextureView(&targets.hdr),
        ];
        bind(gpu.device, "exposure", &self.layout, &resources)
    }

    /// Measures the shrunk picture and updates the state.
    pub fn expose(
        &self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        targets: &Targets,
        group: &wgpu::BindGroup,
        uniform: &ToneUniform,
    ) {
        gpu.queue.write_buffer(&self.uniform, 0, bytemuck::bytes_of(uniform));
        let mut pass = begin_computing(encoder, "exposure");
        pass.set_bind_group(0, group, &[]);
        pass.set_pipeline(&self.meter);
        let [columns, rows] = targets.tiles.map(|tiles| tiles.div_ceil(2));
        pass.dispatch_workgroups(columns, rows, 1);
        pass.set_pipeline(&self.adapt);
        pass.dispatch_workgroups(1, 1, 1);
    }
}
