//! All passes of one picture on the device, recorded into the caller's encoder. The window and the
//! headless painter share this.

use super::camera::Camera;
use super::device::{Gpu, light_format};
use super::exposure_pass::{ExposurePass, ToneUniform};
use super::glow_pass::{GlowGroups, GlowPass};
use super::image::PictureSize;
use super::look::Look;
use super::pass_times::{Marks, Part};
use super::sprites::{DevicePoints, SpritePass};
use super::targets::Targets;
use super::tone_map::ToneMapPass;
use super::trail_pass::TrailPass;
use super::trails::TrailClock;
use crate::error::Result;

/// Pipelines, textures and the exposure's state.
pub struct GpuCanvas {
    sprites: SpritePass,
    trails: TrailPass,
    trail_clock: TrailClock,
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
        let targets = Targets::new(gpu, size, light_format(gpu.device, 0))?;
        Ok(Self {
            glow_groups: glow.groups(gpu, &targets),
            exposure_group: exposure.group(gpu, &targets),
            tone_group: tone_map.group(gpu, &targets, &exposure),
            sprites: SpritePass::new(gpu),
            trails: TrailPass::new(gpu),
            trail_clock: TrailClock::default(),
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
        self.retarget(gpu, size, self.targets.light_format)
    }

    fn retarget(
        &mut self,
        gpu: Gpu,
        size: PictureSize,
        light_format: wgpu::TextureFormat,
    ) -> Result<()> {
        if (size, light_format) != (self.targets.size, self.targets.light_format) {
            self.targets = Targets::new(gpu, size, light_format)?;
            self.trails.forget();
            self.glow_groups = self.glow.groups(gpu, &self.targets);
            self.exposure_group = self.exposure.group(gpu, &self.targets);
            self.tone_group = self.tone_map.group(gpu, &self.targets, &self.exposure);
        }
        Ok(())
    }

    /// Exposes the next picture for itself, after a jump in time or a new scene.
    /// Trails begin anew, too.
    pub fn reset_exposure(&mut self) {
        self.last_secs = None;
        self.trail_clock.reset();
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
        self.paint_timed(gpu, encoder, target, points, (camera, look), time_secs, Marks::NONE)
    }

    /// The same with timestamps where each part begins and ends, see
    /// [`super::pass_times::PassTimes`].
    #[allow(clippy::too_many_arguments)] // As paint() and the marks.
    pub fn paint_timed(
        &mut self,
        gpu: Gpu,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        points: DevicePoints,
        (camera, look): (&Camera, &Look),
        time_secs: f64,
        marks: Marks,
    ) -> Result<()> {
        let size = self.targets.size;
        // Another scene may have more bodies.
        self.retarget(gpu, size, light_format(gpu.device, points.count))?;
        let view = camera.view(size)?;
        let limits = look.radius_limits_px(size);
        let (targets, groups) = (&self.targets, &self.glow_groups);
        let has_trail = look.style.trail_secs > 0.0;
        let [edges, trail_edges] = match has_trail {
            true => [marks.begin(Part::Sprites), marks.end(Part::Sprites)],
            false => [marks.whole(Part::Sprites), Default::default()],
        };
        self.sprites.draw(gpu, encoder, targets, points, (&view, limits, look), edges)?;
        if has_trail {
            let kept = self.trail_clock.kept(look.style.trail_secs, time_secs, camera, size);
            self.trails.mix(gpu, encoder, targets, kept, trail_edges);
        } else {
            self.trails.forget();
            self.trail_clock.reset();
        }
        if look.style.bloom > 0.0 {
            self.glow.shrink(encoder, targets, groups, marks.begin(Part::Glow));
            self.glow.spread(encoder, targets, groups, marks.end(Part::Glow));
        } else {
            self.glow.shrink(encoder, targets, groups, marks.whole(Part::Glow));
        }
        let elapsed = self.last_secs.map(|last| time_secs - last);
        let tone = ToneUniform::new(look, targets, elapsed.unwrap_or(0.0), elapsed.is_none());
        self.last_secs = Some(time_secs);
        let edges = marks.whole(Part::Exposure);
        self.exposure.expose(gpu, encoder, targets, &self.exposure_group, &tone, edges);
        let edges = marks.whole(Part::ToneMap);
        self.tone_map.draw(encoder, target, targets, &self.tone_group, &look.style, edges);
        Ok(())
    }
}
