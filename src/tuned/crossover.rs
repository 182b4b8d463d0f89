//! From how many bodies on the tree is faster than all pairs, on an adapter or on the processor.

use serde::{Deserialize, Serialize};

use super::checksum_of;
use crate::forces::ForceEngine;
use crate::forces::direct::CpuSingle;
use crate::gpu::Gpu;

/// On what something was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The adapter's name; of the processor its kernel and its threads.
    pub device: String,
    /// The driver and its version; of the processor nothing.
    pub driver: String,
    /// `vulkan`, `metal`, `dx12`, `cpu`.
    pub backend: String,
    /// Threads and bytes of memory per workgroup that an adapter was opened with.
    pub limits: [u32; 2],
    /// Checksum of the kernels' text; of the processor the program's version.
    pub kernels: String,
}

/// The folders of the texts that steps by either method are made of.
const METHODS: &[&str] = &["force/", "interaction/", "integrate/", "scan/", "sort/", "tree/"];

impl Device {
    /// The processor of this machine.
    pub fn processor() -> Self {
        Self {
            device: CpuSingle::new().describe(),
            driver: String::new(),
            backend: "cpu".to_owned(),
            limits: [0; 2],
            kernels: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl From<&Gpu> for Device {
    fn from(gpu: &Gpu) -> Self {
        let adapter = &gpu.adapter;
        Self {
            device: adapter.name.clone(),
            driver: adapter.driver.clone(),
            backend: adapter.backend.clone(),
            limits: [gpu.limits.threads_per_workgroup, gpu.limits.workgroup_memory],
            kernels: checksum_of(METHODS),
        }
    }
}

/// Steps of a number of bodies, by either method.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Number of bodies.
    pub n: u64,
    /// Seconds per step by all pairs.
    pub direct_secs: f64,
    /// Seconds per step by the tree.
    pub tree_secs: f64,
}

/// From how many bodies on the tree is faster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crossover {
    /// Where.
    #[serde(flatten)]
    pub on: Device,
    /// The least number of bodies that the tree is taken for.
    pub from: u64,
    /// What was measured, in rising numbers.
    pub tried: Vec<Trial>,
}
