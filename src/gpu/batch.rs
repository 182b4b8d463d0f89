//! A submission put together: everything that it sends in one transfer, many dispatches in one pass.
//!
//! Kernels read where the transfer arrives. To copy each part of it to a buffer of its own costs a barrier, and each
//! write of its own or pass costs the host about 10 microseconds (wgpu 30, Vulkan, a virtual machine with an NVIDIA
//! H200), where a call for forces on a few sinks has 100 in all.

use std::num::NonZero;

use bytemuck::Pod;

use super::{BoundKernel, Gpu};

/// What parts are made of: aligned as all that is sent.
type Entry = [u32; 4];

/// Bytes at whose multiples parts begin, as rows of parameters must.
const ALIGNMENT: usize = 256;

/// What a submission sends and then dispatches.
#[derive(Debug, Default)]
pub struct Batch {
    /// Grows and never shrinks.
    entries: Vec<Entry>,
    /// So many of them have been given.
    given: usize,
    /// So many are on the device.
    sent: usize,
    /// So many stay there.
    kept: usize,
    dispatches: Vec<(BoundKernel, u32, [u32; 2])>,
    transfer: Option<wgpu::Buffer>,
}

impl Batch {
    /// Begins anew. There will be room for parts of so many bytes in all, of which there are so many; the buffer of the
    /// last time stays if it is large enough.
    pub fn begin(&mut self, gpu: &Gpu, bytes: u64, parts: usize) {
        self.dispatches.clear();
        (self.given, self.sent, self.kept) = (0, 0, 0);
        let need = bytes + (parts * ALIGNMENT) as u64;
        if self.transfer.as_ref().is_none_or(|there| there.size() < need) {
            let most = gpu.limits.storage_buffer / ALIGNMENT as u64 * ALIGNMENT as u64;
            self.transfer = Some(gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("transfer"),
                size: need.next_power_of_two().min(most).max(need),
                usage: wgpu::BufferUsages::STORAGE
                    | wgpu::BufferUsages::UNIFORM
                    | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            }));
        }
    }

    /// What was sent stays as far as it was marked by [`Batch::keep`]; what was sent after that is forgotten, and others
    /// take its place.
    pub fn again(&mut self) {
        (self.given, self.sent) = (self.kept, self.kept);
    }

    /// What was given so far is used by all submissions until [`Batch::begin`].
    pub fn keep(&mut self) {
        self.kept = self.given;
    }

    /// Where the transfer arrives, between [`Batch::begin`] and the next.
    ///
    /// # Panics
    /// Before the first.
    pub fn buffer(&self) -> &wgpu::Buffer {
        self.transfer.as_ref().expect("begin comes first")
    }

    /// The binding of a row of parameters in it.
    pub fn row_binding<T: Pod>(&self) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: self.buffer(),
            offset: 0,
            size: NonZero::new(size_of::<T>() as u64),
        })
    }

    /// A part of the transfer of `count` values, all of which are to be set, and the byte where it begins on the device.
    pub fn part<T: Pod>(&mut self, count: usize) -> (u32, &mut [T]) {
        let at = self.given.next_multiple_of(ALIGNMENT / size_of::<Entry>());
        let bytes = count * size_of::<T>();
        self.given = at + bytes.div_ceil(size_of::<Entry>());
        if self.entries.len() < self.given {
            self.entries.resize(self.given, Entry::default());
        }
        let there: &mut [u8] = bytemuck::cast_slice_mut(&mut self.entries[at..self.given]);
        ((at * size_of::<Entry>()) as u32, bytemuck::cast_slice_mut(&mut there[..bytes]))
    }

    /// A row of parameters; where it begins.
    pub fn row<T: Pod>(&mut self, row: T) -> u32 {
        let (at, there) = self.part(1);
        there[0] = row;
        at
    }

    /// Dispatches `kernel` with the row of parameters at `offset` after what was given before.
    pub fn dispatch(&mut self, kernel: &BoundKernel, offset: u32, workgroups: [u32; 2]) {
        self.dispatches.push((kernel.clone(), offset, workgroups));
    }

    /// Records all that was given since the last time into `encoder`, which is to be submitted before the next.
    pub fn record(&mut self, gpu: &Gpu, encoder: &mut wgpu::CommandEncoder) {
        if self.given > self.sent {
            let bytes: &[u8] = bytemuck::cast_slice(&self.entries[self.sent..self.given]);
            gpu.queue.write_buffer(self.buffer(), (self.sent * size_of::<Entry>()) as u64, bytes);
            self.sent = self.given;
        }
        if !self.dispatches.is_empty() {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for (kernel, offset, [x, y]) in self.dispatches.drain(..) {
                kernel.set(&mut pass, &[offset]);
                pass.dispatch_workgroups(x, y, 1);
            }
        }
    }
}
