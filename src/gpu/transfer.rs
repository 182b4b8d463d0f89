//! An upload buffer. With [`super::Tier::mapped_storage`] the host writes directly into the memory
//! that kernels read.
//!
//! While the device uses the buffer the host cannot access it. Mapping is requested after the last
//! submission that uses it and takes effect once the device is known to be done; until then, and
//! without mapped storage, the host uploads copies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::Gpu;

/// Larger buffers would take more of the memory accessible to both host and device than some
/// devices have.
const MOST_MAPPED: u64 = 1 << 26;

/// State of a requested mapping.
const MAPPED: u8 = 1;
const REFUSED: u8 = 2;

/// An upload buffer.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub buffer: wgpu::Buffer,
    mapping: Mapping,
}

/// Whether the host may write into the buffer.
#[derive(Debug)]
enum Mapping {
    /// It belongs to the device.
    Device,
    /// Mapping was requested; the shared state of the request.
    Requested(Arc<AtomicU8>),
    /// Mapped: no submission may use it.
    Mapped(wgpu::BufferViewMut),
}

impl Transfer {
    /// Creates a buffer of `size` bytes (a multiple of 4).
    pub fn new(gpu: &Gpu, size: u64) -> Self {
        let is_mapped = gpu.tier.mapped_storage && size <= MOST_MAPPED;
        let both = wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::INDIRECT;
        let more = if is_mapped { both } else { wgpu::BufferUsages::empty() };
        let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("transfer"),
            size,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::UNIFORM
                | wgpu::BufferUsages::COPY_DST
                | more,
            mapped_at_creation: is_mapped,
        });
        let mapping = match is_mapped {
            true => Self::take(&buffer),
            false => Mapping::Device,
        };
        Self { buffer, mapping }
    }

    fn take(buffer: &wgpu::Buffer) -> Mapping {
        buffer.get_mapped_range_mut(..).map_or(Mapping::Device, Mapping::Mapped)
    }

    /// Whether the host may write into it now; if not, it cannot until mapping is requested again.
    pub fn try_map(&mut self) -> bool {
        let is_mapped_now = match std::mem::replace(&mut self.mapping, Mapping::Device) {
            Mapping::Device => false,
            // Nothing was sent since. The target of an older view may have been freed with its
            // device.
            Mapping::Mapped(_) => true,
            Mapping::Requested(outcome) => match outcome.load(Ordering::Acquire) {
                MAPPED => true,
                REFUSED => false,
                _ => {
                    // A mapping that is delayed for any reason is not waited for.
                    self.buffer.unmap();
                    false
                }
            },
        };
        if is_mapped_now {
            self.mapping = Self::take(&self.buffer);
        }
        matches!(self.mapping, Mapping::Mapped(_))
    }

    /// These bytes for writing, or `None` if not mapped. Do not read them: that would be slow.
    pub fn bytes(&mut self, range: std::ops::Range<usize>) -> Option<&mut [u8]> {
        let Mapping::Mapped(view) = &mut self.mapping else { return None };
        let mut slice = view.slice(range);
        // SAFETY: the bytes belong to a mapping that lasts until `unmap`, which needs `self`
        // exclusively, as this borrow does; the device does not access them meanwhile. Any bit
        // pattern is a valid u8.
        Some(unsafe { slice.as_raw_ptr().as_mut() })
    }

    /// Unmaps the buffer for use by the device.
    pub fn unmap(&mut self) {
        if matches!(self.mapping, Mapping::Mapped(_)) {
            // The view must be dropped before unmapping.
            self.mapping = Mapping::Device;
            self.buffer.unmap();
        }
    }

    /// Requests mapping: call after the last submission that uses it and before any write.
    pub fn request_mapping(&mut self) {
        let is_mapped = self.buffer.usage().contains(wgpu::BufferUsages::MAP_WRITE);
        if is_mapped && matches!(self.mapping, Mapping::Device) {
            let outcome = Arc::new(AtomicU8::new(0));
            self.mapping = Mapping::Requested(Arc::clone(&outcome));
            self.buffer.map_async(wgpu::MapMode::Write, .., move |result| {
                outcome.store(if result.is_ok() { MAPPED } else { REFUSED }, Ordering::Release);
            });
        }
    }
}
