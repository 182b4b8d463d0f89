//! Prefix sums and sorts on the device, compared with simple host implementations.

mod scan;
mod stable;

use gravitile::gpu::Gpu;

/// Numbers of entries: none, around subgroup and workgroup sizes, and several levels.
const SIZES: [u32; 14] = [0, 1, 2, 63, 64, 65, 255, 256, 257, 1000, 2048, 4097, 65_537, 1_000_003];

/// Guard value of entries that must not be written.
const POISON: u32 = 0xdead_beef;

/// A storage buffer of these numbers, followed by `poisoned` entries of [`POISON`].
fn poisoned(gpu: &Gpu, numbers: &[u32], poisoned: usize) -> wgpu::Buffer {
    let mut all = numbers.to_vec();
    all.resize(numbers.len() + poisoned, POISON);
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("poisoned"),
        size: 4 * all.len().max(1) as u64,
        usage: wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&all));
    buffer
}

/// Reads the whole buffer.
fn read(gpu: &Gpu, buffer: &wgpu::Buffer) -> Vec<u32> {
    let count = buffer.size() as usize / 4;
    gravitile::gpu::read_blocking(gpu, &[buffer], count).unwrap().remove(0)
}

/// Pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| (self.next() >> 16) as u32).collect()
    }
}
