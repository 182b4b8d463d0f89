//! Maps: in each pixel the mass per area along the line of sight, or the mean velocity along it
//! weighted by mass, as a colour of the palette, with lines of equal value.
//!
//! The sprites of a map have the light that is their mass, so that the intensity of a pixel is a
//! surface density: 1 is all drawn mass spread evenly over a disk with the median radius, whatever
//! the camera's distance. The mean is the ratio of red to green. A sprite is a kernel that adapts
//! to the density of bodies, as in smoothed-particle hydrodynamics: it holds about 64 bodies
//! ([`super::medium`] counts them), and the sum over its pixels is the body's mass. So a sparse
//! place shows the mean over a wider kernel, and no mass moves further than its own kernel. Mirrors
//! `tone_map.wgsl`.

use super::glow::intensity;
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

/// The distance of lines of velocity, in the unit of numbers.
pub fn velocity_step(look: &Look) -> f64 {
    let unit = colour_unit(look.style.colour_by, &look.units).factor;
    let (digit, power) = round_below((look.most_value - look.least_value) * unit / LINES);
    f64::from(digit) * libm::pow(10.0, f64::from(power))
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
                let step = velocity_step(look);
                of(2, look.surface_range, from / step, (to - from) / step)
            }
            _ => Self::default(),
        }
    }

    /// Where lines are along the palette, 0 to 1; at most a hundred.
    pub fn lines(&self) -> Vec<f64> {
        let [first, last] = [0.0, 1.0].map(|part| {
            f64::from(self.line([self.light_from + part / self.light_factor.max(1e-9), part]))
        });
        let span = last - first;
        let [from, to] = [first.min(last), first.max(last)];
        let all = (0..100).map(|k| libm::ceil(from) + f64::from(k)).take_while(|line| *line <= to);
        all.map(|line| (line - first) / span).collect()
    }

    /// log2 of a pixel's intensity, and where its mean is along the palette.
    pub fn values(pixel: [f32; 4]) -> [f32; 2] {
        let part = pixel[0] / (pixel[0] + pixel[1]).max(1e-30);
        [intensity(pixel).max(1e-30).log2(), MEAN_SPAN * (part - 0.5) + 0.5]
    }

    fn line(&self, [light, mean]: [f32; 2]) -> f32 {
        self.line_from + self.line_factor * if self.kind == 2 { mean } else { light }
    }

    /// The part of a line's shade that is drawn at a pixel with values `here`, whose neighbours to
    /// the right and below have the values `next`.
    fn drawn(&self, here: [f32; 2], next: [[f32; 2]; 2]) -> f32 {
        let line = self.line(here);
        let change: f32 = next.iter().map(|&next| (self.line(next) - line).abs()).sum();
        let apart = (line - (line + 0.5).floor()).abs();
        // A pixel and a half wide; left out where noise would cover everything with lines.
        (1.5 - apart / change.max(1e-6)).clamp(0.0, 1.0) * (2.0 - 4.0 * change).clamp(0.0, 1.0)
    }

    /// Linear RGB of a pixel over the background; see [`Self::values`].
    pub fn colour(
        &self,
        here: [f32; 2],
        next: [[f32; 2]; 2],
        scale: &[[f32; 4]; SCALE_STEPS],
        background: [f32; 3],
    ) -> [f32; 3] {
        let brightness = (here[0] - self.light_from) * self.light_factor;
        let part = if self.kind == 2 { here[1] } else { brightness };
        let part = part.clamp(0.0, 1.0);
        let along = part * (SCALE_STEPS - 1) as f32;
        let first = (along as usize).min(SCALE_STEPS - 2);
        let weight = along - first as f32;
        let shade = 1.0 - LINE_SHADE * self.drawn(here, next);
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
    fn lines_are_a_pixel_and_a_half_wide_and_left_out_in_noise() {
        let map =
            MapUniform { kind: 1, light_factor: 0.1, line_factor: 1.0, ..MapUniform::default() };
        let drawn = |value: &dyn Fn(f32) -> f32, x: i32| {
            let at = |x: i32| [value(x as f32), 0.5];
            map.drawn(at(x), [at(x + 1), at(x)])
        };
        // Line 1 is at 20 pixels.
        let slope = |x: f32| 0.05 * x;
        let along: f32 = (10..30).map(|x| drawn(&slope, x)).sum();
        assert_eq!((drawn(&slope, 20), drawn(&slope, 18)), (1.0, 0.0));
        assert!((1.5..=2.5).contains(&along), "{along}");
        let noise = |x: f32| if x % 2.0 == 0.0 { 0.6 } else { 1.4 };
        assert!((10..30).all(|x| drawn(&noise, x) == 0.0));
    }
}
