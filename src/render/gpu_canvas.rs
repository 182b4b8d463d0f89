//! All passes of one picture on the device, recorded into the caller's encoder. The window and the
//! headless painter share this.

use super::camera::Camera;
use super::device::Gpu;
use super::exposure_pass::{ExposurePass, ToneUniform};
use super::glow_pass::{GlowGroups, GlowPass};
use super::image::PictureSize;
use super::look::Look;
use super::sprites::{DevicePoints, SpritePass};
use super::targets::Targets;
use super::tone_map::ToneMapPass;
use crate::error::Result;

/// Pipelines, textures and the exposure's state.
pub struct GpuCanvas {
    sprites: SpritePass,
    glow: GlowPass,
    exposure: ExposurePass,
    tone_map: ToneMapPass,
    targets: Targets,
    glow_groups: GlowGroups,
    exposure_group: wgpu::BindGroup,
    tone_group: wgpu::BindGroup,
    last_secs: Option<f64>,
}

impl GpuCanvas {
    /// For pictures of `size` in `format` (see [`ToneMapPass::new`]).
    pub fn new(gpu: Gpu, size: PictureSize, format: wgpu::TextureFormat) -> Result<Self> {
        let glow = GlowPass::new(gpu);
        let exposure = ExposurePass::new(gpu);
        let tone_map = ToneMapPass::new(gpu, format)?;
        let targets = Targets::new(gpu, size)?;
        Ok(Self {
            glow_groups: glow.groups(gpu, &targets),
            exposure_group: exposure.group(gpu, &targets),
            tone_group: tone_map.group(gpu, &targets, &exposure),
            sprites: SpritePass::new(gpu),
            glow,
            exposure,
            tone_map,
            targets,
            last_secs: None,
        })
    }

    /// The picture's size.
    pub fn size(&self) -> PictureSize {
        self.targets.size
    }

    /// Another size, for a resized window. The exposure goes on from where it was.
    pub fn resize(&mut self, gpu: Gpu, size: PictureSize) -> Result<()> {
        if size != self.targets.size {
            self.targets = Targets::new(gpu, size)?;
            self.glow_groups = self.glow.groups(gpu, &self.targets);
            self.exposure_group = self.exposure.group(gpu, &self.targets);
            self.tone_group = self.tone_map.group(gpu, &self.targets, &self.exposure);
        }
        Ok(())
    }

    /// Exposes the next picture for itself, after a jump in time or a new scene.
    pub fn reset_exposure(&mut self) {
        self.last_secs = None;
    }

    /// Records one picture into `encoder`; `target` must have the canvas's size and format.
    /// `time_secs` is the film's time, by which the exposure follows.
    pub fn paint(
        &mut self,
        gpu: Gpu,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        points: DevicePoints,
        (camera, look): (&Camera, &Look),
        time_secs: f64,
    ) -> Result<()> {
        let size = self.targets.size;
        let view = camera.view(size)?;
        let limits = look.radius_limits_px(size);
        self.sprites.draw(gpu, encoder, &self.targets.hdr, points, (&view, limits), look)?;
        self.glow.shrink(encoder, &self.targets, &self.glow_groups);
        if look.style.bloom > 0.0 {
            self.glow.spread(encoder, &self.targets, &self.glow_groups);
        }
        let elapsed = self.last_secs.map(|last| time_secs - last);
        let tone = ToneUniform::new(look, elapsed.unwrap_or(0.0), elapsed.is_none());
        self.last_secs = Some(time_secs);
        self.exposure.expose(gpu, encoder, &self.targets, &self.exposure_group, &tone);
        self.tone_map.draw(encoder, target, &self.tone_group, &look.style);
        Ok(())
    }
}
