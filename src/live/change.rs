//! Another kernel or softening for bodies on a device: what is asked for, and what it comes to.

use crate::forces::direct::gpu::KernelRequest;
use crate::sim::{CompiledKernel, Diagnosis, Totals};

/// Another kernel or softening, as asked for.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub request: KernelRequest,
    pub softening: f64,
    /// The texts of shaders have changed: those of the diagnostics are compiled, too.
    pub anew: bool,
}

/// What a change needs, compiled.
pub(super) struct Changed {
    pub kernel: CompiledKernel,
    pub reports: Reports,
    pub softening: f64,
}

/// What reports need for it.
pub(super) enum Reports {
    /// The sums over the potentials, which another kernel leaves elsewhere.
    Totals(Totals),
    /// All of it.
    All(Box<Diagnosis>),
}
