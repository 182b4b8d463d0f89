//! Another kernel or softening for bodies on a device: the request, and what is compiled for it.

use crate::forces::direct::gpu::KernelRequest;
use crate::sim::{CompiledKernel, Diagnosis, Totals};

/// Another kernel or softening, as asked for.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub request: KernelRequest,
    pub softening: f64,
    /// Whether the shaders' texts have changed: those of the diagnostics are then compiled as well.
    pub anew: bool,
}

/// What a change needs, compiled.
pub(super) struct Changed {
    pub kernel: CompiledKernel,
    pub reports: Reports,
    pub softening: f64,
}

/// What reports need after it.
pub(super) enum Reports {
    /// The sums over the potentials, which another kernel stores elsewhere.
    Totals(Totals),
    /// Everything.
    All(Box<Diagnosis>),
}
