//! Force and leapfrog in one dispatch per step, for forces that need neither slices nor several
//! chunks.
//!
//! The force kernel itself with another ending: the sums kick and drift its own sinks. The new
//! positions go into a second buffer, because other workgroups still read the old ones; steps come
//! in pairs, so that positions end in their own buffer. The arithmetic and its order are those of
//! the force kernel and `leapfrog.wgsl`: the bits do not depend on whether steps are fused.

use minijinja::context;

use super::Integrator;
use crate::error::Result;
use crate::forces::direct::gpu::{AllPairs, KernelConfig, KernelVariant};
use crate::gpu::layout::ForceParams;
use crate::gpu::{Binding, BodyBuffers, BoundKernel, Gpu, Params, compile, storage, template};

/// The kernel bound to the bodies of a simulation.
#[derive(Debug)]
pub struct Fused {
    /// From the bodies' own positions to the second buffer, and back.
    kernels: [BoundKernel; 2],
    params: Params<ForceParams>,
    whole: ForceParams,
    workgroups: u32,
}

/// The assembled WGSL for this many bodies: the force kernel of `variant` (whose potential switch
/// is ignored).
pub fn wgsl(variant: &KernelVariant, bodies: u32) -> Result<String> {
    let KernelConfig { p, q, r, u, broadcast, vec2, .. } = variant.config;
    let vec2 = vec2 && !variant.guarded;
    let (guarded, loaded) = (variant.guarded, variant.config.tiles_at_once());
    let values = context! {
        p, q, r, u, loaded, bodies, guarded, potential => false, one_mass => false, uniform => false, alone => false,
        then_step => true, broadcast, vec2,
    };
    template::assemble(variant.file(), values)
}

impl Fused {
    /// Beyond this number of bodies the cost of a dispatch is negligible compared with the force.
    pub const MOST_BODIES: u32 = 1 << 16;

    /// The fused kernel for `force`, whose sinks and sources are `bodies`. `None` if steps cannot
    /// be fused: an integrator other than leapfrog, slices, sources that are copied, more bodies
    /// than one dispatch takes, or bodies that something else moves between steps.
    pub async fn new(
        gpu: &Gpu,
        bodies: &BodyBuffers,
        force: &AllPairs,
        integrator: &Integrator,
    ) -> Result<Option<Self>> {
        let variant = force.variant;
        let config = variant.config;
        let whole = force.whole();
        let workgroups = bodies.count.div_ceil(config.sinks_per_workgroup());
        let fits = integrator.name == super::leapfrog::LEAPFROG.name
            && config.s == 1
            && !variant.packs()
            && bodies.moves_all()
            && bodies.count <= Self::MOST_BODIES
            && bodies.count <= gpu.adapter.class.most_iterations().saturating_mul(config.u)
            && force.is_one_chunk()
            && workgroups <= gpu.limits.workgroups;
        if !fits {
            return Ok(None);
        }
        use Binding::{Read, Write};
        let size = size_of::<ForceParams>() as u64;
        let bindings = [Read, Read, Write, Binding::Params(size), Write, Write];
        let text = wgsl(&variant, bodies.count)?;
        let kernel = compile(gpu, variant.file(), &text, &bindings, config.checks).await?;
        let params = Params::new(gpu, "fused params", 16);
        let own = &bodies.position_mass;
        let second = storage(gpu, "positions of every other step", bodies.count as usize);
        let between = |[from, to]: [&wgpu::Buffer; 2]| {
            let resources = [
                from.as_entire_binding(),
                from.as_entire_binding(),
                to.as_entire_binding(),
                params.binding(),
                bodies.velocity.as_entire_binding(),
                bodies.acceleration.as_entire_binding(),
            ];
            kernel.bind(gpu, "fused", &resources)
        };
        let kernels = [between([own, &second]), between([&second, own])];
        Ok(Some(Self { kernels, params, whole, workgroups }))
    }

    /// Uses another softening from the next submission on.
    pub fn set_softening(&mut self, softening: f32) {
        self.whole.softening_squared = softening * softening;
    }

    /// Begins a submission.
    pub fn begin_submission(&mut self) {
        self.params.clear();
    }

    /// Sends the parameters of everything recorded. Call before submitting.
    pub fn end_submission(&mut self, gpu: &Gpu) {
        self.params.upload(gpu);
    }

    /// Records two dispatches. Each computes the force of a step of `dt` that has begun, ends the
    /// step, and begins the next one of the same length. Accelerations are not stored (of theirs,
    /// only w is written).
    pub fn record_two(&mut self, pass: &mut wgpu::ComputePass<'_>, dt: f64) {
        let half = (0.5 * dt) as f32;
        let offset = self.params.offset_of(ForceParams {
            close_kick: half,
            open_kick: half,
            drift: dt as f32,
            ..self.whole
        });
        let [there, back] = &self.kernels;
        there.set(pass, &[offset]);
        pass.dispatch_workgroups(self.workgroups, 1, 1);
        back.rebind(pass, &[offset]);
        pass.dispatch_workgroups(self.workgroups, 1, 1);
    }
}
