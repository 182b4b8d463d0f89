//! Parameters of the medium for a look, and their form for one picture.

use glam::{DMat3, DVec3};
use rayon::prelude::*;

use super::{LEVELS, LIGHT, Medium, OPACITY_UNITS, SLICES, WEIGHT};
use crate::bodies::Bodies;
use crate::render::camera::Camera;
use crate::render::image::PictureSize;
use crate::render::look_uniform::LookUniform;
use crate::render::scale::Scale;
use crate::render::splat::Point;

/// Side of the finest cube, in distances to the eighth neighbour.
const FINEST: f64 = 0.3;
/// Bodies within the kernel of a map, which spreads the mass of each. By the kernel's profile they
/// count as 46, so that a flat disk has a noise of 15 %: half of that between two lines of a
/// magnitude.
const NEIGHBOURS: f64 = 128.0;
/// Mean optical depth of the inner half of the gas, with dust at full strength.
const DEPTH_OF_GAS: f64 = 4.5;
/// Bodies of gas per column in that region.
const GAS_PER_COLUMN: f64 = 3.0;
/// Least and largest width of a column, relative to the picture's shorter side.
const COLUMNS: [f64; 2] = [1.0 / 160.0, 1.0 / 16.0];
/// Depth range of the slices, in distances of the camera's target.
const DEPTHS: [f64; 2] = [0.4, 1.6];
/// Least and largest number of entries in a level's table.
const ENTRIES: [usize; 2] = [1 << 10, 1 << 20];

/// Parameters of the medium, in world units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Origin of the cells, fixed throughout a film.
    pub anchor: DVec3,
    /// Side of the finest cell, greater than 0.
    pub cell: f64,
    /// Mean mass of the counted bodies; 0 if they have none.
    pub mean_mass: f64,
    /// Number of counted bodies.
    pub counted: usize,
    /// Whether all drawn bodies are counted, or only gas.
    pub counts_all: bool,
    /// Whether bodies count alike, whatever their mass.
    pub by_number: bool,
    /// Number of gas bodies, and their median distance from their middle.
    pub gas: (usize, f64),
    /// How flat the gas is: n . flatness n is the square of its area projected along n, about 1 for
    /// a disk along its axis.
    pub flatness: DMat3,
    /// Strength of dust, 0 (none) to 1.
    pub dust: f64,
}

/// [`Plan`] for one picture; the same layout on the host and in `medium.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct MediumUniform {
    /// [`Plan::anchor`] in the points' numbers.
    pub lattice: [f32; 3],
    /// 1 / side of the finest cell.
    pub cells_per_length: f32,
    /// [`WEIGHT`] / mean mass.
    pub weight_per_mass: f32,
    /// Entries of a level of the table, a power of two, less 1.
    pub mask: u32,
    /// 0: only gas counts; 1: all drawn bodies do; 2: all, and by number.
    pub counts_all: u32,
    /// Columns through the picture, 0 without dust.
    pub columns: u32,
    /// Rows of columns.
    pub rows: u32,
    /// Width of a column.
    pub column_px: f32,
    /// Depth at which slices begin.
    pub from_depth: f32,
    /// Slices per unit of depth.
    pub slices_per_depth: f32,
    /// Opacity, in fixed-point units, that a body of gas of mean mass adds to a column of one
    /// pixel, at depth 1.
    pub opacity: f32,
    /// Padding to a multiple of 16 bytes.
    pub pad: [u32; 3],
}

impl Plan {
    /// The finest cell for bodies whose eighth neighbour is typically `spacing` away.
    pub fn cell_for(spacing: f64) -> f64 {
        FINEST * spacing
    }

    /// Mass per volume of the density unit, see [`Plan::sampled`].
    pub fn unit(&self) -> f64 {
        self.unit_mass() / (self.cell * self.cell * self.cell)
    }

    /// Radius of a kernel where the density of bodies by number is 1; where it is 2^y it is
    /// 2^(-y/3) times that.
    pub fn kernel_radius(&self) -> f64 {
        self.cell * libm::cbrt(NEIGHBOURS * f64::from(LIGHT / WEIGHT) * 0.75 / std::f64::consts::PI)
    }

    /// Whether dust is shown.
    pub fn has_dust(&self) -> bool {
        self.dust > 0.0 && self.gas.0 > 0 && self.gas.1 > 0.0
    }

    /// The uniforms for points of that scale on a picture of that size.
    pub fn uniform(&self, camera: &Camera, size: PictureSize, scale: &Scale) -> MediumUniform {
        let lattice = (self.anchor - scale.origin) / scale.length;
        let side = f64::from(size.shorter_side());
        let focal_px = camera.focal_px(size);
        let (gas, radius) = self.gas;
        let radius_px = radius * focal_px / camera.distance;
        // Half of the gas is within its median radius. Edge-on, more of it is in a column.
        let sight = camera.axes_in_world()[2];
        let area = sight.dot(self.flatness * sight).clamp(1e-4, 1.0).sqrt();
        let wanted = radius_px
            * (2.0 * std::f64::consts::PI * area * GAS_PER_COLUMN / gas.max(1) as f64).sqrt();
        let column_px = wanted.clamp(COLUMNS[0] * side, COLUMNS[1] * side);
        let across = |pixels: u32| match self.has_dust() {
            true => libm::ceil(f64::from(pixels) / column_px) as u32,
            false => 0,
        };
        let mean_area = 2.0 * std::f64::consts::PI * radius * radius / gas.max(1) as f64;
        let per_length = focal_px / scale.length;
        let opacity = self.dust * DEPTH_OF_GAS * mean_area * per_length * per_length;
        let distance = camera.distance / scale.length;
        let mask = self.counted.saturating_mul(2).clamp(ENTRIES[0], ENTRIES[1]).next_power_of_two();
        MediumUniform {
            lattice: lattice.as_vec3().to_array(),
            cells_per_length: (scale.length / self.cell) as f32,
            weight_per_mass: (f64::from(WEIGHT) * scale.inverse_mass(self.mean_mass)) as f32,
            mask: mask as u32 - 1,
            counts_all: u32::from(self.counts_all) + u32::from(self.by_number),
            columns: across(size.width()),
            rows: across(size.height()),
            column_px: column_px as f32,
            from_depth: (DEPTHS[0] * distance) as f32,
            slices_per_depth: (f64::from(SLICES) / ((DEPTHS[1] - DEPTHS[0]) * distance)) as f32,
            opacity: (f64::from(OPACITY_UNITS) * opacity) as f32,
            pad: [0; 3],
        }
    }
}

impl MediumUniform {
    /// Entries of the table of all levels.
    pub fn entries(&self) -> usize {
        LEVELS as usize * (self.mask as usize + 1)
    }

    /// Number of slices in all columns.
    pub fn slices(&self) -> usize {
        self.columns as usize * self.rows as usize * SLICES as usize
    }
}

/// Number of bodies among which densities are sampled on the host.
const SAMPLED: usize = 65_536;

impl Plan {
    /// Densities at some of the counted bodies, in octaves above [`Plan::unit`], as a picture finds
    /// them except for coarser cells if there are very many bodies; only of gas if `of_gas`.
    pub fn sampled(&self, bodies: &Bodies, look: &LookUniform, of_gas: bool) -> Vec<f64> {
        let stride = bodies.len().div_ceil(SAMPLED).max(1);
        let chosen: Vec<usize> = (0..bodies.len()).step_by(stride).collect();
        let plan = Self {
            cell: self.cell * libm::cbrt(stride as f64),
            counted: self.counted / stride,
            dust: 0.0,
            ..*self
        };
        let camera = Camera { target: self.anchor, ..Camera::default() };
        let scale = Scale {
            origin: self.anchor,
            length: self.cell,
            mass: self.unit_mass(),
            ..Scale::PLAIN
        };
        // Densities do not depend on camera or size.
        let Ok(size) = PictureSize::new(64, 64) else { return Vec::new() };
        let Ok(view) = camera.view_in(size, &scale) else { return Vec::new() };
        let uniform = plan.uniform(&camera, size, &scale);
        let tags: Vec<u32> = chosen.par_iter().map(|&i| bodies.tag(i)).collect();
        let point = |k: usize| Point {
            position: scale.position(bodies.position[chosen[k]]),
            mass: scale.mass_of(bodies.mass[chosen[k]]) as f32,
            tag: tags[k],
            ..Point::default()
        };
        let mut medium = Medium::default();
        let found = medium.find((&uniform, &view, look), chosen.len(), point);
        let is_requested = |k: &usize| {
            let component = &look.components[(tags[*k] & 0xff) as usize];
            let counts = component.is_gas > 0.0 || (self.counts_all && !of_gas);
            component.white_peak > 0.0 && counts
        };
        (0..chosen.len()).filter(is_requested).map(|k| f64::from(found[k][0])).collect()
    }

    fn unit_mass(&self) -> f64 {
        if self.mean_mass > 0.0 { self.mean_mass } else { 1.0 }
    }
}
