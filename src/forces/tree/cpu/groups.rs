//! The sinks of an evaluation in groups along the curve.

use std::ops::Range;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};
use glam::DVec3;
use rayon::prelude::*;

use super::super::far::{EXPANDED, FEWEST, SinkGroup};
use super::super::{GROUP, Key, PointMass, Tree, TreeConfig, keys, order, split};
use super::kernel::SinkBlock;
use super::walk::SinkReach;
use crate::math::length;

/// Lower bound on a group's acceleration, as a fraction of the (logarithmic) mean: a body in the
/// centre of all others, with hardly any acceleration, would open every cell.
const FLOOR: f64 = 1e-3;

/// 1 in a sum of logarithms.
const LOGARITHM_UNIT: f64 = (1 << 20) as f64;

/// Lower bound of accelerations in the mean.
const LEAST: f64 = f64::from_bits((1023 - 100) << 52);

/// The logarithmic mean of accelerations, from sums of integers, which do not depend on the order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub(super) struct Logarithms {
    /// The sum of log2 |a| in units of 2^-20: below 2^31 each, so 2^32 bodies fit.
    pub sum: i64,
    /// Number of accelerations.
    pub count: i64,
}

impl Logarithms {
    /// The mean of the finite values among `sizes`.
    pub fn of(sizes: &[f64]) -> Self {
        let both = |a: Self, b: Self| Self { sum: a.sum + b.sum, count: a.count + b.count };
        let known = sizes.par_iter().filter(|size| size.is_finite());
        known.map(|size| Self::of_one(*size)).reduce(Self::default, both)
    }

    fn of_one(size: f64) -> Self {
        Self { sum: (size.max(LEAST).log2() * LOGARITHM_UNIT).round() as i64, count: 1 }
    }

    fn mean(self) -> f64 {
        (self.sum as f64 / LOGARITHM_UNIT / self.count.max(1) as f64).exp2()
    }
}

/// Sinks in the order of the curve: first those in the cube, in groups of 64 or, if these are
/// scattered, one by one; then the others, each by itself.
#[derive(Debug)]
pub(super) struct Groups {
    /// The sinks' indices. If the sinks are the tree's bodies, this memory is the tree's, too.
    pub order: Arc<Vec<u32>>,
    /// Their positions and masses in that order.
    pub sorted: Arc<Vec<PointMass>>,
    /// The ranges that walk together.
    pub ranges: Vec<Range<usize>>,
}

impl Groups {
    /// The groups of the tree's own bodies.
    pub fn of_tree(tree: &Tree) -> Self {
        Self::along(tree, Arc::clone(&tree.order), Arc::clone(&tree.sorted), tree.inside)
    }

    /// The same groups after the tree's bodies have moved.
    pub fn refit(&mut self, tree: &Tree) {
        self.sorted = Arc::clone(&tree.sorted);
    }

    /// The groups of any sinks.
    pub fn new(tree: &Tree, places: &[PointMass]) -> Self {
        let keys = keys(&tree.cube, places);
        let order = order(&keys);
        let inside = order.partition_point(|&i| keys[i as usize] != Key::OUTSIDE);
        let sorted = order.iter().map(|&i| places[i as usize]).collect();
        Self::along(tree, Arc::new(order), Arc::new(sorted), inside)
    }

    fn along(
        tree: &Tree,
        order: Arc<Vec<u32>>,
        sorted: Arc<Vec<PointMass>>,
        inside: usize,
    ) -> Self {
        let scattered = split(&tree.cube, &tree.keys, &sorted[..inside]);
        let ranges = ranges(&scattered, inside, order.len());
        Self { order, sorted, ranges }
    }

    /// The sizes of the sinks' accelerations, which are given in the bodies' own order, in the
    /// order here and in this unit.
    pub fn sizes(&self, acceleration: &[DVec3], unit: f64) -> Vec<f64> {
        self.order.par_iter().map(|i| length(acceleration[*i as usize] / unit)).collect()
    }

    /// The least of the sinks' accelerations in each group, and at least a thousandth of their
    /// mean. `sizes` are those known, in the order of the sinks here, in the frame's units.
    pub fn least_accelerations(&self, sizes: &[f64], mean: &Logarithms) -> Vec<f64> {
        let floor = FLOOR * mean.mean();
        let least = |range: &Range<usize>| {
            sizes[range.clone()].iter().copied().fold(f64::INFINITY, f64::min).max(floor)
        };
        self.ranges.iter().map(least).collect()
    }

    /// The same where only the least of each group are known.
    pub fn floored(&self, mut least: Vec<f64>) -> Vec<f64> {
        let mut mean = Logarithms::default();
        for (size, range) in least.iter().zip(&self.ranges).filter(|(size, _)| size.is_finite()) {
            let one = Logarithms::of_one(*size);
            mean.sum += one.sum * range.len() as i64;
            mean.count += range.len() as i64;
        }
        let floor = FLOOR * mean.mean();
        least.iter_mut().for_each(|size| *size = size.max(floor));
        least
    }

    /// The sinks of a group as the kernels need them.
    pub fn block(&self, range: Range<usize>) -> SinkBlock {
        let places = &self.sorted[range];
        let mut block =
            SinkBlock { position: [[0.0; GROUP]; 3], own: [-1.0; GROUP], count: places.len() };
        for (axis, lanes) in block.position.iter_mut().enumerate() {
            for (k, lane) in lanes.iter_mut().enumerate() {
                *lane = places[k.min(places.len() - 1)][axis];
            }
        }
        block
    }
}

/// The ranges of `sinks` sinks that walk together: groups of those in the cube, which come first
/// and are `inside`, one by one where a group is scattered; then the others.
pub(super) fn ranges(scattered: &[bool], inside: usize, sinks: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::with_capacity(scattered.len());
    for (group, is_scattered) in scattered.iter().enumerate() {
        let all = group * GROUP..((group + 1) * GROUP).min(inside);
        match is_scattered {
            true => ranges.extend(all.map(|sink| sink..sink + 1)),
            false => ranges.push(all),
        }
    }
    ranges.extend((inside..sinks).map(|sink| sink..sink + 1));
    ranges
}

impl SinkBlock {
    /// The box of the sinks, whose least acceleration is `least`, for these settings.
    pub fn reach(&self, config: &TreeConfig, least: f64) -> SinkReach {
        let over = |from: f32, choose: fn(f32, f32) -> f32| {
            self.position.each_ref().map(|lanes| lanes.iter().copied().fold(from, choose))
        };
        let (lower, upper) = (over(f32::INFINITY, f32::min), over(f32::NEG_INFINITY, f32::max));
        let (opening, order) = (config.walked(), config.moments);
        let middle: [f32; 3] = std::array::from_fn(|axis| 0.5 * (lower[axis] + upper[axis]));
        let squared = |k: usize| -> f32 {
            (0..3).map(|axis| (self.position[axis][k] - middle[axis]).powi(2)).sum()
        };
        let allowance = opening.allowance(least, order) as f32;
        let is_expanded = config.expands() && self.count >= FEWEST;
        let near = SinkGroup {
            middle,
            extent_squared: (0..self.count).map(squared).fold(0.0, f32::max),
            allowance,
            lost: if is_expanded { EXPANDED * allowance } else { 0.0 },
        };
        SinkReach { lower, upper, reach: opening.reach(least, order) as f32, near }
    }
}
