//! The background: far stars and galaxies, so that an empty sky is not black.
//!
//! They are at infinity: turning the camera moves them, moving back does not. They are added to the
//! finished picture, as light on a screen, so that exposure changes cannot make them flicker. Their
//! positions are pseudo-random and the same on every platform. Mirrored by `sky.wgsl`, which gets
//! the sprites that `sprites` returns.

use super::bands::covered;
use super::camera::View;
use super::image::Image;
use super::tone::srgb_encode;

/// Numbers of stars and galaxies in all directions.
pub const COUNTS: [usize; 2] = [6000, 260];

/// One far star or galaxy on a picture; the same layout on the host and in `sky.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct SkySprite {
    /// Column and row of its middle.
    pub centre_px: [f32; 2],
    /// Direction of its long axis on the picture, a unit vector.
    pub axis: [f32; 2],
    /// 1 / half its length and 1 / half its width.
    pub per_px: [f32; 2],
    /// Half its length.
    pub reach_px: f32,
    /// Padding to a multiple of 16 bytes.
    pub pad: f32,
    /// Linear RGB in its middle.
    pub colour: [f32; 4],
}

/// Pseudo-random numbers from 0 to 1 (splitmix64).
struct Chances(u64);

impl Chances {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A star or galaxy, independent of the camera.
struct Source {
    direction: [f32; 3],
    /// Direction of the long axis, in half turns.
    turn: f64,
    /// Half its length in 720ths of the picture's shorter side, and the ratio of width to length.
    reach: f32,
    flatness: f32,
    colour: [f32; 3],
}

/// All sources, generated once.
pub struct Sky(Vec<Source>);

impl Default for Sky {
    fn default() -> Self {
        let mut chances = Chances(20_050_625);
        let [stars, galaxies] = COUNTS;
        let source = |index| {
            let height = 2.0 * chances.next() - 1.0;
            let across = (1.0 - height * height).max(0.0).sqrt();
            let (sin, cos) = libm::sincos(std::f64::consts::TAU * chances.next());
            let direction = [across * cos, across * sin, height].map(|x| x as f32);
            let (turn, size, luck, tint) =
                (chances.next(), chances.next(), chances.next(), chances.next() as f32);
            // Equal sources spread evenly in space have brightness luck^(-2/3): few bright ones,
            // many faint.
            let bright = libm::pow(luck.max(1e-6), -0.667) as f32;
            if index < stars {
                let peak = (0.008 * bright).min(0.7);
                let colour = [0.75 + 0.5 * tint, 0.95, 1.3 - 0.6 * tint].map(|c| peak * c);
                Source { direction, turn, reach: 1.7, flatness: 1.0, colour }
            } else {
                let (flatness, reach) = (0.25 + 0.75 * tint, 3.0 + 6.0 * size as f32);
                let peak = (0.006 * bright).min(0.05);
                let colour = [1.2 - 0.4 * tint, 0.95, 0.7 + 0.5 * tint].map(|c| peak * c);
                Source { direction, turn, reach, flatness, colour }
            }
        };
        Self((0..stars + galaxies).map(source).collect())
    }
}

impl Sky {
    /// The sprites of the sky in the picture of `view`, with brightness `strength` (0 to 1).
    pub fn sprites(&self, view: &View, strength: f32) -> Vec<SkySprite> {
        let lines = view.width_px.min(view.height_px) / 720.0;
        let sprite = |source: &Source| {
            let depth = view.depth(source.direction);
            if depth < 0.05 {
                return None;
            }
            let (centre_px, _) = view.project(source.direction, depth);
            // On small pictures sources are at least a pixel wide, and fainter in return.
            let reach_px = (source.reach * lines).max(1.5);
            let width_px = (source.reach * source.flatness * lines).max(1.5);
            let thinned = source.reach * source.reach * source.flatness * lines * lines
                / (reach_px * width_px);
            let is_inside = centre_px[0] > -reach_px
                && centre_px[1] > -reach_px
                && centre_px[0] < view.width_px + reach_px
                && centre_px[1] < view.height_px + reach_px;
            let (sin, cos) = libm::sincos(std::f64::consts::PI * source.turn);
            let [red, green, blue] = source.colour.map(|c| (c * strength * thinned).min(1.0));
            is_inside.then_some(SkySprite {
                centre_px,
                axis: [cos as f32, sin as f32],
                per_px: [1.0 / reach_px, 1.0 / width_px],
                reach_px,
                pad: 0.0,
                colour: [red, green, blue, 0.0],
            })
        };
        self.0.iter().filter_map(sprite).collect()
    }
}

/// Adds sprites to a picture, on the CPU: the brighter the picture, the less of the sky shows.
pub fn paint(image: &mut Image, sprites: &[SkySprite]) {
    let size = image.size();
    let (width, height) = (size.width() as usize, size.height() as usize);
    let decoded: Vec<f32> = (0..256).map(|byte| srgb_decode(byte as f32 / 255.0)).collect();
    let rgba = image.rgba_mut();
    for sprite in sprites {
        let [x, y] = sprite.centre_px;
        for row in covered(y, sprite.reach_px, height) {
            for column in covered(x, sprite.reach_px, width) {
                let offset = [column as f32 + 0.5 - x, row as f32 + 0.5 - y];
                let [cos, sin] = sprite.axis;
                let along = (offset[0] * cos + offset[1] * sin) * sprite.per_px[0];
                let across = (offset[1] * cos - offset[0] * sin) * sprite.per_px[1];
                let within = (1.0 - along * along - across * across).max(0.0);
                if within <= 0.0 {
                    continue;
                }
                let pixel = &mut rgba[4 * (row * width + column)..][..3];
                for (byte, colour) in pixel.iter_mut().zip(sprite.colour) {
                    let light = colour * within * within;
                    let shown = light + decoded[usize::from(*byte)] * (1.0 - light);
                    *byte = (255.0 * srgb_encode(shown) + 0.5) as u8;
                }
            }
        }
    }
}

/// The sRGB curve to linear, 0 to 1.
fn srgb_decode(encoded: f32) -> f32 {
    if encoded <= 0.040_45 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{Camera, PictureSize};

    #[test]
    fn sky_follows_rotation_but_not_distance() {
        let (sky, size) = (Sky::default(), PictureSize::new(1280, 720).unwrap());
        let seen = |camera: Camera| sky.sprites(&camera.view(size).unwrap(), 1.0);
        let here = seen(Camera::default());
        assert!((150..900).contains(&here.len()), "{}", here.len());
        assert_eq!(here, seen(Camera::default().zoomed(0.2)));
        assert_ne!(here, seen(Camera::default().orbited(0.3)));
        let mut image = Image::new(size);
        paint(&mut image, &here);
        let lit = image.rgba().chunks(4).filter(|p| p[0].max(p[2]) > 12).count();
        assert!((300..20_000).contains(&lit), "{lit}");
    }
}
