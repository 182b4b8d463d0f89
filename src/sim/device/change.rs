//! Another softening or kernel for bodies on a device. A softening is a parameter of the kernels,
//! unless it needs or no longer needs their guard. Other kernels are compiled in the background and
//! swapped in between two submissions.

use std::sync::Arc;

use super::stepper::Stepper;
use super::{DeviceState, Phase};
use crate::error::Result;
use crate::forces::direct::gpu::{KernelRequest, KernelVariant, Masses, USUAL_BLOCK};
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
        let stepper = Stepper::bind(gpu, buffers, *method, tools, integrator).await?;
        let potential = stepper.forces.with_potential(gpu, buffers).await?;
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
        let masses = Masses::of(&self.buffers.mass, USUAL_BLOCK);
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
        if Some(tools.kernel) != self.variant() {
            self.throughput = Throughput::guess(self.gpu.adapter.class);
        }
        (self.potential, self.stepper) = (Some(potential), stepper);
        self.combined = None;
        self.restart_with(tools.softening);
    }

    /// Whether another softening needs no other kernel: it is then a parameter of each submission.
    pub fn kernel_takes(&self, softening: f64) -> bool {
        let is_guarded = |softening| KernelVariant::is_guarded(softening, self.largest_mass);
        is_guarded(softening / self.frame.length) == is_guarded(self.softening)
    }

    /// Uses a softening that [`DeviceState::kernel_takes`] from now on, as
    /// [`DeviceState::take_kernel`] does with a kernel made for it.
    pub fn set_softening(&mut self, softening: f64) {
        let softening = softening / self.frame.length;
        self.stepper.set_softening(softening as f32);
        let combined = self.combined.as_mut().and_then(|combined| combined.forces_mut());
        for forces in self.potential.as_mut().into_iter().chain(combined) {
            forces.set_softening(softening as f32);
        }
        self.forget_combined();
        self.restart_with(softening);
    }

    /// Restarts a partly computed force. With a new softening, accelerations are recomputed before
    /// the next step.
    fn restart_with(&mut self, softening: f64) {
        if self.phase == Phase::Between && softening != self.softening {
            self.phase = Phase::Force { dt: 0.0 };
        }
        self.softening = softening;
        let is_in_step = self.phase != (Phase::Force { dt: 0.0 });
        self.stepper.forces.begin_step(self.steps + u64::from(is_in_step));
    }
}
