//! From sinks to their answers, awaiting the device.

use std::sync::Arc;

use super::super::frame::{Entry, TierFrame, Word};
use super::super::kernels::Kernels;
use super::super::records::first_refused;
use super::super::widen;
use super::GpuTiers;
use super::evaluation::{Evaluation, Next, Replaced};
use crate::error::{Error, Result};
use crate::forces::{Answers, Order, Sinks, Want};
use crate::gpu::layout::FOREIGN;
use crate::gpu::{DeviceClass, Progress, Readback};

impl GpuTiers {
    /// [`crate::forces::ForceEngine::begin`], awaiting kernels that are not compiled yet.
    pub async fn begin_soon(
        &mut self,
        sinks: &Sinks<'_>,
        softening: f64,
        want: &Want<'_>,
    ) -> Result<()> {
        if let Some(mut before) = self.begun.take() {
            // Nobody asked for its answers.
            self.complete(&mut before).await?;
        }
        // Left in a copy by an error.
        if !self.readback.is_idle() {
            self.readback = Readback::default();
        }
        sinks.check(softening, want)?;
        let (has_velocity, has_acceleration) = self.held.derivatives();
        let (n, count) = (sinks.position.len(), self.held.count());
        want.order.check_sources(count, has_velocity, has_acceleration)?;
        let (mut variant, mut whole) = self.plan(n, want)?;
        let mut evaluation = Evaluation {
            sinks: sinks.position.to_vec(),
            time: self.held.time(),
            units: self.held.frame().units(),
            replaced: Replaced::default(),
            variant,
            potential: want.potential,
            nearest: want.nearest,
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
        self.narrow(sinks, want)?;
        self.submit(&mut evaluation).await.inspect_err(|_| self.held.send_again())?;
        if self.gpu.adapter.class == DeviceClass::Software {
            // It computes on the host's cores, which leaves no time to win. And a client may end before it asks for
            // answers: lavapipe (Mesa 22.3) crashes where a process ends while it compiles.
            self.wait(&mut evaluation).await?;
        }
        self.last = Some((variant, n, whole.capacity as usize));
        self.begun = Some(evaluation);
        Ok(())
    }

    /// Sends what the device lacks, and submits what fits one submission.
    async fn submit(&mut self, evaluation: &mut Evaluation) -> Result<()> {
        let gpu = Arc::clone(&self.gpu);
        let (variant, lists) = (evaluation.variant, evaluation.capacity.is_some());
        let key = variant.unsliced();
        if self.kernels.get(&key).is_none_or(|kernels| lists && kernels.lists.is_none()) {
            let kernels = Kernels::new(&gpu, &key, lists, self.checks).await?;
            self.kernels.insert(key, kernels);
        }
        self.batch.clear();
        evaluation.sent = self.held.bytes_to_send();
        let sources = self.held.send(&gpu, variant.order, &mut self.batch).await?;
        let capacity = evaluation.whole.capacity as usize;
        self.buffers.fit(&gpu, sources, &variant, evaluation.sinks.len(), capacity);
        self.buffers.write_sinks(&mut self.batch, &self.sink_records, &self.itself);
        self.advance(evaluation)
    }

    /// [`crate::forces::ForceEngine::collect`], awaiting the device.
    pub async fn collect_soon(&mut self, out: &mut Answers) -> Result<()> {
        let nothing = Want::only(Order::Acceleration);
        let Some(mut evaluation) = self.begun.take() else {
            out.resize(0, &nothing);
            return Ok(());
        };
        let n = evaluation.sinks.len();
        let want = Want {
            order: evaluation.variant.order,
            potential: evaluation.potential,
            nearest: evaluation.nearest,
            within: None,
        };
        // What stays of older answers would be taken for new ones where there are no sources.
        out.resize(0, &nothing);
        out.resize(n, &want);
        if n == 0 || evaluation.whole.source_count == 0 {
            for _ in (0..n).filter(|_| evaluation.capacity.is_some()) {
                out.neighbours.push(&[], 0);
            }
            return Ok(());
        }
        let copied = self.complete(&mut evaluation).await?;
        let Replaced { some, all } = &evaluation.replaced;
        let position = |j: u32| match (some.get(&j), all) {
            (Some(position), _) => Some(*position),
            (None, Some(all)) => all.get(j as usize).copied(),
            (None, None) => self.held.position(j as usize, evaluation.time),
        };
        let sinks = &evaluation.sinks;
        let distance = |i: usize, nearest: u32| {
            position(nearest).map_or(f64::INFINITY, |there| (there - sinks[i]).length())
        };
        widen::answers(&copied, &evaluation.variant, &evaluation.units, distance, out);
        if let Some(asked) = evaluation.capacity {
            let each = evaluation.whole.capacity as usize;
            let is_within = |i: usize, j: u32| {
                let radius = evaluation.radius[i];
                let squared = |p: glam::DVec3| (p - evaluation.sinks[i]).length_squared();
                position(j).is_some_and(|position| squared(position) <= radius * radius)
            };
            let (variant, room) = (&evaluation.variant, (each, asked));
            widen::lists(&copied, variant, n, room, is_within, &mut out.neighbours);
        }
        Ok(())
    }

    /// The sinks as the device has them.
    fn narrow(&mut self, sinks: &Sinks, want: &Want) -> Result<()> {
        let (n, words) = (sinks.position.len(), TierFrame::words(self.precision));
        let or_zero = |of: &[glam::DVec3], i: usize| of.get(i).copied().unwrap_or_default();
        self.sink_records.resize(n * words, [0; 4]);
        let frame = *self.held.frame();
        let make = |(i, out): (usize, &mut [Word])| {
            let entry = Entry {
                position: sinks.position[i],
                velocity: or_zero(sinks.velocity, i),
                acceleration: or_zero(sinks.acceleration, i),
                last: want.within.map_or(-1.0, |within| within.radius[i]),
            };
            frame.sink(&entry, out)
        };
        if let Some(i) = first_refused(&mut self.sink_records, words, make) {
            return Err(Error::Body {
                index: i,
                id: i as u64,
                problem: format!(
                    "as a sink, its position {}, velocity, acceleration or neighbour radius leaves the range of the tier '{}'",
                    sinks.position[i],
                    self.precision.name()
                ),
            });
        }
        self.itself.clear();
        let identity = |i: usize| sinks.identity.of(i).map_or(FOREIGN, |j| j as u32);
        self.itself.extend((0..n).map(identity));
        Ok(())
    }
}
