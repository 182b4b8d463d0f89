//! The all-pairs kernel on the device: compiled, bound, and recorded in chunks.

use std::any::Any;

use super::KernelVariant;
use super::config::WINDOW;
use super::packing::PackedSources;
use crate::error::Result;
use crate::forces::{BoxFuture, DeviceForces, RecordedChunk, StepForces};
use crate::gpu::layout::{ForceParams, VEC4};
use crate::gpu::{Binding, BodyBuffers, BoundKernel, Gpu, Params, Progress, Rectangle, compile};

/// The most distinct dispatches in one submission.
const PARAMS_ROWS: usize = 256;

/// Bytes of one window of the sources.
const WINDOW_BYTES: u64 = WINDOW as u64 * VEC4;

/// With q > 1 the rows of threads are summed at the end of a dispatch, so the split of the sources
/// is part of the order of the sums: it is always made here, whatever the device's speed.
const FIXED_CUT_WITH_Q: u32 = 1 << 16;

/// The bodies that a kernel works on, in device buffers of `vec4<f32>`: position and gravitating
/// mass.
#[derive(Clone, Copy, Debug)]
pub struct PairBuffers<'a> {
    /// The attracting bodies.
    pub sources: &'a wgpu::Buffer,
    /// The sources' masses as in the buffer.
    pub source_mass: &'a [f32],
    /// The attracted bodies; may be the same buffer.
    pub sinks: &'a wgpu::Buffer,
    /// Number of sinks.
    pub sink_count: u32,
    /// Index of the first sink in its buffer.
    pub first_sink: u32,
    /// Sink i is source i + this; or [`crate::gpu::layout::FOREIGN`],
    /// [`crate::gpu::layout::IN_SINK`].
    pub self_offset: u32,
    /// Plummer softening length.
    pub softening: f32,
}

impl<'a> PairBuffers<'a> {
    /// All bodies as sources, and this device's part of them as sinks.
    pub fn of_bodies(bodies: &'a BodyBuffers, softening: f32) -> Self {
        Self {
            sources: &bodies.position_mass,
            source_mass: &bodies.mass,
            sinks: &bodies.position_mass,
            sink_count: bodies.sink_count(),
            first_sink: bodies.sinks.start,
            self_offset: 0,
            softening,
        }
    }
}

/// A force kernel bound to one pair of sinks and sources.
#[derive(Debug)]
pub struct AllPairs {
    /// The variant that runs.
    pub variant: KernelVariant,
    /// Partial sums: `array<vec4<f32>>`, s slices of `sink_count` entries, acceleration and
    /// potential.
    pub partial_sums: wgpu::Buffer,
    kernel: BoundKernel,
    packed: Option<PackedSources>,
    params: Params<ForceParams>,
    whole: ForceParams,
    softening: f32,
    progress: Progress,
}

impl AllPairs {
    /// Compiles the kernel and binds it to `field`.
    ///
    /// # Errors
    /// A shape that the adapter cannot hold; partial sums larger than its largest buffer.
    pub async fn new(gpu: &Gpu, variant: KernelVariant, field: PairBuffers<'_>) -> Result<Self> {
        Self::sharing(gpu, variant, field, None).await
    }

    /// A kernel that shares the partial sums of another with the same number of sinks and slices,
    /// whose content is no longer needed.
    pub async fn sharing(
        gpu: &Gpu,
        variant: KernelVariant,
        field: PairBuffers<'_>,
        partial_sums: Option<wgpu::Buffer>,
    ) -> Result<Self> {
        let config = variant.config;
        config.validate(Some(gpu))?;
        let entries = u64::from(config.s) * u64::from(field.sink_count);
        if entries * VEC4 > gpu.limits.storage_buffer {
            return Err(gpu.refuse(format!(
                "{} sinks in s = {} slices need {} bytes of partial sums in one buffer, but it allows {}",
                field.sink_count,
                config.s,
                entries * VEC4,
                gpu.limits.storage_buffer
            )));
        }
        let packed = match variant.packing(field.source_mass) {
            Some(packing) => {
                let numbered = variant.potential && variant.one_mass;
                Some(PackedSources::new(gpu, &config, &packing, field.sources, numbered).await?)
            }
            None => None,
        };
        let (sources, source_count) = match &packed {
            Some(packed) => (&packed.sources, packed.len),
            None => (field.sources, field.source_mass.len() as u32),
        };
        let params_size = size_of::<ForceParams>() as u64;
        let read_sources =
            if config.uniform { Binding::Params(WINDOW_BYTES) } else { Binding::Read };
        let mut bindings =
            vec![read_sources, Binding::Read, Binding::Write, Binding::Params(params_size)];
        bindings.extend(variant.one_mass.then_some(Binding::Read));
        let text = variant.wgsl()?;
        let kernel = compile(gpu, variant.file(), &text, &bindings, config.checks).await?;
        let partial_sums = partial_sums
            .unwrap_or_else(|| crate::gpu::storage(gpu, "partial sums", entries as usize));
        let params = Params::new(gpu, "force params", PARAMS_ROWS);
        let window = wgpu::BufferBinding {
            buffer: sources,
            offset: 0,
            size: config.uniform.then_some(WINDOW_BYTES).and_then(wgpu::BufferSize::new),
        };
        let mut resources = vec![
            wgpu::BindingResource::Buffer(window),
            field.sinks.as_entire_binding(),
            partial_sums.as_entire_binding(),
            params.binding(),
        ];
        if let Some(packed) = packed.as_ref().filter(|_| variant.one_mass) {
            resources.push(packed.block_masses.as_entire_binding());
        }
        let kernel = kernel.bind(gpu, "force", &resources);
        let slice_length = if config.uniform {
            // Each slice takes a part of every window.
            source_count.div_ceil(WINDOW).max(1) * (WINDOW / config.s)
        } else {
            config.slice_length(source_count)
        };
        let whole = ForceParams {
            sink_begin: field.first_sink,
            sink_end: field.first_sink + field.sink_count,
            sink_count: field.sink_count,
            source_count,
            slice_length,
            chunk_begin: 0,
            chunk_end: slice_length,
            self_offset: field.self_offset,
            softening_squared: field.softening * field.softening,
            first_sink: field.first_sink,
            ..Default::default()
        };
        let (softening, progress) = (field.softening, Progress::default());
        Ok(Self { variant, partial_sums, kernel, packed, params, whole, softening, progress })
    }

    /// The kernel of `forces`, if they are all pairs: its text can be shown, and steps can be fused
    /// into it.
    pub fn of(forces: &dyn DeviceForces) -> Option<&Self> {
        (forces as &dyn Any).downcast_ref()
    }

    /// The parameters of one dispatch that computes everything.
    pub fn whole(&self) -> ForceParams {
        self.whole
    }

    /// Whether splitting the sources does not affect the order of the sums: one dispatch, if it may
    /// take that long, then gives the same bits as any number of them.
    pub fn is_one_chunk(&self) -> bool {
        let config = self.variant.config;
        config.q == 1 || FIXED_CUT_WITH_Q.next_multiple_of(config.tile()) >= self.whole.slice_length
    }

    /// Another kernel for the same bodies. It reuses the buffer of partial sums, which have been
    /// added up by the time it runs.
    async fn sibling(
        &self,
        gpu: &Gpu,
        bodies: &BodyBuffers,
        variant: KernelVariant,
    ) -> Result<Box<dyn DeviceForces>> {
        let field = PairBuffers::of_bodies(bodies, self.softening);
        let sums = Some(self.partial_sums.clone());
        Ok(Box::new(Self::sharing(gpu, variant, field, sums).await?))
    }

    /// The rectangle of sinks and sources that chunks are cut from.
    fn rectangle(&self) -> Rectangle {
        let (config, whole) = (self.variant.config, self.whole);
        let fixed_chunk = if config.uniform {
            Some(WINDOW / config.s)
        } else {
            (config.q > 1).then_some(FIXED_CUT_WITH_Q.next_multiple_of(config.tile()))
        };
        Rectangle {
            sinks: whole.sink_count,
            sources: whole.source_count,
            slices: config.s,
            slice_length: whole.slice_length,
            rows: config.sinks_per_workgroup(),
            tile: config.tile(),
            threads: config.threads(),
            fixed_chunk,
            most_chunk: u32::MAX,
        }
    }
}

impl DeviceForces for AllPairs {
    fn describe(&self) -> String {
        self.variant.config.to_string()
    }

    fn interactions(&self) -> u64 {
        u64::from(self.whole.sink_count) * u64::from(self.whole.source_count)
    }

    fn is_even(&self) -> bool {
        true
    }

    fn begin_submission(&mut self) {
        self.params.clear();
    }

    fn end_submission(&mut self, gpu: &Gpu) {
        self.params.upload(gpu);
    }

    fn is_full(&self) -> bool {
        self.params.is_full()
    }

    fn is_begun(&self) -> bool {
        self.progress != Progress::default()
    }

    fn restart(&mut self) {
        self.progress = Progress::default();
    }

    fn set_softening(&mut self, softening: f32) {
        self.softening = softening;
        self.whole.softening_squared = softening * softening;
        self.restart();
    }

    /// Records one dispatch, of at least one tile for as many workgroups as fill the device. The
    /// split does not change the sums: a later chunk continues from the totals of the earlier ones.
    fn record(
        &mut self,
        gpu: &Gpu,
        pass: &mut wgpu::ComputePass<'_>,
        interactions: u64,
    ) -> RecordedChunk {
        if let Some(packed) = self.packed.as_ref().filter(|_| !self.is_begun()) {
            packed.record(gpu, pass);
        }
        let fill = gpu.adapter.class.threads_to_fill();
        let (q, u) = (self.variant.config.q, self.variant.config.u);
        let most_chunk = gpu.adapter.class.most_iterations().saturating_mul(q * u);
        let rectangle = Rectangle { most_chunk, ..self.rectangle() };
        let piece = rectangle.piece(self.progress, interactions, fill, gpu.limits.workgroups);
        let params = ForceParams {
            sink_begin: self.whole.first_sink + piece.sinks.start,
            sink_end: self.whole.first_sink + piece.sinks.end,
            chunk_begin: piece.chunk.start,
            chunk_end: piece.chunk.end,
            ..self.whole
        };
        let offset = self.params.offset_of(params);
        let config = self.variant.config;
        if config.uniform {
            let window = params.chunk_begin * config.s / WINDOW;
            self.kernel.set(pass, &[window * WINDOW_BYTES as u32, offset]);
        } else {
            self.kernel.set(pass, &[offset]);
        }
        pass.dispatch_workgroups(piece.workgroups, self.variant.config.s, 1);
        self.progress = piece.next.unwrap_or_default();
        RecordedChunk { interactions: piece.interactions, is_last: piece.next.is_none() }
    }

    fn partial_sums(&self) -> &wgpu::Buffer {
        &self.partial_sums
    }

    fn slices(&self) -> u32 {
        self.variant.config.s
    }

    fn with_potential<'a>(
        &'a self,
        gpu: &'a Gpu,
        bodies: &'a BodyBuffers,
    ) -> BoxFuture<'a, Result<Box<dyn DeviceForces>>> {
        Box::pin(self.sibling(gpu, bodies, self.variant.of_potentials()))
    }

    fn with_both<'a>(
        &'a self,
        gpu: &'a Gpu,
        bodies: &'a BodyBuffers,
    ) -> Option<BoxFuture<'a, Result<Box<dyn DeviceForces>>>> {
        let variant = self.variant.with_potential()?;
        Some(Box::pin(self.sibling(gpu, bodies, variant)))
    }

    fn steps(&mut self) -> Option<&mut dyn StepForces> {
        None
    }
}
