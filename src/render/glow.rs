//! Smoothing and glow on the CPU: a picture as wide as its bodies are sparse. Mirrors `glow.wgsl`.
//!
//! The picture is shrunk to [`LINES`] lines, then again and again by 2. On the way back each level is mixed with the result
//! of the coarser ones, by how many bodies its kernel holds there: the more there are, the more of the finer level is
//! taken; where there are few, their places are noise, and the wider kernel is closer to the truth. A little of every level
//! stays everywhere, so that a single bright body has the wings of a real point-spread function.
//!
//! All widths are parts of the picture's shorter side: the same state looks the same at any resolution.
//!
//! Alpha carries two things: in the shrunk picture the largest mean intensity of its four blocks, for the exposure meter;
//! in the result the second scale of exposure, a gain that follows the light of the neighbourhood (see
//! [`Smoothing::gain`]).

use rayon::prelude::*;

use super::camera::Camera;
use super::image::PictureSize;
use super::limits::{at_least, at_most};
use super::look::Look;
use super::splat::HdrImage;

/// Lines of the shrunk picture, along its shorter side; smaller pictures are not shrunk.
pub const LINES: f32 = 180.0;
/// Lines of the level that tells how bright a neighbourhood is.
const NEIGHBOURHOOD_LINES: u32 = 20;
/// The part of a finer level that is mixed in where there are very many bodies. The rest is glow.
pub const MOST_PART: f32 = 0.97;
/// This many bodies within a pixel of a level are enough for half of it.
const ENOUGH: f64 = 3.0;
/// The area of a kernel of the sharp picture, in pixels of the shrunk one: that of the least sprite.
const SHARP_AREA: f64 = 0.3;

/// Sizes of the shrunk picture and of the levels below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pyramid {
    /// How many times smaller the shrunk picture is, at least 1.
    pub factor: f32,
    /// The shrunk picture.
    pub base: PictureSize,
    /// From fine to coarse, at least one; each is half as wide as the one before, rounded up, and at least
    /// 6 pixels across, but for tiny pictures.
    pub levels: Vec<PictureSize>,
    /// Pixels of the shrunk picture along one of the level that tells how bright a neighbourhood is.
    pub neighbourhood: f32,
}

impl Pyramid {
    /// For a picture of that size.
    pub fn new(picture: PictureSize) -> Self {
        let factor = shrink_factor(picture);
        let side = |pixels: u32| (pixels as f32 / factor).ceil() as u32;
        let base = picture.shrunk_to([side(picture.width()), side(picture.height())]);
        let mut levels = vec![base.shrunk(2)];
        while levels[levels.len() - 1].shorter_side() >= 12 {
            levels.push(levels[levels.len() - 1].shrunk(2));
        }
        let coarse = levels.iter().filter(|level| level.shorter_side() >= NEIGHBOURHOOD_LINES);
        // Gains are made while a finer picture is: that of the coarsest level has none.
        let nth = coarse.count().min(levels.len() - 1);
        Self { factor, base, levels, neighbourhood: (1u32 << nth) as f32 }
    }
}

/// How many times a picture is shrunk.
pub fn shrink_factor(picture: PictureSize) -> f32 {
    (picture.shorter_side() as f32 / LINES).max(1.0)
}

/// How smooth and how evenly exposed a picture should be; the same layout on the host and in three shaders.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Smoothing {
    /// An intensity times this is 1 where a pixel of the shrunk picture holds enough bodies for half of it.
    pub crowding: f32,
    /// The same for the sharp picture's kernel.
    pub sharp_crowding: f32,
    /// The part of the sharp picture that stays where bodies are sparse.
    pub least_sharp: f32,
    /// The part of a finer level that is mixed in there.
    pub least_part: f32,
    /// Strength of smoothing and glow, 0 to 1.
    pub bloom: f32,
    /// Exponent of the local exposure, 0 (none) to 1.
    pub evenness: f32,
    /// The least light of a neighbourhood, for its gain.
    pub dimmest: f32,
    /// See [`Pyramid::neighbourhood`].
    pub neighbourhood: f32,
    /// 1 if the result of the levels is mixed in.
    pub is_on: u32,
    /// Keeps the layout a multiple of 16 bytes.
    pub pad: [u32; 3],
}

impl Smoothing {
    /// For a picture of that size of bodies that `camera` sees with that look.
    pub fn new(look: &Look, camera: &Camera, picture: PictureSize) -> Self {
        let pyramid = Pyramid::new(picture);
        let style = &look.style;
        // All light is that of `look.light` stars, and would fill the median disk evenly with intensity 1.
        let world_per_px = camera.world_per_px(picture) * f64::from(pyramid.factor);
        let radius_px = look.median_radius / world_per_px;
        let stars = (look.light / (std::f64::consts::PI * radius_px * radius_px)).min(1e12);
        // A few bodies are each seen by themselves, with wings around them.
        let few = (200.0 / look.seen.max(1) as f64).sqrt().min(1.0);
        let cell = f64::from(pyramid.neighbourhood);
        Self {
            crowding: (stars / ENOUGH) as f32,
            sharp_crowding: (0.2 * stars * SHARP_AREA / ENOUGH) as f32,
            least_sharp: (0.5 * few).max(0.016) as f32,
            least_part: (0.3 * few).max(0.05) as f32,
            bloom: style.bloom as f32,
            evenness: (0.5 * style.local_exposure * (1.0 - few)) as f32,
            // A star or two in the whole neighbourhood count as sky.
            dimmest: (2.0 / (stars.max(1e-12) * cell * cell)).clamp(3e-4, 1e4) as f32,
            neighbourhood: pyramid.neighbourhood,
            is_on: u32::from(style.bloom > 0.0 || style.local_exposure > 0.0),
            pad: [0; 3],
        }
    }

    /// The part of a level's light that is mixed over what coarser levels made, `light` there, where a pixel of the
    /// level is `cell` pixels of the shrunk picture.
    #[inline(always)]
    pub fn part(&self, light: f32, cell: f32) -> f32 {
        self.least_part
            + (MOST_PART - self.least_part) * enough(light * self.crowding * (cell * cell))
    }

    /// The second scale of exposure: the factor for all light of a neighbourhood of that mean intensity. 1 for an intensity
    /// of 1; a power below 1 of it, so that order stays and contrast shrinks.
    #[inline(always)]
    pub fn gain(&self, light: f32) -> f32 {
        libm::exp2f(-self.evenness * libm::log2f(light + self.dimmest))
    }
}

/// How far bodies are enough, 0 to 1, if `crowded` times as many overlap as give a half.
///
/// Light that a coarse level has beside a bright core and a finer one has not is shown with 1 minus this: a curve that
/// approaches 1 faster would remove more where there is more of that light, and leave dark rings around the core.
#[inline(always)]
pub fn enough(crowded: f32) -> f32 {
    1.0 - 1.0 / (1.0 + crowded)
}

/// The mean of the three channels: the intensity of Lupton et al. (2004).
#[inline(always)]
pub fn intensity(pixel: [f32; 4]) -> f32 {
    (pixel[0] + pixel[1] + pixel[2]) * (1.0 / 3.0)
}

fn add(a: [f32; 4], b: [f32; 4], weight: f32) -> [f32; 4] {
    std::array::from_fn(|k| a[k] + b[k] * weight)
}

/// Buffers of the levels, kept from picture to picture.
pub struct Glow {
    pyramid: Pyramid,
    base: HdrImage,
    levels: Vec<HdrImage>,
    /// The results of all levels but the coarsest, with the coarser ones mixed in.
    smooth: Vec<HdrImage>,
    glow: HdrImage,
}

impl Glow {
    /// For pictures of that size.
    pub fn new(picture: PictureSize) -> Self {
        let pyramid = Pyramid::new(picture);
        let images =
            |sizes: &[PictureSize]| sizes.iter().map(|&size| HdrImage::new(size)).collect();
        Self {
            base: HdrImage::new(pyramid.base),
            levels: images(&pyramid.levels),
            smooth: images(&pyramid.levels[..pyramid.levels.len() - 1]),
            glow: HdrImage::new(pyramid.base),
            pyramid,
        }
    }

    /// The shrunk picture of the last [`Glow::shrink`], for the exposure meter.
    pub fn base(&self) -> &HdrImage {
        &self.base
    }

    /// Shrinks `hdr`: mean colour, and the largest mean intensity of the four blocks of each pixel as alpha.
    /// Beyond the edge the last pixels are repeated.
    pub fn shrink(&mut self, hdr: &HdrImage) {
        let [width, height] = [hdr.size().width() as usize, hdr.size().height() as usize];
        let out_width = self.base.size().width() as usize;
        let half = 0.5 * self.pyramid.factor;
        let spans =
            |count: usize| -> Vec<Span> { (0..2 * count).map(|i| Span::new(i, half)).collect() };
        let (across, along) = (spans(out_width), spans(self.base.size().height() as usize));
        let pixels = hdr.pixels();
        self.base.pixels_mut().par_chunks_mut(out_width).enumerate().for_each(|(y, row)| {
            for (x, out) in row.iter_mut().enumerate() {
                let mut sum = [0.0; 4];
                let mut brightest = 0f32;
                for corner in 0..4 {
                    let (columns, rows) =
                        (&across[2 * x + (corner & 1)], &along[2 * y + (corner >> 1)]);
                    let mut block = [0.0; 4];
                    for (row, weight) in rows.pixels() {
                        let source = row.min(height - 1) * width;
                        for (column, part) in columns.pixels() {
                            block =
                                add(block, pixels[source + column.min(width - 1)], weight * part);
                        }
                    }
                    brightest = brightest.max(intensity(block));
                    sum = add(sum, block, 0.25);
                }
                *out = sum;
                out[3] = brightest;
            }
        });
    }

    /// Makes the smooth picture of the last [`Glow::shrink`].
    pub fn spread(&mut self, smoothing: &Smoothing) {
        for k in 0..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(k);
            halve(finer.last().unwrap_or(&self.base), &mut coarser[0]);
        }
        for k in (0..self.levels.len() - 1).rev() {
            let (finer, coarser) = self.smooth.split_at_mut(k + 1);
            let from = coarser.first().unwrap_or(&self.levels[k + 1]);
            refine(from, &self.levels[k], (1u32 << (k + 1)) as f32, smoothing, &mut finer[k]);
        }
        let from = self.smooth.first().unwrap_or(&self.levels[0]);
        refine(from, &self.base, 1.0, smoothing, &mut self.glow);
    }

    /// The result of the last [`Glow::spread`], of the shrunk picture's size. Alpha is the gain.
    pub fn glow(&self) -> &HdrImage {
        &self.glow
    }
}

/// Pixels under one block of the shrunk picture along one axis, and the part of the block that each covers.
struct Span {
    low: f32,
    high: f32,
}

impl Span {
    fn new(block: usize, length: f32) -> Self {
        Self { low: block as f32 * length, high: (block + 1) as f32 * length }
    }

    #[inline(always)]
    fn pixels(&self) -> impl Iterator<Item = (usize, f32)> + '_ {
        let per_length = 1.0 / (self.high - self.low);
        (self.low as usize..self.high.ceil() as usize).map(move |i| {
            let covered = at_most(self.high, i as f32 + 1.0) - at_least(self.low, i as f32);
            (i, covered * per_length)
        })
    }
}

/// Half the size, by the binomial kernel 1 3 3 1 on each axis.
fn halve(from: &HdrImage, to: &mut HdrImage) {
    const KERNEL: [f32; 4] = [0.125, 0.375, 0.375, 0.125];
    let (width, height) = (from.size().width() as usize, from.size().height() as usize);
    let out_width = to.size().width() as usize;
    to.pixels_mut().par_chunks_mut(out_width).enumerate().for_each(|(y, row)| {
        for (x, out) in row.iter_mut().enumerate() {
            let mut sum = [0.0; 4];
            for (dy, along) in KERNEL.iter().enumerate() {
                let source = (2 * y + dy).saturating_sub(1).min(height - 1) * width;
                for (dx, across) in KERNEL.iter().enumerate() {
                    let column = (2 * x + dx).saturating_sub(1).min(width - 1);
                    sum = add(sum, from.pixels()[source + column], along * across);
                }
            }
            *out = sum;
        }
    });
}

/// Mixes `own` over `from`, which is enlarged by a quadratic B-spline. A pixel of `own` is `cell` pixels of
/// the shrunk picture.
fn refine(from: &HdrImage, own: &HdrImage, cell: f32, smoothing: &Smoothing, to: &mut HdrImage) {
    let (width, height) = (from.size().width() as usize, from.size().height() as usize);
    let out_width = to.size().width() as usize;
    // An even pixel lies a quarter to the left of its coarse pixel's centre, an odd one to the right.
    let weights = |odd: usize| {
        if odd == 0 { [0.28125, 0.6875, 0.03125] } else { [0.03125, 0.6875, 0.28125] }
    };
    let rows = to.pixels_mut().par_chunks_mut(out_width).zip(own.pixels().par_chunks(out_width));
    rows.enumerate().for_each(|(y, (row, own))| {
        for (x, (out, &fine)) in row.iter_mut().zip(own).enumerate() {
            let mut coarse = [0.0; 4];
            for (dy, along) in weights(y & 1).iter().enumerate() {
                let source = (y / 2 + dy).saturating_sub(1).min(height - 1) * width;
                for (dx, across) in weights(x & 1).iter().enumerate() {
                    let column = (x / 2 + dx).saturating_sub(1).min(width - 1);
                    coarse = add(coarse, from.pixels()[source + column], along * across);
                }
            }
            let part = smoothing.part(intensity(coarse), cell);
            *out = std::array::from_fn(|k| coarse[k] + (fine[k] - coarse[k]) * part);
            let is_neighbourhood = cell >= smoothing.neighbourhood;
            out[3] = if is_neighbourhood { smoothing.gain(intensity(*out)) } else { coarse[3] };
        }
    });
}
