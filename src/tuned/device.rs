//! The device and the kernels for which a measurement is valid.

use serde::{Deserialize, Serialize};

use crate::gpu::{Gpu, template};

/// The device and the kernels of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunedDevice {
    /// The adapter's name (`adapter` in older files).
    #[serde(alias = "adapter")]
    pub device: String,
    /// The driver and its version.
    pub driver: String,
    /// `vulkan`, `metal`, `dx12`.
    pub backend: String,
    /// Limits that an adapter was opened with: threads and bytes of memory per workgroup.
    pub limits: [u32; 2],
    /// Checksum of the kernels' source.
    pub kernels: String,
}

/// The kernels that a result depends on, by the folders of their source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelSources {
    /// Steps by all pairs.
    Direct,
    /// Steps by the tree.
    Tree,
    /// Forces with derivatives.
    Derivatives,
}

impl KernelSources {
    fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Direct => &["force/", "interaction/", "integrate/"],
            Self::Tree => &["integrate/", "scan/", "sort/", "tree/"],
            Self::Derivatives => &["direct/"],
        }
    }

    fn include_file(self, name: &str) -> bool {
        !name.contains('/') || self.folders().iter().any(|folder| name.starts_with(folder))
    }

    /// Checksum of their source, excluding rendering and diagnostics.
    pub fn checksum(self) -> String {
        let mut sum = crc32fast::Hasher::new();
        for (name, text) in template::FILES.iter().filter(|(name, _)| self.include_file(name)) {
            sum.update(name.as_bytes());
            sum.update(text.as_bytes());
        }
        format!("{:08x}", sum.finalize())
    }
}

impl TunedDevice {
    /// An adapter and the kernels that a result depends on.
    pub fn of(gpu: &Gpu, kernels: KernelSources) -> Self {
        let adapter = &gpu.adapter;
        Self {
            device: adapter.name.clone(),
            driver: adapter.driver.clone(),
            backend: adapter.backend.clone(),
            limits: [gpu.limits.threads_per_workgroup, gpu.limits.workgroup_memory],
            kernels: kernels.checksum(),
        }
    }

    /// True if this was measured with another version of these `kernels`.
    pub fn is_outdated(&self, kernels: KernelSources) -> bool {
        self.kernels != kernels.checksum()
    }

    /// Whether there are `results` for this device, all of them measured with other kernels.
    pub fn has_only_older<'a>(&self, results: impl Iterator<Item = &'a Self>) -> bool {
        let mut here = results.filter(|other| self.is_but_for_kernels(other)).peekable();
        here.peek().is_some() && here.all(|other| other.kernels != self.kernels)
    }

    /// Whether both are the same device, whatever the kernels.
    pub fn is_but_for_kernels(&self, other: &Self) -> bool {
        *self == Self { kernels: self.kernels.clone(), ..other.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new tone map does not invalidate tuning; a new integrator does.
    #[test]
    fn checksum_covers_step_kernels_only() {
        let covered = |kernels: KernelSources, folder: &str| {
            let names = template::FILES.iter().map(|(name, _)| *name);
            let of_folder = names.filter(|name| name.starts_with(folder));
            of_folder.map(|name| kernels.include_file(name)).collect::<Vec<_>>()
        };
        for (folder, by_pairs, by_tree) in [
            ("force/", true, false),
            ("integrate/", true, true),
            ("tree/", false, true),
            ("sort/", false, true),
            ("render/", false, false),
        ] {
            let [pairs, tree] =
                [KernelSources::Direct, KernelSources::Tree].map(|of| covered(of, folder));
            assert!(!pairs.is_empty(), "{folder}");
            assert!(pairs.iter().all(|is| *is == by_pairs), "{folder}");
            assert!(tree.iter().all(|is| *is == by_tree), "{folder}");
        }
        assert_ne!(KernelSources::Direct.checksum(), KernelSources::Tree.checksum());
    }
}
