//! Maps: in each pixel the mass per area along the line of sight, or the mean velocity along it
//! weighted by mass, as a colour of the palette, with lines of equal value.
//!
//! The sprites of a map have the light that is their mass, so that the intensity of a pixel is a
//! surface density: 1 is all drawn mass spread evenly over a disk with the median radius, seen at
//! any distance. What is averaged is the ratio of red to green. The smooth picture is mixed in as
//! for light: where bodies are sparse, a map shows the mean over a wider kernel. A line is drawn
//! where the map changes over [`reach_px`] as it does from pixel to pixel, or where there are enough
//! bodies for its smallest details: not around a single body. Mirrors `tone_map.wgsl`.

use super::glow::{enough, intensity, shrink_factor};
use super::image::PictureSize;
use super::look::Look;
use super::measures::{colour_unit, magnitude};
use super::overlay::round_below;
use super::palette::{MEAN_SPAN, SCALE_STEPS};
use super::style::ColourBy;

/// Lines per decade of surface density.
const LINES_PER_DECADE: f64 = 2.0;
/// About this many lines over a range of velocities.
const LINES: f64 = 10.0;
/// How much darker lines are than the map.
pub const LINE_SHADE: f32 = 0.65;

/// Distance in pixels over which a map is compared with its change from pixel to pixel: that of two
/// pixels of the shrunk picture, about the radius of a single body in a smooth map.
pub fn reach_px(size: PictureSize) -> usize {
    libm::roundf(2.0 * shrink_factor(size)) as usize
}

/// A pixel's values by [`MapUniform::values`], and those around it.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// Of the pixel itself.
    pub here: [f32; 2],
    /// Of its neighbours to the right and below.
    pub next: [[f32; 2]; 2],
    /// Of the pixels [`reach_px`] to the left, to the right, above and below.
    pub far: [[f32; 2]; 4],
    /// The number of pixels to these.
    pub reach_px: f32,
}

/// How a map turns pixels into colours; the same layout on the host and in two shaders.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct MapUniform {
    /// 0: no map; 1: of intensities; 2: of means.
    pub kind: u32,
    /// log2 of the intensity at the palette's lower end, or below which a mean is not shown.
    pub light_from: f32,
    /// 1 / (log2 of the intensity at the upper end - `light_from`).
    pub light_factor: f32,
    /// The number of the line at log2 intensity 0, or at the lower end of the means.
    pub line_from: f32,
    /// Lines per octave, or over the palette.
    pub line_factor: f32,
    /// Padding to a multiple of 16 bytes.
    pub pad: [u32; 3],
}

impl MapUniform {
    /// The map of that look, [`Default`] if it shows light.
    pub fn new(look: &Look) -> Self {
        let unit = colour_unit(look.style.colour_by, &look.units).factor;
        let log2 = |ratio: f64| libm::log2(ratio) as f32;
        let of = |kind, [least, most]: [f64; 2], line_from: f64, line_factor: f64| Self {
            kind,
            light_from: log2(least / look.surface),
            light_factor: 1.0 / log2(most / least).max(1e-3),
            line_from: line_from as f32,
            line_factor: line_factor as f32,
            pad: [0; 3],
        };
        let ends = [look.least_value, look.most_value];
        // The surface density of intensity 1, in the unit of numbers.
        let surface = look.surface * unit;
        let per_octave = std::f64::consts::LOG10_2;
        match look.style.colour_by {
            ColourBy::SurfaceDensity => {
                let at_one = LINES_PER_DECADE * libm::log10(surface);
                of(1, ends, at_one, LINES_PER_DECADE * per_octave)
            }
            ColourBy::SurfaceBrightness => of(1, ends, magnitude(surface), -2.5 * per_octave),
            ColourBy::Velocity => {
                let [from, to] = ends.map(|end| end * unit);
                let (digit, power) = round_below((to - from) / LINES);
                let step = f64::from(digit) * libm::pow(10.0, f64::from(power));
                of(2, look.surface_range, from / step, (to - from) / step)
            }
            _ => Self::default(),
        }
    }

    /// log2 of a pixel's intensity, and where its mean is along the palette.
    pub fn values(pixel: [f32; 4]) -> [f32; 2] {
        let part = pixel[0] / (pixel[0] + pixel[1]).max(1e-30);
        [intensity(pixel).max(1e-30).log2(), MEAN_SPAN * (part - 0.5) + 0.5]
    }

    fn line(&self, [light, mean]: [f32; 2]) -> f32 {
        self.line_from + self.line_factor * if self.kind == 2 { mean } else { light }
    }

    /// The part of a line's shade that is drawn at a pixel, where `crowding` is
    /// [`super::glow::Smoothing::crowding`].
    fn drawn(&self, around: &Around, crowding: f32) -> f32 {
        let line = self.line(around.here);
        let change: f32 = around.next.iter().map(|&next| (self.line(next) - line).abs()).sum();
        let apart = (line - (line + 0.5).floor()).abs();
        // A pixel and a half wide; left out where noise would cover everything with lines.
        let near = (1.5 - apart / change.max(1e-6)).clamp(0.0, 1.0);
        let [left, right, above, below] = around.far.map(|far| self.line(far));
        let wide = ((right - left).abs() + (below - above).abs()) / (2.0 * around.reach_px);
        let steady = (2.0 * wide / change.max(1e-6) - 0.5).clamp(0.0, 1.0);
        let crowded = enough(around.here[0].exp2() * crowding);
        near * (2.0 - 4.0 * change).clamp(0.0, 1.0) * steady.max(crowded)
    }

    /// Linear RGB of a pixel over the background.
    pub fn colour(
        &self,
        around: &Around,
        crowding: f32,
        scale: &[[f32; 4]; SCALE_STEPS],
        background: [f32; 3],
    ) -> [f32; 3] {
        let here = around.here;
        let brightness = (here[0] - self.light_from) * self.light_factor;
        let part = if self.kind == 2 { here[1] } else { brightness };
        let part = part.clamp(0.0, 1.0);
        let along = part * (SCALE_STEPS - 1) as f32;
        let first = (along as usize).min(SCALE_STEPS - 2);
        let weight = along - first as f32;
        let shade = 1.0 - LINE_SHADE * self.drawn(around, crowding);
        let shown = (16.0 * brightness).clamp(0.0, 1.0);
        std::array::from_fn(|k| {
            let own = scale[first][k] + (scale[first + 1][k] - scale[first][k]) * weight;
            background[k] + (own * shade - background[k]) * shown
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_drawn_on_slopes_and_around_many_bodies_but_not_around_one() {
        let map =
            MapUniform { kind: 1, light_factor: 0.1, line_factor: 1.0, ..MapUniform::default() };
        let reach = reach_px(PictureSize::new(1280, 720).unwrap());
        assert_eq!(reach, 8);
        let most = |value: &dyn Fn(f32, f32) -> f32, crowding: f32| {
            let at = |x: i32, y: i32| [value(x as f32, y as f32), 0.5];
            let r = reach as i32;
            let drawn = |x: i32, y: i32| {
                let around = Around {
                    here: at(x, y),
                    next: [at(x + 1, y), at(x, y + 1)],
                    far: [at(x - r, y), at(x + r, y), at(x, y - r), at(x, y + r)],
                    reach_px: reach as f32,
                };
                map.drawn(&around, crowding)
            };
            (-12..12).flat_map(|x| (-12..12).map(move |y| drawn(x, y))).fold(0.0, f32::max)
        };
        let slope = |x: f32, _: f32| 0.05 * x;
        // Line 1 is a circle with a radius of 3.3 pixels.
        let bump = |x: f32, y: f32| 0.8 + 0.5 * (-(x * x + y * y) / 12.0).exp();
        assert_eq!(most(&slope, 0.0), 1.0);
        assert!(most(&bump, 0.0) < 0.1, "{}", most(&bump, 0.0));
        assert!(most(&bump, 100.0) > 0.9);
    }
}
