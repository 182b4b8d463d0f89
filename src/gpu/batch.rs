//! A batch of kernel dispatches with their input data: one transfer to the device and one compute
//! pass for many dispatches.
//!
//! Kernels read their input from the transfer buffer. Copying each slice to its own buffer would
//! cost a barrier, and each further write or pass costs the host about 10 microseconds (wgpu 30,
//! Vulkan, a virtual machine with an NVIDIA H200), where a call for forces on a few sinks takes 100
//! in total. With mapped storage there is no transfer, and commands are recorded in advance:
//! together 20 to 30 microseconds less.

use std::num::NonZero;

use bytemuck::Pod;

use super::transfer::Transfer;
use super::{BoundKernel, Gpu};

/// Unit of allocation: the alignment of everything in the transfer.
type TransferUnit = [u32; 4];

/// Alignment in bytes of each allocation, as required for rows of parameters.
const ALIGNMENT: usize = 256;

/// With mapped storage, rows of parameters at the start of the buffer, each followed by the size of
/// its dispatch: commands that read them at these fixed offsets do not depend on their values and
/// can be recorded in advance.
const FIRST_ROWS: usize = 16;

/// Offset of the dispatch size in such a row.
const SIZE_AT: usize = 240;

/// Recorded command buffers in the cache: with and without changes, with and without a prediction.
const MOST_RECORDED: usize = 4;

/// Input data and dispatches of a submission.
#[derive(Debug, Default)]
pub struct Batch {
    /// Host copy of the transfer; never shrinks.
    entries: Vec<TransferUnit>,
    /// Entries allocated so far.
    allocated: usize,
    /// Entries uploaded so far.
    sent: usize,
    /// Entries that persist across [`Batch::again`].
    retained: usize,
    dispatches: Vec<BatchedDispatch>,
    transfer: Option<Transfer>,
    /// Whether the host writes directly into the buffer that kernels read (mapped storage).
    in_place: bool,
    /// Number of [`FIRST_ROWS`] in use.
    rows: usize,
    /// Commands recorded in advance, the oldest first.
    recorded: Vec<(Vec<BatchedDispatch>, wgpu::CommandBuffer)>,
    /// Dispatches of the last submission, to be recorded again; `before`: of the submission before
    /// it.
    to_record: Option<Vec<BatchedDispatch>>,
    before: Vec<BatchedDispatch>,
}

/// A kernel with the offset of its row of parameters.
#[derive(Clone, Debug)]
struct BatchedDispatch {
    kernel: BoundKernel,
    offset: u32,
    workgroups: [u32; 2],
    /// Whether the dispatch is indirect, with its size read from the row; costs the device 1
    /// microsecond.
    reads_size: bool,
}

impl BatchedDispatch {
    /// Whether this recorded dispatch can serve `other`.
    fn can_serve(&self, other: &Self) -> bool {
        let is_same = self.kernel == other.kernel && self.offset == other.offset;
        is_same && (self.reads_size || self.workgroups == other.workgroups)
    }
}

/// Whether a row is one of [`FIRST_ROWS`].
fn is_first(offset: u32) -> bool {
    (offset as usize) < FIRST_ROWS * ALIGNMENT
}

impl Batch {
    /// Starts a batch with capacity for `bytes` in `parts` allocations. Reuses the buffer if it is
    /// large enough.
    pub fn begin(&mut self, gpu: &Gpu, bytes: u64, parts: usize) {
        self.dispatches.clear();
        (self.rows, self.sent, self.retained) = (0, 0, 0);
        let need = bytes + ((FIRST_ROWS + parts) * ALIGNMENT) as u64;
        if self.transfer.as_ref().is_none_or(|there| there.buffer.size() < need) {
            let most = gpu.limits.storage_buffer / ALIGNMENT as u64 * ALIGNMENT as u64;
            let size = need.next_power_of_two().min(most).max(need);
            self.transfer = Some(Transfer::new(gpu, size));
            self.forget_made();
        }
        self.in_place = self.transfer.as_mut().is_some_and(Transfer::try_map) && !gpu.is_lost();
        self.allocated =
            if self.in_place { FIRST_ROWS * ALIGNMENT / size_of::<TransferUnit>() } else { 0 };
    }

    /// Discards everything allocated since [`Batch::keep`], for another submission with the same
    /// retained data.
    pub fn again(&mut self) {
        (self.allocated, self.sent) = (self.retained, self.retained);
    }

    /// Retains what was allocated so far for all submissions until [`Batch::begin`].
    pub fn keep(&mut self) {
        self.retained = self.allocated;
    }

    /// The transfer buffer, valid until the next [`Batch::begin`].
    ///
    /// # Panics
    /// If [`Batch::begin`] was never called.
    pub fn buffer(&self) -> &wgpu::Buffer {
        &self.transfer.as_ref().expect("begin comes first").buffer
    }

    /// Whether the host currently writes directly into the buffer that kernels read.
    pub fn is_in_place(&self) -> bool {
        self.in_place
    }

    /// The binding of a row of parameters in the transfer buffer.
    pub fn row_binding<T: Pod>(&self) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: self.buffer(),
            offset: 0,
            size: NonZero::new(size_of::<T>() as u64),
        })
    }

    /// Allocates `count` values and returns their byte offset on the device. The caller sets all of
    /// them and reads none: mapped memory may be slow to read.
    pub fn part<T: Pod>(&mut self, count: usize) -> (u32, &mut [T]) {
        let at = self.allocated.next_multiple_of(ALIGNMENT / size_of::<TransferUnit>());
        let bytes = count * size_of::<T>();
        self.allocated = at + bytes.div_ceil(size_of::<TransferUnit>());
        let begin = at * size_of::<TransferUnit>();
        if self.in_place {
            return (begin as u32, bytemuck::cast_slice_mut(self.mapped_bytes(begin, bytes)));
        }
        if self.entries.len() < self.allocated {
            self.entries.resize(self.allocated, TransferUnit::default());
        }
        let there: &mut [u8] = bytemuck::cast_slice_mut(&mut self.entries[at..self.allocated]);
        (begin as u32, bytemuck::cast_slice_mut(&mut there[..bytes]))
    }

    /// Mapped bytes of the transfer buffer.
    fn mapped_bytes(&mut self, begin: usize, bytes: usize) -> &mut [u8] {
        let there = self.transfer.as_mut().and_then(|there| there.bytes(begin..begin + bytes));
        there.expect("it is at hand until it is sent")
    }

    /// Writes a row of parameters and returns its offset.
    pub fn row<T: Pod>(&mut self, row: T) -> u32 {
        if self.in_place && self.rows < FIRST_ROWS {
            debug_assert!(size_of::<T>() <= SIZE_AT);
            let begin = self.rows * ALIGNMENT;
            self.rows += 1;
            self.mapped_bytes(begin, size_of::<T>()).copy_from_slice(bytemuck::bytes_of(&row));
            return begin as u32;
        }
        let (at, there) = self.part(1);
        there[0] = row;
        at
    }

    /// Dispatches `kernel` with the row of parameters at `offset`, after the dispatches before.
    pub fn dispatch(&mut self, kernel: &BoundKernel, offset: u32, workgroups: [u32; 2]) {
        if self.in_place && is_first(offset) {
            let size = [workgroups[0], workgroups[1], 1u32];
            let there = self.mapped_bytes(offset as usize + SIZE_AT, size_of_val(&size));
            there.copy_from_slice(bytemuck::bytes_of(&size));
        }
        let kernel = kernel.clone();
        self.dispatches.push(BatchedDispatch { kernel, offset, workgroups, reads_size: false });
    }

    /// Commands for everything since the last call, followed by `copies`; to be submitted before
    /// the batch is used further. Without copies, commands recorded in advance are returned if only
    /// the values of parameters differ.
    pub fn finish(
        &mut self,
        gpu: &Gpu,
        copies: Option<&mut dyn FnMut(&mut wgpu::CommandEncoder)>,
    ) -> wgpu::CommandBuffer {
        let repeats = self.in_place && copies.is_none();
        self.send(gpu);
        let mut dispatches = std::mem::take(&mut self.dispatches);
        if repeats && dispatches.iter().all(|one| is_first(one.offset)) {
            let serves = |known: &[BatchedDispatch]| {
                known.len() == dispatches.len()
                    && known
                        .iter()
                        .zip(&dispatches)
                        .all(|(known, requested)| known.can_serve(requested))
            };
            let ready = self.recorded.iter().position(|(known, _)| serves(known));
            let commands = match ready {
                Some(k) => self.recorded.remove(k).1,
                None => self.record(gpu, &dispatches, None),
            };
            self.to_record = Some(dispatches);
            return commands;
        }
        let commands = self.record(gpu, &dispatches, copies);
        dispatches.clear();
        self.dispatches = dispatches;
        commands
    }

    fn send(&mut self, gpu: &Gpu) {
        if std::mem::take(&mut self.in_place) {
            self.transfer.iter_mut().for_each(Transfer::unmap);
        } else if self.allocated > self.sent {
            let bytes: &[u8] = bytemuck::cast_slice(&self.entries[self.sent..self.allocated]);
            gpu.queue.write_buffer(
                self.buffer(),
                (self.sent * size_of::<TransferUnit>()) as u64,
                bytes,
            );
        }
        self.sent = self.allocated;
    }

    fn record(
        &self,
        gpu: &Gpu,
        dispatches: &[BatchedDispatch],
        copies: Option<&mut dyn FnMut(&mut wgpu::CommandEncoder)>,
    ) -> wgpu::CommandBuffer {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        if !dispatches.is_empty() {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for BatchedDispatch { kernel, offset, workgroups: [x, y], reads_size } in dispatches {
                kernel.set(&mut pass, &[*offset]);
                if *reads_size {
                    let at = u64::from(*offset) + SIZE_AT as u64;
                    pass.dispatch_workgroups_indirect(self.buffer(), at);
                } else {
                    pass.dispatch_workgroups(*x, *y, 1);
                }
            }
        }
        if let Some(copies) = copies {
            copies(&mut encoder);
        }
        encoder.finish()
    }

    /// Call after the last submission before [`Batch::begin`]: requests mapping for the host once
    /// the device is done.
    pub fn submitted(&mut self) {
        self.transfer.iter_mut().for_each(Transfer::request_mapping);
    }

    /// Records the last submission again while the device works, since the next is often the same.
    /// Dispatches whose size changed since the submission before become indirect.
    pub fn make_ahead(&mut self, gpu: &Gpu) {
        let Some(mut dispatches) = self.to_record.take() else { return };
        let last = dispatches.clone();
        for (k, one) in dispatches.iter_mut().enumerate() {
            let before = self.before.get(k).filter(|before| before.kernel == one.kernel);
            one.reads_size = before.is_some_and(|before| before.workgroups != one.workgroups);
        }
        self.before = last;
        if self.recorded.len() >= MOST_RECORDED {
            self.recorded.remove(0);
        }
        let commands = self.record(gpu, &dispatches, None);
        self.recorded.push((dispatches, commands));
    }

    /// Drops recorded commands, which refer to buffers that are being replaced.
    pub fn forget_made(&mut self) {
        self.recorded.clear();
        self.before.clear();
        self.to_record = None;
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::gpu::AdapterRequest;

    /// Whether a call writes in place; `waits`: the host may wait for its end.
    fn call(gpu: &Gpu, batch: &mut Batch, waits: bool) -> bool {
        batch.begin(gpu, 64, 2);
        let in_place = batch.is_in_place();
        batch.row([1u32; 4]);
        batch.part::<u32>(4).1.copy_from_slice(&[7; 4]);
        let commands = batch.finish(gpu, None);
        gpu.queue.submit([commands]);
        batch.submitted();
        batch.make_ahead(gpu);
        if waits {
            gpu.wait().unwrap();
        }
        in_place
    }

    #[test]
    fn early_host_falls_back_to_copies() {
        for baseline in [false, true] {
            let name = std::env::var("GRAVITILE_TEST_ADAPTER").unwrap_or_default();
            let request = AdapterRequest { baseline, ..AdapterRequest::named(&name) };
            let gpu = Gpu::open_blocking(&request).unwrap();
            let mut batch = Batch::default();
            let calls = [true, true, false, true, true];
            let found = calls.map(|waits| call(&gpu, &mut batch, waits));
            // The fourth begins before the host has polled the device.
            let right = [true, true, true, false, true].map(|one| one && gpu.tier.mapped_storage);
            assert_eq!(found, right);
            assert!(gpu.check().is_ok());
        }
    }
}
