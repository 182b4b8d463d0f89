//! A compiled kernel.

/// Whether run-time checks remain in a kernel.
///
/// A boolean in files.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(from = "bool", into = "bool")]
pub enum Checks {
    /// None: no index clamps, no loop counters, no zeroing of workgroup memory. For our own
    /// kernels, which tests run both ways.
    #[default]
    Off,
    /// All checks that wgpu offers.
    On,
}

impl From<bool> for Checks {
    fn from(on: bool) -> Self {
        if on { Self::On } else { Self::Off }
    }
}

impl From<Checks> for bool {
    fn from(checks: Checks) -> Self {
        checks == Checks::On
    }
}

/// A compute pipeline with the layout of its single bind group.
#[derive(Clone, Debug)]
pub struct ComputeKernel {
    /// The pipeline; entry point `main`.
    pub pipeline: wgpu::ComputePipeline,
    pub(super) layout: wgpu::BindGroupLayout,
}
