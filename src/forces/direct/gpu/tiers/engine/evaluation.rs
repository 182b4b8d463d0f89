//! A pending evaluation: recorded in dispatches within a time budget, submitted, awaited.

use std::ops::Range;
use std::sync::Arc;

use glam::DVec3;

use super::super::DirectVariant;
use super::super::frame::ResultUnits;
use super::GpuTiers;
use crate::error::Result;
use crate::forces::{Budget, Order, Precision, SourceWatch, Throughput};
use crate::gpu::layout::DirectParams;
use crate::gpu::{Progress, Rectangle};

/// Shorter times measure latency rather than a rate.
const SHORTEST_SAMPLE: f64 = 2e-3;

/// Time in which all but the largest blocks finish.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(5);

/// Dispatches of one submission, each with its own parameters.
pub(super) const ROWS: u64 = 256;

/// Lower bound of the transfer rate to a device, in bytes per second.
const SLOWEST_SENDING: f64 = 1e9;

/// A pending evaluation.
pub struct Evaluation {
    /// Number of sinks.
    pub count: usize,
    /// The range of all sinks that these are, and the number of all, if the outputs have entries
    /// for all.
    pub among: Option<(Range<usize>, usize)>,
    /// Positions of sinks, if the host has to compute distances.
    pub sinks: Vec<DVec3>,
    /// Time to which sources were predicted.
    pub time: Option<f64>,
    pub units: ResultUnits,
    /// For distances of neighbours as of its start: access to moving sources, or the positions of
    /// fixed ones if any were replaced since.
    pub watch: Option<SourceWatch>,
    pub replaced: Option<Vec<DVec3>>,
    pub variant: DirectVariant,
    pub potential: bool,
    pub nearest: bool,
    /// Whether the distance to the nearest source is requested.
    pub distance: bool,
    /// Requested entries per list, if lists are requested, and the sinks' radii.
    pub capacity: Option<usize>,
    pub radius: Vec<f64>,
    pub whole: DirectParams,
    pub next: NextStage,
    pub interactions: u64,
    pub dispatches: u64,
    /// Bytes of sources uploaded with the last submission.
    pub sent: u64,
    pub submitted: Option<(wgpu::SubmissionIndex, crate::wall_clock::Instant)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NextStage {
    Forces(Option<Progress>),
    /// From this sink on.
    Sum(u32),
    Lists(Option<Progress>),
    Copied,
}

/// Sinks from which on some are submitted early.
const MANY_SINKS: u32 = 2048;

/// Most interactions for an early submission: a quarter of the sinks leaves much of a device idle,
/// which costs more than the records of the others where forces take long. Interactions in f64 take
/// twice as long.
const MOST_EARLY: u64 = 1 << 29;
const MOST_EARLY_IN_F64: u64 = 1 << 27;

impl GpuTiers {
    /// Number of sinks submitted early, while the host makes the records of the others, which takes
    /// longer than another submission if there are many: a quarter, if all fit one dispatch. A
    /// sink's sums do not depend on how sinks are divided. With mapped storage none are submitted
    /// early: making all records takes less time than the second submission's copy.
    pub(super) fn early_sinks(&mut self, evaluation: &Evaluation) -> u32 {
        let Evaluation { variant, whole, capacity, .. } = evaluation;
        let (sinks, shape) = (whole.sink_count, variant.shape);
        let interactions = u64::from(sinks) * u64::from(whole.source_count);
        let at_once =
            self.throughput(variant.order).interactions_in(Budget::HEADLESS.dispatch_secs);
        let ahead = (sinks / 4).next_multiple_of(shape.sinks_per_workgroup());
        let most = match variant.precision {
            Precision::Double => MOST_EARLY_IN_F64,
            _ => MOST_EARLY,
        };
        let is_one = interactions <= at_once.min(most)
            && shape.workgroups(sinks) <= self.gpu.limits.workgroups;
        let is_slow = sinks >= MANY_SINKS && !self.batch.is_in_place();
        if is_slow && capacity.is_none() && is_one { ahead.min(sinks) } else { 0 }
    }

    /// Submits the forces of the first sinks with the contents of the batch.
    pub(super) fn submit_early(&mut self, evaluation: &mut Evaluation, sinks: u32) -> Result<()> {
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
        *next = NextStage::Forces(Some(Progress::from_sink(sinks)));
        Ok(())
    }

    fn throughput(&mut self, order: Order) -> &mut Throughput {
        &mut self.throughput[order as usize]
    }

    /// Submits as much as fits one submission, after the contents of the batch.
    pub(super) fn advance(&mut self, evaluation: &mut Evaluation) -> Result<()> {
        let budget = Budget::HEADLESS;
        let gpu = Arc::clone(&self.gpu);
        let throughput = *self.throughput(evaluation.variant.order);
        let key = evaluation.variant.unsliced();
        let kernels = self.buffers.bind(&gpu, key, &self.kernels[&key], &self.batch)?;
        let Evaluation { variant, whole, next, .. } = evaluation;
        let (shape, fill) = (variant.shape, gpu.adapter.class.threads_to_fill());
        let (mut interactions, mut dispatches) = (0, 0);
        while *next != NextStage::Copied
            && dispatches < ROWS
            && throughput.secs(interactions, dispatches) < budget.submission_secs
        {
            match next {
                NextStage::Forces(progress) | NextStage::Lists(progress) => {
                    let most_chunk =
                        gpu.adapter.class.most_iterations().saturating_mul(shape.q * shape.u);
                    let rectangle = shape.rectangle(whole.sink_count, whole.source_count);
                    let piece = Rectangle { most_chunk, ..rectangle }.piece(
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
                    let lists = matches!(next, NextStage::Lists(_));
                    let kernel = if lists { kernels.lists.as_ref() } else { None };
                    let kernel = kernel.unwrap_or(&kernels.forces);
                    let offset = self.batch.row(params);
                    self.batch.dispatch(kernel, offset, [piece.workgroups, shape.slices]);
                    interactions += piece.interactions;
                    *next = match (piece.next, lists) {
                        (Some(_), false) => NextStage::Forces(piece.next),
                        (Some(_), true) => NextStage::Lists(piece.next),
                        (None, false) => NextStage::Sum(0),
                        (None, true) => NextStage::Copied,
                    };
                }
                NextStage::Sum(begin) => {
                    let width = (whole.sink_count - *begin).min(gpu.limits.workgroups);
                    let params = DirectParams { sink_begin: *begin, ..*whole };
                    let offset = self.batch.row(params);
                    self.batch.dispatch(&kernels.sum, offset, [width, 1]);
                    let end = *begin + width;
                    *next = if end < whole.sink_count {
                        NextStage::Sum(end)
                    } else if evaluation.capacity.is_some() {
                        NextStage::Lists(Some(Progress::default()))
                    } else {
                        NextStage::Copied
                    };
                }
                NextStage::Copied => {}
            }
            dispatches += 1;
        }
        let finished = if *next == NextStage::Copied {
            let sinks = evaluation.count as u64;
            let sums = sinks * variant.results() as u64 * variant.vector_bytes();
            let listed = if evaluation.capacity.is_some() {
                sinks * u64::from(whole.capacity) * 4
            } else {
                0
            };
            match self.buffers.sums_in_place().filter(|_| listed == 0) {
                Some(in_place) => {
                    self.readback.watch(in_place, sums);
                    self.batch.finish(&gpu, None)
                }
                None => {
                    let (readback, ranges) =
                        (&mut self.readback, self.buffers.copies([sums, listed]));
                    let mut copies = |encoder: &mut wgpu::CommandEncoder| {
                        readback.record(&gpu.device, encoder, &ranges);
                    };
                    self.batch.finish(&gpu, Some(&mut copies))
                }
            }
        } else {
            self.batch.finish(&gpu, None)
        };
        let submission = gpu.queue.submit([finished]);
        if *next == NextStage::Copied {
            self.batch.submitted();
        }
        self.readback.submitted();
        (evaluation.interactions, evaluation.dispatches) = (interactions, dispatches);
        evaluation.submitted = Some((submission, crate::wall_clock::Instant::now()));
        Ok(())
    }

    /// Waits for the last submission and updates the measured rate of the device.
    pub(super) async fn wait(&mut self, evaluation: &mut Evaluation) -> Result<()> {
        let Some((submission, begun)) = evaluation.submitted.take() else { return Ok(()) };
        self.batch.make_ahead(&self.gpu);
        self.gpu.poll()?;
        let wait_begun = crate::wall_clock::Instant::now();
        self.gpu.finish_within(submission, PATIENCE).await?;
        // If the host waited late, the device may have been done long before: then only a rate
        // above the known one is informative.
        let (waited, secs) = (wait_begun.elapsed().as_secs_f64(), begun.elapsed().as_secs_f64());
        let (interactions, dispatches) = (evaluation.interactions, evaluation.dispatches);
        // Time mostly spent on the upload does not measure forces, either.
        let sending = std::mem::take(&mut evaluation.sent) as f64 / SLOWEST_SENDING;
        let throughput = self.throughput(evaluation.variant.order);
        let is_better = interactions as f64 > throughput.rate() * secs;
        if secs > SHORTEST_SAMPLE && (waited > 0.5 * secs && secs > 4.0 * sending || is_better) {
            throughput.learn(interactions, dispatches, secs);
        }
        Ok(())
    }

    /// Completes the evaluation so that its results can be read ([`crate::gpu::Readback::arrive`]).
    pub(super) async fn complete(&mut self, evaluation: &mut Evaluation) -> Result<()> {
        loop {
            self.wait(evaluation).await?;
            if evaluation.next == NextStage::Copied {
                return Ok(());
            }
            crate::stop::check()?;
            self.batch.again();
            self.advance(evaluation)?;
        }
    }
}
