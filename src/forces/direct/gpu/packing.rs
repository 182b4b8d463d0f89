//! Sources in the order a kernel needs: blocks of equal mass, or windows of a uniform buffer.

use std::collections::HashMap;

use minijinja::context;

use super::config::{KernelConfig, WINDOW};
use crate::error::Result;
use crate::gpu::layout::VEC4;
use crate::gpu::{Binding, BoundKernel, Checks, Gpu, compile, storage, template};

/// Sources in a block, for the shapes that are fast with many bodies.
pub const DEFAULT_BLOCK: u32 = 256;

/// Index of padding entries of a block.
const PADDING: u32 = u32::MAX;

/// Padding may add at most this fraction of the blocks: 1 in 64.
const MOST_PADDING: usize = 64;

const THREADS: u32 = 256;

/// Whether a kernel can take its sources in blocks of equal mass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masses {
    /// Few different masses: sorted by mass, the sources fill whole blocks.
    InBlocks,
    /// Too many different masses.
    Various,
}

impl Masses {
    /// Classifies these sources for blocks of `block`, 1 or more.
    pub fn of(mass: &[f32], block: u32) -> Self {
        let block = block as usize;
        let plain = mass.len().div_ceil(block);
        let most = plain + plain / MOST_PADDING;
        let mut counts: HashMap<u32, usize> = HashMap::new();
        for equal in runs(mass) {
            *counts.entry(equal[0].to_bits()).or_default() += equal.len();
            if counts.len() > most {
                return Self::Various;
            }
        }
        let blocks: usize = counts.values().map(|count| count.div_ceil(block)).sum();
        if blocks <= most { Self::InBlocks } else { Self::Various }
    }
}

/// Runs of neighbours of equal mass: bodies of one kind are usually adjacent.
fn runs(mass: &[f32]) -> impl Iterator<Item = &[f32]> {
    mass.chunk_by(|a, b| a.to_bits() == b.to_bits())
}

/// The source at each place, in whole blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Packing {
    order: Vec<u32>,
    /// The mass of each block's sources; empty if they are not sorted by mass.
    block_mass: Vec<f32>,
}

impl Packing {
    /// Sources in their own order, with the last block filled up.
    pub fn in_order(sources: u32, block: u32) -> Self {
        let mut order: Vec<u32> = (0..sources).collect();
        order.resize(sources.next_multiple_of(block) as usize, PADDING);
        Self { order, block_mass: Vec::new() }
    }

    /// Sources by mass, in the order in which masses first occur and in their own order within
    /// each; each mass's last block is filled up.
    pub fn by_mass(mass: &[f32], block: u32) -> Self {
        let mut places = HashMap::new();
        let mut classes: Vec<(f32, Vec<u32>)> = Vec::new();
        let mut body = 0;
        for equal in runs(mass) {
            let class = *places.entry(equal[0].to_bits()).or_insert_with(|| {
                classes.push((equal[0], Vec::new()));
                classes.len() - 1
            });
            let end = body + equal.len() as u32;
            classes[class].1.extend(body..end);
            body = end;
        }
        let (mut order, mut block_mass) = (Vec::with_capacity(mass.len()), Vec::new());
        for (mass, bodies) in classes {
            order.extend(bodies);
            order.resize(order.len().next_multiple_of(block as usize), PADDING);
            block_mass.resize(order.len() / block as usize, mass);
        }
        Self { order, block_mass }
    }

    /// Number of places, including padding.
    pub fn places(&self) -> u32 {
        self.order.len() as u32
    }
}

/// A packing on the device, with the copy of the sources made by it.
#[derive(Debug)]
pub(super) struct PackedSources {
    /// The copy; whole windows if it is read in windows.
    pub sources: wgpu::Buffer,
    /// `array<f32>`, the mass of each block; one entry if blocks have none.
    pub block_masses: wgpu::Buffer,
    /// Number of places.
    pub len: u32,
    kernel: BoundKernel,
}

impl PackedSources {
    /// For a kernel of shape `config` that reads `bodies`; if `numbered`, the copy has the sources'
    /// indices instead of masses.
    ///
    /// # Errors
    /// A copy larger than the adapter's largest buffer.
    pub async fn new(
        gpu: &Gpu,
        config: &KernelConfig,
        packing: &Packing,
        bodies: &wgpu::Buffer,
        numbered: bool,
    ) -> Result<Self> {
        let len = packing.places();
        let room = if config.uniform { len.next_multiple_of(WINDOW) } else { len }.max(1);
        if u64::from(room) * VEC4 > gpu.limits.storage_buffer {
            return Err(gpu.refuse(format!(
                "a copy of {len} sources needs {} bytes in one buffer, but it allows {}",
                u64::from(room) * VEC4,
                gpu.limits.storage_buffer
            )));
        }
        let sources = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("packed sources"),
            size: u64::from(room) * VEC4,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::UNIFORM,
            mapped_at_creation: false,
        });
        let filled = |label, words: &[u32]| match words {
            [] => storage(gpu, label, 1),
            words => exactly(gpu, label, words),
        };
        let order = filled("order of sources", &packing.order);
        let block_masses = filled("masses of blocks", bytemuck::cast_slice(&packing.block_mass));
        let text =
            template::assemble("force/pack.wgsl", context! { threads => THREADS, numbered })?;
        let bindings = [Binding::Read, Binding::Read, Binding::Write];
        let kernel = compile(gpu, "force/pack.wgsl", &text, &bindings, Checks::Off).await?;
        let resources =
            [bodies.as_entire_binding(), order.as_entire_binding(), sources.as_entire_binding()];
        let kernel = kernel.bind(gpu, "pack", &resources);
        Ok(Self { sources, block_masses, len, kernel })
    }

    /// Records the copying.
    pub fn record(&self, gpu: &Gpu, pass: &mut wgpu::ComputePass<'_>) {
        let groups = self.len.div_ceil(THREADS).max(1);
        let x = groups.min(gpu.limits.workgroups);
        self.kernel.set(pass, &[]);
        pass.dispatch_workgroups(x, groups.div_ceil(x), 1);
    }
}

/// A storage buffer of exactly these words, because the kernel queries its length.
fn exactly(gpu: &Gpu, label: &str, words: &[u32]) -> wgpu::Buffer {
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: size_of_val(words) as u64,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(words));
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_has_one_place_in_a_block_of_its_mass() {
        let mass: Vec<f32> = (0..1000).map(|i| [1.0, 2.0, 0.5][i * i % 7 % 3]).collect();
        let packing = Packing::by_mass(&mass, 64);
        let mut counts = vec![0; mass.len()];
        for (place, &body) in packing.order.iter().enumerate() {
            if body != PADDING {
                counts[body as usize] += 1;
                assert_eq!(mass[body as usize], packing.block_mass[place / 64]);
            }
        }
        assert!(counts.iter().all(|times| *times == 1));
        assert_eq!(packing.places() as usize, 64 * packing.block_mass.len());
    }

    #[test]
    fn sources_of_one_mass_keep_their_order() {
        let one = Packing::by_mass(&[0.25; 130], 64);
        assert_eq!(one.order, Packing::in_order(130, 64).order);
        assert_eq!(one.block_mass, [0.25; 3]);
        assert_eq!(Packing::by_mass(&[], 64).places(), 0);
    }

    #[test]
    fn different_masses_do_not_form_blocks() {
        let different: Vec<f32> = (0..10_000).map(|i| i as f32).collect();
        assert_eq!(Masses::of(&different, 64), Masses::Various);
        let mut few = vec![1.0; 64 * 200];
        assert_eq!(Masses::of(&few, 64), Masses::InBlocks);
        // A black hole and its galaxy: one more block in 200.
        few[7] = 1e6;
        assert_eq!(Masses::of(&few, 64), Masses::InBlocks);
        assert_eq!(Masses::of(&few[..64 * 3], 64), Masses::Various);
    }
}
