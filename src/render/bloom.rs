//! How a pixel is mixed with the smooth picture, on the CPU. Mirrors `tone_map.wgsl` and `exposure.wgsl`.

use super::glow::{Smoothing, enough, intensity};
use super::splat::HdrImage;

/// The part of the sharp picture that is shown where so many bodies overlap that it is smooth by itself. The rest
/// is glow around bright places.
pub const MOST_SHARP: f32 = 0.85;

/// How much of a pixel's light comes from the smooth picture, `glow` there.
///
/// Structure that many bodies make is real and kept sharp; where bodies are sparse their places are
/// noise, and a haze with faint stars in it tells the truth better than dots.
#[inline(always)]
pub fn bloom_weight(glow: [f32; 4], smoothing: &Smoothing) -> f32 {
    let part = enough(intensity(glow) * smoothing.sharp_crowding);
    let sharp = smoothing.least_sharp + (MOST_SHARP - smoothing.least_sharp) * part;
    smoothing.bloom * (1.0 - sharp)
}

/// Mixes a pixel with the smooth picture, and exposes it as its neighbourhood asks for.
#[inline(always)]
pub fn blend(sharp: [f32; 4], glow: [f32; 4], smoothing: &Smoothing) -> [f32; 4] {
    mix(sharp, glow, bloom_weight(glow, smoothing)).map(|channel| channel * glow[3])
}

#[inline(always)]
fn mix(a: [f32; 4], b: [f32; 4], weight: f32) -> [f32; 4] {
    std::array::from_fn(|k| a[k] + (b[k] - a[k]) * weight)
}

/// The two pixels of a shrunk picture, `pixels` long along an axis, between which the middle of pixel `at` of the
/// full one lies, and the weight of the second.
pub fn place(at: usize, factor: f32, pixels: usize) -> (usize, usize, f32) {
    let along = (at as f32 + 0.5) / factor - 0.5;
    let first = along.floor();
    let clamped = |i: f32| (i.max(0.0) as usize).min(pixels - 1);
    (clamped(first), clamped(first + 1.0), along - first)
}

/// The row of a shrunk picture at row `y` of the full one, interpolated.
pub fn glow_row(glow: &HdrImage, y: usize, factor: f32) -> Vec<[f32; 4]> {
    let (width, height) = (glow.size().width() as usize, glow.size().height() as usize);
    let (upper, lower, weight) = place(y, factor, height);
    let row = |y: usize| &glow.pixels()[y * width..(y + 1) * width];
    row(upper).iter().zip(row(lower)).map(|(&a, &b)| mix(a, b, weight)).collect()
}

/// The value of a row at a [`place`] along it.
#[inline(always)]
pub fn along(row: &[[f32; 4]], (left, right, weight): (usize, usize, f32)) -> [f32; 4] {
    mix(row[left], row[right], weight)
}
