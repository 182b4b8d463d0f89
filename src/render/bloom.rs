//! How a pixel is mixed with the glow around it, on the CPU. Mirrors `tone_map.wgsl` and `exposure.wgsl`.

use super::glow::intensity;
use super::limits::{at_least, at_most};
use super::splat::HdrImage;

/// Part of the light taken from the glow where single bodies stand apart.
pub const SPARSE: f32 = 0.97;
/// Part of the light taken from the glow where so many bodies overlap that the picture itself is smooth.
pub const DENSE: f32 = 0.2;

/// How much of a pixel's light comes from the glow around it.
///
/// Structure that many bodies make is real and kept sharp; where bodies are sparse their places are
/// noise, and a haze with faint stars in it tells the truth better than dots. The glow's alpha
/// carries the spread of local maxima: compared with the mean intensity it tells which is which.
#[inline(always)]
pub fn bloom_weight(glow: [f32; 4], bloom: f32) -> f32 {
    let evenness = intensity(glow) / at_least(glow[3], 1e-20);
    let dense = at_most(at_least((evenness - 0.35) * 1.8, 0.0), 1.0);
    bloom * (SPARSE + (DENSE - SPARSE) * dense)
}

/// Mixes a pixel with the glow around it.
#[inline(always)]
pub fn blend(sharp: [f32; 4], glow: [f32; 4], bloom: f32) -> [f32; 4] {
    mix(sharp, glow, bloom_weight(glow, bloom))
}

#[inline(always)]
fn mix(a: [f32; 4], b: [f32; 4], weight: f32) -> [f32; 4] {
    std::array::from_fn(|k| a[k] + (b[k] - a[k]) * weight)
}

/// Offset of the first of the two neighbours in a quarter picture, and the weight of the second,
/// for each of the four pixels that one of its pixels covers.
const PHASES: [(isize, f32); 4] = [(-1, 0.625), (-1, 0.875), (0, 0.125), (0, 0.375)];

/// The row of a quarter picture at row `y` of the full one, interpolated, its ends repeated once.
pub fn glow_row(glow: &HdrImage, y: usize) -> Vec<[f32; 4]> {
    let (width, height) = (glow.size().width() as usize, glow.size().height() as isize);
    let (offset, weight) = PHASES[y & 3];
    let row = |y: isize| {
        let first = y.clamp(0, height - 1) as usize * width;
        &glow.pixels()[first..first + width]
    };
    let upper = (y / 4) as isize + offset;
    let inner = row(upper).iter().zip(row(upper + 1)).map(|(&a, &b)| mix(a, b, weight));
    let mut padded = Vec::with_capacity(width + 2);
    padded.push([0.0; 4]);
    padded.extend(inner);
    padded[0] = padded[1];
    padded.push(padded[width]);
    padded
}

/// The value of a padded row at column `x` of the full picture.
#[inline(always)]
pub fn along(row: &[[f32; 4]], x: usize) -> [f32; 4] {
    let (offset, weight) = PHASES[x & 3];
    let left = (x / 4 + 1).wrapping_add_signed(offset);
    mix(row[left], row[left + 1], weight)
}
