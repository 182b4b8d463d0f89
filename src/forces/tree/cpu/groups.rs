//! The sinks of a call in groups along the curve.

use glam::DVec3;
use rayon::prelude::*;

use super::super::{Cube, GROUP, Key, Place, Tree, keys, order};
use super::kernel::Block;
use super::walk::Reach;

/// Of the mean acceleration (of logarithms): a body in the middle of all others would open every cell.
const FLOOR: f64 = 1e-3;

/// The least acceleration that counts.
const LEAST: f64 = f64::from_bits((1023 - 100) << 52);

/// Sinks in the order of the curve: first those in the cube in groups of 64, then each of the others by itself.
#[derive(Debug)]
pub(super) struct Groups {
    /// The sinks' numbers.
    pub order: Vec<u32>,
    /// Their places in that order.
    pub sorted: Vec<Place>,
    /// Number of those in the cube.
    pub inside: usize,
}

impl Groups {
    /// The tree's own bodies.
    pub fn of_tree(tree: &Tree) -> Self {
        Self { order: tree.order.clone(), sorted: tree.sorted.clone(), inside: tree.inside }
    }

    /// Any sinks.
    pub fn new(cube: &Cube, places: &[Place]) -> Self {
        let keys = keys(cube, places);
        let order = order(&keys);
        let inside = order.partition_point(|&i| keys[i as usize] != Key::OUTSIDE);
        let sorted = order.iter().map(|&i| places[i as usize]).collect();
        Self { order, sorted, inside }
    }

    /// The least acceleration of each group, of what is known of the sinks', and at least a thousandth of what
    /// is usual.
    pub fn least_accelerations(&self, acceleration: &[DVec3], unit: f64) -> Vec<f64> {
        let size = |i: &u32| (acceleration[*i as usize] / unit).length();
        let sizes: Vec<f64> = self.order.par_iter().map(size).collect();
        let known = || sizes.iter().filter(|size| size.is_finite());
        let logarithms = crate::math::sum(known().map(|size| size.max(LEAST).log2()));
        let floor = FLOOR * (logarithms / known().count().max(1) as f64).exp2();
        let (inside, outside) = sizes.split_at(self.inside);
        let least = |sizes: &[f64]| sizes.iter().copied().fold(f64::INFINITY, f64::min).max(floor);
        inside.chunks(GROUP).chain(outside.chunks(1)).map(least).collect()
    }

    /// Where each group's sinks are in the order.
    pub fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let whole =
            (0..self.inside).step_by(GROUP).map(|first| first..(first + GROUP).min(self.inside));
        whole.chain((self.inside..self.order.len()).map(|sink| sink..sink + 1))
    }

    /// A group as the kernels have it.
    pub fn block(&self, range: std::ops::Range<usize>) -> Block {
        let places = &self.sorted[range];
        let mut block =
            Block { position: [[0.0; GROUP]; 3], own: [-1.0; GROUP], count: places.len() };
        for (axis, lanes) in block.position.iter_mut().enumerate() {
            for (k, lane) in lanes.iter_mut().enumerate() {
                *lane = places[k.min(places.len() - 1)][axis];
            }
        }
        block
    }
}

impl Block {
    /// The box of the sinks.
    pub fn reach(&self, reach: f64) -> Reach {
        let over = |from: f32, choose: fn(f32, f32) -> f32| {
            self.position.map(|lanes| lanes.into_iter().fold(from, choose))
        };
        let (lower, upper) = (over(f32::INFINITY, f32::min), over(f32::NEG_INFINITY, f32::max));
        Reach { lower, upper, reach: reach as f32 }
    }
}
