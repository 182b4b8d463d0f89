//! Predictions of the arithmetic model for a shape before it is timed, from the device's ceilings.

#[cfg(not(target_arch = "wasm32"))]
use std::sync::Arc;

use crate::forces::direct::gpu::{Dispatch, KernelConfig};
#[cfg(not(target_arch = "wasm32"))]
use crate::gpu::{DeviceClass, Gpu, blocking};
use crate::measure::{Ceiling, Ceilings, predict};
#[cfg(not(target_arch = "wasm32"))]
use crate::measure::{CeilingSamples, Effort};

/// A shape is raced only if the model predicts at least 1/FACTOR of the best rate that it predicts
/// for any. On hardware the model was within about 25 % for many bodies, and within 50 % at N =
/// 1024 (see docs/tiling.md); shapes that it misjudges by less than this factor are still found.
pub const FACTOR: f64 = 2.0;

/// The model of one device for one number of bodies.
pub(super) struct RaceModel {
    ceilings: Ceilings,
    n: usize,
    u: u32,
    best_secs: f64,
}

impl RaceModel {
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

/// The ceilings of one device, measured when first needed and cached.
#[cfg(not(target_arch = "wasm32"))]
pub struct KnownCeilings {
    gpu: Arc<Gpu>,
    found: Option<Result<Ceilings, String>>,
}

#[cfg(not(target_arch = "wasm32"))]
impl KnownCeilings {
    /// No measurement yet.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        Self { gpu: Arc::clone(gpu), found: None }
    }

    /// The ceilings; if they are not known yet, they are measured in little more than `secs`
    /// seconds. `None` if that was too short, `go_on` returned false, or the device failed; there
    /// is no retry.
    pub fn within(&mut self, secs: f64, go_on: &mut dyn FnMut() -> bool) -> Option<Ceilings> {
        let found = self.found.get_or_insert_with(|| measure(&self.gpu, secs, go_on));
        found.as_ref().ok().copied()
    }

    /// Why the ceilings could not be measured.
    pub fn problem(&self) -> Option<&str> {
        self.found.as_ref()?.as_ref().err().map(String::as_str)
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn measure(gpu: &Arc<Gpu>, secs: f64, go_on: &mut dyn FnMut() -> bool) -> Result<Ceilings, String> {
    let software = gpu.adapter.class == DeviceClass::Software;
    // Short samples are enough for a factor of two, but a GPU must also leave its idle clocks
    // first.
    let effort = if software { Effort::Quick } else { Effort::Full };
    let begun = crate::wall_clock::Instant::now();
    let mut before = |_| begun.elapsed().as_secs_f64() < secs && go_on();
    let samples: Vec<CeilingSamples> =
        blocking(Ceilings::measure(gpu, effort, &mut before)).map_err(|error| error.to_string())?;
    if samples.len() < Ceiling::ALL.len() {
        return Err(format!("measuring this adapter's ceilings takes more than {secs:.1} s"));
    }
    Ok(Ceilings::on(gpu, &samples))
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
        let model = RaceModel::new(known, &shapes, 1 << 16, 4).unwrap();
        let admitted = shapes.map(|shape| model.admits(&shape));
        assert_eq!(admitted, [false, true, true, true]);
        let untiled = KernelConfig { untiled: true, ..BASE };
        assert!(!model.admits(&untiled) && model.admits(&KernelConfig { r: 16, ..untiled }));
        // The model covers neither steps in one workgroup nor unrolling.
        assert!(model.admits(&KernelConfig { dispatch: Dispatch::OneWorkgroup, ..BASE }));
        assert!(model.admits(&KernelConfig { u: 1, ..shape(4) }));
        assert!(RaceModel::new(Ceilings::default(), &shapes, 1 << 16, 4).is_none());
    }

    #[test]
    fn model_includes_dispatch_of_slice_sums() {
        let known = ceilings(&[(Ceiling::Dispatch, 1e5)]);
        let sliced = KernelConfig { s: 4, ..BASE };
        let model = RaceModel::new(known, &[BASE, sliced], 1024, 4).unwrap();
        let (one, two) = (model.secs(&BASE).unwrap(), model.secs(&sliced).unwrap());
        assert!((one / 1e-5 - 1.0).abs() < 1e-3 && (two / 2e-5 - 1.0).abs() < 1e-3);
    }
}
