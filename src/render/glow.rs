//! The glow on the CPU: what a telescope's optics do to bright places. Mirrors `glow.wgsl`.
//!
//! The picture is shrunk by 4, then again and again by 2; on the way back every level is added to
//! the next finer one. Each octave of width gets about the same light, as in the wings of a real
//! point-spread function. The levels below the first serve the exposure meter, too: the alpha
//! channel of the quarter picture keeps the largest 2 x 2 mean intensity of its 16 pixels.

use rayon::prelude::*;

use super::image::PictureSize;
use super::splat::HdrImage;

/// How many times smaller the finest level of the glow is than the picture.
pub const QUARTER: u32 = 4;
/// Part of each octave's light, from fine to coarse.
const OCTAVES: [f32; 5] = [0.25, 0.26, 0.22, 0.16, 0.11];

/// Sizes of the quarter picture and of the glow's levels below it, and the weight of each level.
/// At least one level; a level is at least 6 pixels across, but for tiny pictures.
pub fn levels(picture: PictureSize) -> (PictureSize, Vec<(PictureSize, f32)>) {
    let quarter = picture.shrunk(QUARTER);
    let mut sizes = vec![quarter.shrunk(2)];
    while sizes.len() < OCTAVES.len() && sizes[sizes.len() - 1].shorter_side() >= 12 {
        sizes.push(sizes[sizes.len() - 1].shrunk(2));
    }
    let total: f32 = OCTAVES[..sizes.len()].iter().sum();
    let weighted =
        sizes.iter().zip(OCTAVES).map(|(&size, weight)| (size, weight / total)).collect();
    (quarter, weighted)
}

/// The mean of the three channels: the intensity of Lupton et al. (2004).
pub fn intensity(pixel: [f32; 4]) -> f32 {
    (pixel[0] + pixel[1] + pixel[2]) * (1.0 / 3.0)
}

fn add(a: [f32; 4], b: [f32; 4], weight: f32) -> [f32; 4] {
    std::array::from_fn(|k| a[k] + b[k] * weight)
}

/// Buffers of the glow, kept from picture to picture.
pub struct Glow {
    quarter: HdrImage,
    levels: Vec<(HdrImage, f32)>,
    glow: HdrImage,
}

impl Glow {
    /// For pictures of that size.
    pub fn new(picture: PictureSize) -> Self {
        let (quarter, sizes) = levels(picture);
        Self {
            quarter: HdrImage::new(quarter),
            levels: sizes.iter().map(|&(size, weight)| (HdrImage::new(size), weight)).collect(),
            glow: HdrImage::new(quarter),
        }
    }

    /// The quarter picture of the last [`Glow::shrink`], for the exposure meter.
    pub fn quarter(&self) -> &HdrImage {
        &self.quarter
    }

    /// Shrinks `hdr` by 4: mean colour, and the largest 2 x 2 mean intensity as alpha. Beyond the
    /// edge the last pixels are repeated.
    pub fn shrink(&mut self, hdr: &HdrImage) {
        let (width, height) = (hdr.size().width() as usize, hdr.size().height() as usize);
        let out_width = self.quarter.size().width() as usize;
        let pixels = hdr.pixels();
        self.quarter.pixels_mut().par_chunks_mut(out_width).enumerate().for_each(|(y, row)| {
            let rows: [&[[f32; 4]]; 4] = std::array::from_fn(|dy| {
                let source = (4 * y + dy).min(height - 1) * width;
                &pixels[source..source + width]
            });
            for (x, out) in row.iter_mut().enumerate() {
                let columns: [usize; 4] = std::array::from_fn(|dx| (4 * x + dx).min(width - 1));
                let mut sum = [0.0; 4];
                let mut brightest = 0f32;
                for corner in 0..4 {
                    let (dx, dy) = (2 * (corner & 1), 2 * (corner >> 1));
                    let [left, right] = [columns[dx], columns[dx + 1]];
                    let upper = add(rows[dy][left], rows[dy][right], 1.0);
                    let lower = add(rows[dy + 1][left], rows[dy + 1][right], 1.0);
                    let four = add(upper, lower, 1.0);
                    brightest = brightest.max(intensity(four) * 0.25);
                    sum = add(sum, four, 1.0);
                }
                *out = sum.map(|channel| channel * (1.0 / 16.0));
                out[3] = brightest;
            }
        });
    }

    /// Makes the glow of the last [`Glow::shrink`].
    pub fn spread(&mut self) {
        for k in 0..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(k);
            let source = finer.last().map_or(&self.quarter, |(image, _)| image);
            halve(source, &mut coarser[0].0);
        }
        // On the way up a level holds its light divided by its own weight, so that only the
        // coarser one is scaled.
        for k in (1..self.levels.len()).rev() {
            let (finer, coarser) = self.levels.split_at_mut(k);
            let (fine, fine_weight) = &mut finer[k - 1];
            double(&coarser[0].0, coarser[0].1 / *fine_weight, fine);
        }
        self.glow.pixels_mut().fill([0.0; 4]);
        double(&self.levels[0].0, self.levels[0].1, &mut self.glow);
    }

    /// What the last [`Glow::spread`] made, a quarter of the picture's size. Alpha is the spread
    /// of the quarter picture's alpha: where it is far above the intensity, bodies are sparse.
    pub fn glow(&self) -> &HdrImage {
        &self.glow
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

/// Adds `scale` times `from`, enlarged by a quadratic B-spline, to `to`.
fn double(from: &HdrImage, scale: f32, to: &mut HdrImage) {
    let (width, height) = (from.size().width() as usize, from.size().height() as usize);
    let out_width = to.size().width() as usize;
    // An even pixel lies a quarter to the left of its coarse pixel's centre, an odd one to the right.
    let weights = |odd: usize| {
        if odd == 0 { [0.28125, 0.6875, 0.03125] } else { [0.03125, 0.6875, 0.28125] }
    };
    to.pixels_mut().par_chunks_mut(out_width).enumerate().for_each(|(y, row)| {
        for (x, out) in row.iter_mut().enumerate() {
            let mut sum = [0.0; 4];
            for (dy, along) in weights(y & 1).iter().enumerate() {
                let source = (y / 2 + dy).saturating_sub(1).min(height - 1) * width;
                for (dx, across) in weights(x & 1).iter().enumerate() {
                    let column = (x / 2 + dx).saturating_sub(1).min(width - 1);
                    sum = add(sum, from.pixels()[source + column], along * across);
                }
            }
            *out = add(*out, sum, scale);
        }
    });
}
