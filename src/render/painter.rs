//! scratch
use glam::DVec3;
use super::*;
use crate::bodies::Bodies;
use crate::error::Result;
/// x
pub enum Points<'a> {
    /// x
    Host {
        /// x
        bodies: &'a Bodies,
        /// x
        acceleration: Option<&'a [DVec3]>,
    },
}
/// x
pub struct Painter {
    size: PictureSize,
    hdr: splat::HdrImage,
    splatter: splat::Splatter,
    glow: glow::Glow,
    meter: exposure::Meter,
    developer: tone::Developer,
    last: f64,
}
impl Painter {
    /// x
    pub fn cpu(size: PictureSize) -> Self {
        Self {
            size,
            hdr: splat::HdrImage::new(size),
            splatter: Default::default(),
            glow: glow::Glow::new(size),
            meter: Default::default(),
            developer: Default::default(),
            last: 0.0,
        }
    }
    /// x
    pub fn paint(&mut self, points: Points, camera: &Camera, look: &Look, time: f64) -> Result<Image> {
        let Points::Host { bodies, acceleration } = points;
        let t0 = web_time::Instant::now();
        let words = look::star_words(bodies);
        let t1 = web_time::Instant::now();
        let view = camera.view(self.size)?;
        let vectors = match look.style.colour_by {
            ColourBy::Acceleration => acceleration.unwrap_or(&bodies.velocity),
            _ => &bodies.velocity,
        };
        self.splatter.draw(&mut self.hdr, &view, &look.uniform, look.radius_limits_px(self.size), bodies.len(), |i| splat::Point {
            position: bodies.position[i].as_vec3().to_array(),
            mass: bodies.mass[i] as f32,
            vector: vectors[i].as_vec3().to_array(),
            star: words[i],
        });
        let t2 = web_time::Instant::now();
        self.glow.shrink(&self.hdr);
        let t3 = web_time::Instant::now();
        let bloom = look.style.bloom as f32;
        if bloom > 0.0 { self.glow.spread(); }
        let glow = (bloom > 0.0).then(|| (self.glow.glow(), bloom));
        let hist = exposure::histogram(self.glow.quarter(), glow);
        let levels = self.meter.expose(look.style.exposure, &hist, time - self.last);
        self.last = time;
        let t4 = web_time::Instant::now();
        let curve = tone::ToneCurve::new(levels, look.style.stops as f32);
        let mut image = Image::new(self.size);
        self.developer.develop(&self.hdr, glow, &curve, look.style.background, look.style.dither, &mut image);
        let t5 = web_time::Instant::now();
        if std::env::var("T").is_ok() {
            eprintln!("words {:?} splat {:?} shrink+meter {:?} glow {:?} tone {:?} levels {levels:?}", t1-t0, t2-t1, t3-t2, t4-t3, t5-t4);
        }
        Ok(image)
    }
}
