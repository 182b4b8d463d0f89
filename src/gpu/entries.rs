//! Buffers of 32-bit words, and dispatches over any number of them.

use super::Gpu;
use super::buffers::{COPYABLE, new_buffer};
use crate::error::Result;

impl Gpu {
    /// A storage buffer of `count` words (at least one).
    pub(crate) fn words(&self, label: &str, count: u64) -> wgpu::Buffer {
        new_buffer(&self.device, label, 4 * count.max(1), COPYABLE)
    }

    /// A count that never limits, for calls where the host knows the number.
    pub(crate) fn unlimited_count(&self) -> wgpu::Buffer {
        let count = self.words("no count of its own", 1);
        self.queue.write_buffer(&count, 0, bytemuck::bytes_of(&u32::MAX));
        count
    }

    /// Checks that a buffer of `what` has at least `bytes` bytes, and that a shader can bind that
    /// many.
    pub(crate) fn check_room(&self, what: &str, buffer: &wgpu::Buffer, bytes: u64) -> Result<()> {
        let (has, most) = (buffer.size(), self.limits.storage_buffer);
        if bytes > most {
            return Err(self.refuse(format!(
                "the {what} need {bytes} bytes in one buffer, but it allows {most}"
            )));
        }
        if has < bytes {
            return Err(
                self.refuse(format!("the {what} need {bytes} bytes, but their buffer has {has}"))
            );
        }
        Ok(())
    }
}

/// The first `count` words of a buffer.
pub(crate) fn words_of(buffer: &wgpu::Buffer, count: u64) -> wgpu::BindingResource<'_> {
    wgpu::BindingResource::Buffer(wgpu::BufferBinding {
        buffer,
        offset: 0,
        size: wgpu::BufferSize::new(4 * count),
    })
}

/// At least this many workgroups in x and y, with at most `most` per dimension. A shader numbers
/// them as `y * num_workgroups.x + x`.
pub(crate) fn rows_of_workgroups(count: u32, most: u32) -> [u32; 2] {
    let x = count.clamp(1, most);
    [x, count.max(1).div_ceil(x)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dispatch_grid_holds_requested_workgroups() {
        assert_eq!(rows_of_workgroups(0, 100), [1, 1]);
        assert_eq!(rows_of_workgroups(100, 100), [100, 1]);
        assert_eq!(rows_of_workgroups(101, 100), [100, 2]);
    }
}
