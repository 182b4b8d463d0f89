//! What a device tells the others of its group, in memory of the host where they read it.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::exchange::{Exchange, Hear, Lent, Member};
use crate::gpu::Gpu;
use crate::gpu::layout::VEC4;

/// Memory for what a device tells of bodies, twice: others may still read what was told before while this is written.
pub(super) struct Telling {
    buffers: [wgpu::Buffer; 2],
    /// Which of them is next.
    next: usize,
    /// Whether the other one is lent.
    has_lent: bool,
}

impl Telling {
    /// For up to `bodies` bodies, with a `vec4<f32>` each.
    pub fn new(gpu: &Gpu, bodies: usize) -> Self {
        let make = |()| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("what is told"),
                size: (bodies.max(1) as u64) * VEC4,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        Self { buffers: [(); 2].map(make), next: 0, has_lent: false }
    }

    /// Where the device is to write what is told next.
    pub fn buffer(&self) -> &wgpu::Buffer {
        &self.buffers[self.next]
    }

    /// Brings the first `bytes` of [`Telling::buffer`] to the host once the device has written them; call after submitting that,
    /// and wait for the submission.
    pub fn bring(&self, bytes: u64) {
        self.buffer().map_async(wgpu::MapMode::Read, 0..bytes, |_| ());
    }

    /// Gives up what was brought and not told.
    pub fn forget(&self) {
        self.buffer().unmap();
    }

    /// Tells the others what was brought, `bytes[member]` of each, and hears them. Nothing was brought by a member with none.
    ///
    /// Errors: the device was lost; another member has given up.
    pub fn tell(
        &mut self,
        member: &mut Member,
        bytes: &[usize],
        hear: &mut Hear<'_>,
    ) -> Result<()> {
        let own = bytes[member.member()];
        let lost = |error| Error::Device(format!("cannot tell other devices: {error}"));
        let mine: Lent = match own {
            0 => Arc::new([]),
            own => Arc::new(self.buffer().get_mapped_range(0..own as u64).map_err(lost)?),
        };
        member.all_gather_lent(mine, bytes, hear)?;
        // Everybody has heard what was told before.
        let last = 1 - self.next;
        if std::mem::replace(&mut self.has_lent, own > 0) {
            self.buffers[last].unmap();
        }
        self.next = last;
        Ok(())
    }
}
