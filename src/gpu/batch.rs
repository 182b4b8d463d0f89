//! A submission put together: everything that it sends in one transfer, many dispatches in one pass.
//!
//! Kernels read where the transfer arrives. To copy each part of it to a buffer of its own costs a barrier, and each
//! write of its own or pass costs the host about 10 microseconds (wgpu 30, Vulkan, a virtual machine with an NVIDIA
//! H200), where a call for forces on a few sinks has 100 in all. Where the host writes in place there is no transfer
//! at all, and commands are recorded before they are needed: together 20 to 30 microseconds less.

use std::num::NonZero;

use bytemuck::Pod;

use super::transfer::Transfer;
use super::{BoundKernel, Gpu};

/// What parts are made of: aligned as all that is sent.
type Entry = [u32; 4];

/// Bytes at whose multiples parts begin, as rows of parameters must.
const ALIGNMENT: usize = 256;

/// Rows of parameters that lie before all parts where the host writes in place, each with the size of its dispatch
/// behind it: commands that read them there are the same whatever their numbers, and are recorded ahead.
const FIRST_ROWS: usize = 16;

/// Where in such a row the size of its dispatch lies.
const SIZE_AT: usize = 240;

/// Recordings that are kept for submissions to come: with and without changes, with and without a prediction.
const MOST_MADE: usize = 4;

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
    dispatches: Vec<Dispatch>,
    transfer: Option<Transfer>,
    /// Whether what is given is written where kernels read it.
    in_place: bool,
    /// So many of the first rows have been given.
    rows: usize,
    /// Recorded for submissions to come, the oldest first.
    made: Vec<(Vec<Dispatch>, wgpu::CommandBuffer)>,
    /// What was submitted last and is to be recorded once more, and what was before that.
    ahead: Option<Vec<Dispatch>>,
    before: Vec<Dispatch>,
}

/// A kernel with the row of parameters at an offset.
#[derive(Clone, Debug)]
struct Dispatch {
    kernel: BoundKernel,
    offset: u32,
    workgroups: [u32; 2],
    /// Whether it is read from behind the row how many they are, which takes a device a microsecond more.
    reads_size: bool,
}

impl Dispatch {
    /// Whether this one, recorded before, does what `other` asks for.
    fn does(&self, other: &Self) -> bool {
        let is_same = self.kernel == other.kernel && self.offset == other.offset;
        is_same && (self.reads_size || self.workgroups == other.workgroups)
    }
}

/// Whether a row is one of the first.
fn is_first(offset: u32) -> bool {
    (offset as usize) < FIRST_ROWS * ALIGNMENT
}

impl Batch {
    /// Begins anew. There will be room for parts of so many bytes in all, of which there are so many; the buffer of the
    /// last time stays if it is large enough.
    pub fn begin(&mut self, gpu: &Gpu, bytes: u64, parts: usize) {
        self.dispatches.clear();
        (self.rows, self.sent, self.kept) = (0, 0, 0);
        let need = bytes + ((FIRST_ROWS + parts) * ALIGNMENT) as u64;
        if self.transfer.as_ref().is_none_or(|there| there.buffer.size() < need) {
            let most = gpu.limits.storage_buffer / ALIGNMENT as u64 * ALIGNMENT as u64;
            let size = need.next_power_of_two().min(most).max(need);
            self.transfer = Some(Transfer::new(gpu, size));
            self.forget_made();
        }
        self.in_place = self.transfer.as_mut().is_some_and(Transfer::is_at_hand) && !gpu.is_lost();
        self.given = if self.in_place { FIRST_ROWS * ALIGNMENT / size_of::<Entry>() } else { 0 };
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
        &self.transfer.as_ref().expect("begin comes first").buffer
    }

    /// Whether what is given now is written where kernels read it, by no further copy.
    pub fn is_in_place(&self) -> bool {
        self.in_place
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
    /// It is not to be read, which may be slow.
    pub fn part<T: Pod>(&mut self, count: usize) -> (u32, &mut [T]) {
        let at = self.given.next_multiple_of(ALIGNMENT / size_of::<Entry>());
        let bytes = count * size_of::<T>();
        self.given = at + bytes.div_ceil(size_of::<Entry>());
        let begin = at * size_of::<Entry>();
        if self.in_place {
            return (begin as u32, bytemuck::cast_slice_mut(self.in_hand(begin, bytes)));
        }
        if self.entries.len() < self.given {
            self.entries.resize(self.given, Entry::default());
        }
        let there: &mut [u8] = bytemuck::cast_slice_mut(&mut self.entries[at..self.given]);
        (begin as u32, bytemuck::cast_slice_mut(&mut there[..bytes]))
    }

    /// Bytes that the host writes in place.
    fn in_hand(&mut self, begin: usize, bytes: usize) -> &mut [u8] {
        let there = self.transfer.as_mut().and_then(|there| there.bytes(begin..begin + bytes));
        there.expect("it is at hand until it is sent")
    }

    /// A row of parameters; where it begins.
    pub fn row<T: Pod>(&mut self, row: T) -> u32 {
        if self.in_place && self.rows < FIRST_ROWS {
            debug_assert!(size_of::<T>() <= SIZE_AT);
            let begin = self.rows * ALIGNMENT;
            self.rows += 1;
            self.in_hand(begin, size_of::<T>()).copy_from_slice(bytemuck::bytes_of(&row));
            return begin as u32;
        }
        let (at, there) = self.part(1);
        there[0] = row;
        at
    }

    /// Dispatches `kernel` with the row of parameters at `offset` after what was given before.
    pub fn dispatch(&mut self, kernel: &BoundKernel, offset: u32, workgroups: [u32; 2]) {
        if self.in_place && is_first(offset) {
            let size = [workgroups[0], workgroups[1], 1u32];
            let there = self.in_hand(offset as usize + SIZE_AT, size_of_val(&size));
            there.copy_from_slice(bytemuck::bytes_of(&size));
        }
        let kernel = kernel.clone();
        self.dispatches.push(Dispatch { kernel, offset, workgroups, reads_size: false });
    }

    /// All that was given since the last time, as commands that are to be submitted before anything else is given; `copies`
    /// come after it. Where there are none, and nothing but numbers is other than it was, commands that lie ready.
    pub fn finish(
        &mut self,
        gpu: &Gpu,
        copies: Option<&mut dyn FnMut(&mut wgpu::CommandEncoder)>,
    ) -> wgpu::CommandBuffer {
        let repeats = self.in_place && copies.is_none();
        self.send(gpu);
        let mut dispatches = std::mem::take(&mut self.dispatches);
        if repeats && dispatches.iter().all(|one| is_first(one.offset)) {
            let does = |known: &[Dispatch]| {
                known.len() == dispatches.len()
                    && known.iter().zip(&dispatches).all(|(known, asked)| known.does(asked))
            };
            let ready = self.made.iter().position(|(known, _)| does(known));
            let commands = match ready {
                Some(k) => self.made.remove(k).1,
                None => self.record(gpu, &dispatches, None),
            };
            self.ahead = Some(dispatches);
            return commands;
        }
        let commands = self.record(gpu, &dispatches, copies);
        dispatches.clear();
        self.dispatches = dispatches;
        commands
    }

    fn send(&mut self, gpu: &Gpu) {
        if std::mem::take(&mut self.in_place) {
            self.transfer.iter_mut().for_each(Transfer::release);
        } else if self.given > self.sent {
            let bytes: &[u8] = bytemuck::cast_slice(&self.entries[self.sent..self.given]);
            gpu.queue.write_buffer(self.buffer(), (self.sent * size_of::<Entry>()) as u64, bytes);
        }
        self.sent = self.given;
    }

    fn record(
        &self,
        gpu: &Gpu,
        dispatches: &[Dispatch],
        copies: Option<&mut dyn FnMut(&mut wgpu::CommandEncoder)>,
    ) -> wgpu::CommandBuffer {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        if !dispatches.is_empty() {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            for Dispatch { kernel, offset, workgroups: [x, y], reads_size } in dispatches {
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

    /// After the last submission until [`Batch::begin`]: once the device is done the host may write again.
    pub fn submitted(&mut self) {
        self.transfer.iter_mut().for_each(Transfer::ask);
    }

    /// While the device works: records what was submitted last once more, since the next one is often the same. What was
    /// as large the time before is recorded as large as it is.
    pub fn make_ahead(&mut self, gpu: &Gpu) {
        let Some(mut dispatches) = self.ahead.take() else { return };
        let last = dispatches.clone();
        for (k, one) in dispatches.iter_mut().enumerate() {
            let before = self.before.get(k).filter(|before| before.kernel == one.kernel);
            one.reads_size = before.is_some_and(|before| before.workgroups != one.workgroups);
        }
        self.before = last;
        if self.made.len() >= MOST_MADE {
            self.made.remove(0);
        }
        let commands = self.record(gpu, &dispatches, None);
        self.made.push((dispatches, commands));
    }

    /// Buffers are others from now on: nothing holds the old ones.
    pub fn forget_made(&mut self) {
        self.made.clear();
        self.before.clear();
        self.ahead = None;
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::gpu::AdapterRequest;

    /// Whether what is given to a call is written in place; the host may wait for its end.
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
    fn a_host_that_comes_early_sends_copies() {
        for baseline in [false, true] {
            let name = std::env::var("GRAVITILE_TEST_ADAPTER").unwrap_or_default();
            let request = AdapterRequest { baseline, ..AdapterRequest::named(&name) };
            let gpu = Gpu::open_blocking(&request).unwrap();
            let mut batch = Batch::default();
            let calls = [true, true, false, true, true];
            let found = calls.map(|waits| call(&gpu, &mut batch, waits));
            // The fourth comes before anybody has looked whether the device is done.
            let right = [true, true, true, false, true].map(|one| one && gpu.tier.mapped_storage);
            assert_eq!(found, right);
            assert!(gpu.check().is_ok());
        }
    }
}
