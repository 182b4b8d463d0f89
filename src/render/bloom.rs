//! Mixing a pixel with the smooth picture, on the CPU. Mirrors `tone_map.wgsl` and `exposure.wgsl`.

use super::glow::{Smoothing, at_least, at_most, enough, intensity};
use super::hdr_image::{HdrImage, LARGEST};

/// The fraction of the sharp picture that is shown where enough bodies overlap to make it smooth by
/// itself. The rest is glow around bright places.
pub const MOST_SHARP: f32 = 0.85;

/// The fraction of a pixel's light that comes from the smooth picture, whose value there is `glow`.
///
/// Structure made by many bodies is real and stays sharp. Where bodies are sparse their positions
/// are noise, and a haze with faint stars in it is closer to the true density than dots.
#[inline(always)]
pub fn bloom_weight(glow: [f32; 4], smoothing: &Smoothing) -> f32 {
    let part = enough(intensity(glow) * smoothing.sharp_crowding);
    let sharp = smoothing.least_sharp + (MOST_SHARP - smoothing.least_sharp) * part;
    smoothing.bloom * (1.0 - sharp)
}

/// Mixes a pixel with the smooth picture, shows part of its light as single stars, and scales it by
/// the local exposure.
#[inline(always)]
pub fn blend(sharp: [f32; 4], glow: [f32; 4], smoothing: &Smoothing) -> [f32; 4] {
    let smooth = bloom_weight(glow, smoothing);
    let stars = smoothing.stars * (1.0 - enough(intensity(glow) * smoothing.sharp_crowding));
    let sharp = sharp.map(|channel| at_most(channel, LARGEST));
    let brightness = sharp[3] / at_least(intensity(sharp), 1e-30);
    let of_sharp = ((1.0 - smooth) * (1.0 - stars) + stars * brightness) * glow[3];
    let of_glow = smooth * (1.0 - stars) * glow[3];
    std::array::from_fn(|k| sharp[k] * of_sharp + glow[k] * of_glow)
}

/// The pixels of a shrunk picture along an axis from which a pixel of the full one is interpolated,
/// and their weights.
#[derive(Clone, Copy, Debug)]
pub struct Taps {
    at: [usize; 2],
    part: [f32; 2],
}

/// The taps for pixel `at` of the full picture, among `pixels` along an axis.
pub fn place(at: usize, factor: f32, pixels: usize) -> Taps {
    let along = (at as f32 + 0.5) / factor - 0.5;
    let first = along.floor();
    let clamped = |k: f32| ((first + k).max(0.0) as usize).min(pixels - 1);
    Taps { at: [clamped(0.0), clamped(1.0)], part: [1.0 - (along - first), along - first] }
}

/// The row of a shrunk picture at row `y` of the full one, interpolated.
pub fn glow_row(glow: &HdrImage, y: usize, factor: f32) -> Vec<[f32; 4]> {
    let (width, height) = (glow.size().width() as usize, glow.size().height() as usize);
    let taps = place(y, factor, height);
    let [above, below] = taps.at.map(|y| &glow.pixels()[y * width..(y + 1) * width]);
    above.iter().zip(below).map(|(&a, &b)| sum([a, b], taps.part)).collect()
}

/// The value of a row at a [`place`] along it.
#[inline(always)]
pub fn along(row: &[[f32; 4]], taps: Taps) -> [f32; 4] {
    sum(taps.at.map(|x| row[x]), taps.part)
}

#[inline(always)]
fn sum([a, b]: [[f32; 4]; 2], part: [f32; 2]) -> [f32; 4] {
    std::array::from_fn(|k| a[k] * part[0] + b[k] * part[1])
}
