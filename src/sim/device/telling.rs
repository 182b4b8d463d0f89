//! Host-visible buffers from which the other devices of a group read what this device sends.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::exchange::{Exchange, Member, Reader, SharedBuffer};
use crate::gpu::Gpu;
use crate::gpu::layout::VEC4;

/// A double buffer for the data that a device sends: the other members may still read the previous
/// message, in place, while the device writes the next one.
pub(super) struct SendBuffer {
    buffers: [wgpu::Buffer; 2],
    /// The index of the buffer to be written next.
    next: usize,
    /// Whether the other buffer is mapped, because members may still be reading it.
    other_is_mapped: bool,
}

impl SendBuffer {
    /// Creates buffers for up to `bodies` bodies, with a `vec4<f32>` each.
    pub fn new(gpu: &Gpu, bodies: usize) -> Self {
        let make = |()| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("send buffer"),
                size: (bodies.max(1) as u64) * VEC4,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        Self { buffers: [(); 2].map(make), next: 0, other_is_mapped: false }
    }

    /// The buffer into which the device writes the next message.
    pub fn buffer(&self) -> &wgpu::Buffer {
        &self.buffers[self.next]
    }

    /// Maps the first `bytes` of [`SendBuffer::buffer`] for reading. Call it after the submission
    /// that writes them, and wait for that submission before [`SendBuffer::all_gather`].
    pub fn map_after_submit(&self, bytes: u64) {
        self.buffer().map_async(wgpu::MapMode::Read, 0..bytes, |_| ());
    }

    /// Unmaps the buffer without sending its contents.
    pub fn discard(&self) {
        self.buffer().unmap();
    }

    /// Sends the mapped bytes and calls `receive` with the message of every member, `bytes[member]`
    /// long. A member with 0 bytes has mapped nothing.
    ///
    /// # Errors
    /// The device was lost; another member aborted.
    pub fn all_gather(
        &mut self,
        member: &mut Member,
        bytes: &[usize],
        receive: &mut Reader<'_>,
    ) -> Result<()> {
        let own = bytes[member.member()];
        let lost = |error| Error::Device(format!("cannot tell other devices: {error}"));
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
