//! Smoothing and glow on the CPU: blurs a picture the more, the sparser its bodies are. Mirrors
//! `glow.wgsl`.
//!
//! The picture is shrunk to [`LINES`] lines, then repeatedly by 2. From coarse to fine, each level
//! is mixed with the result of the coarser ones, by the number of bodies that its kernel holds at
//! each pixel: the more bodies, the larger the weight of the finer level. Where there are few their
//! positions are noise, and the wider kernel is closer to the true density: a level has half of its
//! weight with 36 bodies in a pixel, so that what is shown of their noise is a twelfth. Each level
//! is corrected for the width of its kernel ([`sharpening`]), so that few bodies shine no further
//! out than many. A level is also trusted where it lacks more light than chance explains: edges and
//! voids stay dark (`tests/library/render/smooth.rs`). Every level keeps a small weight everywhere,
//! so that a single bright body has the wings of a real point-spread function.
//!
//! All widths scale with the picture's shorter side: the same state looks the same at any
//! resolution.
//!
//! Alpha has two uses. In the shrunk picture it is the largest mean intensity of the pixel's four
//! blocks, for the exposure meter. In the result it is the local exposure, a gain that depends on
//! the light of the neighbourhood (see [`Smoothing::gain`]).
//!
//! Levels end at 6 pixels across. The number of bodies at a pixel follows from the intensity alone,
//! because all bodies share a fixed total of light. If a pixel of the smoothed picture is wider
//! than 4.5 pixels of the full one, it is first enlarged by a quadratic B-spline, since linear
//! interpolation would show its squares: between places half a pixel apart or less it is off by at
//! most a 32nd of the second difference.
//!
//! `tests/library/render/resolution.rs` checks that a picture of 2160 lines, box-filtered, agrees
//! with one of 720. The local exposure is a negative power of the neighbourhood's light, so that
//! tails are visible next to a core; the tone curve is metered after it (`exposure`).

use rayon::prelude::*;

use super::camera::Camera;
use super::hdr_image::HdrImage;
use super::image::PictureSize;
use super::look::Look;

/// Lines of the shrunk picture, along its shorter side; smaller pictures are not shrunk.
pub const LINES: f32 = 180.0;
/// Lines of the level from which the brightness of a neighbourhood is taken.
const NEIGHBOURHOOD_LINES: u32 = 20;
/// The weight of a finer level where there are very many bodies. The rest is glow.
pub const MOST_PART: f32 = 0.97;
/// Side in pixels of the shrunk picture of a level that is always shown: no haze is wider.
pub const WIDEST: f32 = 32.0;
/// Pixels of levels from this side on are compared with what chance explains; finer ones would show
/// the gaps between bodies.
pub const LEAST_VOID: f32 = 4.0;
/// The variance of a pixel's number of bodies relative to its mean, in units of `ENOUGH`, at which
/// a lack of light is half trusted: fifteen times that of a kernel as wide as three pixels.
pub const VOID: f32 = 0.14;
/// Bounds of [`sharpening`], so that noise grows little and no ring is black.
pub const SHARPENING: [f32; 2] = [0.5, 1.5];
/// Bodies within a pixel of a level at which its weight is a half: their number then fluctuates by
/// a sixth, and what is shown of it by a twelfth.
const ENOUGH: f64 = 36.0;
/// Bodies within a kernel of the sharp picture at which it has half of its weight.
const ENOUGH_SHARP: f64 = 40.0;
/// The part of the light of sparse bodies that is shown as single stars.
const STARS: f64 = 0.05;
/// The same with streaks, which are to be followed by eye.
const STREAKS: f64 = 0.1;
/// The area of a kernel of the sharp picture, in pixels of the shrunk one: that of the least
/// sprite.
const SHARP_AREA: f64 = 0.3;

/// Up to this many pixels of the picture per pixel of the smooth one it is interpolated linearly;
/// larger ones would show as squares.
const STRAIGHT: f32 = 4.5;

/// Sizes of the shrunk picture and of the levels below it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pyramid {
    /// Ratio of the picture's size to that of the shrunk one, at least 1.
    pub factor: f32,
    /// The shrunk picture.
    pub base: PictureSize,
    /// From fine to coarse, at least one. Each is half as wide as the one before, rounded up, and
    /// at least 6 pixels across except for tiny pictures.
    pub levels: Vec<PictureSize>,
    /// Pixels of the shrunk picture per pixel of the level that gives a neighbourhood's brightness.
    pub neighbourhood: f32,
    /// The factor, a whole number, by which the smooth picture is enlarged before the tone map
    /// interpolates it linearly.
    pub enlarged: u32,
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
        // Gains are computed while a finer level is refined: the coarsest level has none.
        let nth = coarse.count().min(levels.len() - 1);
        let enlarged = (factor / STRAIGHT).ceil() as u32;
        Self { factor, base, levels, neighbourhood: (1u32 << nth) as f32, enlarged }
    }

    /// The size of the enlarged smooth picture, if it is enlarged.
    pub fn enlarged_size(&self) -> Option<PictureSize> {
        let [width, height] =
            [self.base.width(), self.base.height()].map(|side| side * self.enlarged);
        (self.enlarged > 1).then(|| PictureSize::new(width, height).ok()).flatten()
    }
}

/// The factor by which a picture is shrunk.
pub fn shrink_factor(picture: PictureSize) -> f32 {
    (picture.shorter_side() as f32 / LINES).max(1.0)
}

/// Strengths of smoothing and local exposure; the same layout on the host and in three shaders.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Smoothing {
    /// Factor to an intensity such that 1 means enough bodies in a pixel of the shrunk picture for
    /// a weight of a half.
    pub crowding: f32,
    /// The same factor for the sharp picture's kernel.
    pub sharp_crowding: f32,
    /// The weight of the sharp picture where bodies are sparse.
    pub least_sharp: f32,
    /// The weight of a finer level where bodies are sparse.
    pub least_part: f32,
    /// Strength of smoothing and glow, 0 to 1.
    pub bloom: f32,
    /// Exponent of the local exposure, 0 (none) to 1.
    pub evenness: f32,
    /// Lower bound of a neighbourhood's light, for its gain.
    pub dimmest: f32,
    /// See [`Pyramid::neighbourhood`].
    pub neighbourhood: f32,
    /// The part of the light of sparse bodies that is shown as single stars.
    pub stars: f32,
    /// 1 if the result of the levels is mixed in.
    pub is_on: u32,
    /// See [`Pyramid::enlarged`].
    pub enlarged: f32,
    /// Padding to a multiple of 16 bytes.
    pub pad: u32,
}

impl Smoothing {
    /// For a picture of that size of bodies that `camera` sees with that look.
    pub fn new(look: &Look, camera: &Camera, picture: PictureSize) -> Self {
        let pyramid = Pyramid::new(picture);
        let style = &look.style;
        // The total light is that of `look.light` stars, and would fill the median disk evenly with
        // intensity 1.
        let world_per_px = camera.world_per_px(picture) * f64::from(pyramid.factor);
        let radius_px = look.median_radius / world_per_px;
        let stars = (look.light / (std::f64::consts::PI * radius_px * radius_px)).min(1e12);
        // A few bodies are each visible on their own, with wings around them.
        let few = (500.0 / look.drawn.max(1) as f64).min(1.0);
        let cell = f64::from(pyramid.neighbourhood);
        Self {
            crowding: (stars / ENOUGH) as f32,
            sharp_crowding: (stars * SHARP_AREA / ENOUGH_SHARP) as f32,
            stars: (if style.streak_time > 0.0 { STREAKS } else { STARS } * (1.0 - few)) as f32,
            least_sharp: (0.5 * few * few).max(0.016) as f32,
            least_part: (0.3 * few).max(0.05) as f32,
            bloom: style.bloom as f32,
            evenness: (0.5 * style.local_exposure * (1.0 - few * few)) as f32,
            // Less than a fraction of a star in the whole neighbourhood counts as sky. An eighth,
            // since more would dim the outskirts of few bodies.
            dimmest: (0.125 / (stars.max(1e-12) * cell * cell)).clamp(3e-4, 1e4) as f32,
            neighbourhood: pyramid.neighbourhood,
            is_on: u32::from(style.bloom > 0.0 || style.local_exposure > 0.0),
            enlarged: pyramid.enlarged as f32,
            pad: 0,
        }
    }

    /// The weight of a level whose light is `fine` relative to the result of the coarser ones,
    /// whose light there is `coarse`, where a pixel of the level is `cell` pixels of the shrunk
    /// picture.
    ///
    /// A wide kernel spreads light around an edge into the dark. Where the level has less light
    /// than the chance of its number of bodies explains, it is right: the weight of Wiener's
    /// filter.
    #[inline(always)]
    pub fn part(&self, coarse: f32, fine: f32, cell: f32) -> f32 {
        let least = at_most(at_least(self.least_part, cell / WIDEST), MOST_PART);
        let crowded = self.crowding * (cell * cell);
        let lacking = at_least(coarse - fine, 0.0);
        let square = if cell >= LEAST_VOID { lacking * lacking * crowded } else { 0.0 };
        let void = square / at_least(square + VOID * coarse, 1e-30);
        least + (MOST_PART - least) * at_least(enough(coarse * crowded), void)
    }

    /// The local exposure: the gain of a neighbourhood of that mean intensity. It is 1 for an
    /// intensity of 1 and falls as a power of it such that the order of brightness is preserved and
    /// contrast is compressed.
    #[inline(always)]
    pub fn gain(&self, light: f32) -> f32 {
        libm::exp2f(-self.evenness * libm::log2f(light + self.dimmest))
    }
}

/// The weight of a level, 0 to 1, where `crowded` times as many bodies overlap as give a half.
///
/// Light that a coarse level spreads around a bright core, and a finer one does not, is shown with
/// 1 minus this weight: a curve that approaches 1 faster would remove more of it where there is
/// more, and leave dark rings around the core.
#[inline(always)]
pub fn enough(crowded: f32) -> f32 {
    1.0 - 1.0 / (1.0 + crowded)
}

/// The factor that undoes what the width of a level's kernel does to a curved profile, such as the
/// light that it carries from a disk to its outskirts: `own` is the level's light, `wider` that of
/// the next coarser one. To first order both are off in proportion to the variance of their
/// kernels, 1 to 4, so the true light is `own + (own - wider) / 3` (Richardson's extrapolation).
#[inline(always)]
pub fn sharpening(own: f32, wider: f32) -> f32 {
    let factor = 1.0 + (own - wider) / at_least(3.0 * own, 1e-30);
    at_most(at_least(factor, SHARPENING[0]), SHARPENING[1])
}

/// The mean of the three channels: the intensity of Lupton et al. (2004).
#[inline(always)]
pub fn intensity(pixel: [f32; 4]) -> f32 {
    (pixel[0] + pixel[1] + pixel[2]) * (1.0 / 3.0)
}

/// The smaller one, in one instruction, unlike f32::min and max; a NaN gives the limit.
#[inline(always)]
pub(super) fn at_most(x: f32, limit: f32) -> f32 {
    if x < limit { x } else { limit }
}

/// The larger one; see [`at_most`].
#[inline(always)]
pub(super) fn at_least(x: f32, limit: f32) -> f32 {
    if x > limit { x } else { limit }
}

fn add(a: [f32; 4], b: [f32; 4], weight: f32) -> [f32; 4] {
    std::array::from_fn(|k| a[k] + b[k] * weight)
}

/// Buffers of the levels, reused for every picture.
pub struct Glow {
    pyramid: Pyramid,
    base: HdrImage,
    levels: Vec<HdrImage>,
    /// The results of all levels but the coarsest, with the coarser ones mixed in.
    smooth: Vec<HdrImage>,
    glow: HdrImage,
    enlarged: Option<HdrImage>,
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
            enlarged: pyramid.enlarged_size().map(HdrImage::new),
            pyramid,
        }
    }

    /// The shrunk picture of the last [`Glow::shrink`], for the exposure meter.
    pub fn base(&self) -> &HdrImage {
        &self.base
    }

    /// Shrinks `hdr`: mean colour, with the largest mean intensity of the four blocks of each pixel
    /// as alpha. The border pixels are repeated beyond the edge.
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

    /// Makes the smooth picture from the last [`Glow::shrink`].
    pub fn spread(&mut self, smoothing: &Smoothing) {
        for k in 0..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(k);
            halve(finer.last().unwrap_or(&self.base), &mut coarser[0]);
        }
        for k in (0..self.levels.len() - 1).rev() {
            let (finer, coarser) = self.smooth.split_at_mut(k + 1);
            let from = coarser.first().unwrap_or(&self.levels[k + 1]);
            let own = [&self.levels[k], &self.levels[k + 1]];
            refine(from, own, (1u32 << (k + 1)) as f32, smoothing, &mut finer[k]);
        }
        let from = self.smooth.first().unwrap_or(&self.levels[0]);
        refine(from, [&self.base, &self.levels[0]], 1.0, smoothing, &mut self.glow);
        if let Some(enlarged) = &mut self.enlarged {
            enlarge(&self.glow, self.pyramid.enlarged as usize, enlarged);
        }
    }

    /// The result of the last [`Glow::spread`], of the shrunk picture's size. Alpha is the gain.
    pub fn glow(&self) -> &HdrImage {
        &self.glow
    }

    /// The same, enlarged by [`Pyramid::enlarged`].
    pub fn enlarged(&self) -> &HdrImage {
        self.enlarged.as_ref().unwrap_or(&self.glow)
    }
}

/// Pixels under one block of the shrunk picture along one axis, and the fraction of the block that
/// each covers.
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

/// Mixes the level `own` over `from`, which is enlarged by a quadratic B-spline, as is `wider`, the
/// next coarser level. A pixel of `own` is `cell` pixels of the shrunk picture.
fn refine(
    from: &HdrImage,
    [own, wider]: [&HdrImage; 2],
    cell: f32,
    smoothing: &Smoothing,
    to: &mut HdrImage,
) {
    let (width, height) = (from.size().width() as usize, from.size().height() as usize);
    let out_width = to.size().width() as usize;
    // An even pixel lies a quarter to the left of its coarse pixel's centre, an odd one to the
    // right.
    let weights = |odd: usize| {
        if odd == 0 { [0.28125, 0.6875, 0.03125] } else { [0.03125, 0.6875, 0.28125] }
    };
    let rows = to.pixels_mut().par_chunks_mut(out_width).zip(own.pixels().par_chunks(out_width));
    rows.enumerate().for_each(|(y, (row, own))| {
        for (x, (out, &fine)) in row.iter_mut().zip(own).enumerate() {
            let (mut coarse, mut spread) = ([0.0; 4], 0.0);
            for (dy, along) in weights(y & 1).iter().enumerate() {
                let source = (y / 2 + dy).saturating_sub(1).min(height - 1) * width;
                for (dx, across) in weights(x & 1).iter().enumerate() {
                    let at = source + (x / 2 + dx).saturating_sub(1).min(width - 1);
                    coarse = add(coarse, from.pixels()[at], along * across);
                    spread += intensity(wider.pixels()[at]) * along * across;
                }
            }
            let own = intensity(fine);
            let factor = sharpening(own, spread);
            let part = smoothing.part(intensity(coarse), own * factor, cell);
            *out = std::array::from_fn(|k| coarse[k] + (fine[k] * factor - coarse[k]) * part);
            let is_neighbourhood = cell >= smoothing.neighbourhood;
            out[3] = if is_neighbourhood { smoothing.gain(intensity(*out)) } else { coarse[3] };
        }
    });
}

/// Enlarges `from` by a whole `factor`, by a quadratic B-spline.
fn enlarge(from: &HdrImage, factor: usize, to: &mut HdrImage) {
    let (width, height) = (from.size().width() as usize, from.size().height() as usize);
    let out_width = to.size().width() as usize;
    // Weights of the three nearest pixels, for each place within one of them.
    let weights: Vec<[f32; 3]> = (0..factor)
        .map(|at| {
            let aside = (at as f32 + 0.5) / factor as f32 - 0.5;
            let ends = [0.5 - aside, 0.5 + aside].map(|part| 0.5 * part * part);
            [ends[0], 0.75 - aside * aside, ends[1]]
        })
        .collect();
    let near = |at: usize, k: usize, pixels: usize| (at + k).saturating_sub(1).min(pixels - 1);
    to.pixels_mut().par_chunks_mut(out_width).enumerate().for_each(|(y, row)| {
        let column = |x: usize| {
            let taps = weights[y % factor].iter().enumerate();
            taps.fold([0.0; 4], |sum, (k, part)| {
                add(sum, from.pixels()[near(y / factor, k, height) * width + x], *part)
            })
        };
        let columns: Vec<[f32; 4]> = (0..width).map(column).collect();
        for (x, out) in row.iter_mut().enumerate() {
            let taps = weights[x % factor].iter().enumerate();
            *out = taps.fold([0.0; 4], |sum, (k, part)| {
                add(sum, columns[near(x / factor, k, width)], *part)
            });
        }
    });
}
