//! The kernels that a step is made of, bound to the bodies.

use crate::error::Result;
use crate::force::{AllPairs, Field, KernelVariant};
use crate::gpu::{BodyBuffers, Gpu};
use crate::integrate::{self, DeviceIntegrator, Fused, OneWorkgroup};

/// Everything that hangs on the shape of the force kernel.
pub(super) struct Kernels {
    pub force: AllPairs,
    pub integrator: Box<dyn DeviceIntegrator>,
    pub fused: Option<Fused>,
    pub one_workgroup: Option<OneWorkgroup>,
}

impl Kernels {
    pub async fn bind(
        gpu: &Gpu,
        buffers: &BodyBuffers,
        variant: KernelVariant,
        softening: f64,
        integrator: &str,
    ) -> Result<Self> {
        let force = AllPairs::new(gpu, variant, field(buffers, softening)).await?;
        let descriptor = integrate::find(integrator)?;
        let make = descriptor.device.ok_or_else(|| {
            gpu.refuse(format!("the integrator '{}' has no device side", descriptor.name))
        })?;
        let integrator = make(gpu, buffers, &force).await?;
        let fused = Fused::new(gpu, buffers, &force, descriptor).await?;
        let one_workgroup =
            OneWorkgroup::wanted(gpu, buffers, &force, descriptor, softening).await?;
        Ok(Self { force, integrator, fused, one_workgroup })
    }
}

/// All bodies as sinks and sources.
pub(super) fn field(buffers: &BodyBuffers, softening: f64) -> Field<'_> {
    Field {
        sources: &buffers.position_mass,
        source_count: buffers.count,
        sinks: &buffers.position_mass,
        sink_count: buffers.count,
        self_offset: 0,
        softening: softening as f32,
    }
}
