//! A change of the kernel or the softening of a simulation on a device: the request, and what is
//! compiled for it.

use crate::forces::direct::gpu::KernelRequest;
use crate::sim::{CompiledKernel, Diagnosis, Totals};

/// The requested kernel and softening.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub request: KernelRequest,
    pub softening: f64,
    /// Whether the shader sources have changed: the diagnostics' kernels are then compiled as well.
    pub recompile: bool,
}

/// The compiled kernels of a change.
pub(super) struct Changed {
    pub kernel: CompiledKernel,
    pub reports: Reports,
    pub softening: f64,
}

/// The part of the diagnostics that is replaced after a change.
pub(super) enum Reports {
    /// The sums over the potentials, which another kernel stores in another buffer.
    Totals(Totals),
    /// All kernels.
    All(Box<Diagnosis>),
}
