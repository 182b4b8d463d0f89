//! Tuned shapes, measured on a device, which override the rule.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::TierShape;
use crate::forces::{Order, Precision};
use crate::gpu::{DeviceClass, Gpu};

/// A shape for evaluations of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// The tier.
    pub precision: Precision,
    /// The highest derivative.
    pub order: Order,
    /// Up to this many sinks, and more than a quarter of them: see [`sinks_class`].
    pub sinks: u32,
    /// Up to this many sources, and more than half of them: a power of two.
    pub sources: u32,
    /// The shape.
    pub shape: TierShape,
}

/// The class of `sinks`: the least power of four not below.
pub fn sinks_class(sinks: usize) -> u32 {
    let bits = sinks.clamp(1, 1 << 30).next_power_of_two().trailing_zeros();
    1 << bits.next_multiple_of(2)
}

/// The class of `sources`: the least power of two not below.
pub fn sources_class(sources: usize) -> u32 {
    sources.clamp(1, 1 << 31).next_power_of_two() as u32
}

/// All shapes measured on a device with the current kernels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FittedShapes(Arc<[Fitted]>);

impl FittedShapes {
    /// From measured shapes. On duplicates the first entry wins.
    pub fn new(found: Vec<Fitted>) -> Self {
        Self(found.into())
    }

    /// All entries.
    pub fn each(&self) -> impl Iterator<Item = &Fitted> {
        self.0.iter()
    }

    /// The tuned shape for these numbers of sinks and sources, if any.
    pub fn find(
        &self,
        precision: Precision,
        order: Order,
        sinks: usize,
        sources: usize,
    ) -> Option<TierShape> {
        let (sinks, sources) = (sinks_class(sinks), sources_class(sources));
        let matching = |one: &&Fitted| {
            (one.precision, one.order) == (precision, order)
                && (one.sinks, one.sources) == (sinks, sources)
        };
        self.0.iter().find(matching).map(|one| one.shape)
    }
}

impl TierShape {
    /// Shapes worth measuring for these numbers of sinks and sources on a device, in addition to
    /// the rule's `reference`: the most similar first. All are valid on the device.
    pub fn candidates(
        gpu: &Gpu,
        reference: Self,
        refined: bool,
        sinks: u32,
        sources: u32,
    ) -> Vec<Self> {
        let class = gpu.adapter.class;
        let longest = Self::longest_text(class, refined);
        // A CPU gains nothing from waiting threads.
        let (threads, fills): (&[u32], &[u32]) = match class {
            DeviceClass::Software => (&[8, 16, 32, 64], &[1 << 7, 1 << 9]),
            _ => (&[64, 128, 256], &[1 << 16, 1 << 17, 1 << 18, 1 << 19]),
        };
        let most = gpu.limits.threads_per_workgroup;
        let mut shapes = Vec::new();
        for &threads in threads.iter().filter(|threads| **threads <= most) {
            for (p, r) in
                [1, 4, 8, 16, 32, 64, 128, 256].into_iter().flat_map(|p| [(p, 1), (p, 2), (p, 4)])
            {
                let is_wide = p * r > 2 * sinks.next_power_of_two() && p * r > 8;
                let is_narrow = 64 * p * r < sinks && p < 64;
                if p > threads || is_wide || is_narrow || (refined && r > 1) {
                    continue;
                }
                let workgroups = sinks.div_ceil(p * r);
                for fill in fills {
                    let tiles = sources.div_ceil(threads).clamp(1, 4096);
                    let slices = (fill / (workgroups * threads)).clamp(1, tiles);
                    let shape = Self { p, q: threads / p, r, u: p.min(longest), l: 1, slices };
                    if shape != reference && shape.validate().is_ok() && !shapes.contains(&shape) {
                        shapes.push(shape);
                    }
                }
            }
        }
        shapes.sort_by_key(|shape| shape.doublings_between(&reference));
        shapes
    }

    /// Number of factors of two by which two shapes differ.
    fn doublings_between(&self, other: &Self) -> u32 {
        let doublings = |a: u32, b: u32| (a.max(1).ilog2()).abs_diff(b.max(1).ilog2());
        doublings(self.p, other.p)
            + doublings(self.q, other.q)
            + doublings(self.r, other.r)
            + doublings(self.slices, other.slices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_classes_round_up() {
        let sinks = [0, 1, 2, 4, 5, 16, 17, 4096, 4097].map(sinks_class);
        assert_eq!(sinks, [1, 1, 4, 4, 16, 16, 64, 4096, 16384]);
        assert_eq!([0, 1, 1000, 1024, 1025].map(sources_class), [1, 1, 1024, 1024, 2048]);
    }

    #[test]
    fn tuned_shape_applies_to_its_class_only() {
        let shape = TierShape { p: 32, q: 2, r: 2, u: 8, l: 1, slices: 5 };
        let (precision, order) = (Precision::DoubleSingle, Order::Jerk);
        let found =
            FittedShapes::new(vec![Fitted { precision, order, sinks: 64, sources: 8192, shape }]);
        assert_eq!(found.find(precision, order, 17, 8192), Some(shape));
        assert_eq!(found.find(precision, order, 64, 4097), Some(shape));
        for (precision, order, sinks, sources) in [
            (precision, order, 16, 8192),
            (precision, order, 65, 8192),
            (precision, order, 64, 4096),
            (precision, Order::Snap, 64, 8192),
            (Precision::Single, order, 64, 8192),
        ] {
            assert_eq!(found.find(precision, order, sinks, sources), None);
        }
    }
}
