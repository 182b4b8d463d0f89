//! An evaluation from sinks to results, asynchronous to the device.

use std::sync::Arc;

use super::super::kernels::VariantKernels;
use super::super::sources::DeviceSources;
use super::super::widen;
use super::GpuTiers;
use super::evaluation::{Evaluation, NextStage, ROWS};
use super::range;
use glam::DVec3;

use crate::error::Result;
use crate::forces::{Forces, Order, Outputs, Sinks, SourceWatch};
use crate::gpu::layout::VEC4;
use crate::gpu::{DeviceClass, Progress};

impl GpuTiers {
    /// Asynchronous version of [`crate::forces::ForceEngine::begin`]: also awaits the compilation
    /// of kernels.
    pub async fn begin_async(
        &mut self,
        sinks: &Sinks<'_>,
        softening: f64,
        outputs: &Outputs<'_>,
    ) -> Result<()> {
        if let Some(mut before) = self.begun.take() {
            // Its results were never collected.
            self.complete(&mut before).await?;
        }
        // Left over from an error.
        if !self.readback.is_idle() {
            self.readback.abandon();
        }
        sinks.check(softening, outputs)?;
        let (has_velocity, has_acceleration) = self.sources.derivatives();
        let (n, count) = (sinks.position.len(), self.sources.count());
        outputs.order.check_sources(count, has_velocity, has_acceleration)?;
        let (mut variant, mut whole) = self.plan(n, outputs)?;
        // The host needs positions of sinks to compute distances and to filter by radius.
        let needs_positions = outputs.nearest && outputs.distance || outputs.within.is_some();
        let mut evaluation = Evaluation {
            count: n,
            among: None,
            sinks: if needs_positions { sinks.position.to_vec() } else { Vec::new() },
            time: self.sources.time(),
            units: self.sources.frame().units(),
            watch: None,
            replaced: None,
            variant,
            potential: outputs.potential,
            nearest: outputs.nearest,
            distance: outputs.distance,
            capacity: outputs.within.map(|within| within.capacity),
            radius: outputs.within.map(|within| within.radius.to_vec()).unwrap_or_default(),
            whole,
            next: NextStage::Copied,
            interactions: 0,
            dispatches: 0,
            sent: 0,
            submitted: None,
        };
        if n == 0 || count == 0 {
            self.begun = Some(evaluation);
            return Ok(());
        }
        self.sources.settle();
        evaluation.units = self.sources.frame().units();
        variant.softened = !variant.refined && self.sources.frame().is_softened(softening);
        evaluation.variant = variant;
        [whole.softening_squared, whole.softening_low, whole.softening_lowest] =
            self.sources.frame().softening_squared(softening);
        evaluation.whole = whole;
        evaluation.next = NextStage::Forces(Some(Progress::default()));
        let submitted = self.submit(&mut evaluation, sinks, outputs).await;
        submitted.inspect_err(|_| self.sources.resend_all())?;
        if self.gpu.adapter.class == DeviceClass::Software {
            // A software adapter computes on the host's cores, so nothing is gained by overlap. And
            // a client may end before it collects the results: lavapipe (Mesa 22.3) crashes if a
            // process ends during compilation.
            self.wait(&mut evaluation).await?;
        }
        self.last = Some((variant, n, whole.capacity as usize));
        if let (DeviceSources::Moving(motions), true) = (&self.sources, needs_positions) {
            evaluation.watch = Some(motions.table.watch());
        }
        self.begun = Some(evaluation);
        Ok(())
    }

    /// Uploads changes, and submits as much as fits one submission.
    async fn submit(
        &mut self,
        evaluation: &mut Evaluation,
        sinks: &Sinks<'_>,
        outputs: &Outputs<'_>,
    ) -> Result<()> {
        let gpu = Arc::clone(&self.gpu);
        let (variant, lists) = (evaluation.variant, evaluation.capacity.is_some());
        let key = variant.unsliced();
        if self.kernels.get(&key).is_none_or(|kernels| lists && kernels.lists.is_none()) {
            let kernels = VariantKernels::new(&gpu, &key, lists, self.checks).await?;
            self.kernels.insert(key, kernels);
        }
        let n = evaluation.count;
        let each = variant.words() as u64 * VEC4 + size_of::<u32>() as u64;
        let (sent, along) = self.sources.bytes_to_send();
        // Two ranges of sinks, twice, at most one of changes with its parameters, and those of the
        // prediction.
        self.batch.begin(&gpu, n as u64 * each + along, 8 + ROWS as usize);
        evaluation.sent = sent;
        let early = self.early_sinks(evaluation) as usize;
        self.narrow(evaluation, if early > 0 { 0..early } else { 0..n }, sinks, outputs)?;
        let sources = self.sources.send(&gpu, variant.order, &mut self.batch).await?;
        let capacity = evaluation.whole.capacity as usize;
        let is_other = self.buffers.fit(&gpu, sources, &self.batch, &variant, n, capacity);
        // All sources are sent if their buffer was reallocated.
        if is_other || sent > along {
            self.batch.forget_made();
        }
        if early > 0 {
            self.submit_early(evaluation, early as u32)?;
            self.narrow(evaluation, early..n, sinks, outputs)?;
        }
        self.batch.keep();
        self.advance(evaluation)?;
        self.sources.submitted();
        evaluation.interactions += early as u64 * u64::from(evaluation.whole.source_count);
        Ok(())
    }

    /// Asynchronous version of [`crate::forces::ForceEngine::collect`].
    pub async fn collect_async(&mut self, out: &mut Forces) -> Result<()> {
        let nothing = Outputs::only(Order::Acceleration);
        let Some(mut evaluation) = self.begun.take() else {
            out.resize(0, &nothing);
            return Ok(());
        };
        let n = evaluation.count;
        let outputs = Outputs {
            order: evaluation.variant.order,
            potential: evaluation.potential,
            nearest: evaluation.nearest,
            distance: evaluation.distance,
            within: None,
        };
        let lists = evaluation.capacity.is_some();
        let is_empty = n == 0 || evaluation.whole.source_count == 0;
        if is_empty {
            // Older results must not be mistaken for new ones.
            out.resize(0, &nothing);
        }
        out.resize(n, &outputs);
        if is_empty {
            (0..n).filter(|_| lists).for_each(|_| out.neighbours.push(&[], 0));
        } else {
            self.complete(&mut evaluation).await?;
            self.read(&evaluation, out).await?;
        }
        if let Some((range, all)) = &evaluation.among {
            range::place(out, range, *all, &outputs, lists);
        }
        Ok(())
    }

    /// Reads the results of a completed evaluation into `out`.
    async fn read(&mut self, evaluation: &Evaluation, out: &mut Forces) -> Result<()> {
        let Self { sources, readback, .. } = self;
        let Evaluation { sinks, variant, replaced, watch, .. } = evaluation;
        let read = |copied: &[&[u32]]| {
            let table = watch.as_ref().map(SourceWatch::table);
            let position = |j: u32| match (&table, replaced, &*sources) {
                (Some(table), ..) => table.position_before(j as usize, evaluation.time),
                (None, Some(all), _) => all.get(j as usize).copied(),
                (None, None, DeviceSources::Still(store)) => {
                    store.position.get(j as usize).copied()
                }
                _ => None,
            };
            let distance = |i: usize, nearest: u32| {
                position(nearest).map_or(f64::INFINITY, |source| (source - sinks[i]).length())
            };
            widen::answers(copied[0], variant, &evaluation.units, distance, out);
            if let Some(requested) = evaluation.capacity {
                let each = evaluation.whole.capacity as usize;
                let is_within = |i: usize, j: u32| {
                    let radius = evaluation.radius[i];
                    let squared = |p: DVec3| (p - sinks[i]).length_squared();
                    position(j).is_some_and(|position| squared(position) <= radius * radius)
                };
                let room = (each, requested);
                widen::lists(
                    copied,
                    variant,
                    evaluation.count,
                    room,
                    is_within,
                    &mut out.neighbours,
                );
            }
        };
        readback.arrive_as(read).await?;
        Ok(())
    }
}
