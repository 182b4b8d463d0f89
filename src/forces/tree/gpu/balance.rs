//! The correction of the total force on a device: `shaders/tree/balance.wgsl`, bound and recorded.

use minijinja::context;

use super::TreeResources;
use crate::error::Result;
use crate::forces::tree::LEAST_REST;
use crate::gpu::{Binding, BoundKernel, compile, template};

/// Threads of a workgroup.
const THREADS: u32 = 256;

/// The most workgroups: each adds its sums to the same words.
const MOST_WORKGROUPS: u32 = 256;

/// The fewest bodies per thread.
const ROWS: u32 = 4;

/// The source text of a kernel.
fn text(stage: &str) -> Result<String> {
    let values = context! { stage, least_rest => LEAST_REST.to_string() };
    template::assemble("tree/balance.wgsl", values)
}

/// The kernels in order.
#[derive(Debug)]
pub(super) struct BalanceKernels {
    kernels: [BoundKernel; 4],
    workgroups: u32,
}

impl BalanceKernels {
    /// Compiles them and binds them to the partial sums and to `bodies`, positions and masses.
    pub async fn new(bound: &TreeResources<'_>, bodies: &wgpu::Buffer) -> Result<Self> {
        let TreeResources { gpu, shape, buffers, partial_sums, .. } = *bound;
        let workgroups = buffers.count.div_ceil(THREADS * ROWS).clamp(1, MOST_WORKGROUPS);
        use Binding::{Read, Write};
        let kernel = async |stage: &str, bound: &[(Binding, &wgpu::Buffer)]| {
            let text = text(stage)?;
            let bindings: Vec<_> = bound.iter().map(|(binding, _)| *binding).collect();
            let resources: Vec<_> = bound.iter().map(|(_, b)| b.as_entire_binding()).collect();
            let kernel = compile(gpu, "tree/balance.wgsl", &text, &bindings, shape.checks).await?;
            Ok::<_, crate::error::Error>(kernel.bind(gpu, stage, &resources))
        };
        let (tally, state) = ((Write, &buffers.tally), (Read, &buffers.state));
        let summing = [(Read, partial_sums), tally, state, (Read, bodies)];
        let kernels = [
            kernel("greatest", &summing).await?,
            kernel("sum", &summing).await?,
            kernel("share", &summing).await?,
            kernel("take", &[(Write, partial_sums), tally, state]).await?,
        ];
        Ok(Self { kernels, workgroups })
    }

    /// Records them. The tally has been cleared since the last time.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        for k in 0..self.kernels.len() {
            self.record_stage(pass, k);
        }
    }

    /// Records one of the four, if other ranks' sums come between them.
    pub fn record_stage(&self, pass: &mut wgpu::ComputePass<'_>, k: usize) {
        self.kernels[k].set(pass, &[]);
        pass.dispatch_workgroups(self.workgroups, 1, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Checks, Language, translate};

    #[test]
    fn every_text_validates_and_translates() {
        for stage in ["greatest", "sum", "share", "take"] {
            let text = text(stage).unwrap();
            for language in [Language::SpirV, Language::Msl, Language::Hlsl] {
                let out = translate(stage, &text, language, Checks::On);
                assert!(out.unwrap_or_else(|e| panic!("{e}\n{text}")).len() > 500);
            }
        }
    }
}
