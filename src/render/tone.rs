//! From linear light to 8-bit sRGB: the asinh curve of Lupton et al. (2004, PASP 116, 133).
//!
//! The curve acts on the intensity alone, so colours keep their hue at every brightness; a pixel
//! that would leave the gamut is dimmed as a whole, not clipped channel by channel. The softening
//! is solved for, so that two levels come out where they should: `white` at 1 and `mid` at
//! [`MID_TONE`]. Very bright places are bleached a little, as the eye expects. Mirrors
//! `tone_map.wgsl`.

use rayon::prelude::*;

use super::exposure::Levels;
use super::glow::intensity;
use super::image::Image;
use super::splat::HdrImage;

/// Where the mid level is shown, as a part of full scale (perceptual, 0 to 1).
pub const MID_TONE: f32 = 0.42;
/// The brightest intensity that is told from brighter ones; half floats end at 65504.
const LARGEST: f32 = 60000.0;

/// A tone curve; the same layout on the host and in `tone_map.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct ToneCurve {
    /// asinh's slope at 0 times 1 / white.
    pub slope: f32,
    /// 1 / asinh(slope * white).
    pub scale: f32,
}

impl ToneCurve {
    /// The curve that shows `levels.white` at 1 and `levels.mid` at [`MID_TONE`], brightened by
    /// `stops` powers of two.
    pub fn new(levels: Levels, stops: f32) -> Self {
        let ratio = (levels.mid_log2 - levels.white_log2).min(0.0).exp2();
        // asinh(b ratio) / asinh(b) grows with b, from `ratio` to 1.
        let (mut low, mut high) = (-3.0f32, 18.0f32);
        for _ in 0..24 {
            let middle = 0.5 * (low + high);
            let softening = middle.exp2();
            if asinh(softening * ratio) > MID_TONE * asinh(softening) {
                high = middle;
            } else {
                low = middle;
            }
        }
        let softening = (0.5 * (low + high)).exp2();
        Self {
            slope: softening * (stops - levels.white_log2).exp2(),
            scale: 1.0 / asinh(softening),
        }
    }

    /// Full scale (0 to 1, perceptual) at which `intensity` (>= 0) is shown.
    pub fn tone(&self, intensity: f32) -> f32 {
        (asinh(self.slope * intensity) * self.scale).min(1.0)
    }
}

/// asinh for x >= 0, to about 1e-6.
fn asinh(x: f32) -> f32 {
    ln(x + (x * x + 1.0).sqrt())
}

/// Natural logarithm for finite x >= 1, to about 1e-7: inlined arithmetic that vectorises.
fn ln(x: f32) -> f32 {
    let bits = x.to_bits();
    // Mantissa between sqrt(1/2) and sqrt(2).
    let exponent = (bits.wrapping_sub(0x3f35_04f3) as i32) >> 23;
    let mantissa = f32::from_bits(bits.wrapping_sub((exponent as u32) << 23));
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let s2 = s * s;
    exponent as f32 * std::f32::consts::LN_2
        + 2.0 * s * (1.0 + s2 * (1.0 / 3.0 + s2 * (0.2 + s2 * (1.0 / 7.0))))
}

/// Linear RGB of one pixel of the finished picture.
pub fn develop(pixel: [f32; 4], curve: &ToneCurve, background: [f32; 3]) -> [f32; 3] {
    let light = intensity(pixel).min(LARGEST);
    if !(light > 0.0) {
        return background;
    }
    let tone = curve.tone(light);
    let bleach = 0.5 * tone * tone * tone;
    let level = tone * tone;
    let per_light = 1.0 / light;
    let shade: [f32; 3] =
        std::array::from_fn(|k| level * (pixel[k].min(LARGEST) * per_light * (1.0 - bleach) + bleach));
    let gamut = 1.0 / shade[0].max(shade[1]).max(shade[2]).max(1.0);
    std::array::from_fn(|k| background[k] + (1.0 - background[k]) * shade[k] * gamut)
}

/// Linear 0 to 1 to the sRGB curve, 0 to 1.
pub fn srgb_encode(linear: f32) -> f32 {
    if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

/// The fixed pattern that hides 8-bit steps, -0.5 to 0.5 (interleaved gradient noise, Jimenez 2014).
fn dither_at(x: u32, y: u32) -> f32 {
    let along = 0.067_110_56 * x as f32 + 0.005_837_15 * y as f32;
    let wave = 52.982_918 * (along - along.floor());
    wave - wave.floor() - 0.5
}

/// Develops pictures on the CPU.
pub struct Developer {
    /// sRGB * 255 by the square root of the linear value, where the curve is nearly straight.
    encoded: Vec<f32>,
}

impl Default for Developer {
    fn default() -> Self {
        let steps = 4096;
        let at = |i: usize| {
            let root = i as f32 / (steps - 1) as f32;
            255.0 * srgb_encode(root * root)
        };
        Self { encoded: (0..steps).map(at).collect() }
    }
}

impl Developer {
    fn byte(&self, linear: f32, dither: f32) -> u8 {
        let index = linear.sqrt() * (self.encoded.len() - 1) as f32 + 0.5;
        (self.encoded[(index as usize).min(self.encoded.len() - 1)] + 0.5 + dither) as u8
    }

    /// Develops `hdr` into `image` of the same size, with the part `bloom` (0 to 1) of its light
    /// taken from `glow` (a quarter of the size), if there is one.
    pub fn develop(
        &self,
        hdr: &HdrImage,
        glow: Option<(&HdrImage, f32)>,
        curve: &ToneCurve,
        background: [f32; 3],
        dither: bool,
        image: &mut Image,
    ) {
        let width = hdr.size().width() as usize;
        let rows = hdr.pixels().par_chunks(width);
        let dark: [u8; 3] = background.map(|channel| self.byte(channel, 0.0));
        image.rgba_mut().par_chunks_mut(4 * width).zip(rows).enumerate().for_each(|(y, (out, row))| {
            let glowing = glow.map(|(glow, bloom)| (glow_row(glow, y), bloom));
            for (x, (bytes, &sharp)) in out.chunks_exact_mut(4).zip(row).enumerate() {
                let pixel = match &glowing {
                    Some((glow, bloom)) => mix(sharp, along(glow, x), *bloom),
                    None => sharp,
                };
                // Most of a picture is empty sky.
                let shown = if intensity(pixel) > 0.0 {
                    let noise = if dither { dither_at(x as u32, y as u32) } else { 0.0 };
                    develop(pixel, curve, background).map(|channel| self.byte(channel, noise))
                } else {
                    dark
                };
                bytes.copy_from_slice(&[shown[0], shown[1], shown[2], 255]);
            }
        });
    }
}

fn mix(a: [f32; 4], b: [f32; 4], weight: f32) -> [f32; 4] {
    std::array::from_fn(|k| a[k] + (b[k] - a[k]) * weight)
}

/// Left or upper neighbour in a quarter picture, and the weight of the one after it.
fn quarter_place(at: usize) -> (isize, f32) {
    let place = (at as f32 + 0.5) * 0.25 - 0.5;
    (place.floor() as isize, place - place.floor())
}

/// The row of a quarter picture at row `y` of the full one, interpolated.
fn glow_row(glow: &HdrImage, y: usize) -> Vec<[f32; 4]> {
    let (width, height) = (glow.size().width() as usize, glow.size().height() as isize);
    let (upper, weight) = quarter_place(y);
    let row = |y: isize| {
        let first = y.clamp(0, height - 1) as usize * width;
        &glow.pixels()[first..first + width]
    };
    row(upper).iter().zip(row(upper + 1)).map(|(&a, &b)| mix(a, b, weight)).collect()
}

/// The value at column `x` of the full picture.
fn along(row: &[[f32; 4]], x: usize) -> [f32; 4] {
    let (left, weight) = quarter_place(x);
    let at = |x: isize| row[x.clamp(0, row.len() as isize - 1) as usize];
    mix(at(left), at(left + 1), weight)
}
