//! Submissions of a part of a tree, with what the host reads after each.

use std::ops::Range;
use std::sync::Arc;

use crate::wall_clock::Instant;
use rayon::prelude::*;
use wgpu::util::StagingBelt;

use crate::error::Result;
use crate::forces::tree::gpu::{Build, TreeBuffers};
use crate::gpu::layout::TreeParams;
use crate::gpu::{Binding, BoundKernel, Checks, Gpu, Params, Readback, compile, template};

use super::PartBodies;

/// A copy between two buffers: from, at, to, at, bytes.
pub(super) type Copy<'a> = (&'a wgpu::Buffer, u64, &'a wgpu::Buffer, u64, u64);

/// What the kernels of all stages are bound to.
#[derive(Clone, Copy)]
pub(super) struct PartResources<'a> {
    pub buffers: &'a TreeBuffers,
    pub partial_sums: &'a wgpu::Buffer,
    pub bodies: &'a PartBodies,
    pub checks: Checks,
}

/// Bytes of a staging buffer for writes. Longer writes take several.
const STAGING: u64 = 1 << 20;

/// The device, and what each submission uses.
pub(super) struct Io {
    pub gpu: Arc<Gpu>,
    pub params: Params<TreeParams>,
    readback: Readback,
    /// Staging buffers that are used again: a new one for each write costs up to a millisecond, and
    /// holds up other devices of the process.
    staging: StagingBelt,
    /// What has been recorded and is not submitted yet. A submission takes the host some 50 µs, for
    /// which the device often waits.
    recorded: Option<wgpu::CommandEncoder>,
    /// Whether that uses parameters.
    has_params: bool,
    /// Seconds spent waiting for the device since they were last taken.
    pub device_secs: f64,
    /// Seconds of each stage of an evaluation.
    laps: Vec<(&'static str, f64)>,
    since: Instant,
}

impl Io {
    pub fn new(gpu: Arc<Gpu>, params: Params<TreeParams>) -> Self {
        let staging = StagingBelt::new(gpu.device.clone(), STAGING);
        let readback = Readback::default();
        let (laps, since) = (Vec::new(), Instant::now());
        let (recorded, has_params, device_secs) = (None, false, 0.0);
        Self { gpu, params, readback, staging, recorded, has_params, device_secs, laps, since }
    }

    /// Ends a stage, for the log.
    pub fn lap(&mut self, name: &'static str) {
        self.laps.push((name, self.since.elapsed().as_secs_f64()));
        self.since = Instant::now();
    }

    /// Logs the milliseconds of the stages since the last time, and what the part has received.
    pub fn log_laps(&mut self, part: usize, [cells, bodies]: [u32; 2]) {
        let all: Vec<String> =
            self.laps.iter().map(|(name, secs)| format!("{name} {:.2}", 1e3 * secs)).collect();
        let all = all.join(", ");
        log::debug!("domain {part}, {cells} cells and {bodies} bodies received, ms: {all}");
        self.laps.clear();
        self.since = Instant::now();
    }

    /// Compiles and binds a kernel of `shaders/tree/domains/`.
    pub async fn kernel(
        &self,
        name: &str,
        values: minijinja::Value,
        bound: &[(Binding, &wgpu::Buffer)],
        has_params: bool,
        checks: Checks,
    ) -> Result<BoundKernel> {
        let file = format!("tree/domains/{name}.wgsl");
        let text = template::assemble(&file, values)?;
        let mut bindings: Vec<_> = bound.iter().map(|(binding, _)| *binding).collect();
        let mut resources: Vec<_> = bound.iter().map(|(_, b)| b.as_entire_binding()).collect();
        if has_params {
            bindings.push(Binding::Params(size_of::<TreeParams>() as u64));
            resources.push(self.params.binding());
        }
        let kernel = compile(&self.gpu, &file, &text, &bindings, checks).await?;
        Ok(kernel.bind(&self.gpu, name, &resources))
    }

    /// Records commands and then `copies`, for the next submission.
    pub fn record(
        &mut self,
        build: &mut Build,
        record: impl FnOnce(&mut wgpu::ComputePass<'_>, &mut Params<TreeParams>, &mut Build),
        copies: &[Copy<'_>],
    ) {
        if !std::mem::replace(&mut self.has_params, true) {
            self.params.clear();
            build.begin_submission();
        }
        let encoder = opened(&mut self.recorded, &self.gpu);
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            record(&mut pass, &mut self.params, build);
        }
        for (from, from_at, to, to_at, bytes) in copies.iter().filter(|copy| copy.4 > 0) {
            encoder.copy_buffer_to_buffer(from, *from_at, to, *to_at, *bytes);
        }
    }

    /// Submits what has been recorded; returns `None` if that is nothing.
    pub fn send(&mut self, build: &mut Build) -> Option<wgpu::SubmissionIndex> {
        let encoder = self.recorded.take()?;
        if std::mem::take(&mut self.has_params) {
            self.params.upload(&self.gpu);
            build.end_submission(&self.gpu);
        }
        self.staging.finish();
        let submission = self.gpu.queue.submit([encoder.finish()]);
        self.staging.recall();
        self.readback.submitted();
        Some(submission)
    }

    /// Submits what `record` records and then `copies`, after all that has been recorded before;
    /// waits, and returns the words of `reads`, byte ranges of buffers.
    ///
    /// # Errors
    /// The device failed.
    pub async fn submit(
        &mut self,
        build: &mut Build,
        record: impl FnOnce(&mut wgpu::ComputePass<'_>, &mut Params<TreeParams>, &mut Build),
        copies: &[Copy<'_>],
        reads: &[(&wgpu::Buffer, Range<u64>)],
    ) -> Result<Vec<Vec<u32>>> {
        self.record(build, record, copies);
        let ranges: Vec<_> = reads.iter().filter(|(_, range)| !range.is_empty()).cloned().collect();
        if !ranges.is_empty() {
            let encoder = opened(&mut self.recorded, &self.gpu);
            self.readback.record(&self.gpu.device, encoder, &ranges);
        }
        if let Some(submission) = self.send(build) {
            let patience = std::time::Duration::from_millis(10);
            let begun = Instant::now();
            self.gpu.finish_within(submission, patience).await?;
            self.device_secs += begun.elapsed().as_secs_f64();
        }
        if ranges.is_empty() {
            return Ok(vec![Vec::new(); reads.len()]);
        }
        let spread = |arrived: &[&[u32]]| {
            let mut arrived = arrived.iter();
            let words = |(_, range): &(&wgpu::Buffer, Range<u64>)| match range.is_empty() {
                true => Vec::new(),
                false => arrived.next().map(|words| words.to_vec()).unwrap_or_default(),
            };
            reads.iter().map(words).collect()
        };
        self.readback.arrive_as(spread).await
    }

    /// Writes values into a buffer, before the next submission.
    pub fn write<T: bytemuck::NoUninit>(&mut self, buffer: &wgpu::Buffer, at: u64, values: &[T]) {
        if values.is_empty() {
            return;
        }
        let encoder = opened(&mut self.recorded, &self.gpu);
        let pieces = bytemuck::cast_slice::<T, u8>(values).chunks(STAGING as usize);
        let mut staged = Vec::with_capacity(pieces.len());
        for (piece, at) in pieces.zip((at..).step_by(STAGING as usize)) {
            if let Some(bytes) = wgpu::BufferSize::new(piece.len() as u64) {
                staged.push((self.staging.write_buffer(encoder, buffer, at, bytes), piece));
            }
        }
        match &mut staged[..] {
            [(view, piece)] => view.copy_from_slice(piece),
            all => all.par_iter_mut().for_each(|(view, piece)| view.copy_from_slice(piece)),
        }
    }

    /// Sets a buffer to zeros, before the next submission.
    pub fn clear(&mut self, buffer: &wgpu::Buffer) {
        opened(&mut self.recorded, &self.gpu).clear_buffer(buffer, 0, None);
    }
}

fn opened<'a>(
    recorded: &'a mut Option<wgpu::CommandEncoder>,
    gpu: &Gpu,
) -> &'a mut wgpu::CommandEncoder {
    recorded.get_or_insert_with(|| gpu.device.create_command_encoder(&Default::default()))
}
