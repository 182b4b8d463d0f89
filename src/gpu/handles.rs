//! A device somebody else owns.

use super::Gpu;

/// A device with its queue, borrowed: drawing needs no more of a device than this, whoever has opened it.
#[derive(Clone, Copy, Debug)]
pub struct Handles<'a> {
    /// Where resources are made.
    pub device: &'a wgpu::Device,
    /// Where work is handed in.
    pub queue: &'a wgpu::Queue,
}

impl Gpu {
    /// What drawing needs of it.
    pub fn handles(&self) -> Handles<'_> {
        Handles { device: &self.device, queue: &self.queue }
    }
}
