//! Bringing device buffers to the host.

#[cfg(not(target_arch = "wasm32"))]
use super::Gpu;
#[cfg(not(target_arch = "wasm32"))]
use crate::error::{Error, Result};

/// Reads the first `count` entries of each buffer, waiting for the device. For headless runs and tests.
///
/// All copies go in one submission, so the buffers are seen at one moment.
#[cfg(not(target_arch = "wasm32"))]
pub fn read_blocking<T: bytemuck::Pod>(
    gpu: &Gpu,
    buffers: &[&wgpu::Buffer],
    count: usize,
) -> Result<Vec<Vec<T>>> {
    let bytes = (count * size_of::<T>()) as u64;
    let mut encoder = gpu.device.create_command_encoder(&Default::default());
    let staged: Vec<wgpu::Buffer> = buffers
        .iter()
        .map(|buffer| {
            let staging = gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("readback"),
                size: bytes,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, bytes);
            staging
        })
        .collect();
    let submission = gpu.queue.submit([encoder.finish()]);
    for staging in &staged {
        staging.map_async(wgpu::MapMode::Read, .., |_| ());
    }
    gpu.wait_for(submission)?;
    let read = |staging: &wgpu::Buffer| {
        let mapped = staging
            .get_mapped_range(..)
            .map_err(|error| Error::Device(format!("cannot read a buffer back: {error}")))?;
        Ok(bytemuck::pod_collect_to_vec(&mapped))
    };
    staged.iter().map(read).collect()
}
