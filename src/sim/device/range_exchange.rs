//! Exchange of ranges of a buffer between the devices of a group, through the host.

use std::ops::Range;
use std::sync::Arc;

use crate::wall_clock::Instant;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::exchange::{Exchange, Member, Reader, SharedBuffer};
use crate::gpu::Gpu;
use crate::gpu::layout::VEC4;

/// Bytes that one core copies at a time.
const COPY_BYTES: usize = 1 << 20;

/// A member of a group, with the buffers through which it sends its range of an array of
/// `vec4<f32>` and receives the other ranges.
pub(in crate::sim) struct RangeExchange {
    pub member: Member,
    /// The range of each member, in the order of members.
    pub ranges: Vec<Range<usize>>,
    send: SendBuffer,
    /// All entries, of which those of the other members are copied to the device; mapped between
    /// two turns.
    upload: wgpu::Buffer,
    /// This member's range when `upload` was filled, as long as that is not on the device yet.
    received: Option<Range<usize>>,
    /// Whether the submission being recorded reads `upload`, and how many bytes it sends.
    recorded: (bool, u64),
    /// Seconds spent in exchanges, and their number, since [`RangeExchange::take_spent`].
    spent: (f64, u64),
}

impl RangeExchange {
    /// For arrays of `n` entries, of which this member sends up to `most`.
    pub fn new(
        gpu: &Gpu,
        member: Member,
        ranges: Vec<Range<usize>>,
        [n, most]: [usize; 2],
    ) -> Self {
        let upload = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("others' entries"),
            size: (n.max(1) as u64) * VEC4,
            usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: true,
        });
        let send = SendBuffer::new(gpu, most);
        let (received, recorded, spent) = (None, (false, 0), (0.0, 0));
        Self { member, ranges, send, upload, received, recorded, spent }
    }

    /// Seconds spent copying and waiting for other members, and the number of exchanges, since the
    /// last call.
    pub fn take_spent(&mut self) -> (f64, u64) {
        std::mem::take(&mut self.spent)
    }

    /// Seconds spent copying and waiting for other members since [`RangeExchange::take_spent`].
    pub fn exchanged_secs(&self) -> f64 {
        self.spent.0
    }

    /// The range of this member.
    pub fn own(&self) -> Range<usize> {
        self.ranges[self.member.member()].clone()
    }

    /// Records copying the entries received last to `buffer`, unless they are on the device.
    pub fn record_received(&mut self, encoder: &mut wgpu::CommandEncoder, buffer: &wgpu::Buffer) {
        let Some(own) = self.received.take() else { return };
        self.upload.unmap();
        let own = bytes_of(&own);
        for others in [0..own.start, own.end..buffer.size()] {
            let length = others.end - others.start;
            if length > 0 {
                let from = others.start;
                encoder.copy_buffer_to_buffer(&self.upload, from, buffer, from, length);
            }
        }
        self.recorded.0 = true;
    }

    /// Records copying this member's range of `buffer`, for [`RangeExchange::exchange`].
    pub fn record_send(&mut self, encoder: &mut wgpu::CommandEncoder, buffer: &wgpu::Buffer) {
        let own = bytes_of(&self.own());
        let length = own.end - own.start;
        if length > 0 {
            encoder.copy_buffer_to_buffer(buffer, own.start, self.send.buffer(), 0, length);
            self.recorded.1 = length;
        }
    }

    /// Call after the submission of what was recorded, and wait for that submission before the next
    /// exchange: both buffers are then mapped.
    pub fn submitted(&mut self) {
        let (uploads, sends) = std::mem::take(&mut self.recorded);
        if uploads {
            self.upload.map_async(wgpu::MapMode::Write, .., |_| ());
        }
        if sends > 0 {
            self.send.buffer().map_async(wgpu::MapMode::Read, 0..sends, |_| ());
        }
    }

    /// Sends this member's entries and receives those of the others.
    ///
    /// # Errors
    /// The device was lost; another member aborted.
    pub fn exchange(&mut self) -> Result<()> {
        let begun = Instant::now();
        let failed = |error: wgpu::MapRangeError| {
            Error::Device(format!("cannot copy from device to device: {error}"))
        };
        let bytes: Vec<usize> =
            self.ranges.iter().map(|range| range.len() * VEC4 as usize).collect();
        let own = self.member.member();
        {
            let mut upload = self.upload.get_mapped_range_mut(..).map_err(failed)?;
            let mut at = 0;
            self.send.all_gather(&mut self.member, &bytes, &mut |k, received| {
                if k != own && !received.is_empty() {
                    copy(received, upload.slice(at..at + received.len()));
                }
                at += received.len();
            })?;
        }
        self.received = Some(self.own());
        self.spent.0 += begun.elapsed().as_secs_f64();
        self.spent.1 += 1;
        Ok(())
    }

    /// All-gathers one `T` per entry, in the order of members.
    ///
    /// # Errors
    /// Another member aborted.
    pub fn gather<T: bytemuck::Pod>(&mut self, mine: &[T]) -> Result<Vec<T>> {
        let bytes: Vec<usize> =
            self.ranges.iter().map(|range| range.len() * size_of::<T>()).collect();
        let mut all = Vec::with_capacity(self.ranges.iter().map(ExactSizeIterator::len).sum());
        self.member.all_gather(bytemuck::cast_slice(mine), &bytes, &mut |_, received| {
            all.extend(bytemuck::pod_collect_to_vec::<u8, T>(received));
        })?;
        Ok(all)
    }
}

fn bytes_of(entries: &Range<usize>) -> Range<u64> {
    entries.start as u64 * VEC4..entries.end as u64 * VEC4
}

/// Copies on several cores, since one core does not saturate the memory bandwidth.
fn copy(from: &[u8], to: wgpu::WriteOnly<'_, [u8]>) {
    let (chunks, mut rest) = to.into_chunks::<COPY_BYTES>();
    let chunks: Vec<wgpu::WriteOnly<'_, [u8; COPY_BYTES]>> = chunks.into_iter().collect();
    let (whole, last) = from.split_at(chunks.len() * COPY_BYTES);
    chunks.into_par_iter().zip(whole.par_chunks(COPY_BYTES)).for_each(|(to, from)| {
        wgpu::WriteOnly::<[u8]>::from(to).copy_from_slice(from);
    });
    rest.copy_from_slice(last);
}

/// A double buffer for the data that a device sends: the other members may still read the previous
/// message, in place, while the device writes the next one.
struct SendBuffer {
    buffers: [wgpu::Buffer; 2],
    /// The index of the buffer to be written next.
    next: usize,
    /// Whether the other buffer is mapped, because members may still be reading it.
    other_is_mapped: bool,
}

impl SendBuffer {
    fn new(gpu: &Gpu, entries: usize) -> Self {
        let make = |()| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("send buffer"),
                size: (entries.max(1) as u64) * VEC4,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        Self { buffers: [(); 2].map(make), next: 0, other_is_mapped: false }
    }

    /// The buffer into which the device writes the next message.
    fn buffer(&self) -> &wgpu::Buffer {
        &self.buffers[self.next]
    }

    /// Sends the mapped bytes and calls `receive` with the message of every member, `bytes[member]`
    /// long. A member with 0 bytes has mapped nothing.
    fn all_gather(
        &mut self,
        member: &mut Member,
        bytes: &[usize],
        receive: &mut Reader<'_>,
    ) -> Result<()> {
        let own = bytes[member.member()];
        let lost = |error| Error::Device(format!("cannot send to other devices: {error}"));
        let mine: SharedBuffer = match own {
            0 => Arc::new([]),
            own => Arc::new(self.buffer().get_mapped_range(0..own as u64).map_err(lost)?),
        };
        member.all_gather_shared(mine, bytes, receive)?;
        // All members have entered this exchange, so they have read the previous message.
        let last = 1 - self.next;
        if std::mem::replace(&mut self.other_is_mapped, own > 0) {
            self.buffers[last].unmap();
        }
        self.next = last;
        Ok(())
    }
}
