//! The all-pairs kernel on the device: compiled, bound, and recorded in pieces.

use super::{Budget, KernelVariant, Pace};
use crate::error::Result;
use crate::gpu::layout::{ForceParams, VEC4};
use crate::gpu::{Binding, ComputeKernel, Gpu, Params, compile};

/// How many different dispatches one submission may hold.
const PARAMS_ROWS: usize = 256;

/// With q > 1 the rows of threads are summed at the end of a dispatch, so the cut of the sources is
/// part of the order of the sums: it is always made here, whatever the device's speed.
const FIXED_CUT_WITH_Q: u32 = 1 << 16;

/// The bodies that a kernel works on: device buffers of `vec4<f32>`, position and gravitating mass.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// What attracts.
    pub sources: &'a wgpu::Buffer,
    /// Number of sources.
    pub source_count: u32,
    /// What is attracted; may be the same buffer.
    pub sinks: &'a wgpu::Buffer,
    /// Number of sinks.
    pub sink_count: u32,
    /// Sink i is source i + this; or [`crate::gpu::layout::FOREIGN`], [`crate::gpu::layout::IN_SINK`].
    pub self_offset: u32,
    /// Plummer softening length.
    pub softening: f32,
}

/// A force kernel bound to one pair of sinks and sources.
#[derive(Debug)]
pub struct AllPairs {
    /// What runs.
    pub variant: KernelVariant,
    /// Partial sums: `array<vec4<f32>>`, s slices of `sink_count` entries, acceleration and potential.
    pub partial_sums: wgpu::Buffer,
    kernel: ComputeKernel,
    params: Params<ForceParams>,
    bind_group: wgpu::BindGroup,
    whole: ForceParams,
}

/// How far a force evaluation has come: the next sinks, then the next sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    sink: u32,
    /// End of the rows whose sources are under way; meaningful while `chunk` > 0.
    sink_end: u32,
    chunk: u32,
}

impl AllPairs {
    /// Compiles the kernel and binds it to `field`.
    ///
    /// Errors: a shape that the adapter cannot hold; partial sums larger than its largest buffer.
    pub async fn new(gpu: &Gpu, variant: KernelVariant, field: Field<'_>) -> Result<Self> {
        Self::sharing(gpu, variant, field, None).await
    }

    /// The same with the partial sums of another kernel, of the same number of sinks and slices, whose
    /// content is no longer needed.
    pub async fn sharing(
        gpu: &Gpu,
        variant: KernelVariant,
        field: Field<'_>,
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
        let params_size = size_of::<ForceParams>() as u64;
        let bindings = [Binding::Read, Binding::Read, Binding::Write, Binding::Params(params_size)];
        let text = variant.wgsl()?;
        let kernel = compile(gpu, variant.file(), &text, &bindings, config.checks).await?;
        let partial_sums = partial_sums
            .unwrap_or_else(|| crate::gpu::storage(gpu, "partial sums", entries as usize));
        let params = Params::new(gpu, "force params", PARAMS_ROWS);
        let bind = |binding, resource| wgpu::BindGroupEntry { binding, resource };
        let bind_group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("force"),
            layout: &kernel.layout,
            entries: &[
                bind(0, field.sources.as_entire_binding()),
                bind(1, field.sinks.as_entire_binding()),
                bind(2, partial_sums.as_entire_binding()),
                bind(3, params.binding()),
            ],
        });
        let slice_length = config.slice_length(field.source_count);
        let whole = ForceParams {
            sink_begin: 0,
            sink_end: field.sink_count,
            sink_count: field.sink_count,
            source_count: field.source_count,
            slice_length,
            chunk_begin: 0,
            chunk_end: slice_length,
            self_offset: field.self_offset,
            softening_squared: field.softening * field.softening,
            ..Default::default()
        };
        Ok(Self { variant, partial_sums, kernel, params, bind_group, whole })
    }

    /// The parameters of one dispatch that computes everything.
    pub fn whole(&self) -> ForceParams {
        self.whole
    }

    /// True when no cut of the sources is part of the order of the sums: one dispatch, if it is allowed
    /// to take that long, gives the bits that any number of them gives.
    pub fn is_one_chunk(&self) -> bool {
        let config = self.variant.config;
        config.q == 1 || FIXED_CUT_WITH_Q.next_multiple_of(config.tile()) >= self.whole.slice_length
    }

    /// Interactions of one whole evaluation.
    pub fn interactions(&self) -> u64 {
        u64::from(self.whole.sink_count) * u64::from(self.whole.source_count)
    }

    /// Begins a submission.
    pub fn begin_submission(&mut self) {
        self.params.clear();
    }

    /// Sends the parameters of all that was recorded. Call before submitting.
    pub fn end_submission(&mut self, gpu: &Gpu) {
        self.params.upload(gpu);
    }

    /// True when this submission can take no further different dispatch.
    pub fn is_full(&self) -> bool {
        self.params.is_full()
    }

    /// Records one dispatch of about `interactions` interactions from `progress` on, at least one tile
    /// for as many workgroups as fill the device, and moves `progress` behind it. Returns the interactions recorded
    /// and whether the evaluation is now complete (`progress` is then back at the start).
    ///
    /// The cut does not change the sums: a later chunk goes on from the totals of the earlier ones.
    pub fn record(
        &mut self,
        gpu: &Gpu,
        pass: &mut wgpu::ComputePass<'_>,
        progress: &mut Progress,
        interactions: u64,
    ) -> (u64, bool) {
        let config = self.variant.config;
        let whole = self.whole;
        let (rows, tile) = (config.sinks_per_workgroup(), config.tile());
        // Workgroups that fill the device, then as many of their sources as the budget allows; more
        // sinks only when those take all their sources. Fewer workgroups would leave the device idle,
        // look slow, and make the next dispatch smaller still.
        let wanted = gpu.adapter.class.threads_to_fill() / (config.threads() * config.s);
        let fill = u64::from(rows) * u64::from(wanted.max(1));
        let most = u64::from(gpu.limits.workgroups) * u64::from(rows);
        let all_sources = u64::from(whole.source_count);
        let rows_of = |sinks: u64| sinks / u64::from(rows) * u64::from(rows);
        let (sinks, sources) = if config.q > 1 {
            let cut = FIXED_CUT_WITH_Q.next_multiple_of(tile);
            let reach = (u64::from(cut) * u64::from(config.s)).min(all_sources);
            (rows_of(interactions / reach.max(1)).max(fill), cut)
        } else {
            let whole_rows = rows_of(interactions / all_sources.max(1));
            let present = fill.min(u64::from(whole.sink_count)) * u64::from(config.s);
            let part = (interactions / present.max(1)).min(u64::from(whole.slice_length)) as u32;
            if whole_rows >= fill {
                (whole_rows, whole.slice_length)
            } else {
                (fill, (part / tile * tile).max(tile))
            }
        };
        let sinks = sinks.min(most).min(u64::from(u32::MAX)) as u32;
        let sink_end = if progress.chunk > 0 {
            progress.sink_end
        } else {
            progress.sink.saturating_add(sinks).min(whole.sink_count)
        };
        let params = ForceParams {
            sink_begin: progress.sink,
            sink_end,
            chunk_begin: progress.chunk,
            chunk_end: progress.chunk.saturating_add(sources).min(whole.slice_length),
            ..whole
        };
        let offset = self.params.offset_of(params);
        let width = params.sink_end - params.sink_begin;
        pass.set_pipeline(&self.kernel.pipeline);
        pass.set_bind_group(0, &self.bind_group, &[offset]);
        pass.dispatch_workgroups(width.div_ceil(rows), config.s, 1);

        let reach = u64::from(params.chunk_end - params.chunk_begin) * u64::from(config.s);
        let done = u64::from(width) * reach.min(u64::from(whole.source_count));
        *progress = if params.chunk_end < whole.slice_length {
            Progress { sink: params.sink_begin, sink_end, chunk: params.chunk_end }
        } else {
            Progress { sink: sink_end, sink_end, chunk: 0 }
        };
        let complete = progress.sink >= whole.sink_count;
        if complete {
            *progress = Progress::default();
        }
        (done, complete)
    }

    /// Computes everything once, in slices that keep the headless budget, and waits for it.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn evaluate_blocking(&mut self, gpu: &Gpu, pace: &mut Pace) -> Result<()> {
        let budget = Budget::HEADLESS;
        let (mut progress, mut complete) = (Progress::default(), false);
        while !complete {
            crate::stop::check()?;
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            let (mut interactions, mut dispatches) = (0, 0);
            self.begin_submission();
            {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                while !complete
                    && !self.is_full()
                    && pace.secs(interactions, dispatches) < budget.submission_secs
                {
                    let piece = pace.interactions_in(budget.dispatch_secs);
                    let done;
                    (done, complete) = self.record(gpu, &mut pass, &mut progress, piece);
                    interactions += done;
                    dispatches += 1;
                }
            }
            self.end_submission(gpu);
            let begun = web_time::Instant::now();
            let submission = gpu.queue.submit([encoder.finish()]);
            gpu.wait_for(submission)?;
            pace.learn(interactions, dispatches, begun.elapsed().as_secs_f64());
        }
        Ok(())
    }
}
