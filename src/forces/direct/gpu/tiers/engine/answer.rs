//! An evaluation from sinks to results, asynchronous to the device.

use std::sync::Arc;

use super::super::kernels::Kernels;
use super::super::widen;
use super::GpuTiers;
use super::evaluation::{Evaluation, Next, ROWS, Replaced};
use crate::error::Result;
use crate::forces::{Answers, Order, Sinks, Want};
use crate::gpu::layout::VEC4;
use crate::gpu::{DeviceClass, Progress};

impl GpuTiers {
    /// Asynchronous version of [`crate::forces::ForceEngine::begin`]: also awaits the compilation
    /// of kernels.
    pub async fn begin_soon(
        &mut self,
        sinks: &Sinks<'_>,
        softening: f64,
        want: &Want<'_>,
    ) -> Result<()> {
        if let Some(mut before) = self.begun.take() {
            // Its results were never collected.
            self.complete(&mut before).await?;
        }
        // Left over from an error.
        if !self.readback.is_idle() {
            self.readback.abandon();
        }
        sinks.check(softening, want)?;
        let (has_velocity, has_acceleration) = self.held.derivatives();
        let (n, count) = (sinks.position.len(), self.held.count());
        want.order.check_sources(count, has_velocity, has_acceleration)?;
        let (mut variant, mut whole) = self.plan(n, want)?;
        // The host needs positions of sinks to compute distances and to filter by radius.
        let looks = want.nearest && want.distance || want.within.is_some();
        let mut evaluation = Evaluation {
            count: n,
            among: None,
            sinks: if looks { sinks.position.to_vec() } else { Vec::new() },
            time: self.held.time(),
            units: self.held.frame().units(),
            replaced: Replaced::default(),
            variant,
            potential: want.potential,
            nearest: want.nearest,
            distance: want.distance,
            capacity: want.within.map(|within| within.capacity),
            radius: want.within.map(|within| within.radius.to_vec()).unwrap_or_default(),
            whole,
            next: Next::Copied,
            interactions: 0,
            dispatches: 0,
            sent: 0,
            submitted: None,
        };
        if n == 0 || count == 0 {
            self.begun = Some(evaluation);
            return Ok(());
        }
        self.held.settle();
        evaluation.units = self.held.frame().units();
        variant.softened = !variant.refined && self.held.frame().is_softened(softening);
        evaluation.variant = variant;
        [whole.softening_squared, whole.softening_low, whole.softening_lowest] =
            self.held.frame().softening_squared(softening);
        evaluation.whole = whole;
        evaluation.next = Next::Forces(Some(Progress::default()));
        let submitted = self.submit(&mut evaluation, sinks, want).await;
        submitted.inspect_err(|_| self.held.resend_all())?;
        if self.gpu.adapter.class == DeviceClass::Software {
            // A software adapter computes on the host's cores, so nothing is gained by overlap. And
            // a client may end before it collects the results: lavapipe (Mesa 22.3) crashes if a
            // process ends during compilation.
            self.wait(&mut evaluation).await?;
        }
        self.last = Some((variant, n, whole.capacity as usize));
        self.begun = Some(evaluation);
        Ok(())
    }

    /// Uploads changes, and submits as much as fits one submission.
    async fn submit(
        &mut self,
        evaluation: &mut Evaluation,
        sinks: &Sinks<'_>,
        want: &Want<'_>,
    ) -> Result<()> {
        let gpu = Arc::clone(&self.gpu);
        let (variant, lists) = (evaluation.variant, evaluation.capacity.is_some());
        let key = variant.unsliced();
        if self.kernels.get(&key).is_none_or(|kernels| lists && kernels.lists.is_none()) {
            let kernels = Kernels::new(&gpu, &key, lists, self.checks).await?;
            self.kernels.insert(key, kernels);
        }
        let n = evaluation.count;
        let each = variant.words() as u64 * VEC4 + size_of::<u32>() as u64;
        let (sent, along) = self.held.bytes_to_send();
        // Two ranges of sinks, twice, at most one of changes with its parameters, and those of the
        // prediction.
        self.batch.begin(&gpu, n as u64 * each + along, 8 + ROWS as usize);
        evaluation.sent = sent;
        let early = self.early_sinks(evaluation) as usize;
        self.narrow(evaluation, if early > 0 { 0..early } else { 0..n }, sinks, want)?;
        let sources = self.held.send(&gpu, variant.order, &mut self.batch).await?;
        let capacity = evaluation.whole.capacity as usize;
        let is_other = self.buffers.fit(&gpu, sources, &self.batch, &variant, n, capacity);
        // All sources are sent if their buffer was reallocated.
        if is_other || sent > along {
            self.batch.forget_made();
        }
        if early > 0 {
            self.submit_early(evaluation, early as u32)?;
            self.narrow(evaluation, early..n, sinks, want)?;
        }
        self.batch.keep();
        self.advance(evaluation)?;
        self.held.submitted();
        evaluation.interactions += early as u64 * u64::from(evaluation.whole.source_count);
        Ok(())
    }

    /// Asynchronous version of [`crate::forces::ForceEngine::collect`].
    pub async fn collect_soon(&mut self, out: &mut Answers) -> Result<()> {
        let nothing = Want::only(Order::Acceleration);
        let Some(mut evaluation) = self.begun.take() else {
            out.resize(0, &nothing);
            return Ok(());
        };
        let n = evaluation.count;
        let want = Want {
            order: evaluation.variant.order,
            potential: evaluation.potential,
            nearest: evaluation.nearest,
            distance: evaluation.distance,
            within: None,
        };
        let is_empty = n == 0 || evaluation.whole.source_count == 0;
        if is_empty {
            // Older results must not be mistaken for new ones.
            out.resize(0, &nothing);
        }
        out.resize(n, &want);
        if is_empty {
            for _ in (0..n).filter(|_| evaluation.capacity.is_some()) {
                out.neighbours.push(&[], 0);
            }
            return Ok(());
        }
        self.complete(&mut evaluation).await?;
        let Self { held, readback, .. } = self;
        let Replaced { some, all } = &evaluation.replaced;
        let position = |j: u32| match (some.get(&j), all) {
            (Some(position), _) => Some(*position),
            (None, Some(all)) => all.get(j as usize).copied(),
            (None, None) => held.position(j as usize, evaluation.time),
        };
        let sinks = &evaluation.sinks;
        let distance = |i: usize, nearest: u32| {
            position(nearest).map_or(f64::INFINITY, |there| (there - sinks[i]).length())
        };
        let read = |copied: &[&[u32]]| {
            widen::answers(copied[0], &evaluation.variant, &evaluation.units, distance, out);
            if let Some(asked) = evaluation.capacity {
                let each = evaluation.whole.capacity as usize;
                let is_within = |i: usize, j: u32| {
                    let radius = evaluation.radius[i];
                    let squared = |p: glam::DVec3| (p - evaluation.sinks[i]).length_squared();
                    position(j).is_some_and(|position| squared(position) <= radius * radius)
                };
                let (variant, room) = (&evaluation.variant, (each, asked));
                widen::lists(copied, variant, n, room, is_within, &mut out.neighbours);
            }
        };
        readback.arrive_as(read).await?;
        Ok(())
    }
}
