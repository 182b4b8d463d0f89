//! The medium around a body and in front of it: the local density of bodies, and the dust that its
//! light passes through. Computed for each picture from the bodies, only if the picture shows it.
//! Mirrors `medium.wgsl`.
//!
//! Densities: bodies are counted in cubes of six sizes, each twice as large as the one before, by a
//! hash of the cube, and each body uses the smallest cube around it that holds enough bodies. Each
//! body looks up a position jittered by up to half a cell, so that cell borders do not show. Dust
//! follows gas: its opacity is summed in columns through the picture, divided into slices by depth,
//! so that it dims and reddens what is behind it and not what is in front. The order within a slice
//! is unknown; light is taken to be spread evenly in it.

mod plan;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use glam::Vec3;
pub use plan::{MediumUniform, Plan};
use rayon::prelude::*;

use super::camera::View;
use super::look_uniform::{ComponentLook, LookUniform};
use super::splat::Point;

/// Number of cube sizes.
pub const LEVELS: u32 = 6;
/// Slices per column.
pub const SLICES: u32 = 64;
/// Fixed-point weight of a body of mean mass.
pub const WEIGHT: f32 = 16.0;
/// Fixed-point weight of any body where bodies are counted by number, for kernels: an eighth, so
/// that a cube needs 32 bodies, the Poisson error of which is a fifth.
pub const LIGHT: f32 = 2.0;
/// Upper bound of a body's weight.
pub const MOST_WEIGHT: f32 = 65535.0;
/// Fixed-point units of an optical depth of 1.
pub const OPACITY_UNITS: f32 = 65536.0;
/// Upper bound of the units that one body adds.
pub const MOST_OPACITY: f32 = 262_144.0;
/// The fraction of the surrounding density that is subtracted, so that gas glows where it is denser
/// than its surroundings.
pub const SURROUNDING: f32 = 0.75;
/// Bodies in a cube from which its density gets a weight.
pub const FEW: f32 = 4.0;
/// With this many more, the cube's weight is 1.
pub const MORE: f32 = 8.0;

/// Bodies projected by one task.
const CHUNK: usize = 4096;

fn mix_bits(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

/// Two entries of a level's table for a cell: two cells that collide in one of them hardly ever
/// collide in both.
fn entries(cell: [i32; 3], level: u32, mask: u32) -> [usize; 2] {
    let x = mix_bits((cell[0] as u32).wrapping_add(level.wrapping_mul(0x9e37_79b9)));
    let first = mix_bits(mix_bits(x ^ cell[1] as u32) ^ cell[2] as u32);
    let second = mix_bits(first ^ 0x9e37_79b9);
    [first, second].map(|hash| (level * (mask + 1) + (hash & mask)) as usize)
}

fn cell_of(place: Vec3) -> [i32; 3] {
    place.floor().clamp(Vec3::splat(-1e9), Vec3::splat(1e9)).as_ivec3().to_array()
}

/// Sum buffers of the medium, reused for the next picture.
#[derive(Default)]
pub struct Medium {
    table: Vec<AtomicU32>,
    opacity: Vec<AtomicU32>,
    found: Vec<[f32; 2]>,
}

fn cleared(words: &mut Vec<AtomicU32>, count: usize) {
    words.clear();
    words.resize_with(count, AtomicU32::default);
}

impl Medium {
    /// For each of `count` bodies log2 of the density around it, in [`Plan::unit`], if it is
    /// counted, and the optical depth in front of it.
    pub fn find(
        &mut self,
        (medium, view, look): (&MediumUniform, &View, &LookUniform),
        count: usize,
        point: impl Fn(usize) -> Point + Sync,
    ) -> &[[f32; 2]] {
        cleared(&mut self.table, medium.entries());
        cleared(&mut self.opacity, medium.slices());
        let (table, opacity) = (&self.table[..], &self.opacity[..]);
        let accumulator = Accumulator { medium, view, look, table, opacity };
        (0..count).into_par_iter().with_min_len(CHUNK).for_each(|i| accumulator.gather(&point(i)));
        opacity.par_chunks(SLICES as usize).for_each(|column| {
            let mut sum = 0u32;
            for slice in column {
                sum = sum.wrapping_add(slice.load(Relaxed));
                slice.store(sum, Relaxed);
            }
        });
        let found =
            (0..count).into_par_iter().with_min_len(CHUNK).map(|i| accumulator.look_up(&point(i)));
        found.collect_into_vec(&mut self.found);
        &self.found
    }
}

/// Inputs shared by all bodies, with the sum buffers.
struct Accumulator<'a> {
    medium: &'a MediumUniform,
    view: &'a View,
    look: &'a LookUniform,
    table: &'a [AtomicU32],
    opacity: &'a [AtomicU32],
}

impl Accumulator<'_> {
    fn component(&self, point: &Point) -> &ComponentLook {
        &self.look.components[(point.tag & 0xff) as usize]
    }

    fn finest(&self, point: &Point) -> Vec3 {
        (Vec3::from(point.position) - Vec3::from(self.medium.lattice))
            * self.medium.cells_per_length
    }

    /// Column, row and slice, and the depth.
    fn column(&self, point: &Point) -> ([f32; 3], f32) {
        let view = self.view;
        let offset = std::array::from_fn(|k| point.position[k] - view.eye_in_world[k]);
        let depth = view.depth(offset);
        let ([x, y], _) = view.project(offset, depth);
        let slice = (depth - self.medium.from_depth) * self.medium.slices_per_depth;
        ([x / self.medium.column_px, y / self.medium.column_px, slice], depth)
    }

    fn gather(&self, point: &Point) {
        let (medium, component) = (self.medium, self.component(point));
        if component.white_peak <= 0.0 || !point.position.iter().all(|x| x.abs() < 3e38) {
            return;
        }
        let weight =
            if medium.counts_all == 2 { LIGHT } else { point.mass * medium.weight_per_mass };
        let weight = weight.round_ties_even().clamp(1.0, MOST_WEIGHT) as u32;
        let is_gas = component.is_gas > 0.0;
        if is_gas || medium.counts_all != 0 {
            let mut place = self.finest(point);
            for level in 0..LEVELS {
                let [first, second] = entries(cell_of(place), level, medium.mask);
                self.table[first].fetch_add(weight, Relaxed);
                if first != second {
                    self.table[second].fetch_add(weight, Relaxed);
                }
                place *= 0.5;
            }
        }
        if is_gas && medium.columns > 0 {
            let ([x, y, slice], depth) = self.column(point);
            let (columns, rows) = (medium.columns as f32, medium.rows as f32);
            let is_inside =
                x >= 0.0 && y >= 0.0 && x < columns && y < rows && slice < SLICES as f32;
            if depth > self.view.near && is_inside {
                let column = y as u32 * medium.columns + x as u32;
                let at = column as usize * SLICES as usize + slice.max(0.0) as usize;
                let share = point.mass * component.inverse_mean_mass / (depth * depth);
                let units = medium.opacity / (medium.column_px * medium.column_px) * share;
                let units = units.min(MOST_OPACITY).round_ties_even().max(0.0);
                self.opacity[at].fetch_add(units as u32, Relaxed);
            }
        }
    }

    fn density(&self, point: &Point) -> f32 {
        let chance = mix_bits(point.tag);
        let part = |shift: u32| ((chance >> shift) & 1023) as f32 * (1.0 / 1024.0) - 0.5;
        // Kernels are wide enough to blend cells. Next to a thin disk's cells there are empty ones.
        let is_blended = self.medium.counts_all == 2;
        let aside = if is_blended { Vec3::ZERO } else { Vec3::new(part(0), part(10), part(20)) };
        let finest = self.finest(point);
        let (mut density, mut surrounding) = (0.0, 0.0);
        for level in (0..LEVELS).rev() {
            let place = finest * (1.0 / (1u32 << level) as f32) + aside;
            let [first, second] = entries(cell_of(place), level, self.medium.mask);
            let sum = self.table[first].load(Relaxed).min(self.table[second].load(Relaxed));
            let count = (sum as f32 * (1.0 / WEIGHT)).max(0.5);
            let here = count.log2() - 3.0 * level as f32;
            let mut enough = ((count - FEW) * (1.0 / MORE)).clamp(0.0, 1.0);
            if level == LEVELS - 1 {
                (enough, surrounding) = (1.0, here);
            }
            density += (here - density) * enough;
        }
        let part = if self.medium.counts_all != 0 { 0.0 } else { SURROUNDING };
        density - part * surrounding
    }

    fn opacity_before(&self, x: f32, y: f32, slice: f32) -> f32 {
        let inside = |place: f32, count: u32| (place.max(0.0) as u32).min(count - 1) as usize;
        let column = inside(y, self.medium.rows) * self.medium.columns as usize
            + inside(x, self.medium.columns);
        let slices = &self.opacity[column * SLICES as usize..][..SLICES as usize];
        let along = slice.clamp(0.0, SLICES as f32);
        let whole = (along as usize).min(SLICES as usize - 1);
        let at = |slice: usize| slices[slice].load(Relaxed) as f32;
        let near = if whole > 0 { at(whole - 1) } else { 0.0 };
        near + (at(whole) - near) * (along - whole as f32)
    }

    fn look_up(&self, point: &Point) -> [f32; 2] {
        let (medium, component) = (self.medium, self.component(point));
        if component.white_peak <= 0.0 {
            return [0.0; 2];
        }
        let is_counted = component.is_gas > 0.0 || medium.counts_all != 0;
        let density = if is_counted { self.density(point) } else { 0.0 };
        let ([x, y, slice], depth) = self.column(point);
        let is_behind = medium.columns > 0 && depth > self.view.near && slice > 0.0;
        if !is_behind {
            return [density, 0.0];
        }
        let [x, y] = [x, y].map(|place| place.clamp(-1e6, 1e6) - 0.5);
        let (left, top) = (x.floor(), y.floor());
        let mix = |from: f32, to: f32, part: f32| from + (to - from) * part;
        let row = |top: f32| {
            let [near, next] =
                [left, left + 1.0].map(|column| self.opacity_before(column, top, slice));
            mix(near, next, x - left)
        };
        [density, mix(row(top), row(top + 1.0), y - top) * (1.0 / OPACITY_UNITS)]
    }
}
