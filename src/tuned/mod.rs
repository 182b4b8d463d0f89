//! Tuning results of this machine, in one small file: the best kernel shape for an adapter and a
//! number of bodies.
//!
//! The program reads them from the user's cache folder and passes them to every simulation whose
//! kernel the user did not fix ([`KnownResults`]). A choice is valid for one adapter, driver, set
//! of limits and source of the kernels: if any of them changes, it is ignored, and the defaults of
//! [`KernelConfig::for_device`] are used until the next tuning. The user is notified of choices
//! that a new version of the program has outdated ([`OUTDATED`]).

mod device;
mod store;

pub use device::{KernelSources, TunedDevice};
pub use store::{DerivativesChoice, Results, TunedChoice, TunedStore};

use std::sync::Arc;

use crate::error::Result;
use crate::forces::direct::gpu::tiers::{Fitted, FittedShapes, sources_class};
use crate::forces::direct::gpu::{KernelConfig, KernelRequest, Masses};
use crate::forces::tree::gpu::WalkShape;
use crate::gpu::Gpu;

/// The key of a choice.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ChoiceKey {
    /// The device and the kernels that it was measured with.
    #[serde(flatten)]
    pub on: TunedDevice,
    /// The size class: up to this number of bodies, a power of two, and more than half of it.
    pub up_to: u64,
}

impl ChoiceKey {
    /// The key for `n` bodies on `gpu` with these kernels.
    pub fn of(gpu: &Gpu, kernels: KernelSources, n: usize) -> Self {
        Self { on: TunedDevice::of(gpu, kernels), up_to: size_class(n) }
    }
}

/// The note on a choice that was made with the kernels of another version of the program.
pub const OUTDATED: &str =
    "results tuned with earlier shaders are not used; run 'gravitile tune' again";

/// The size class of `n` bodies: the power of two at or above it.
pub fn size_class(n: usize) -> u64 {
    (n.max(1) as u64).next_power_of_two()
}

/// Tuning results, passed in by the caller: the library itself reads no folder of the user's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownResults(Arc<Results>);

impl From<Results> for KnownResults {
    fn from(results: Results) -> Self {
        Self(Arc::new(results))
    }
}

impl KnownResults {
    /// The shapes for forces with derivatives that were found on `gpu` with the present kernels.
    pub fn shapes(&self, gpu: &Gpu) -> FittedShapes {
        if self.0.derivatives.is_empty() {
            return FittedShapes::default();
        }
        let on = TunedDevice::of(gpu, KernelSources::Derivatives);
        let here = self.0.derivatives.iter().filter(|choice| choice.on == on);
        FittedShapes::new(here.map(|choice| choice.fitted).collect())
    }

    /// The tuned shapes for `n` sources.
    pub fn shapes_for(&self, gpu: &Gpu, n: usize) -> Vec<Fitted> {
        let all = self.shapes(gpu);
        all.each().filter(|one| one.sources == sources_class(n)).copied().collect()
    }

    /// True if all shapes for `n` sources on `gpu` are [`OUTDATED`].
    pub fn has_outdated_shapes(&self, gpu: &Gpu, n: usize) -> bool {
        let for_these = |choice: &&DerivativesChoice| choice.fitted.sources == sources_class(n);
        let found = self.0.derivatives.iter().filter(for_these).map(|choice| &choice.on);
        TunedDevice::of(gpu, KernelSources::Derivatives).has_only_older(found)
    }

    /// Only this walk of the tree for `n` bodies on `gpu`, as if found by tuning.
    pub(crate) fn of_walk(gpu: &Gpu, n: usize, kernel: WalkShape) -> Self {
        let found = TunedChoice {
            key: ChoiceKey::of(gpu, KernelSources::Tree, n),
            n,
            secs_per_step: 0.0,
            default_secs_per_step: 0.0,
            method: String::new(),
            kernel,
            for_various_masses: None,
        };
        Results { walks: vec![found], ..Results::default() }.into()
    }

    /// The variant of the tree's walk for `n` bodies on `gpu`: the one found by tuning, else
    /// the default. All variants give the same bits.
    pub fn walk(&self, gpu: &Gpu, n: usize) -> WalkShape {
        if self.0.walks.is_empty() {
            return WalkShape::DEFAULT;
        }
        let key = ChoiceKey::of(gpu, KernelSources::Tree, n);
        let found = self.0.walks.iter().find(|choice| choice.key == key);
        found
            .map(|choice| choice.kernel)
            .filter(|walk| walk.is_valid())
            .unwrap_or(WalkShape::DEFAULT)
    }

    /// The shape found for `n` bodies of such masses on `gpu`, if there is one and the adapter can
    /// hold it.
    pub fn find(&self, gpu: &Gpu, n: usize, masses: Masses) -> Option<KernelConfig> {
        if self.0.choices.is_empty() {
            return None;
        }
        let key = ChoiceKey::of(gpu, KernelSources::Direct, n);
        let config = self.0.choices.iter().find(|choice| choice.key == key)?.kernel_for(masses)?;
        let usable = config.validate(Some(gpu)).and_then(|()| config.holds(n));
        usable.is_ok().then_some(config)
    }

    /// True if all choices for `n` bodies on `gpu` are [`OUTDATED`].
    pub fn is_outdated(&self, gpu: &Gpu, n: usize) -> bool {
        let ChoiceKey { on, up_to } = ChoiceKey::of(gpu, KernelSources::Direct, n);
        let of_size = self.0.choices.iter().filter(|choice| choice.key.up_to == up_to);
        on.has_only_older(of_size.map(|choice| &choice.key.on))
    }

    /// The shape for `n` bodies of such masses on `gpu`: the requested one; if the request fixes
    /// nothing, the one found by tuning; otherwise the device's default.
    ///
    /// # Errors
    ///
    /// Those of [`KernelRequest::resolve`].
    pub fn resolve(
        &self,
        request: &KernelRequest,
        gpu: &Gpu,
        n: usize,
        masses: Masses,
    ) -> Result<KernelConfig> {
        if request.fixes_nothing()
            && let Some(found) = self.find(gpu, n, masses)
        {
            return Ok(request.fill(found));
        }
        request.resolve(gpu, n, n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outdated_choices_are_detected() {
        let device = |driver: &str, kernels: &str| TunedDevice {
            device: "adapter".to_owned(),
            driver: driver.to_owned(),
            backend: "vulkan".to_owned(),
            limits: [256, 16384],
            kernels: kernels.to_owned(),
        };
        let now = device("1", &KernelSources::Direct.checksum());
        let older = device("1", "a10bc7df");
        assert!(
            older.is_outdated(KernelSources::Direct) && !now.is_outdated(KernelSources::Direct)
        );
        assert!(now.has_only_older([&older].into_iter()));
        assert!(!now.has_only_older([&older, &now].into_iter()));
        assert!(!now.has_only_older([&device("2", "a10bc7df")].into_iter()), "of another driver");
        assert!(!now.has_only_older([].into_iter()));
    }

    #[test]
    fn size_class_rounds_up_to_power_of_two() {
        let classes: Vec<u64> = [0, 1, 2, 3, 1000, 1024, 1025].map(size_class).to_vec();
        assert_eq!(classes, [1, 1, 2, 4, 1024, 1024, 2048]);
    }
}
