//! The kernels of a block and their shared buffers.

use minijinja::context;

use super::records::track_bytes;
use crate::error::Result;
use crate::forces::direct::gpu::tiers::{
    DirectVariant, NeighbourOutput, Pairs, TierFrame, TierShape,
};
use crate::forces::{Order, Precision};
use crate::gpu::layout::{BlockParams, BlockState, DirectParams, VEC4};
use crate::gpu::{Binding, BoundKernel, Checks, Gpu, Params, compile, template};

const STORAGE: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE
    .union(wgpu::BufferUsages::COPY_SRC)
    .union(wgpu::BufferUsages::COPY_DST);

/// All kernels of a block.
pub(super) struct BlockKernels {
    pub plan: BoundKernel,
    pub predict: BoundKernel,
    pub few: BoundKernel,
    pub many: BoundKernel,
    pub sum: BoundKernel,
    pub correct: BoundKernel,
    /// Runs after predict if several devices share a block; a browser has one.
    pub share: BoundKernel,
    pub turn: BoundKernel,
}

/// Buffers that the host reads, writes or dispatches from.
pub(super) struct BlockBuffers {
    pub state: wgpu::Buffer,
    pub tracks: wgpu::Buffer,
    pub levels: wgpu::Buffer,
    /// The output of [`BlockKernels::predict`], read by the proof.
    pub sources: wgpu::Buffer,
    pub workgroups: wgpu::Buffer,
    /// The block's sinks as indices of bodies, and the forces on them, which devices exchange.
    pub itself: wgpu::Buffer,
    pub sums: wgpu::Buffer,
    /// Words of `sums` for each sink.
    pub sum_words: usize,
    /// Bytes between the parameters of successive chunks.
    pub stride: u32,
}

/// Parameters of the kernels' source text.
pub(super) struct KernelTier<'a> {
    pub precision: Precision,
    pub pairs: Pairs,
    /// [`DirectVariant::refined`].
    pub refined: bool,
    /// [`DirectVariant::softened`].
    pub softened: bool,
    pub order: Order,
    /// The scheme's file below `shaders/`.
    pub scheme: &'a str,
}

impl KernelTier<'_> {
    /// The variant of the force kernels in this shape.
    pub fn variant(&self, shape: TierShape) -> DirectVariant {
        let Self { precision, pairs, refined, order, softened, .. } = *self;
        let (near, brief) = (NeighbourOutput::Nothing, false);
        DirectVariant { shape, precision, order, near, softened, pairs, brief, refined }
    }

    /// The source text of `blocks/NAME.wgsl`.
    pub fn text(&self, name: &str) -> Result<String> {
        let values = context! {
            tier => self.precision.name(),
            pairs => self.precision == Precision::DoubleSingle,
            fence => self.pairs.fence,
            fused => self.pairs.fused,
            order => self.order as u32,
            refined => self.refined,
            scheme => self.scheme,
        };
        template::assemble(&format!("blocks/{name}.wgsl"), values)
    }
}

/// The kind of a binding and its resource.
type BoundResource<'a> = (Binding, wgpu::BindingResource<'a>);

fn read(buffer: &wgpu::Buffer) -> BoundResource<'_> {
    (Binding::Read, buffer.as_entire_binding())
}

fn write(buffer: &wgpu::Buffer) -> BoundResource<'_> {
    (Binding::Write, buffer.as_entire_binding())
}

/// Compiles the kernels and creates the buffers for `count` bodies and `pieces` dispatches of
/// forces per block, with at most `partial` partial sums (sums of one sink in one segment).
pub(super) async fn make(
    gpu: &Gpu,
    tier: &KernelTier<'_>,
    shapes: [TierShape; 2],
    params: &Params<BlockParams>,
    (count, pieces, partial): (u64, u64, u64),
) -> Result<(BlockKernels, BlockBuffers)> {
    let bind = async |file: &str, text: &str, bound: &[BoundResource<'_>]| -> Result<BoundKernel> {
        let (bindings, resources): (Vec<_>, Vec<_>) = bound.iter().cloned().unzip();
        let kernel = compile(gpu, file, text, &bindings, Checks::default()).await?;
        Ok(kernel.bind(gpu, "blocks", &resources))
    };
    let own = async |name: &str, bound: &[BoundResource<'_>]| {
        bind(&format!("blocks/{name}.wgsl"), &tier.text(name)?, bound).await
    };
    let variants = shapes.map(|shape| tier.variant(shape));
    let vector = variants[0].vector_bytes();
    let sums = variants[0].sums() as u64 * vector;
    let record = TierFrame::words(tier.precision) as u64 * VEC4;
    let buffer = |label: &str, bytes: u64, usage: wgpu::BufferUsages| {
        gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes.next_multiple_of(VEC4),
            usage,
            mapped_at_creation: false,
        })
    };
    let row = size_of::<DirectParams>() as u32;
    let stride = row.next_multiple_of(gpu.limits.uniform_alignment);
    let state = buffer("blocks' state", size_of::<BlockState>() as u64, STORAGE);
    let tracks = buffer("tracks", count * track_bytes(tier.precision), STORAGE);
    let levels = buffer("levels", count * 4, STORAGE);
    let sources = buffer("sources", count * record, STORAGE);
    let sinks = buffer("sinks", count * record, STORAGE);
    let itself = buffer("identities of sinks", count * 4, STORAGE);
    let partial_sums = buffer("partial sums", partial * sums, STORAGE);
    let all_sums = buffer("sums", count * sums, STORAGE);
    // Bound but never used: these variants have no neighbours.
    let unused: [wgpu::Buffer; 2] = std::array::from_fn(|_| buffer("unused", 2 * vector, STORAGE));
    let uniform = STORAGE | wgpu::BufferUsages::UNIFORM;
    let piece_rows = buffer("pieces", pieces * u64::from(stride), uniform);
    let indirect = STORAGE | wgpu::BufferUsages::INDIRECT;
    let workgroups = buffer("workgroups", (2 + 3 * pieces) * 12, indirect);
    let sum_words = (sums / 4) as usize;

    let piece = wgpu::BufferBinding {
        buffer: &piece_rows,
        offset: 0,
        size: wgpu::BufferSize::new(u64::from(row)),
    };
    let piece = (Binding::Params(u64::from(row)), wgpu::BindingResource::Buffer(piece));
    let block = (Binding::Params(size_of::<BlockParams>() as u64), params.binding());
    let planned = [write(&state), write(&piece_rows), write(&workgroups), block.clone()];
    let predicted = [write(&state), read(&tracks), read(&levels), write(&sources), write(&sinks)];
    let predicted = [&predicted[..], &[write(&itself), piece.clone(), block.clone()]].concat();
    let attracted = [read(&sources), read(&sinks), read(&itself), write(&partial_sums)];
    let [neighbours, lists] = [write(&unused[0]), write(&unused[1])];
    let attracted = [&attracted[..], &[neighbours.clone(), lists, piece.clone()]].concat();
    let summed = [read(&partial_sums), neighbours, write(&all_sums), piece.clone()];
    let corrected = [write(&state), write(&tracks), write(&levels), read(&itself), read(&all_sums)];
    let corrected = [&corrected[..], &[piece.clone(), block.clone()]].concat();
    let kernels = BlockKernels {
        plan: own("plan", &planned).await?,
        share: own("share", &planned).await?,
        predict: own("predict", &predicted).await?,
        few: bind(DirectVariant::FORCES, &variants[0].forces()?, &attracted).await?,
        many: bind(DirectVariant::FORCES, &variants[1].forces()?, &attracted).await?,
        sum: bind(DirectVariant::SUM, &variants[0].sum()?, &summed).await?,
        correct: own("correct", &corrected).await?,
        turn: own("turn", &[write(&state), read(&tracks), piece.clone(), block.clone()]).await?,
    };
    let buffers = BlockBuffers {
        state,
        tracks,
        levels,
        sources,
        workgroups,
        itself,
        sums: all_sums,
        sum_words,
        stride,
    };
    Ok((kernels, buffers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{Language, translate};

    #[test]
    fn every_text_validates_and_translates() {
        for (precision, _) in Precision::ALL.into_iter().filter(|(p, _)| *p != Precision::Single) {
            let languages: &[_] = match precision {
                Precision::Double => &[Language::SpirV],
                _ => &[Language::SpirV, Language::Msl, Language::Hlsl],
            };
            for (order, scheme) in
                [(Order::Jerk, "blocks/hermite4.wgsl"), (Order::Snap, "blocks/hermite6.wgsl")]
            {
                for (fused, refined) in [(false, false), (true, false), (false, true)] {
                    let pairs = Pairs { fence: true, fused };
                    let refined = refined && precision == Precision::DoubleSingle;
                    let tier =
                        KernelTier { precision, pairs, refined, softened: false, order, scheme };
                    for name in ["plan", "predict", "share", "correct", "turn"] {
                        let text = tier.text(name).unwrap();
                        for &language in languages {
                            let out = translate(name, &text, language, Checks::Off);
                            let out = out.unwrap_or_else(|e| panic!("{e}\n{text}"));
                            assert!(out.len() > 500);
                        }
                    }
                }
            }
        }
    }
}
