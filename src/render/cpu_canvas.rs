//! All passes of one picture on the CPU.

use super::camera::{Camera, View};
use super::exposure::{Meter, histogram};
use super::glow::{Glow, Smoothing};
use super::hdr_image::HdrImage;
use super::image::{Image, PictureSize};
use super::look::Look;
use super::look_uniform::LookUniform;
use super::medium::Medium;
use super::scale::Scale;
use super::sky::{self, Sky};
use super::splat::{Point, RadiusLimits, Splatter};
use super::streaks::{Reach, Streaks};
use super::tone::{Developer, ToneCurve};
use super::trails::{self, TrailClock};
use crate::error::Result;

/// Buffers and the exposure's state.
pub struct CpuCanvas {
    size: PictureSize,
    splatter: Splatter,
    /// Present only while streaks are shown.
    streaks: Option<Box<Streaks>>,
    medium: Option<Box<Medium>>,
    hdr: HdrImage,
    trail: Option<HdrImage>,
    trail_clock: TrailClock,
    glow: Glow,
    meter: Meter,
    developer: Developer,
    sky: Sky,
    last_secs: Option<f64>,
}

impl CpuCanvas {
    /// For pictures of `size`.
    pub fn new(size: PictureSize) -> Self {
        Self {
            size,
            splatter: Splatter::default(),
            streaks: None,
            medium: None,
            hdr: HdrImage::new(size),
            trail: None,
            trail_clock: TrailClock::default(),
            glow: Glow::new(size),
            meter: Meter::default(),
            developer: Developer::default(),
            sky: Sky::default(),
            last_secs: None,
        }
    }

    /// The picture's size.
    pub fn size(&self) -> PictureSize {
        self.size
    }

    /// Exposes the next picture without regard to earlier ones, after a jump in time or a new
    /// scene. Trails are cleared as well.
    pub fn reset_exposure(&mut self) {
        self.trail_clock.reset();
        self.last_secs = None;
        self.meter.reset();
    }

    /// The last picture painted, in linear light.
    pub fn hdr(&self) -> &HdrImage {
        &self.hdr
    }

    /// Paints `count` bodies, each obtained once through `point`, in numbers of `scale`.
    /// `time_secs` is the film's time, by which the exposure adapts.
    pub fn paint(
        &mut self,
        count: usize,
        point: impl Fn(usize) -> Point + Sync,
        scale: &Scale,
        (camera, look): (&Camera, &Look),
        time_secs: f64,
    ) -> Result<Image> {
        let view = camera.view_in(self.size, scale)?;
        let limits = look.radius_limits_px(self.size);
        let uniform = look.uniform_in(scale);
        let medium = look.medium.as_ref().map(|plan| plan.uniform(camera, self.size, scale));
        let reach = Reach::new(look.streaks(), scale, count as u32, true);
        let every = look.every.max(1) as usize;
        let drawn = count.div_ceil(every);
        if let Some(medium) = medium {
            let mut sums = self.medium.take().unwrap_or_default();
            let found = sums.find((&medium, &view, &uniform), count, &point);
            let point = |i: usize| Point { surroundings: found[i * every], ..point(i * every) };
            self.add_up((&view, &uniform, limits), reach, drawn, point);
            self.medium = Some(sums);
        } else {
            self.medium = None;
            self.add_up((&view, &uniform, limits), reach, drawn, |k| point(k * every));
        }
        let style = &look.style;
        if style.trail_secs > 0.0 {
            let retained =
                self.trail_clock.retained(style.trail_secs, time_secs, camera, self.size);
            let trail = self.trail.get_or_insert_with(|| HdrImage::new(self.size));
            trails::mix(&mut self.hdr, trail, retained);
        } else {
            self.trail = None;
            self.trail_clock.reset();
        }
        self.glow.shrink(&self.hdr);
        let smoothing = Smoothing::new(look, camera, self.size);
        let is_on = smoothing.is_on != 0;
        if is_on {
            self.glow.spread(&smoothing);
        }
        let glow = is_on.then(|| (self.glow.glow(), &smoothing));
        let counts = histogram(self.glow.base(), glow);
        let elapsed = time_secs - self.last_secs.replace(time_secs).unwrap_or(time_secs);
        let levels = self.meter.expose(style.exposure, &counts, elapsed);
        let curve = ToneCurve::new(levels, style.stops as f32);
        let mut image = match style.colour_by.is_map() {
            true => self.developer.map(&self.hdr, look),
            false => {
                let enlarged = glow.map(|(_, smoothing)| (self.glow.enlarged(), smoothing));
                self.developer.develop(&self.hdr, enlarged, &curve, style)
            }
        };
        if style.sky > 0.0 {
            sky::paint(&mut image, &self.sky.sprites(&view, style.sky as f32));
        }
        Ok(image)
    }

    /// Replaces the picture in linear light by these bodies and their streaks.
    fn add_up(
        &mut self,
        (view, look, limits): (&View, &LookUniform, RadiusLimits),
        reach: Option<Reach>,
        count: usize,
        point: impl Fn(usize) -> Point + Sync,
    ) {
        self.splatter.draw(&mut self.hdr, view, look, limits, count, &point);
        match reach {
            Some(reach) => {
                let streaks = self.streaks.get_or_insert_default();
                streaks.draw(&mut self.hdr, (view, look, limits), &reach, count, point);
            }
            None => self.streaks = None,
        }
    }
}
