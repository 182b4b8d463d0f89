//! Predictions of the arithmetic model for a shape before it is timed.

use crate::forces::direct::gpu::{Dispatch, KernelConfig};
use crate::measure::{Ceiling, Ceilings, predict};

/// A shape is raced only if the model predicts at least 1/FACTOR of the best rate that it predicts
/// for any. On hardware the model was within about 25 % for many bodies, and within 50 % at N =
/// 1024 (see docs/tiling.md); shapes that it misjudges by less than this factor are still found.
pub const FACTOR: f64 = 2.0;

/// The model of one device for one number of bodies.
pub(super) struct Model {
    ceilings: Ceilings,
    n: usize,
    u: u32,
    best_secs: f64,
}

impl Model {
    /// A model for `shapes`, with the unrolling `u`. `None` if a ceiling that it needs is not
    /// known.
    pub fn new(ceilings: Ceilings, shapes: &[KernelConfig], n: usize, u: u32) -> Option<Self> {
        let mut model = Self { ceilings, n, u, best_secs: f64::INFINITY };
        let all = shapes.iter().filter_map(|shape| model.secs(shape));
        model.best_secs = all.fold(f64::INFINITY, f64::min);
        model.best_secs.is_finite().then_some(model)
    }

    /// Seconds per step. `None` for steps in one workgroup, which the model does not cover.
    fn secs(&self, shape: &KernelConfig) -> Option<f64> {
        if shape.dispatch == Dispatch::OneWorkgroup {
            return None;
        }
        // Unrolling is left to measurement: in the model each copy hides more latency, without
        // limit.
        let shape = KernelConfig { u: self.u, ..*shape };
        let force = predict(&self.ceilings, &shape, self.n, self.n)?.secs;
        // Adding up the slices takes another dispatch.
        let dispatches = self.ceilings.get(Ceiling::Dispatch);
        let sums = if shape.s > 1 && dispatches > 0.0 { 1.0 / dispatches } else { 0.0 };
        Some(force + sums)
    }

    /// Whether a shape is worth racing.
    pub fn admits(&self, shape: &KernelConfig) -> bool {
        self.secs(shape).is_none_or(|secs| secs <= FACTOR * self.best_secs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: KernelConfig = KernelConfig { u: 4, ..KernelConfig::tiled(64) };

    fn ceilings(rates: &[(Ceiling, f64)]) -> Ceilings {
        let free = Ceiling::ALL.map(|ceiling| (ceiling, 1e18));
        Ceilings::of(free.into_iter().chain(rates.iter().copied()))
    }

    #[test]
    fn model_rejects_shapes_slower_than_factor() {
        // A read takes 3.3 times as long as an interaction: r = 1 loses more than half to it, r = 2
        // less.
        let known = ceilings(&[
            (Ceiling::Fma, 13e12),
            (Ceiling::Pair, 1e12),
            (Ceiling::TileRead, 0.3e12),
            (Ceiling::CachedRead, 0.1e12),
        ]);
        let shape = |r| KernelConfig { r, ..BASE };
        let shapes = [1, 2, 4, 8].map(shape);
        let model = Model::new(known, &shapes, 1 << 16, 4).unwrap();
        let admitted = shapes.map(|shape| model.admits(&shape));
        assert_eq!(admitted, [false, true, true, true]);
        let untiled = KernelConfig { untiled: true, ..BASE };
        assert!(!model.admits(&untiled) && model.admits(&KernelConfig { r: 16, ..untiled }));
        // The model covers neither steps in one workgroup nor unrolling.
        assert!(model.admits(&KernelConfig { dispatch: Dispatch::OneWorkgroup, ..BASE }));
        assert!(model.admits(&KernelConfig { u: 1, ..shape(4) }));
        assert!(Model::new(Ceilings::default(), &shapes, 1 << 16, 4).is_none());
    }

    #[test]
    fn model_includes_dispatch_of_slice_sums() {
        let known = ceilings(&[(Ceiling::Dispatch, 1e5)]);
        let sliced = KernelConfig { s: 4, ..BASE };
        let model = Model::new(known, &[BASE, sliced], 1024, 4).unwrap();
        let (one, two) = (model.secs(&BASE).unwrap(), model.secs(&sliced).unwrap());
        assert!((one / 1e-5 - 1.0).abs() < 1e-3 && (two / 2e-5 - 1.0).abs() < 1e-3);
    }
}
