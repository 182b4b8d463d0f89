//! Densities and dust on the device, before the sprites are drawn.

use super::light::{HDR_FORMAT, shader};
use super::medium::MediumUniform;
use crate::error::{Error, Result};
use crate::gpu::{Binding, Handles, bind, compute_pipeline, group_layout};

/// The file of the passes, below `shaders/`.
pub const SHADER: &str = "render/medium.wgsl";

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
    buffers: Option<Buffers>,
}

struct Buffers {
    table: wgpu::Buffer,
    opacity: wgpu::Buffer,
    found: wgpu::Buffer,
    group: wgpu::BindGroup,
}

impl MediumPass {
    /// Builds the pipelines, whose first bind group has the layout of the sprites'.
    pub fn new(gpu: Handles, sprites: &wgpu::BindGroupLayout) -> Result<Self> {
        let compute = wgpu::ShaderStages::COMPUTE;
        let layout = group_layout(
            gpu.device,
            "medium",
            &[
                (Binding::Uniform, compute),
                (Binding::Write, compute),
                (Binding::Write, compute),
                (Binding::Write, compute),
            ],
        );
        let module = shader(gpu.device, SHADER, HDR_FORMAT)?;
        let pipeline = |entry| compute_pipeline(gpu.device, &module, entry, &[sprites, &layout]);
        Ok(Self {
            gather: pipeline("gather"),
            accumulate: pipeline("accumulate"),
            look_up: pipeline("look_up"),
            uniform: gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("medium uniform"),
                size: size_of::<MediumUniform>() as u64,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }),
            layout,
            buffers: None,
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
        let fits = |buffers: &Buffers| {
            [&buffers.table, &buffers.opacity, &buffers.found]
                .iter()
                .zip(sizes)
                .all(|(buffer, size)| (size..=4 * size).contains(&buffer.size()))
        };
        let kept = self.buffers.take().filter(fits);
        let buffers = kept.unwrap_or_else(|| {
            let buffer = |label, size| {
                gpu.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some(label),
                    size,
                    usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                })
            };
            let labels = ["densities", "dust", "surroundings"];
            let [table, opacity, found] = std::array::from_fn(|k| buffer(labels[k], sizes[k]));
            let bound = [&self.uniform, &table, &opacity, &found];
            let bound = bound.map(wgpu::Buffer::as_entire_binding);
            Buffers {
                group: bind(gpu.device, "medium", &self.layout, &bound),
                table,
                opacity,
                found,
            }
        });
        let found = buffers.found.clone();
        self.buffers = Some(buffers);
        Ok(found)
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
        let Some(buffers) = &self.buffers else { return };
        gpu.queue.write_buffer(&self.uniform, 0, bytemuck::bytes_of(medium));
        encoder.clear_buffer(&buffers.table, 0, None);
        encoder.clear_buffer(&buffers.opacity, 0, None);
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: Some("medium"),
            timestamp_writes: None,
        });
        pass.set_bind_group(0, sprites, &[]);
        pass.set_bind_group(1, &buffers.group, &[]);
        let columns = medium.columns * medium.rows;
        for (pipeline, threads) in
            [(&self.gather, count), (&self.accumulate, columns), (&self.look_up, count)]
        {
            let groups = threads.div_ceil(THREADS);
            if groups > 0 {
                pass.set_pipeline(pipeline);
                let rows = groups.div_ceil(GROUPS_A_ROW);
                pass.dispatch_workgroups(groups.min(GROUPS_A_ROW), rows, 1);
            }
        }
    }
}
