//! An evaluation under way: recorded in dispatches that keep their budget, submitted, waited for.

use std::collections::HashMap;
use std::sync::Arc;

use glam::DVec3;

use super::super::DirectVariant;
use super::super::frame::Units;
use super::GpuTiers;
use super::parts::Among;
use crate::error::Result;
use crate::forces::{Budget, Throughput};
use crate::forces::{Order, Precision};
use crate::gpu::Progress;
use crate::gpu::layout::DirectParams;

/// Elapsed times below this tell of latency and not of a rate.
const SHORTEST_SAMPLE: f64 = 2e-3;

/// All but the largest blocks are done by then.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(5);

/// Dispatches of one submission, each with parameters of its own.
pub(super) const ROWS: u64 = 256;

/// Bytes that go to a device per second, at the least.
const SLOWEST_SENDING: f64 = 1e9;

/// What is under way.
pub struct Evaluation {
    /// How many sinks.
    pub count: usize,
    /// Which of all sinks they are, if all have entries in the answers.
    pub among: Option<Among>,
    /// Where they are, if the host is to tell who is how far away.
    pub sinks: Vec<DVec3>,
    /// To when sources were predicted.
    pub time: Option<f64>,
    pub units: Units,
    /// Positions of sources that were replaced since it was begun: distances of neighbours are those of its
    /// moment.
    pub replaced: Replaced,
    pub variant: DirectVariant,
    pub potential: bool,
    pub nearest: bool,
    /// How far away the nearest is, too.
    pub distance: bool,
    /// As many entries per list as are asked for, if lists are wanted, and the sinks' radii.
    pub capacity: Option<usize>,
    pub radius: Vec<f64>,
    pub whole: DirectParams,
    pub next: Next,
    pub interactions: u64,
    pub dispatches: u64,
    /// Bytes of sources that went along with the last submission.
    pub sent: u64,
    pub submitted: Option<(wgpu::SubmissionIndex, web_time::Instant)>,
}

/// Sources as they were.
#[derive(Default)]
pub struct Replaced {
    pub some: HashMap<u32, DVec3>,
    pub all: Option<Vec<DVec3>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Next {
    Forces(Option<Progress>),
    /// From this sink on.
    Sum(u32),
    Lists(Option<Progress>),
    Copied,
}

/// From so many sinks on some go ahead.
const MANY_SINKS: u32 = 2048;

/// Up to so many interactions: a quarter of the sinks leaves much of a device idle, which costs more than records of the
/// others where forces take long. In f64 they take twice as long.
const MOST_AHEAD: u64 = 1 << 29;
const MOST_AHEAD_IN_F64: u64 = 1 << 27;

impl GpuTiers {
    /// How many sinks' forces are submitted before the host makes records of the others, which takes longer than another
    /// submission where there are many: a quarter, if all would fit one dispatch. Sums of a sink are the same however sinks
    /// are cut. Where records are made in place none go ahead: those of all take less than the second submission's copy.
    pub(super) fn going_ahead(&mut self, evaluation: &Evaluation) -> u32 {
        let Evaluation { variant, whole, capacity, .. } = evaluation;
        let (sinks, shape) = (whole.sink_count, variant.shape);
        let interactions = u64::from(sinks) * u64::from(whole.source_count);
        let at_once =
            self.throughput(variant.order).interactions_in(Budget::HEADLESS.dispatch_secs);
        let ahead = (sinks / 4).next_multiple_of(shape.sinks_per_workgroup());
        let most = match variant.precision {
            Precision::Double => MOST_AHEAD_IN_F64,
            _ => MOST_AHEAD,
        };
        let is_one = interactions <= at_once.min(most)
            && shape.workgroups(sinks) <= self.gpu.limits.workgroups;
        let is_slow = sinks >= MANY_SINKS && !self.batch.is_in_place();
        if is_slow && capacity.is_none() && is_one { ahead.min(sinks) } else { 0 }
    }

    /// Submits the forces of the first sinks with what is in the batch.
    pub(super) fn go_ahead(&mut self, evaluation: &mut Evaluation, sinks: u32) -> Result<()> {
        let gpu = Arc::clone(&self.gpu);
        let Evaluation { variant, whole, next, .. } = evaluation;
        let key = variant.unsliced();
        let kernels = self.buffers.bind(&gpu, key, &self.kernels[&key], &self.batch)?;
        let shape = variant.shape;
        let params = DirectParams {
            sink_end: sinks,
            chunk_end: shape.slice_length(whole.source_count),
            ..*whole
        };
        let offset = self.batch.row(params);
        self.batch.dispatch(&kernels.forces, offset, [shape.workgroups(sinks), shape.slices]);
        let commands = self.batch.finish(&gpu, None);
        gpu.queue.submit([commands]);
        *next = Next::Forces(Some(Progress::from_sink(sinks)));
        Ok(())
    }

    fn throughput(&mut self, order: Order) -> &mut Throughput {
        &mut self.throughput[order as usize]
    }

    /// Submits what fits one submission, after what is in the batch already.
    pub(super) fn advance(&mut self, evaluation: &mut Evaluation) -> Result<()> {
        let budget = Budget::HEADLESS;
        let gpu = Arc::clone(&self.gpu);
        let throughput = *self.throughput(evaluation.variant.order);
        let key = evaluation.variant.unsliced();
        let kernels = self.buffers.bind(&gpu, key, &self.kernels[&key], &self.batch)?;
        let Evaluation { variant, whole, next, .. } = evaluation;
        let (shape, fill) = (variant.shape, gpu.adapter.class.threads_to_fill());
        let (mut interactions, mut dispatches) = (0, 0);
        while *next != Next::Copied
            && dispatches < ROWS
            && throughput.secs(interactions, dispatches) < budget.submission_secs
        {
            match next {
                Next::Forces(progress) | Next::Lists(progress) => {
                    let piece = shape.rectangle(whole.sink_count, whole.source_count).piece(
                        progress.unwrap_or_default(),
                        throughput.interactions_in(budget.dispatch_secs),
                        fill,
                        gpu.limits.workgroups,
                    );
                    let params = DirectParams {
                        sink_begin: piece.sinks.start,
                        sink_end: piece.sinks.end,
                        chunk_begin: piece.chunk.start,
                        chunk_end: piece.chunk.end,
                        ..*whole
                    };
                    let lists = matches!(next, Next::Lists(_));
                    let kernel = if lists { kernels.lists.as_ref() } else { None };
                    let kernel = kernel.unwrap_or(&kernels.forces);
                    let offset = self.batch.row(params);
                    self.batch.dispatch(kernel, offset, [piece.workgroups, shape.slices]);
                    interactions += piece.interactions;
                    *next = match (piece.next, lists) {
                        (Some(_), false) => Next::Forces(piece.next),
                        (Some(_), true) => Next::Lists(piece.next),
                        (None, false) => Next::Sum(0),
                        (None, true) => Next::Copied,
                    };
                }
                Next::Sum(begin) => {
                    let width = (whole.sink_count - *begin).min(gpu.limits.workgroups);
                    let params = DirectParams { sink_begin: *begin, ..*whole };
                    let offset = self.batch.row(params);
                    self.batch.dispatch(&kernels.sum, offset, [width, 1]);
                    let end = *begin + width;
                    *next = if end < whole.sink_count {
                        Next::Sum(end)
                    } else if evaluation.capacity.is_some() {
                        Next::Lists(Some(Progress::default()))
                    } else {
                        Next::Copied
                    };
                }
                Next::Copied => {}
            }
            dispatches += 1;
        }
        let finished = if *next == Next::Copied {
            let sinks = evaluation.count as u64;
            let sums = sinks * variant.results() as u64 * variant.vector_bytes();
            let listed = if evaluation.capacity.is_some() {
                sinks * u64::from(whole.capacity) * 4
            } else {
                0
            };
            match self.buffers.sums_in_place().filter(|_| listed == 0) {
                Some(there) => {
                    self.readback.watch(there, sums);
                    self.batch.finish(&gpu, None)
                }
                None => {
                    let (readback, wanted) =
                        (&mut self.readback, self.buffers.copies([sums, listed]));
                    let mut copies = |encoder: &mut wgpu::CommandEncoder| {
                        readback.record(&gpu.device, encoder, &wanted);
                    };
                    self.batch.finish(&gpu, Some(&mut copies))
                }
            }
        } else {
            self.batch.finish(&gpu, None)
        };
        let submission = gpu.queue.submit([finished]);
        if *next == Next::Copied {
            self.batch.submitted();
        }
        self.readback.submitted();
        (evaluation.interactions, evaluation.dispatches) = (interactions, dispatches);
        evaluation.submitted = Some((submission, web_time::Instant::now()));
        Ok(())
    }

    /// Waits for the last submission and learns from it how fast the device is.
    pub(super) async fn wait(&mut self, evaluation: &mut Evaluation) -> Result<()> {
        let Some((submission, begun)) = evaluation.submitted.take() else { return Ok(()) };
        self.batch.make_ahead(&self.gpu);
        self.gpu.poll()?;
        let asked = web_time::Instant::now();
        self.gpu.finish_soon(submission, PATIENCE).await?;
        // Where the host came late, the device may have been done long since: then only a rate that
        // is better than the known one is news.
        let (waited, secs) = (asked.elapsed().as_secs_f64(), begun.elapsed().as_secs_f64());
        let (interactions, dispatches) = (evaluation.interactions, evaluation.dispatches);
        // What mostly went into sending sources tells nothing of forces, either.
        let sending = std::mem::take(&mut evaluation.sent) as f64 / SLOWEST_SENDING;
        let throughput = self.throughput(evaluation.variant.order);
        let is_better = interactions as f64 > throughput.rate() * secs;
        if secs > SHORTEST_SAMPLE && (waited > 0.5 * secs && secs > 4.0 * sending || is_better) {
            throughput.learn(interactions, dispatches, secs);
        }
        Ok(())
    }

    /// Waits until the answers have come back, which are then read ([`crate::gpu::Readback::arrive`]).
    pub(super) async fn complete(&mut self, evaluation: &mut Evaluation) -> Result<()> {
        loop {
            self.wait(evaluation).await?;
            if evaluation.next == Next::Copied {
                return Ok(());
            }
            crate::stop::check()?;
            self.batch.again();
            self.advance(evaluation)?;
        }
    }
}
