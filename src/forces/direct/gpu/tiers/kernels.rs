//! Compiled kernels and their buffers.

use super::{DirectVariant, NeighbourOutput};
use crate::error::Result;
use crate::gpu::layout::{DirectParams, VEC4};
use crate::gpu::{
    Batch, BoundKernel, Checks, ComputeKernel, Gpu, blocking, compile, read, read_in_place, storage,
};

/// The kernels of a variant.
#[derive(Debug)]
pub(super) struct VariantKernels {
    pub forces: ComputeKernel,
    pub sum: ComputeKernel,
    pub lists: Option<ComputeKernel>,
}

impl VariantKernels {
    pub async fn new(
        gpu: &Gpu,
        variant: &DirectVariant,
        lists: bool,
        checks: Checks,
    ) -> Result<Self> {
        let bindings = &DirectVariant::BINDINGS;
        let (forces, sum) = (variant.forces()?, variant.sum()?);
        let lists = match lists {
            false => None,
            true => {
                let text = variant.lists()?;
                Some(compile(gpu, DirectVariant::FORCES, &text, bindings, checks).await?)
            }
        };
        Ok(Self {
            forces: compile(gpu, DirectVariant::FORCES, &forces, bindings, checks).await?,
            sum: compile(gpu, DirectVariant::SUM, &sum, &DirectVariant::SUM_BINDINGS, checks)
                .await?,
            lists,
        })
    }
}

/// The kernels of a variant bound to the buffers.
#[derive(Clone, Debug)]
pub(super) struct BoundKernels {
    pub forces: BoundKernel,
    pub sum: BoundKernel,
    pub lists: Option<BoundKernel>,
}

/// The buffers of an evaluation; they grow and never shrink.
#[derive(Debug, Default)]
pub(super) struct EvaluationBuffers {
    sources: Option<wgpu::Buffer>,
    /// The batch's transfer buffer: sinks, their indices and rows of parameters.
    transfer: Option<wgpu::Buffer>,
    partial_sums: Option<wgpu::Buffer>,
    neighbours: Option<wgpu::Buffer>,
    sums: Option<wgpu::Buffer>,
    lists: Option<wgpu::Buffer>,
    /// Kernels bound to the current buffers.
    bound: Vec<(DirectVariant, BoundKernels)>,
    /// Guard bytes at the end of each output, which no kernel may write. For checks.
    pub guard: u64,
}

/// Label of the buffer with the sums over all segments.
const SUMS: &str = "sums";

/// Bytes that kernels may write for `sinks` sinks: partial sums, neighbours of segments, sums,
/// lists.
fn written(variant: &DirectVariant, sinks: usize, capacity: usize) -> [u64; 4] {
    let n = sinks as u64;
    let segments = u64::from(variant.segments_with_rows());
    let sums = variant.sums() as u64 * variant.vector_bytes();
    let near = if variant.near > NeighbourOutput::Nothing { variant.vector_bytes() } else { 0 };
    let results = variant.results() as u64 * variant.vector_bytes();
    [n * segments * sums, n * segments * near, n * results, n * capacity as u64 * 4]
}

impl EvaluationBuffers {
    /// Grows the buffers for an evaluation. True if any was reallocated.
    pub fn fit(
        &mut self,
        gpu: &Gpu,
        sources: wgpu::Buffer,
        batch: &Batch,
        variant: &DirectVariant,
        sinks: usize,
        capacity: usize,
    ) -> bool {
        let guard = self.guard;
        let mut is_other = self.sources.as_ref() != Some(&sources)
            || self.transfer.as_ref() != Some(batch.buffer());
        // The contents need not be preserved: each evaluation writes them completely.
        let make = if gpu.tier.mapped_storage { read_in_place } else { storage };
        let mut grow = |buffer: &mut Option<wgpu::Buffer>, label: &str, bytes: u64| {
            if buffer.as_ref().is_none_or(|b| b.size() < bytes + guard) {
                let entries = (bytes + guard).div_ceil(VEC4) as usize;
                let make = if label == SUMS { make } else { storage };
                *buffer = Some(make(gpu, label, entries));
                is_other = true;
            }
        };
        self.sources = Some(sources);
        self.transfer = Some(batch.buffer().clone());
        let [partial_sums, neighbours, sums, lists] = written(variant, sinks, capacity);
        grow(&mut self.partial_sums, "partial sums", partial_sums);
        grow(&mut self.neighbours, "neighbours of segments", neighbours);
        grow(&mut self.sums, SUMS, sums);
        grow(&mut self.lists, "lists", lists);
        if is_other {
            self.bound.clear();
        }
        is_other
    }

    /// The buffer of sums, if the host reads it in place.
    pub fn sums_in_place(&self) -> Option<&wgpu::Buffer> {
        self.sums.as_ref().filter(|sums| sums.usage().contains(wgpu::BufferUsages::MAP_READ))
    }

    /// The kernels of a variant bound to the buffers, which must exist
    /// ([`EvaluationBuffers::fit`]). Bindings are reused until the buffers change.
    pub fn bind(
        &mut self,
        gpu: &Gpu,
        variant: DirectVariant,
        kernels: &VariantKernels,
        batch: &Batch,
    ) -> Result<BoundKernels> {
        let has_lists = kernels.lists.is_some();
        self.bound.retain(|(known, bound)| *known != variant || bound.lists.is_some() == has_lists);
        if let Some((_, bound)) = self.bound.iter().find(|(known, _)| *known == variant) {
            return Ok(bound.clone());
        }
        let bound = self.create_bound(gpu, kernels, batch)?;
        self.bound.push((variant, bound.clone()));
        Ok(bound)
    }

    fn create_bound(
        &self,
        gpu: &Gpu,
        kernels: &VariantKernels,
        batch: &Batch,
    ) -> Result<BoundKernels> {
        let bind = |kernel: &ComputeKernel, buffers: &[&Option<wgpu::Buffer>]| {
            let mut resources = Vec::with_capacity(buffers.len() + 1);
            for &buffer in buffers {
                let buffer = buffer.as_ref().ok_or_else(|| gpu.refuse("a buffer was not made"))?;
                resources.push(buffer.as_entire_binding());
            }
            resources.push(batch.row_binding::<DirectParams>());
            Ok(kernel.bind(gpu, "direct", &resources))
        };
        let forces = [
            &self.sources,
            &self.transfer,
            &self.transfer,
            &self.partial_sums,
            &self.neighbours,
            &self.lists,
        ];
        let sum = [&self.partial_sums, &self.neighbours, &self.sums];
        Ok(BoundKernels {
            forces: bind(&kernels.forces, &forces)?,
            sum: bind(&kernels.sum, &sum)?,
            lists: kernels.lists.as_ref().map(|kernel| bind(kernel, &forces)).transpose()?,
        })
    }

    /// Buffers and ranges to copy for these numbers of bytes of sums and lists; those of 0 bytes
    /// are omitted.
    pub fn copies(&self, bytes: [u64; 2]) -> Vec<(&wgpu::Buffer, std::ops::Range<u64>)> {
        let buffers = self.outputs();
        let ranges = buffers.into_iter().zip(bytes).filter(|(_, bytes)| *bytes > 0);
        ranges.filter_map(|(buffer, bytes)| buffer.map(|buffer| (buffer, 0..bytes))).collect()
    }

    /// Buffers that kernels write and the host reads: sums with nearest sources, lists.
    fn outputs(&self) -> [Option<&wgpu::Buffer>; 2] {
        [self.sums.as_ref(), self.lists.as_ref()]
    }
}

/// Checks for out-of-bounds writes.
impl EvaluationBuffers {
    fn all_written(&self) -> [Option<&wgpu::Buffer>; 4] {
        let [sums, lists] = self.outputs();
        [self.partial_sums.as_ref(), self.neighbours.as_ref(), sums, lists]
    }

    /// Fills all outputs with one bits: NaN as a float, out of range as an index.
    pub fn poison(&self, gpu: &Gpu) {
        for buffer in self.all_written().into_iter().flatten() {
            let ones = vec![0xffu8; buffer.size() as usize];
            gpu.queue.write_buffer(buffer, 0, &ones);
        }
    }

    /// Whether everything beyond the outputs of an evaluation is as [`EvaluationBuffers::poison`]
    /// left it.
    pub fn untouched(
        &self,
        gpu: &Gpu,
        variant: &DirectVariant,
        sinks: usize,
        capacity: usize,
    ) -> Result<bool> {
        for (buffer, end) in self.all_written().into_iter().zip(written(variant, sinks, capacity)) {
            let Some(buffer) = buffer else { continue };
            let bytes = blocking(read::<u8>(gpu, &[buffer], buffer.size() as usize))?.remove(0);
            if !bytes[end as usize..].iter().all(|byte| *byte == 0xff) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
