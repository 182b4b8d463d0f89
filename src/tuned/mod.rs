//! What tuning has found on this machine: the best kernel shape for an adapter and a number of bodies,
//! and from how many bodies on the tree is faster than all pairs, in one small file.
//!
//! The program looks it up in the user's cache folder and hands it to every simulation whose kernel the user did
//! not fix ([`Known`]). A choice holds for one adapter, driver,
//! set of limits and text of the kernels: after a change of any of them it is not found again, and the
//! defaults of [`KernelConfig::for_device`] serve until the next tuning. What a new version of the program has left
//! behind that way is told ([`OUTDATED`]).

mod crossover;
mod store;

pub use crossover::{Crossover, Device, Trial};
pub use store::{Choice, Loaded, Store};

use std::sync::Arc;

use crate::error::Result;
use crate::forces::direct::gpu::{KernelConfig, KernelRequest};
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

    /// Whether both are for the same device and size.
    fn is_but_for_kernels(&self, other: &Self) -> bool {
        *self == Self { kernels: self.kernels.clone(), ..other.clone() }
    }
}

/// What there is to say of a choice that was made with the kernels of another version of the program.
pub const OUTDATED: &str =
    "what was tuned with earlier shaders is not used; 'gravitile tune' finds it anew";

/// The size class of `n` bodies: the power of two at or above it.
pub fn size_class(n: usize) -> u64 {
    (n.max(1) as u64).next_power_of_two()
}

/// The folders of the texts that a step is made of.
const STEPPING: &[&str] = &["force/", "interaction/", "integrate/"];

/// Checksum of the shader texts that a simulation's steps are made of: not of pictures and diagnostics.
fn kernels_checksum() -> String {
    checksum_of(STEPPING)
}

/// Checksum of the shader texts in these folders, and in none.
fn checksum_of(folders: &[&str]) -> String {
    let mut sum = crc32fast::Hasher::new();
    let is_in =
        |name: &str| !name.contains('/') || folders.iter().any(|folder| name.starts_with(folder));
    for (name, text) in template::FILES.iter().filter(|(name, _)| is_in(name)) {
        sum.update(name.as_bytes());
        sum.update(text.as_bytes());
    }
    format!("{:08x}", sum.finalize())
}

/// What tuning has found, as whoever looked it up hands it in: the library asks no folder of the user's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    choices: Arc<[Choice]>,
    crossovers: Arc<[Crossover]>,
}

impl Known {
    /// These kernels, and from how many bodies on the tree is faster.
    pub fn new(choices: Vec<Choice>, crossovers: Vec<Crossover>) -> Self {
        Self { choices: choices.into(), crossovers: crossovers.into() }
    }

    /// From how many bodies on the tree is faster on that device, if it was measured there with these kernels.
    pub fn crossover(&self, on: &Device) -> Option<&Crossover> {
        self.crossovers.iter().find(|crossover| crossover.on == *on)
    }

    /// What was found for `n` bodies on `gpu`, if anything that the adapter can hold.
    pub fn find(&self, gpu: &Gpu, n: usize) -> Option<KernelConfig> {
        if self.choices.is_empty() {
            return None;
        }
        let key = Key::of(gpu, n);
        let config = self.choices.iter().find(|choice| choice.key == key)?.kernel;
        let usable = config.validate(Some(gpu)).and_then(|()| config.holds(n));
        usable.is_ok().then_some(config)
    }

    /// True where all that was found for `n` bodies on `gpu` is [`OUTDATED`].
    pub fn is_outdated(&self, gpu: &Gpu, n: usize) -> bool {
        !self.choices.is_empty() && self.has_only_outdated(&Key::of(gpu, n))
    }

    fn has_only_outdated(&self, wanted: &Key) -> bool {
        let of_the_rest = |choice: &&Choice| choice.key.is_but_for_kernels(wanted);
        let mut found = self.choices.iter().filter(of_the_rest).peekable();
        found.peek().is_some() && found.all(|choice| choice.is_outdated())
    }

    /// The shape for `n` bodies on `gpu`: what is asked for; where that fixes nothing, what was found; else the
    /// device's default.
    ///
    /// Errors: those of [`KernelRequest::resolve`].
    pub fn resolve(&self, request: &KernelRequest, gpu: &Gpu, n: usize) -> Result<KernelConfig> {
        if request.fixes_nothing()
            && let Some(found) = self.find(gpu, n)
        {
            return Ok(request.fill(found));
        }
        request.resolve(gpu, n, n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new tone map is no reason to tune again; a new way to step is.
    #[test]
    fn the_checksum_is_of_what_steps_are_made_of() {
        let covers = |folder: &str| {
            !folder.contains('/') || STEPPING.iter().any(|known| folder.starts_with(known))
        };
        let names = || template::FILES.iter().map(|(name, _)| *name);
        assert!(names().any(|name| name == "force/all_pairs.wgsl" && covers(name)));
        assert!(names().any(|name| name.starts_with("integrate/") && covers(name)));
        assert!(names().any(|name| name.starts_with("render/") && !covers(name)));
    }

    #[test]
    fn what_was_found_with_earlier_kernels_is_told_apart() {
        let key = |driver: &str, kernels: &str| Key {
            adapter: "adapter".to_owned(),
            driver: driver.to_owned(),
            backend: "vulkan".to_owned(),
            limits: [256, 16384],
            kernels: kernels.to_owned(),
            up_to: 1024,
        };
        let known = |keys: &[Key]| {
            let choice = |key: &Key| Choice {
                key: key.clone(),
                n: 1024,
                secs_per_step: 1e-3,
                default_secs_per_step: 1e-3,
                method: "wall clock".to_owned(),
                kernel: KernelConfig::tiled(64),
            };
            Known::new(keys.iter().map(choice).collect(), Vec::new())
        };
        let now = key("1", &kernels_checksum());
        let older = key("1", "a10bc7df");
        assert!(known(std::slice::from_ref(&older)).has_only_outdated(&now));
        assert!(!known(&[older.clone(), now.clone()]).has_only_outdated(&now));
        assert!(!known(&[key("2", "a10bc7df")]).has_only_outdated(&now), "of another driver");
        assert!(!known(&[Key { up_to: 512, ..older }]).has_only_outdated(&now), "of another size");
        assert!(!Known::default().has_only_outdated(&now));
    }

    #[test]
    fn sizes_fall_into_classes() {
        let classes: Vec<u64> = [0, 1, 2, 3, 1000, 1024, 1025].map(size_class).to_vec();
        assert_eq!(classes, [1, 1, 2, 4, 1024, 1024, 2048]);
    }
}
