//! What tuning has found on this machine: the best kernel shape for an adapter and a number of bodies,
//! in one small file of the user's cache folder.
//!
//! Used by every simulation whose kernel the user did not fix. A choice holds for one adapter, driver,
//! set of limits and text of the kernels: after a change of any of them it is not found again, and the
//! defaults of [`KernelConfig::for_device`] serve until the next tuning.

mod store;

pub use store::{Choice, Loaded, Store};

use crate::error::Result;
use crate::force::{KernelConfig, KernelWish};
use crate::gpu::{Gpu, template};

/// What a choice holds for.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Key {
    /// The adapter's name.
    pub adapter: String,
    /// The driver and its version.
    pub driver: String,
    /// `vulkan`, `metal`, `dx12`.
    pub backend: String,
    /// Threads and bytes of memory per workgroup that it was opened with.
    pub limits: [u32; 2],
    /// Checksum of the text of all kernels.
    pub kernels: String,
    /// The size class: up to this number of bodies, and more than half of it; a power of two.
    pub up_to: u64,
}

impl Key {
    /// The key for `n` bodies on `gpu`.
    pub fn of(gpu: &Gpu, n: usize) -> Self {
        let adapter = &gpu.adapter;
        Self {
            adapter: adapter.name.clone(),
            driver: adapter.driver.clone(),
            backend: adapter.backend.clone(),
            limits: [gpu.limits.threads_per_workgroup, gpu.limits.workgroup_memory],
            kernels: kernels_checksum(),
            up_to: size_class(n),
        }
    }
}

/// The size class of `n` bodies: the power of two at or above it.
pub fn size_class(n: usize) -> u64 {
    (n.max(1) as u64).next_power_of_two()
}

/// Checksum of the shader texts that a simulation runs.
fn kernels_checksum() -> String {
    let mut sum = crc32fast::Hasher::new();
    for (name, text) in template::FILES {
        sum.update(name.as_bytes());
        sum.update(text.as_bytes());
    }
    format!("{:08x}", sum.finalize())
}

/// The shape for `n` bodies on `gpu`: the user's wish; where that fixes nothing, what tuning has found;
/// else the device's default.
///
/// Errors: those of [`KernelWish::resolve`].
pub fn resolve(wish: &KernelWish, gpu: &Gpu, n: usize) -> Result<KernelConfig> {
    if wish.fixes_nothing()
        && let Some(found) = remembered(gpu, n)
    {
        return Ok(wish.fill(found));
    }
    wish.resolve(gpu, n, n)
}

/// What tuning has found for `n` bodies on `gpu`, if anything that the adapter can hold.
pub fn remembered(gpu: &Gpu, n: usize) -> Option<KernelConfig> {
    let loaded = Store::default_place()?.load();
    if let Some(problem) = &loaded.damage {
        static SAID: std::sync::Once = std::sync::Once::new();
        SAID.call_once(|| log::error!("{problem}: ignored; 'gravitile tune' writes it anew"));
    }
    let key = Key::of(gpu, n);
    let choice = loaded.choices.into_iter().find(|choice| choice.key == key)?;
    let config = KernelConfig::from(choice.kernel);
    let usable = config.validate(Some(gpu)).and_then(|()| config.holds(n));
    usable.is_ok().then_some(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fall_into_classes() {
        let classes: Vec<u64> = [0, 1, 2, 3, 1000, 1024, 1025].map(size_class).to_vec();
        assert_eq!(classes, [1, 1, 2, 4, 1024, 1024, 2048]);
    }
}
