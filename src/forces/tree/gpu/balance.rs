//! The correction of the total force on a device: `shaders/tree/balance.wgsl`, bound and recorded.

use minijinja::context;

use super::Bound;
use crate::error::Result;
use crate::forces::tree::LEAST_REST;
use crate::gpu::{Binding, BoundKernel, compile, storage, template};

/// Threads of a workgroup, and also the most workgroups, because each reads the results of all.
const THREADS: u32 = 256;

/// The fewest bodies per thread.
const ROWS: u32 = 4;

/// The three kernels in order.
#[derive(Debug)]
pub(super) struct Balance {
    kernels: [BoundKernel; 3],
    workgroups: u32,
}

impl Balance {
    /// Compiles them and binds them to the partial sums and to `bodies`, positions and masses.
    pub async fn new(bound: &Bound<'_>, bodies: &wgpu::Buffer) -> Result<Self> {
        let Bound { gpu, shape, buffers, partial_sums, .. } = *bound;
        let workgroups = buffers.count.div_ceil(THREADS * ROWS).clamp(1, THREADS);
        let sums = storage(gpu, "forces left over", 2 * workgroups as usize);
        let shares = gpu.words("shares of what is left over", u64::from(workgroups));
        use Binding::{Read, Write};
        let kernel = async |stage: &str, bound: &[(Binding, &wgpu::Buffer)]| {
            let values = context! { stage, least_rest => LEAST_REST.to_string() };
            let text = template::assemble("tree/balance.wgsl", values)?;
            let bindings: Vec<_> = bound.iter().map(|(binding, _)| *binding).collect();
            let resources: Vec<_> = bound.iter().map(|(_, b)| b.as_entire_binding()).collect();
            let kernel = compile(gpu, "tree/balance.wgsl", &text, &bindings, shape.checks).await?;
            Ok::<_, crate::error::Error>(kernel.bind(gpu, stage, &resources))
        };
        let (forces, bodies) = ((Read, partial_sums), (Read, bodies));
        let kernels = [
            kernel("sum", &[forces, bodies, (Write, &sums)]).await?,
            kernel("share", &[forces, bodies, (Read, &sums), (Write, &shares)]).await?,
            kernel("take", &[(Write, partial_sums), (Read, &sums), (Read, &shares)]).await?,
        ];
        Ok(Self { kernels, workgroups })
    }

    /// Records them.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        for kernel in &self.kernels {
            kernel.set(pass, &[]);
            pass.dispatch_workgroups(self.workgroups, 1, 1);
        }
    }
}
