//! A submission put together: many small writes in one transfer, many dispatches in one pass.
//!
//! Each write of its own costs the host about 9 microseconds, and each pass about 10 (wgpu 30, Vulkan, a virtual machine
//! with an NVIDIA H200), where a call for forces on a few sinks has 100 in all.

use super::{BoundKernel, Gpu, storage};

/// Bytes of one entry of the transfer's buffer.
const ENTRY: u64 = super::layout::VEC4;

/// What a submission writes and then dispatches. Writes come before all dispatches.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    writes: Vec<(wgpu::Buffer, u64)>,
    dispatches: Vec<(BoundKernel, u32, [u32; 2])>,
    transfer: Option<wgpu::Buffer>,
}

impl Batch {
    /// Writes `bytes`, a multiple of four, at the beginning of `buffer`.
    pub fn write(&mut self, buffer: &wgpu::Buffer, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.writes.push((buffer.clone(), bytes.len() as u64));
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Dispatches `kernel` with the row of parameters at `offset` after what was given before.
    pub fn dispatch(&mut self, kernel: &BoundKernel, offset: u32, workgroups: [u32; 2]) {
        self.dispatches.push((kernel.clone(), offset, workgroups));
    }

    /// Forgets what was never recorded.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.writes.clear();
        self.dispatches.clear();
    }

    /// Records all of it into `encoder`, which is to be submitted before the next batch is recorded.
    pub fn record(&mut self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder) {
        let need = self.bytes.len() as u64;
        if self.transfer.as_ref().is_none_or(|there| there.size() < need) {
            let entries = need.div_ceil(ENTRY).next_power_of_two() as usize;
            self.transfer = Some(storage(gpu, "transfer", entries));
        }
        if let Some(transfer) = self.transfer.as_ref().filter(|_| need > 0) {
            gpu.queue.write_buffer(transfer, 0, &self.bytes);
            let mut from = 0;
            for (buffer, bytes) in self.writes.drain(..) {
                encoder.copy_buffer_to_buffer(transfer, from, &buffer, 0, bytes);
                from += bytes;
            }
        }
        if !self.dispatches.is_empty() {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for (kernel, offset, [x, y]) in self.dispatches.drain(..) {
                kernel.set(&mut pass, &[offset]);
                pass.dispatch_workgroups(x, y, 1);
            }
        }
        self.clear();
    }
}
