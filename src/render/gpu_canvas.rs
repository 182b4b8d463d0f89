//! All passes of one picture on the device, recorded into the caller's encoder. Used by the window
//! and by the headless painter.

use std::sync::Arc;

use super::adding::Adding;
use super::camera::{Camera, View};
use super::diagram::{Diagram, DiagramPass};
use super::exposure_pass::{ExposurePass, ToneUniform};
use super::glow::Smoothing;
use super::glow_pass::{GlowGroups, GlowPass};
use super::image::PictureSize;
use super::light::light_format;
use super::look::Look;
use super::medium::MediumUniform;
use super::sky_pass::SkyPass;
use super::splat::RadiusLimits;
use super::sprites::{DevicePoints, SpritePass};
use super::targets::Targets;
#[cfg(not(target_arch = "wasm32"))]
use super::together::Together;
use super::tone_map::{Enlarged, ToneMapPass};
use super::trail_pass::TrailPass;
use super::trails::TrailClock;
use crate::error::Result;
use crate::gpu::{Handles, blocking, let_browser_turn};

/// Stages of a picture, in order: accumulating the light of bodies and trails; shrinking the
/// picture and blurring it; metering the exposure; tone mapping.
pub const PARTS: [&str; 4] = ["sprites", "glow", "exposure", "tone map"];

/// The last stage, if a diagram is drawn over the picture.
pub const DIAGRAM: &str = "diagram";

/// Pipelines, textures and the exposure's state.
pub struct GpuCanvas {
    sprites: SpritePass,
    trails: TrailPass,
    trail_clock: TrailClock,
    glow: GlowPass,
    exposure: ExposurePass,
    tone_map: ToneMapPass,
    sky: SkyPass,
    diagrams: DiagramPass,
    /// Drawn over every picture.
    diagram: Option<Arc<Diagram>>,
    /// The picture's size; that of `targets` is smaller if pixels are drawn larger.
    size: PictureSize,
    /// Side of a drawn pixel, in pixels of the picture.
    pixel_side: f64,
    targets: Targets,
    glow_groups: GlowGroups,
    exposure_group: wgpu::BindGroup,
    tone_group: wgpu::BindGroup,
    /// Only while pixels are drawn larger.
    enlarged: Option<Enlarged>,
    /// The requested method; `None` leaves the choice to [`Adding::choose`].
    requested: Option<Adding>,
    last_secs: Option<f64>,
    covered_px: u32,
    /// The camera of the light in the textures; `None` if they hold none.
    held: Option<Camera>,
}

/// Parameters of the passes that accumulate light, for one picture.
struct LightSetup {
    view: View,
    limits: RadiusLimits,
    medium: Option<MediumUniform>,
    /// The fraction of the trail that stays, if there are trails.
    retained: Option<f32>,
}

impl GpuCanvas {
    /// For pictures of `size` in `format` (see [`ToneMapPass::new`]), with the current shaders.
    pub fn new(gpu: Handles, size: PictureSize, format: wgpu::TextureFormat) -> Result<Self> {
        blocking(Self::assemble(gpu, size, format, async || ()))
    }

    /// [`GpuCanvas::new`] with pipelines built one at a time, so that a web page stays responsive.
    pub async fn open(
        gpu: Handles<'_>,
        size: PictureSize,
        format: wgpu::TextureFormat,
    ) -> Result<Self> {
        Self::assemble(gpu, size, format, let_browser_turn).await
    }

    /// Builds the pipelines and awaits `turn` after each.
    async fn assemble(
        gpu: Handles<'_>,
        size: PictureSize,
        format: wgpu::TextureFormat,
        turn: impl AsyncFn(),
    ) -> Result<Self> {
        let glow = GlowPass::new(gpu)?;
        turn().await;
        let exposure = ExposurePass::new(gpu)?;
        turn().await;
        let tone_map = ToneMapPass::new(gpu, format)?;
        turn().await;
        let sprites = SpritePass::new(gpu)?;
        turn().await;
        let trails = TrailPass::new(gpu)?;
        turn().await;
        let sky = SkyPass::new(gpu, format)?;
        turn().await;
        let diagrams = DiagramPass::new(gpu, format)?;
        turn().await;
        let targets = Targets::new(gpu, size, light_format(gpu.device, 0), Adding::Raster)?;
        Ok(Self {
            glow_groups: glow.groups(gpu, &targets),
            exposure_group: exposure.group(gpu, &targets),
            tone_group: tone_map.group(gpu, &targets, &exposure),
            sprites,
            trails,
            trail_clock: TrailClock::default(),
            glow,
            exposure,
            tone_map,
            sky,
            diagrams,
            diagram: None,
            size,
            pixel_side: 1.0,
            enlarged: None,
            targets,
            requested: None,
            last_secs: None,
            covered_px: 0,
            held: None,
        })
    }

    /// A canvas like this one, without its exposure, for pictures in another format.
    pub(super) fn in_format(&self, gpu: Handles, format: wgpu::TextureFormat) -> Result<Self> {
        let mut canvas = Self::new(gpu, self.size, format)?;
        (canvas.requested, canvas.diagram) = (self.requested, self.diagram.clone());
        (canvas.pixel_side, canvas.covered_px) = (self.pixel_side, self.covered_px);
        Ok(canvas)
    }

    /// The picture's size.
    pub fn size(&self) -> PictureSize {
        self.size
    }

    /// Changes the picture size, for a resized window. The exposure is preserved.
    pub fn resize(&mut self, gpu: Handles, size: PictureSize) -> Result<()> {
        let before = std::mem::replace(&mut self.size, size);
        let resized = self.retarget(gpu, self.targets.light_format, self.targets.adding);
        if resized.is_err() {
            self.size = before;
        }
        resized
    }

    /// Draws later pictures with pixels of that side (at least 1, in pixels of the picture) and
    /// enlarges them, for slow devices. The sky and the diagram keep all pixels. The exposure is
    /// preserved.
    ///
    /// # Errors
    ///
    /// The device lacks memory.
    pub fn enlarge_pixels(&mut self, gpu: Handles, side: f64) -> Result<()> {
        self.pixel_side = side.max(1.0);
        self.retarget(gpu, self.targets.light_format, self.targets.adding)
    }

    /// The number of pixels that are drawn.
    fn drawn_size(&self) -> PictureSize {
        let drawn = |side: u32| (f64::from(side) / self.pixel_side).ceil() as u32;
        self.size.shrunk_to([drawn(self.size.width()), drawn(self.size.height())])
    }

    fn retarget(
        &mut self,
        gpu: Handles,
        light_format: wgpu::TextureFormat,
        adding: Adding,
    ) -> Result<()> {
        let size = self.drawn_size();
        let shown = if size == self.size { None } else { Some(self.size) };
        if self.enlarged.as_ref().map(|enlarged| (enlarged.drawn, enlarged.shown))
            != shown.map(|shown| (size, shown))
        {
            self.enlarged = shown.map(|shown| self.tone_map.enlarged(gpu, size, shown));
        }
        let known = (self.targets.size, self.targets.light_format, self.targets.adding);
        if (size, light_format, adding) != known {
            self.targets = Targets::new(gpu, size, light_format, adding)?;
            self.trails.forget();
            self.held = None;
            self.glow_groups = self.glow.groups(gpu, &self.targets);
            self.exposure_group = self.exposure.group(gpu, &self.targets);
            self.tone_group = self.tone_map.group(gpu, &self.targets, &self.exposure);
        }
        Ok(())
    }

    /// Selects the method of adding up light for later pictures, for tests and comparisons; `None`
    /// uses [`Adding::choose`]. Painting by a method for which the device lacks memory is an error.
    pub fn add_by(&mut self, requested: Option<Adding>) {
        self.requested = requested;
    }

    /// How the light of the last picture was added up.
    pub fn adding(&self) -> Adding {
        self.targets.adding
    }

    /// Leaves this many columns at the right empty in later pictures, because something covers
    /// them.
    pub fn cover(&mut self, columns_px: u32) {
        self.covered_px = columns_px;
    }

    /// Sets the diagram drawn over later pictures; `None` draws nothing.
    pub fn draw_over(&mut self, diagram: Option<&Arc<Diagram>>) {
        self.diagram = diagram.cloned();
        if diagram.is_none() {
            self.diagrams.forget();
        }
    }

    /// Exposes the next picture without regard to earlier ones, after a jump in time or a new
    /// scene. Trails are cleared as well.
    pub fn reset_exposure(&mut self) {
        self.last_secs = None;
        self.trail_clock.reset();
    }

    /// Records one picture into `encoder`; `target` must have the canvas's size and format.
    /// `time_secs` is the film's time, by which the exposure adapts.
    pub fn paint(
        &mut self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        points: DevicePoints,
        camera_and_look: (&Camera, &Look),
        time_secs: f64,
    ) -> Result<()> {
        let ended = &mut |_: &mut wgpu::CommandEncoder, _| ();
        self.paint_in_parts(gpu, encoder, target, points, camera_and_look, time_secs, ended)
    }

    /// [`GpuCanvas::paint`] with a callback: `ended` is called after each of the [`PARTS`] is
    /// recorded, to time it ([`crate::gpu::Timeline::end_part`]).
    #[allow(clippy::too_many_arguments)] // As paint() and the callback.
    pub fn paint_in_parts(
        &mut self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        points: DevicePoints,
        (camera, look): (&Camera, &Look),
        time_secs: f64,
        ended: &mut dyn FnMut(&mut wgpu::CommandEncoder, &'static str),
    ) -> Result<()> {
        let size = self.drawn_size();
        // Another scene may have more bodies.
        let adding = match self.requested {
            Some(requested) => {
                requested.check(gpu.device, points.count, size).map(|()| requested)?
            }
            None if look.style.colour_by.is_map() => {
                Adding::choose_for_map(gpu.device, points.count, size)
            }
            None => Adding::choose(gpu.device, points.count, size),
        };
        let counted = (&points, points.count);
        let LightSetup { view, limits, medium, retained } =
            self.begin(gpu, counted, (camera, look), adding, time_secs)?;
        let over = (medium.as_ref(), retained);
        let targets = &self.targets;
        self.sprites.draw(gpu, encoder, targets, points, (&view, limits, look), over)?;
        match retained {
            Some(retained) if adding == Adding::Raster => {
                self.trails.mix(gpu, encoder, targets, retained);
            }
            _ => self.trails.forget(),
        }
        ended(encoder, PARTS[0]);
        self.finish(gpu, encoder, target, points, (camera, look), time_secs, ended)
    }

    /// Paints the bodies of several devices, of which `points` are those of this one: the first
    /// records the picture into `encoder`, as [`GpuCanvas::paint`] does. Returns whether it is the
    /// first. All devices make the same call.
    ///
    /// # Errors
    ///
    /// Those of [`GpuCanvas::paint`]; a device that cannot add up integers; streaks that some
    /// bodies draw on behalf of others; another device has failed.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn paint_together(
        &mut self,
        (gpu, encoder): (Handles, &mut wgpu::CommandEncoder),
        target: &wgpu::TextureView,
        points: DevicePoints,
        (camera, look): (&Camera, &Look),
        time_secs: f64,
        together: &mut Together<'_>,
    ) -> Result<bool> {
        let adding = Adding::Compute;
        adding.check(gpu.device, points.count, self.drawn_size())?;
        let counted = (&points, together.all);
        let LightSetup { view, limits, medium, retained } =
            self.begin(gpu, counted, (camera, look), adding, time_secs)?;
        let over = (medium.as_ref(), retained);
        let setup = (&view, limits, look);
        self.trails.forget();
        let Self { sprites, targets, .. } = self;
        let is_first =
            sprites.draw_together((gpu, encoder), targets, points, setup, over, together)?;
        if is_first {
            let ended = &mut |_: &mut wgpu::CommandEncoder, _| ();
            self.finish(gpu, encoder, target, points, (camera, look), time_secs, ended)?;
        }
        Ok(is_first)
    }

    /// Makes the textures for a picture of `all` bodies; `points` are those of this device.
    fn begin(
        &mut self,
        gpu: Handles,
        (points, all): (&DevicePoints, u32),
        (camera, look): (&Camera, &Look),
        adding: Adding,
        time_secs: f64,
    ) -> Result<LightSetup> {
        let size = self.drawn_size();
        let overlapping = if look.style.colour_by.is_map() { u32::MAX } else { all };
        self.retarget(gpu, light_format(gpu.device, overlapping), adding)?;
        let view = camera.view_in(size, &points.scale)?;
        let limits = look.radius_limits_px(size);
        let medium = look.medium.as_ref().map(|plan| plan.uniform(camera, size, &points.scale));
        let retained = match look.style.trail_secs {
            secs if secs > 0.0 => Some(self.trail_clock.retained(secs, time_secs, camera, size)),
            _ => {
                self.trail_clock.reset();
                None
            }
        };
        Ok(LightSetup { view, limits, medium, retained })
    }

    /// Records everything after the light of bodies.
    #[allow(clippy::too_many_arguments)] // As of paint_in_parts().
    fn finish(
        &mut self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        points: DevicePoints,
        (camera, look): (&Camera, &Look),
        time_secs: f64,
        ended: &mut dyn FnMut(&mut wgpu::CommandEncoder, &'static str),
    ) -> Result<()> {
        let (targets, groups) = (&self.targets, &self.glow_groups);
        let [_, glow, exposure, _] = PARTS;
        self.glow.shrink(encoder, targets, groups);
        let smoothing = Smoothing::new(look, camera, self.drawn_size());
        if smoothing.is_on != 0 {
            self.glow.spread(gpu, encoder, targets, groups, &smoothing);
        }
        ended(encoder, glow);
        let elapsed = self.last_secs.map(|last| time_secs - last);
        let tone =
            ToneUniform::new(look, smoothing, targets, elapsed.unwrap_or(0.0), elapsed.is_none());
        self.last_secs = Some(time_secs);
        self.exposure.expose(gpu, encoder, targets, &self.exposure_group, &tone);
        ended(encoder, exposure);
        self.held = Some(*camera);
        self.develop(gpu, encoder, target, points, (camera, look), ended)
    }

    /// Whether the textures still hold the light of the last picture as `camera` saw it.
    pub fn holds(&self, camera: &Camera) -> bool {
        self.held.as_ref() == Some(camera)
    }

    /// Tone-maps the accumulated light and draws the overlays: while the light is
    /// [held](GpuCanvas::holds) this repaints the last picture. Records only the last of the
    /// [`PARTS`].
    ///
    /// # Errors
    ///
    /// The device lacks memory for the diagram.
    pub fn develop(
        &mut self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        target: &wgpu::TextureView,
        points: DevicePoints,
        (camera, look): (&Camera, &Look),
        ended: &mut dyn FnMut(&mut wgpu::CommandEncoder, &'static str),
    ) -> Result<()> {
        let (size, targets) = (self.size, &self.targets);
        let view = camera.view_in(size, &points.scale)?;
        let [.., tone_map] = PARTS;
        let shown_px = size.width().saturating_sub(self.covered_px);
        let enlarged = self.enlarged.as_ref();
        let groups = (&self.tone_group, enlarged);
        let mut pass = self.tone_map.draw(encoder, target, targets, groups, &look.style, shown_px);
        self.sky.draw(gpu, &mut pass, (&view, shown_px), look.style.sky as f32);
        drop(pass);
        ended(encoder, tone_map);
        if let Some(diagram) = &self.diagram {
            let size = (size, shown_px);
            self.diagrams.draw(gpu, encoder, target, size, points, camera, diagram)?;
            ended(encoder, DIAGRAM);
        }
        Ok(())
    }
}
