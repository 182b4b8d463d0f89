//! A buffer that a batch, or a part of it, arrives in. Where the device allows it ([`super::Tier::mapped_storage`]) the host writes
//! what kernels read right there.
//!
//! While a device works on a buffer the host has no hold of it. It is asked for when the last submission that
//! uses it has been made, and is there again once the device is known to be done; a host that comes earlier sends
//! copies, as it does where nothing is mapped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::Gpu;

/// Larger ones take more of the memory that both reach than some devices have.
const MOST_MAPPED: u64 = 1 << 26;

/// Of what was asked for.
const THERE: u8 = 1;
const REFUSED: u8 = 2;

/// Where batches arrive.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub buffer: wgpu::Buffer,
    hold: Hold,
}

/// Whether the host may write into it.
#[derive(Debug)]
enum Hold {
    /// It is the device's.
    No,
    /// It was asked for; what has come of that.
    Asked(Arc<AtomicU8>),
    /// Nothing that is submitted may use it.
    Yes(wgpu::BufferViewMut),
}

impl Transfer {
    /// Of so many bytes, a multiple of 4.
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
        let hold = match is_mapped {
            true => Self::take(&buffer),
            false => Hold::No,
        };
        Self { buffer, hold }
    }

    fn take(buffer: &wgpu::Buffer) -> Hold {
        buffer.get_mapped_range_mut(..).map_or(Hold::No, Hold::Yes)
    }

    /// Whether the host may write into it now; if not, it cannot until it is asked for again.
    pub fn is_at_hand(&mut self) -> bool {
        let is_there = match std::mem::replace(&mut self.hold, Hold::No) {
            Hold::No => false,
            // Nothing was sent since. What a view of then points to may be gone with its device.
            Hold::Yes(_) => true,
            Hold::Asked(outcome) => match outcome.load(Ordering::Acquire) {
                THERE => true,
                REFUSED => false,
                _ => {
                    // Whatever holds it up: it is not waited for.
                    self.buffer.unmap();
                    false
                }
            },
        };
        if is_there {
            self.hold = Self::take(&self.buffer);
        }
        matches!(self.hold, Hold::Yes(_))
    }

    /// These bytes of it, to be written and not read, which would be slow; `None` where the host may not.
    pub fn bytes(&mut self, range: std::ops::Range<usize>) -> Option<&mut [u8]> {
        let Hold::Yes(view) = &mut self.hold else { return None };
        let mut there = view.slice(range);
        // SAFETY: bytes of a mapping that stays until `release`, which takes the whole of `self`, as this borrow does; the
        // device does nothing with them meanwhile. What is there are numbers, whatever they are.
        Some(unsafe { there.as_raw_ptr().as_mut() })
    }

    /// Leaves it to the device.
    pub fn release(&mut self) {
        if matches!(self.hold, Hold::Yes(_)) {
            // The view goes first.
            self.hold = Hold::No;
            self.buffer.unmap();
        }
    }

    /// Asks for it: after the last submission that uses it, and before any write.
    pub fn ask(&mut self) {
        let is_mapped = self.buffer.usage().contains(wgpu::BufferUsages::MAP_WRITE);
        if is_mapped && matches!(self.hold, Hold::No) {
            let outcome = Arc::new(AtomicU8::new(0));
            self.hold = Hold::Asked(Arc::clone(&outcome));
            self.buffer.map_async(wgpu::MapMode::Write, .., move |result| {
                outcome.store(if result.is_ok() { THERE } else { REFUSED }, Ordering::Release);
            });
        }
    }
}
