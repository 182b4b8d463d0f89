//! Submissions of a part of a tree, with what the host reads after each.

use std::ops::Range;
use std::sync::Arc;

use web_time::Instant;

use crate::error::Result;
use crate::exchange::{Exchange, Member, Reader};
use crate::forces::tree::gpu::{Build, TreeBuffers};
use crate::gpu::layout::TreeParams;
use crate::gpu::{Binding, BoundKernel, Checks, Gpu, Params, Readback, compile, template};

use super::PartBodies;

/// A copy between two buffers: from, at, to, at, bytes.
pub(super) type Copy<'a> = (&'a wgpu::Buffer, u64, &'a wgpu::Buffer, u64, u64);

/// What the kernels of all stages are bound to.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub buffers: &'a TreeBuffers,
    pub partial_sums: &'a wgpu::Buffer,
    pub bodies: &'a PartBodies,
    pub checks: Checks,
}

/// All-gather of messages that members of this process read where they are. `receive` is called with
/// each member's, in order.
///
/// # Errors
/// As of [`Exchange`].
pub(super) fn gather_in_place(
    member: &mut Member,
    mine: Vec<u8>,
    receive: &mut Reader<'_>,
) -> Result<()> {
    let mut lengths = Vec::with_capacity(member.members());
    let own = (mine.len() as u64).to_le_bytes();
    member.all_gather(&own, &vec![own.len(); member.members()], &mut |_, received| {
        let length: u64 = bytemuck::pod_read_unaligned(received);
        lengths.push(length as usize);
    })?;
    member.all_gather_shared(Arc::new(mine), &lengths, receive)
}

/// The device, and what each submission uses.
pub(super) struct Io {
    pub gpu: Arc<Gpu>,
    pub params: Params<TreeParams>,
    readback: Readback,
    /// Seconds spent waiting for the device since they were last taken.
    pub device_secs: f64,
    /// Seconds of each stage of an evaluation.
    laps: Vec<(&'static str, f64)>,
    since: Instant,
}

impl Io {
    pub fn new(gpu: Arc<Gpu>, params: Params<TreeParams>) -> Self {
        let (laps, since) = (Vec::new(), Instant::now());
        Self { gpu, params, readback: Readback::default(), device_secs: 0.0, laps, since }
    }

    /// Ends a stage, for the log.
    pub fn lap(&mut self, name: &'static str) {
        self.laps.push((name, self.since.elapsed().as_secs_f64()));
        self.since = Instant::now();
    }

    /// Logs the seconds of the stages since the last time.
    pub fn log_laps(&mut self, part: usize) {
        let all: Vec<String> =
            self.laps.iter().map(|(name, secs)| format!("{name} {:.2}", 1e3 * secs)).collect();
        log::debug!("domain {part}, ms: {}", all.join(", "));
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

    /// Submits what `record` records and then `copies`; waits, and returns the words of `reads`, byte
    /// ranges of buffers.
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
        let words = |read: &[&[u32]]| read.iter().map(|words| words.to_vec()).collect();
        self.submit_as(build, record, copies, reads, words).await
    }

    /// [`Io::submit`] with what `look` makes of the words where they were read. It is not called with
    /// anything if nothing is read, and nothing is waited for.
    ///
    /// # Errors
    /// The device failed.
    pub async fn submit_as<R: Default>(
        &mut self,
        build: &mut Build,
        record: impl FnOnce(&mut wgpu::ComputePass<'_>, &mut Params<TreeParams>, &mut Build),
        copies: &[Copy<'_>],
        reads: &[(&wgpu::Buffer, Range<u64>)],
        look: impl FnOnce(&[&[u32]]) -> R,
    ) -> Result<R> {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        self.params.clear();
        build.begin_submission();
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            record(&mut pass, &mut self.params, build);
        }
        for (from, from_at, to, to_at, bytes) in copies.iter().filter(|copy| copy.4 > 0) {
            encoder.copy_buffer_to_buffer(from, *from_at, to, *to_at, *bytes);
        }
        let wanted: Vec<_> = reads.iter().filter(|(_, range)| !range.is_empty()).cloned().collect();
        if !wanted.is_empty() {
            self.readback.record(&self.gpu.device, &mut encoder, &wanted);
        }
        self.params.upload(&self.gpu);
        build.end_submission(&self.gpu);
        let submission = self.gpu.queue.submit([encoder.finish()]);
        self.readback.submitted();
        if reads.is_empty() {
            return Ok(R::default());
        }
        let patience = std::time::Duration::from_millis(10);
        let begun = Instant::now();
        self.gpu.finish_within(submission, patience).await?;
        self.device_secs += begun.elapsed().as_secs_f64();
        if wanted.is_empty() {
            return Ok(look(&vec![&[][..]; reads.len()]));
        }
        let spread = |arrived: &[&[u32]]| {
            let mut arrived = arrived.iter();
            let words = |(_, range): &(&wgpu::Buffer, Range<u64>)| match range.is_empty() {
                true => &[][..],
                false => arrived.next().copied().unwrap_or_default(),
            };
            look(&reads.iter().map(words).collect::<Vec<_>>())
        };
        self.readback.arrive_as(spread).await
    }

    /// Writes values into a buffer, before the next submission.
    pub fn write<T: bytemuck::NoUninit>(&self, buffer: &wgpu::Buffer, at: u64, values: &[T]) {
        if !values.is_empty() {
            self.gpu.queue.write_buffer(buffer, at, bytemuck::cast_slice(values));
        }
    }
}
