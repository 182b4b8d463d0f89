//! The CPU splatter: draws the same sprites by the same formulas as `body_sprite.wgsl`, so that a
//! film needs no graphics driver.
//!
//! Bodies are projected in fixed chunks, and each chunk sorts its sprites into horizontal bands;
//! then each band draws its sprites in the bodies' order. No two tasks write the same pixel and
//! every pixel's sum has a fixed order, so the picture is the same for any number of threads.

use std::ops::Range;

use rayon::prelude::*;

use super::bands::{Chunk, covered, draw_bands};
use super::camera::{View, dot};
use super::hdr_image::HdrImage;
use super::look_uniform::LookUniform;
use super::palette::{GLOWING_GAS, MEAN_SPAN, NEW_STARS, OLD, REDDENING, SCALE_STEPS, THIN_GAS};
use super::style::ColourBy;

/// One body as the sprite passes read it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// In world units.
    pub position: [f32; 3],
    /// At least 0.
    pub mass: f32,
    /// Velocity or acceleration, whichever the colour shows; or the age, in x, if the colour shows
    /// that.
    pub vector: [f32; 3],
    /// See [`crate::bodies::Bodies::tag`].
    pub tag: u32,
    /// Velocity and acceleration in units of the points' scale, if there are streaks.
    pub motion: [[f32; 3]; 2],
    /// log2 of the density around it, and the optical depth in front of it ([`super::medium`]), if
    /// the look shows them.
    pub surroundings: [f32; 2],
}

/// A soft round spot on the picture: intensity `peak * (1 - (distance / radius)^2)^4`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sprite {
    /// Column and row of its centre; pixel centres are at halves.
    pub centre_px: [f32; 2],
    /// The radius at which its light ends.
    pub radius_px: f32,
    /// Peak intensity, linear RGB, as if all bodies of a component were equally bright.
    pub peak: [f32; 3],
    /// Peak intensity of the body as a single star; the mean over many bodies is that of `peak`.
    pub star: f32,
}

/// Least and largest sprite radius, see [`super::look::Look::radius_limits_px`].
pub type RadiusLimits = [f32; 2];

/// The sprite of a body; `None` if it is not visible. Mirrors `body_sprite.wgsl`.
pub fn project(
    view: &View,
    look: &LookUniform,
    limits: RadiusLimits,
    point: &Point,
) -> Option<Sprite> {
    project_within(view, look, limits, point, 0.0)
}

/// [`project`] for a body that may be up to `margin_px` outside the picture.
#[allow(clippy::manual_clamp)] // clamp() would let a NaN pass.
pub(crate) fn project_within(
    view: &View,
    look: &LookUniform,
    limits: RadiusLimits,
    point: &Point,
    margin_px: f32,
) -> Option<Sprite> {
    let component = &look.components[(point.tag & 0xff) as usize];
    if component.white_peak <= 0.0 {
        return None;
    }
    let offset: [f32; 3] = std::array::from_fn(|k| point.position[k] - view.eye_in_world[k]);
    let depth = view.depth(offset);
    // False for a NaN position as well.
    let is_in_front = depth > view.near;
    if !is_in_front {
        return None;
    }
    let (centre_px, scale_px) = view.project(offset, depth);
    let true_radius_px = component.radius_in_world * scale_px;
    let is_map = look.colour_by >= MAPS_FROM;
    let narrower = if is_map { libm::exp2f(point.surroundings[0] * (-1.0 / 3.0)) } else { 1.0 };
    let radius_px = (true_radius_px * narrower).max(limits[0]).min(limits[1]);
    let reach_px = radius_px + margin_px;
    let inside = centre_px[0] + reach_px > 0.0
        && centre_px[0] - reach_px < view.width_px
        && centre_px[1] + reach_px > 0.0
        && centre_px[1] - reach_px < view.height_px;
    if !inside {
        return None;
    }
    // A sprite of another radius spreads its light: the sum over its pixels stays the same.
    let coverage = true_radius_px / radius_px;
    let towards_near = ((depth - view.near) / (3.0 * view.near)).min(1.0);
    let fade = towards_near * towards_near * (3.0 - 2.0 * towards_near);
    if is_map {
        // Light is mass; its mean quantity is the ratio of red to green.
        let weight = component.white_peak * coverage * coverage;
        let weight = weight * (point.mass * component.inverse_mean_mass).max(0.0);
        let along = dot(point.vector, view.forward_in_world);
        let part = (along - look.scale_from) * look.scale_factor;
        let mean = ((part - 0.5) * (1.0 / MEAN_SPAN) + 0.5).max(0.0).min(1.0);
        let mean = if look.colour_by == VELOCITY { mean } else { 0.5 };
        let peak = [mean, 1.0 - mean, 1.0].map(|channel| 1.5 * weight * channel);
        return Some(Sprite { centre_px, radius_px, peak, star: weight });
    }
    let heaviness = (point.mass * component.inverse_mean_mass).max(0.09).min(9.0).sqrt();
    let chance = ((point.tag >> 8) & 0xff) as f32 * (1.0 / 255.0);
    let tint = ((point.tag >> 16) as f32 * (2.0 / 255.0) - 1.0) * look.variety;
    let luck = luck(chance, look.variety);
    // The target is 50 times as far as the near plane.
    let nearness = (1.0 - depth / (50.0 * view.near)).max(-1.0).min(0.5);
    let cue = libm::exp2f(4.0 * look.depth_cue * nearness);
    let light = coverage * coverage * fade * heaviness * cue;
    let [density, opacity] = point.surroundings;
    let mut colour = if look.colour_by == 0 && component.is_gas > 0.0 && look.medium & 1 != 0 {
        gas_colour(look, density).map(|c| component.white_peak * c)
    } else if look.colour_by == 0 {
        let age = if component.by_birth > 0.0 { point.vector[0].max(0.0).min(1.0) } else { 0.0 };
        let own = |k: usize| {
            let young = component.peak[k];
            young + (component.white_peak * OLD[k] - young) * age
        };
        [own(0) * (1.0 + 0.35 * tint), own(1), own(2) * (1.0 - 0.35 * tint)]
    } else {
        let part = if look.colour_by == 3 {
            point.vector[0]
        } else if look.colour_by == 4 {
            (density - look.scale_from) * look.scale_factor
        } else {
            let value = 0.5 * dot(point.vector, point.vector).max(1e-30).log2();
            (value - look.scale_from) * look.scale_factor
        };
        let part = part.max(0.0).min(1.0);
        let along = part * (SCALE_STEPS - 1) as f32;
        let first = (along as usize).min(SCALE_STEPS - 2);
        let weight = along - first as f32;
        let (from, to) = (look.scale[first], look.scale[first + 1]);
        std::array::from_fn(|k| component.white_peak * (from[k] + (to[k] - from[k]) * weight))
    };
    if look.medium & 2 != 0 {
        colour = std::array::from_fn(|k| colour[k] * libm::expf(-opacity * REDDENING[k]));
    }
    let peak = colour.map(|c| c * light);
    let star = (peak[0] + peak[1] + peak[2]) * (1.0 / 3.0) * luck;
    Some(Sprite { centre_px, radius_px, peak, star })
}

/// The brightness of a single star relative to the mean, for `chance` = 0, 1/255 .. 1: one in 45 is
/// brighter than 10, and half of the light is that of one in 50.
fn luck(chance: f32, variety: f32) -> f32 {
    let power = |x: f32, times: u32| (0..times).fold(x, |x, _| x * x);
    1.0 + variety * (LUCK * power(chance, 5) - 1.0)
}

/// Colour of gas by density: faint if thin, glowing if dense, and dominated by young stars where it
/// is densest.
fn gas_colour(look: &LookUniform, density: f32) -> [f32; 3] {
    let dense = ((density - look.gas_from) * look.gas_factor).clamp(0.0, 1.0);
    let smoothstep = |low: f32, high: f32| {
        let part = ((dense - low) / (high - low)).clamp(0.0, 1.0);
        part * part * (3.0 - 2.0 * part)
    };
    let mix = |from: [f32; 3], to: [f32; 3], part: f32| {
        std::array::from_fn(|k| from[k] + (to[k] - from[k]) * part)
    };
    let glowing = mix(THIN_GAS, GLOWING_GAS, smoothstep(0.4, 0.8));
    mix(glowing, NEW_STARS, smoothstep(0.7, 1.0))
}

/// The first number of [`super::style::ColourBy`] that is a map.
const MAPS_FROM: u32 = ColourBy::SurfaceDensity as u32;
const VELOCITY: u32 = ColourBy::Velocity as u32;

/// Makes the mean of `luck` 1: 256 / the sum of (i / 255)^32 over i = 0 to 255.
pub const LUCK: f32 = 31.07653;

/// Bodies projected by one task; fixed, so that the drawing order is the same for any number of
/// threads.
const CHUNK: usize = 8192;

/// Draws bodies into an [`HdrImage`]; reuses its buffers for every picture.
#[derive(Default)]
pub struct Splatter {
    chunks: Vec<Chunk<Sprite>>,
}

impl Splatter {
    /// Replaces the content of `hdr` by `count` bodies, each obtained once through `point`.
    pub fn draw(
        &mut self,
        hdr: &mut HdrImage,
        view: &View,
        look: &LookUniform,
        limits: RadiusLimits,
        count: usize,
        point: impl Fn(usize) -> Point + Sync,
    ) {
        let height = hdr.size().height() as usize;
        self.chunks.resize_with(count.div_ceil(CHUNK), Chunk::default);
        self.chunks.par_iter_mut().enumerate().for_each(|(index, chunk)| {
            chunk.clear(height);
            for i in index * CHUNK..count.min((index + 1) * CHUNK) {
                let Some(sprite) = project(view, look, limits, &point(i)) else { continue };
                let top = (sprite.centre_px[1] - sprite.radius_px).max(0.0) as usize;
                let bottom = (sprite.centre_px[1] + sprite.radius_px) as usize;
                chunk.push(sprite, top, bottom);
            }
        });
        draw_bands(hdr, &self.chunks, true, splat);
    }
}

/// Adds one sprite to the rows of a picture that start at row `first_row`.
fn splat(rows: &mut [[f32; 4]], width: usize, first_row: usize, sprite: &Sprite) {
    let [x, y] = sprite.centre_px;
    let radius = sprite.radius_px;
    let Range { start: left, end: right } = covered(x, radius, width);
    let Range { start: top, end: bottom } = covered(y, radius, first_row + rows.len() / width);
    let inverse = 1.0 / (radius * radius);
    let peak = [sprite.peak[0], sprite.peak[1], sprite.peak[2], sprite.star];
    for row in top.max(first_row)..bottom {
        let dy = row as f32 + 0.5 - y;
        let start = (row - first_row) * width;
        for (column, pixel) in (left..right).zip(&mut rows[start + left.min(right)..start + right])
        {
            let dx = column as f32 + 0.5 - x;
            let within = (1.0 - (dx * dx + dy * dy) * inverse).max(0.0);
            let square = within * within;
            let profile = square * square;
            for k in 0..4 {
                pixel[k] += peak[k] * profile;
            }
        }
    }
}
