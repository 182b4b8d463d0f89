//! A device owned elsewhere.

use super::Gpu;

/// A borrowed device with its queue: all that drawing needs, independent of who opened it.
#[derive(Clone, Copy, Debug)]
pub struct Handles<'a> {
    /// Creates resources.
    pub device: &'a wgpu::Device,
    /// Receives submissions.
    pub queue: &'a wgpu::Queue,
}

impl Gpu {
    /// The handles for drawing.
    pub fn handles(&self) -> Handles<'_> {
        Handles { device: &self.device, queue: &self.queue }
    }
}
