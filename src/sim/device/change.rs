//! Another softening or kernel for bodies on a device. A softening is a parameter of the kernels,
//! unless it needs or no longer needs their guard. Other kernels are compiled in the background and
//! swapped in between two submissions.

use std::sync::Arc;

use super::combined::Combined;
use super::stepper::Stepper;
use super::{DeviceState, Phase};
use crate::error::Result;
use crate::forces::direct::gpu::{DEFAULT_BLOCK, KernelRequest, KernelVariant, Masses};
use crate::forces::{DeviceField, DeviceForces, DeviceTools, Method, Throughput, check_softening};
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
    /// In the caller's units.
    softening: f64,
}

/// A compiled kernel for [`DeviceState::take_kernel`].
pub struct CompiledKernel {
    stepper: Stepper,
    potential: Box<dyn DeviceForces>,
    variant: KernelVariant,
    softening: f64,
}

impl NextKernel {
    /// Compiles and binds the kernel, with and without potential.
    ///
    /// # Errors
    /// A shader that does not compile.
    pub async fn compile(&self) -> Result<CompiledKernel> {
        let Self { gpu, buffers, method, tools, integrator, softening } = self;
        let stepper = Stepper::bind(gpu, buffers, *method, tools, integrator).await?;
        let potential = stepper.forces.with_potential(gpu, buffers).await?;
        let (variant, softening) = (tools.kernel, *softening);
        Ok(CompiledKernel { stepper, potential, variant, softening })
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The bodies' buffers.
    pub fn buffers(&self) -> &BodyBuffers {
        &self.buffers
    }

    /// The external field.
    pub fn field(&self) -> &DeviceField {
        &self.tools.field
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
    pub fn next_kernel(&self, request: &KernelRequest, softening: f64) -> Result<NextKernel> {
        check_softening(softening)?;
        let in_frame = softening / self.frame.length;
        let n = self.buffers.count as usize;
        let masses = Masses::of(&self.buffers.mass, DEFAULT_BLOCK);
        let config = self.known.resolve(request, &self.gpu, n, masses)?;
        let kernel = KernelVariant::new(config, in_frame, self.largest_mass, false);
        let (gpu, buffers) = (Arc::clone(&self.gpu), self.buffers.clone());
        let walk = self.known.walk(&self.gpu, n);
        let (tree, field) = (self.tree, self.field.clone());
        let tools = DeviceTools { kernel, softening: in_frame, tree, walk, field };
        let (method, integrator) = (self.method, self.integrator);
        Ok(NextKernel { gpu, buffers, method, tools, integrator, softening })
    }

    /// Uses `kernel`, made for these bodies, from now on. A partly computed force is restarted with
    /// it; with a new softening, accelerations are recomputed before the next step. Nothing else of
    /// the state changes. Returns whether the softening is new.
    pub fn take_kernel(&mut self, kernel: CompiledKernel) -> bool {
        let CompiledKernel { stepper, potential, variant, softening } = kernel;
        if Some(variant) != self.variant() {
            self.throughput = Throughput::guess(self.gpu.adapter.class);
        }
        (self.potential, self.stepper) = (Some(potential), stepper);
        self.combined = None;
        self.restart_with(softening)
    }

    /// Whether another softening needs no other kernel: it is then a parameter of each submission.
    pub fn kernel_takes(&self, softening: f64) -> bool {
        let is_guarded = |softening: f64| {
            KernelVariant::is_guarded(softening / self.frame.length, self.largest_mass)
        };
        is_guarded(softening) == is_guarded(self.softening)
    }

    /// Uses a softening that [`DeviceState::kernel_takes`] from now on, as
    /// [`DeviceState::take_kernel`] does with a kernel made for it. Returns whether it is new.
    pub fn set_softening(&mut self, softening: f64) -> bool {
        if softening == self.softening {
            return false;
        }
        let in_frame = (softening / self.frame.length) as f32;
        self.stepper.set_softening(in_frame);
        let combined = self.combined.as_mut().and_then(Combined::forces_mut);
        for forces in self.potential.as_mut().into_iter().chain(combined) {
            forces.set_softening(in_frame);
        }
        self.forget_combined();
        self.restart_with(softening)
    }

    /// Restarts a partly computed force. With a new softening, accelerations are recomputed before
    /// the next step. Returns whether it is new.
    fn restart_with(&mut self, softening: f64) -> bool {
        let is_new = softening != self.softening;
        if self.phase == Phase::Between && is_new {
            self.phase = Phase::Force { dt: 0.0 };
        }
        self.softening = softening;
        let is_in_step = self.phase != (Phase::Force { dt: 0.0 });
        self.stepper.begin_step(self.steps + u64::from(is_in_step));
        is_new
    }
}
