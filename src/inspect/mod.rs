//! A Vulkan driver's report on a compiled force kernel: registers, spills, occupancy, machine code.
//!
//! Uses VK_KHR_pipeline_executable_properties, which wgpu does not expose: the same SPIR-V is
//! compiled again on a separate instance and device. Mesa's drivers for AMD and Intel and NVIDIA's
//! own support it; lavapipe does not. RADV, Mesa's driver for AMD, also compiles for GPUs that are
//! not present.

mod assembly;
#[cfg(all(feature = "inspect", not(target_arch = "wasm32")))]
mod driver;
mod occupancy;

pub use assembly::{InnerLoop, inner_loop};
#[cfg(all(feature = "inspect", not(target_arch = "wasm32")))]
pub use driver::{Inspector, driver_manifest};
pub use occupancy::{Occupancy, Processor, RoomLimit, lanes_idle};

use crate::forces::direct::gpu::KernelVariant;

/// A number that a driver reports about a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// The driver's name for it, such as `VGPRs` or `Register Count`.
    pub name: String,
    /// The driver's description of it.
    pub description: String,
    /// Its value; booleans are 0 or 1.
    pub value: f64,
}

/// Everything a driver reports about one kernel.
#[derive(Clone, Debug)]
pub struct CompilerReport<V = KernelVariant> {
    /// The device's name according to the driver.
    pub device: String,
    /// The driver and its version.
    pub driver: String,
    /// What was compiled.
    pub variant: V,
    /// Threads per subgroup (wave, warp) for which the kernel was compiled; 0 if not reported.
    pub subgroup_size: u32,
    /// Threads of the smallest subgroup that the device supports; 0 if not reported.
    pub least_subgroup_size: u32,
    /// All numbers, in the driver's order.
    pub statistics: Vec<Statistic>,
    /// The machine code as text, if the driver provides it.
    pub assembly: Option<String>,
    /// Its loop over the sources, if its dialect is known (AMD's).
    pub inner_loop: Option<InnerLoop>,
}

impl<V> CompilerReport<V> {
    /// The first statistic with one of these names, ignoring case.
    fn find(&self, names: &[&str]) -> Option<f64> {
        let named = |name: &&str| {
            self.statistics.iter().find(|known| known.name.eq_ignore_ascii_case(name))
        };
        names.iter().find_map(named).map(|known| known.value)
    }

    /// Registers per thread.
    pub fn registers(&self) -> Option<u64> {
        self.find(&["VGPRs", "Register Count", "Registers", "Max live registers"]).map(as_count)
    }

    /// Registers spilled to memory, of all threads and of the subgroup.
    pub fn spilled(&self) -> Option<u64> {
        let vector = self.find(&["Spilled VGPRs", "Spill count"]);
        let scalar = self.find(&["Spilled SGPRs"]);
        if vector.is_none() && scalar.is_none() {
            return None;
        }
        Some(as_count(vector.unwrap_or(0.0) + scalar.unwrap_or(0.0)))
    }

    /// Bytes of workgroup memory.
    pub fn workgroup_memory(&self) -> Option<u64> {
        self.find(&["LDS size", "Shared Memory Size", "Workgroup Memory Size"]).map(as_count)
    }

    /// Subgroups that fit on one SIMD unit, by registers and workgroup memory. On AMD GPUs with
    /// subgroups of 32 (RDNA) Mesa counts in these even if the kernel runs in subgroups of 64; here
    /// the count is in the kernel's own.
    pub fn subgroups_per_simd(&self) -> Option<u64> {
        let halves = match (self.subgroup_size, self.least_subgroup_size) {
            (64, 32) => 2.0,
            _ => 1.0,
        };
        self.find(&["Subgroups per SIMD"]).map(|count| as_count(count / halves))
    }

    /// The same computed from the resources, with the limiting one, if the processor is known.
    pub fn room(&self, threads: u32) -> Option<Occupancy> {
        let processor = Processor::of_device(&self.device)?;
        let size = match self.subgroup_size {
            0 => processor.subgroup_sizes[0],
            size => size,
        };
        let memory = self.workgroup_memory().unwrap_or(0);
        processor.room(self.registers()? as u32, memory as u32, threads, size)
    }

    /// Machine instructions of the whole kernel.
    pub fn instructions(&self) -> Option<u64> {
        self.find(&["Instructions", "Instruction Count"]).map(as_count)
    }

    /// Bytes of machine code.
    pub fn code_size(&self) -> Option<u64> {
        self.find(&["Code size", "Binary Size"]).map(as_count)
    }

    /// Machine instructions per interaction in the inner loop. The arithmetic alone takes 13.
    pub fn per_interaction(&self) -> Option<f64> {
        self.inner_loop.as_ref().map(InnerLoop::per_interaction)
    }
}

/// The fewest instructions per interaction of one thread: 3 subtractions, 3 fused multiply-adds, 1
/// reciprocal square root, 3 multiplications, 3 fused multiply-adds.
pub const LEAST_PER_INTERACTION: f64 = 13.0;

fn as_count(value: f64) -> u64 {
    value.max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forces::direct::gpu::KernelConfig;

    #[test]
    fn statistics_are_found_under_each_drivers_names() {
        let config = KernelConfig::tiled(64);
        let statistic = |(name, value): (&str, f64)| Statistic {
            name: name.to_owned(),
            description: String::new(),
            value,
        };
        let report = |statistics: &[(&str, f64)]| CompilerReport {
            device: String::new(),
            driver: String::new(),
            variant: KernelVariant {
                config,
                guarded: false,
                potential: false,
                one_mass: false,
                alone: false,
            },
            subgroup_size: 32,
            least_subgroup_size: 32,
            statistics: statistics.iter().copied().map(statistic).collect(),
            assembly: None,
            inner_loop: None,
        };
        let amd = report(&[
            ("VGPRs", 48.0),
            ("Spilled SGPRs", 1.0),
            ("Spilled VGPRs", 2.0),
            ("LDS size", 4096.0),
            ("Subgroups per SIMD", 20.0),
        ]);
        assert_eq!((amd.registers(), amd.spilled()), (Some(48), Some(3)));
        assert_eq!((amd.workgroup_memory(), amd.subgroups_per_simd()), (Some(4096), Some(20)));
        assert_eq!(amd.per_interaction(), None);
        let (rdna, gcn) = (CompilerReport { subgroup_size: 64, ..amd.clone() }, amd.clone());
        assert_eq!(rdna.subgroups_per_simd(), Some(10));
        let gcn = CompilerReport { subgroup_size: 64, least_subgroup_size: 64, ..gcn };
        assert_eq!(gcn.subgroups_per_simd(), Some(20));
        let named = CompilerReport { device: "AMD RADV NAVI21".to_owned(), ..rdna };
        assert_eq!(named.room(256).unwrap().in_words(), "10 of 16, limited by registers");
        let other = report(&[("Register Count", 40.0), ("Binary Size", 1e3)]);
        assert_eq!((other.registers(), other.code_size()), (Some(40), Some(1000)));
        assert_eq!((other.spilled(), other.instructions()), (None, None));
    }
}
