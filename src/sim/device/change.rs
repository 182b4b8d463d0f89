//! Another kernel or softening for bodies on a device: compiled in the background while steps are
//! taken, and swapped in between two submissions.

use std::sync::Arc;

use super::stepper::{self, Stepper};
use super::{DeviceState, Phase};
use crate::error::Result;
use crate::forces::direct::gpu::{DEFAULT_BLOCK, KernelRequest, KernelVariant, Masses};
use crate::forces::{DeviceForces, DeviceTools, Method, Throughput, check_softening};
use crate::gpu::{BodyBuffers, Gpu};
use crate::integrate::Integrator;

/// A kernel to be compiled for bodies on a device. It shares only their buffers, so it can be
/// compiled on another thread while they move.
pub struct NextKernel {
    gpu: Arc<Gpu>,
    buffers: BodyBuffers,
    method: Method,
    tools: DeviceTools,
    integrator: &'static Integrator,
}

/// A compiled kernel for [`DeviceState::take_kernel`].
pub struct CompiledKernel {
    stepper: Stepper,
    potential: Box<dyn DeviceForces>,
    tools: DeviceTools,
}

impl NextKernel {
    /// Compiles and binds the kernel, with and without potential.
    ///
    /// # Errors
    /// A shader that does not compile.
    pub async fn compile(&self) -> Result<CompiledKernel> {
        let Self { gpu, buffers, method, tools, integrator } = self;
        let stepper = stepper::bind(gpu, buffers, *method, tools, integrator).await?;
        let potential = stepper.forces().with_potential(gpu, buffers).await?;
        Ok(CompiledKernel { stepper, potential, tools: *tools })
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The bodies' buffers.
    pub fn buffers(&self) -> &BodyBuffers {
        &self.buffers
    }
}

impl CompiledKernel {
    /// The buffer to which it will write potentials, and the number of slices: see
    /// [`DeviceState::potential_sums`].
    pub fn potential_sums(&self) -> (&wgpu::Buffer, u32) {
        (self.potential.partial_sums(), self.potential.slices())
    }
}

impl DeviceState {
    /// The kernel for another shape or softening of these bodies, not yet compiled.
    ///
    /// # Errors
    /// A shape that does not fit the adapter; a softening below 0.
    pub fn next_kernel(
        &self,
        request: &KernelRequest,
        softening: f64,
        integrator: &'static Integrator,
    ) -> Result<NextKernel> {
        check_softening(softening)?;
        let softening = softening / self.frame.length;
        let n = self.buffers.count as usize;
        let masses = Masses::of(&self.buffers.mass, DEFAULT_BLOCK);
        let config = self.known.resolve(request, &self.gpu, n, masses)?;
        let kernel = KernelVariant::new(config, softening, self.largest_mass, false);
        let (gpu, buffers) = (Arc::clone(&self.gpu), self.buffers.clone());
        let walk = self.known.walk(&self.gpu, n);
        let tools = DeviceTools { kernel, softening, tree: self.tree, walk };
        Ok(NextKernel { gpu, buffers, method: self.method, tools, integrator })
    }

    /// Uses `kernel`, made for these bodies, from now on. A partly computed force is restarted with
    /// it; with a new softening, accelerations are recomputed before the next step. Nothing else of
    /// the state changes.
    pub fn take_kernel(&mut self, kernel: CompiledKernel) {
        let CompiledKernel { stepper, potential, tools } = kernel;
        let DeviceTools { kernel: variant, softening, .. } = tools;
        if self.phase == Phase::Between && softening != self.softening {
            self.phase = Phase::Force { dt: 0.0 };
        }
        if Some(variant) != self.variant() {
            self.throughput = Throughput::guess(self.gpu.adapter.class);
        }
        (self.softening, self.potential, self.stepper) = (softening, Some(potential), stepper);
        self.together = None;
        let is_in_step = self.phase != (Phase::Force { dt: 0.0 });
        self.stepper.begin_step(self.steps + u64::from(is_in_step));
    }
}
