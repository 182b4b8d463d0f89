//! Densities and dust on the device, before the sprites are drawn.

use super::light::{HDR_FORMAT, shader};
use super::medium::MediumUniform;
use crate::error::{Error, Result};
use crate::gpu::{
    Binding, Handles, begin_computing, bind, compute_pipeline, group_layout, new_buffer,
    uniform_buffer,
};

/// Threads per workgroup, as in `medium.wgsl`.
const THREADS: u32 = 64;
/// Workgroups per row of a dispatch, as in `medium.wgsl`.
const GROUPS_A_ROW: u32 = 1024;

/// The pipelines, and the buffers while a picture shows the medium.
pub(super) struct MediumPass {
    gather: wgpu::ComputePipeline,
    accumulate: wgpu::ComputePipeline,
    look_up: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    uniform: wgpu::Buffer,
    sums: Option<(Sums, wgpu::BindGroup)>,
}

/// The table of densities, the opacities of the dust, and the surroundings of each body.
type Sums = [wgpu::Buffer; 3];

impl MediumPass {
    /// Builds the pipelines, whose first bind group has the layout of the sprites'.
    pub fn new(gpu: Handles, sprites: &wgpu::BindGroupLayout) -> Result<Self> {
        use Binding::{Uniform, Write};
        let bindings = [Uniform, Write, Write, Write];
        let layout = group_layout(gpu.device, "medium", wgpu::ShaderStages::COMPUTE, &bindings);
        let module = shader(gpu.device, "medium", HDR_FORMAT)?;
        let pipeline = |entry| compute_pipeline(gpu.device, &module, entry, &[sprites, &layout]);
        Ok(Self {
            gather: pipeline("gather"),
            accumulate: pipeline("accumulate"),
            look_up: pipeline("look_up"),
            uniform: uniform_buffer(gpu.device, "medium uniform", size_of::<MediumUniform>()),
            layout,
            sums: None,
        })
    }

    /// Allocates buffers for a picture of `count` bodies and returns the one with the surroundings
    /// of each, 8 bytes per body. Exceeding the device's buffer limit is an error.
    pub fn allocate(
        &mut self,
        gpu: Handles,
        medium: &MediumUniform,
        count: u32,
    ) -> Result<wgpu::Buffer> {
        let sizes = [
            4 * medium.entries() as u64,
            4 * medium.slices().max(1) as u64,
            8 * u64::from(count.max(1)),
        ];
        let limits = gpu.device.limits();
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        if let Some(bytes) = sizes.into_iter().find(|&bytes| bytes > most) {
            let allowed = format!("at most {most} on this device; no dust and another colouring");
            return Err(Error::value("the bytes of densities and dust", bytes, allowed));
        }
        let fits = |(sums, _): &(Sums, wgpu::BindGroup)| {
            sums.iter().zip(sizes).all(|(buffer, size)| (size..=4 * size).contains(&buffer.size()))
        };
        let cached = self.sums.take().filter(fits);
        let (sums, _) = self.sums.insert(cached.unwrap_or_else(|| {
            use wgpu::BufferUsages as Usage;
            let usage = Usage::STORAGE | Usage::COPY_DST | Usage::COPY_SRC;
            let labels = ["densities", "dust", "surroundings"];
            let sums: Sums =
                std::array::from_fn(|k| new_buffer(gpu.device, labels[k], sizes[k], usage));
            let bound = [&self.uniform, &sums[0], &sums[1], &sums[2]];
            let bound = bound.map(wgpu::Buffer::as_entire_binding);
            let group = bind(gpu.device, "medium", &self.layout, &bound);
            (sums, group)
        }));
        Ok(sums[2].clone())
    }

    /// Computes the surroundings of `count` bodies, which `sprites` binds, into that buffer.
    pub fn find(
        &self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        medium: &MediumUniform,
        sprites: &wgpu::BindGroup,
        count: u32,
    ) {
        self.gather(gpu, encoder, medium, sprites, count);
        self.look_up(encoder, medium, sprites, count);
    }

    /// Sums densities and opacities of `count` bodies. Sums are of integers.
    pub fn gather(
        &self,
        gpu: Handles,
        encoder: &mut wgpu::CommandEncoder,
        medium: &MediumUniform,
        sprites: &wgpu::BindGroup,
        count: u32,
    ) {
        let Some(([table, opacity, _], _)) = &self.sums else { return };
        gpu.queue.write_buffer(&self.uniform, 0, bytemuck::bytes_of(medium));
        encoder.clear_buffer(table, 0, None);
        encoder.clear_buffer(opacity, 0, None);
        self.run(encoder, sprites, &[(&self.gather, count)]);
    }

    /// What [`MediumPass::gather`] has summed: a buffer of `u32` and the bytes of it that count.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn sums(
        &self,
        medium: &MediumUniform,
    ) -> Option<[(&wgpu::Buffer, std::ops::Range<u64>); 2]> {
        let ([table, opacity, _], _) = self.sums.as_ref()?;
        let [entries, slices] = [medium.entries(), medium.slices().max(1)].map(|n| 4 * n as u64);
        Some([(table, 0..entries), (opacity, 0..slices)])
    }

    /// Computes the surroundings from those sums.
    pub fn look_up(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        medium: &MediumUniform,
        sprites: &wgpu::BindGroup,
        count: u32,
    ) {
        let columns = medium.columns * medium.rows;
        self.run(encoder, sprites, &[(&self.accumulate, columns), (&self.look_up, count)]);
    }

    /// Records kernels, each with its number of threads.
    fn run(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        sprites: &wgpu::BindGroup,
        kernels: &[(&wgpu::ComputePipeline, u32)],
    ) {
        let Some((_, group)) = &self.sums else { return };
        let mut pass = begin_computing(encoder, "medium");
        pass.set_bind_group(0, sprites, &[]);
        pass.set_bind_group(1, group, &[]);
        for (pipeline, threads) in kernels {
            let groups = threads.div_ceil(THREADS);
            if groups > 0 {
                pass.set_pipeline(pipeline);
                let rows = groups.div_ceil(GROUPS_A_ROW);
                pass.dispatch_workgroups(groups.min(GROUPS_A_ROW), rows, 1);
            }
        }
    }
}
