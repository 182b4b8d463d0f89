//! From linear light to sRGB: the asinh curve of Lupton et al. (2004, PASP 116, 133).
//!
//! The curve acts on the intensity only, so colours keep their hue; a pixel that would leave the
//! gamut is dimmed as a whole, by a soft shoulder, not clipped channel by channel. That alone would
//! show everything bright and saturated alike, so channels grow instead where they have room, in
//! proportion to their strength ([`RETURNED`]): orange becomes gold and then cream. The softening
//! is solved for, so that `white` maps to 1 and `mid` to [`MID_TONE`]. Very bright places are
//! bleached a little, as the eye expects. Mirrors `tone_map.wgsl`.

use rayon::prelude::*;

use super::bloom::{Taps, along, blend, glow_row, place};
use super::exposure::Levels;
use super::glow::{Smoothing, at_least, at_most, shrink_factor};
use super::hdr_image::{HdrImage, LARGEST};
use super::image::{Image, PictureSize};
use super::look::Look;
use super::map::MapUniform;
use super::style::Style;

/// Output of the mid level, as a fraction of full scale (perceptual, 0 to 1).
pub const MID_TONE: f32 = 0.38;
/// Desaturation of the brightest places.
pub const BLEACH: f32 = 0.3;
/// Upper bound of the desaturation.
pub const MOST_BLEACH: f32 = 0.8;
/// Above this the brightest channel approaches 1 without reaching it.
pub const KNEE: f32 = 0.7;
/// How much of the luminance that the shoulder takes is returned: about half for orange and for
/// blue.
pub const RETURNED: f32 = 2.0;
/// Luminance of linear sRGB (Rec. 709).
const LUMINANCE: [f32; 3] = [0.2126, 0.7152, 0.0722];

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
    /// The curve that maps `levels.white` to 1 and `levels.mid` to [`MID_TONE`], brightened by
    /// `stops` powers of two.
    pub fn new(levels: Levels, stops: f32) -> Self {
        let ratio = (levels.mid_log2 - levels.white_log2).min(0.0).exp2();
        // asinh(b ratio) / asinh(b) grows with b, from `ratio` to 1.
        let (mut low, mut high) = (-3.0f32, 22.0f32);
        for _ in 0..26 {
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

    /// Output (0 to 1, perceptual) for `intensity` (>= 0).
    pub fn tone(&self, intensity: f32) -> f32 {
        (asinh(self.slope * intensity) * self.scale).min(1.0)
    }
}

/// asinh for x >= 0, to about 1e-6.
#[inline(always)]
fn asinh(x: f32) -> f32 {
    ln(x + (x * x + 1.0).sqrt())
}

/// Natural logarithm for finite x >= 1, to about 1e-7: inlined arithmetic that vectorises.
#[inline(always)]
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

/// Linear RGB of one pixel of the finished picture, with the fraction `lit` (0 to 1) of its light.
/// Branch-free, so that a loop over a row of pixels vectorises.
#[inline(always)]
pub fn develop(rgb: [f32; 3], curve: &ToneCurve, background: [f32; 3], lit: f32) -> [f32; 3] {
    let [r, g, b] = rgb.map(|channel| at_most(channel, LARGEST));
    let light = (r + g + b) * (1.0 / 3.0);
    let tone = at_most(asinh(curve.slope * light) * curve.scale, 2.0);
    let level = tone * tone;
    let bleach = at_most(BLEACH * level * tone, MOST_BLEACH);
    let per_light = level * (1.0 - bleach) / at_least(light, 1e-30);
    let shade = [r, g, b].map(|channel| channel * per_light + level * bleach);
    let most = at_least(shade[0], at_least(shade[1], shade[2]));
    let above = at_least(most - KNEE, 0.0) / (1.0 - KNEE);
    let gamut =
        (at_most(most, KNEE) + (1.0 - KNEE) * above / (1.0 + above)) / at_least(most, 1e-30);
    let luminance = shade[0] * LUMINANCE[0] + shade[1] * LUMINANCE[1] + shade[2] * LUMINANCE[2];
    let lost = RETURNED * luminance * (1.0 - gamut) / at_least(most, 1e-30);
    std::array::from_fn(|k| {
        let dimmed = shade[k] * gamut;
        let returned = shade[k] * lost;
        let shown = dimmed + (1.0 - dimmed) * returned / (1.0 + returned);
        background[k] + (1.0 - background[k]) * shown * lit
    })
}

/// Linear 0 to 1 to the sRGB curve, 0 to 1.
pub fn srgb_encode(linear: f32) -> f32 {
    if linear <= 0.003_130_8 { 12.92 * linear } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

/// The fixed pattern that hides 8-bit steps, -0.5 to 0.5 (interleaved gradient noise, Jimenez
/// 2014).
fn dither_at(x: u32, y: u32) -> f32 {
    // Casts, not floor(): without SSE 4.1 that is a function call.
    let fraction = |v: f32| v - v as u32 as f32;
    fraction(52.982_918 * fraction(0.067_110_56 * x as f32 + 0.005_837_15 * y as f32)) - 0.5
}

/// Entries of the table from linear to sRGB.
const STEPS: usize = 4096;

/// Tone-maps pictures on the CPU.
pub struct Developer {
    /// sRGB * 255 as a function of the square root of the linear value, where the curve is nearly
    /// straight.
    encoded: Vec<f32>,
}

impl Default for Developer {
    fn default() -> Self {
        let at = |i: usize| {
            let root = i as f32 / (STEPS - 1) as f32;
            255.0 * srgb_encode(root * root)
        };
        Self { encoded: (0..STEPS).map(at).collect() }
    }
}

impl Developer {
    /// The picture of `hdr`, mixed with the smooth picture, if there is one, which is enlarged by
    /// [`super::glow::Pyramid::enlarged`].
    pub fn develop(
        &self,
        hdr: &HdrImage,
        glow: Option<(&HdrImage, &Smoothing)>,
        curve: &ToneCurve,
        style: &Style,
    ) -> Image {
        let [width, height] = [hdr.size().width() as usize, hdr.size().height() as usize];
        let mixed = Mixed::new(hdr, glow);
        let diagonal = (width * width + height * height) as f32;
        let vignette = style.vignette as f32;
        let shade = |y: usize, [red, green, blue]: &mut Planes| {
            mixed.row(y, |x, pixel| (red[x], green[x], blue[x]) = (pixel[0], pixel[1], pixel[2]));
            let lower = (2 * y + 1) as f32 - height as f32;
            let channels = red.iter_mut().zip(green.iter_mut()).zip(blue.iter_mut());
            for (x, ((r, g), b)) in channels.enumerate() {
                let aside = (2 * x + 1) as f32 - width as f32;
                let corner = (aside * aside + lower * lower) / diagonal;
                let lit = 1.0 - vignette * corner;
                let [red, green, blue] = develop([*r, *g, *b], curve, style.background, lit);
                (*r, *g, *b) = (red.sqrt(), green.sqrt(), blue.sqrt());
            }
        };
        self.encoded(hdr.size(), style, shade)
    }

    /// The map of `hdr`.
    pub fn map(&self, hdr: &HdrImage, look: &Look) -> Image {
        let [width, height] = [hdr.size().width() as usize, hdr.size().height() as usize];
        let values: Vec<_> = hdr.pixels().par_iter().map(|&p| MapUniform::values(p)).collect();
        let (map, style) = (MapUniform::new(look), &look.style);
        let shade = |y: usize, [reds, greens, blues]: &mut Planes| {
            let at = |x: usize, y: usize| values[y.min(height - 1) * width + x.min(width - 1)];
            let pixels = reds.iter_mut().zip(greens).zip(blues).enumerate();
            for (x, ((red, green), blue)) in pixels {
                let (here, next) = (at(x, y), [at(x + 1, y), at(x, y + 1)]);
                let colour = map.colour(here, next, &look.uniform.scale, style.background);
                [*red, *green, *blue] = colour.map(f32::sqrt);
            }
        };
        self.encoded(hdr.size(), &Style { dither: false, ..style.clone() }, shade)
    }

    /// A picture from rows of the square roots of linear red, green and blue, 0 to 1.
    fn encoded(
        &self,
        size: PictureSize,
        style: &Style,
        shade: impl Fn(usize, &mut Planes) + Sync,
    ) -> Image {
        let width = size.width() as usize;
        let planes = || std::array::from_fn(|_| vec![0.0; width]);
        if style.deep {
            let mut channels = vec![0; 3 * size.pixels()];
            let rows = channels.par_chunks_mut(3 * width).enumerate();
            rows.for_each_init(planes, |planes, (y, out)| {
                shade(y, planes);
                for (x, words) in out.chunks_exact_mut(3).enumerate() {
                    for (word, plane) in words.iter_mut().zip(planes.iter()) {
                        *word = deep(plane[x] * plane[x]);
                    }
                }
            });
            return Image::from_deep(size, &channels);
        }
        let mut image = Image::new(size);
        let rows = image.rgba_mut().par_chunks_mut(4 * width).enumerate();
        rows.for_each_init(planes, |planes, (y, out)| {
            shade(y, planes);
            for (x, bytes) in out.chunks_exact_mut(4).enumerate() {
                let noise = if style.dither { dither_at(x as u32, y as u32) } else { 0.0 };
                let byte = |root: f32| {
                    let place = root * (STEPS - 1) as f32 + 0.5;
                    (self.encoded[(place as usize).min(STEPS - 1)] + 0.5 + noise) as u8
                };
                let [red, green, blue] = &*planes;
                bytes.copy_from_slice(&[byte(red[x]), byte(green[x]), byte(blue[x]), 255]);
            }
        });
        image
    }
}

/// A row of red, of green and of blue.
type Planes = [Vec<f32>; 3];

/// A picture in linear light that is mixed with the smooth one.
struct Mixed<'a> {
    hdr: &'a HdrImage,
    glow: Option<(&'a HdrImage, &'a Smoothing)>,
    factor: f32,
    places: Vec<Taps>,
}

impl<'a> Mixed<'a> {
    fn new(hdr: &'a HdrImage, glow: Option<(&'a HdrImage, &'a Smoothing)>) -> Self {
        let enlarged = glow.map_or(1.0, |(_, smoothing)| smoothing.enlarged);
        let factor = shrink_factor(hdr.size()) / enlarged;
        let columns = glow.map_or(0, |_| hdr.size().width() as usize);
        let shrunk = glow.map_or(0, |(glow, _)| glow.size().width() as usize);
        let places = (0..columns).map(|x| place(x, factor, shrunk)).collect();
        Self { hdr, glow, factor, places }
    }

    /// Gives each pixel of row `y` with its column.
    #[inline(always)]
    fn row(&self, y: usize, mut give: impl FnMut(usize, [f32; 4])) {
        let width = self.hdr.size().width() as usize;
        let glow = self.glow.map(|(glow, s)| (glow_row(glow, y, self.factor), s));
        for (x, &sharp) in self.hdr.pixels()[y * width..(y + 1) * width].iter().enumerate() {
            let pixel = match &glow {
                Some((glow, smoothing)) => blend(sharp, along(glow, self.places[x]), smoothing),
                None => sharp,
            };
            give(x, pixel);
        }
    }
}

/// Linear 0 to 1 as a channel of 16 bits.
pub(crate) fn deep(linear: f32) -> u16 {
    (65535.0 * srgb_encode(linear) + 0.5) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_goes_through_its_levels() {
        for (white_log2, mid_log2) in [(0.0, -3.0), (7.0, -5.0), (-5.0, -7.5), (3.0, -0.5)] {
            let curve = ToneCurve::new(Levels { white_log2, mid_log2 }, 0.0);
            assert!((curve.tone(white_log2.exp2()) - 1.0).abs() < 1e-4);
            assert!((curve.tone(mid_log2.exp2()) - MID_TONE).abs() < 2e-3);
            assert_eq!(curve.tone(0.0), 0.0);
        }
    }

    #[test]
    fn inverse_hyperbolic_sine_is_exact_enough() {
        for i in 0..400 {
            let x = libm::exp2f(i as f32 * 0.1 - 15.0);
            let exact = libm::asinhf(x);
            assert!((asinh(x) - exact).abs() < 2e-6 * exact + 2e-7, "{x}");
        }
    }

    #[test]
    fn colours_keep_their_hue_and_stay_in_gamut() {
        let curve = ToneCurve::new(Levels { white_log2: 0.0, mid_log2: -4.0 }, 0.0);
        for light in [1e-4, 1e-2, 0.3, 1.0, 50.0, f32::INFINITY] {
            let [r, g, b] = develop([0.4 * light, 0.7 * light, 1.3 * light], &curve, [0.0; 3], 1.0);
            assert!(r <= g && g <= b && b <= 1.0 && r >= 0.0, "{light}: {r} {g} {b}");
        }
        assert_eq!(develop([0.0; 3], &curve, [0.1, 0.2, 0.3], 0.5), [0.1, 0.2, 0.3]);
    }

    #[test]
    fn the_encoding_table_is_the_srgb_curve() {
        let developer = Developer::default();
        for i in 0..=1000 {
            let linear = i as f32 / 1000.0;
            let place = linear.sqrt() * (STEPS - 1) as f32 + 0.5;
            let error = developer.encoded[place as usize] - 255.0 * srgb_encode(linear);
            assert!(error.abs() < 0.1, "{linear}: {error}");
        }
    }
}
