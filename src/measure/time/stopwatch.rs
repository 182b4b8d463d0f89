//! Times work on the device: by its own timestamps if it has them, otherwise by the wall clock
//! around a drained queue.

use std::sync::Arc;

use crate::wall_clock::Instant;

use crate::error::Result;
use crate::forces::{Budget, DeviceForces, Throughput};
use crate::gpu::Gpu;

/// How a time was measured; recorded with every result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimingMethod {
    /// The device's clock, from the beginning of the first to the end of the last compute pass.
    GpuTimestamps,
    /// The host's clock, from submission to the end of the wait, with nothing else in the queue.
    WallClock,
}

impl TimingMethod {
    /// Its name for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::GpuTimestamps => "GPU timestamps",
            Self::WallClock => "wall clock",
        }
    }
}

/// Times work on the device: by its own timestamps if it has them, otherwise by the wall clock.
#[derive(Debug)]
pub struct Stopwatch {
    gpu: Arc<Gpu>,
    queries: Option<Queries>,
    doubt: Option<String>,
}

#[derive(Debug)]
struct Queries {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    nanos_per_tick: f64,
    /// Greatest common divisor of all ticks so far.
    quantum: u64,
}

/// Two 64-bit ticks.
const BYTES: u64 = 16;

/// Work cannot take longer on the device than from submission to the end of the wait; if it exceeds
/// that by this factor, its clock is not trusted. The margin is for periods that drivers round.
const PLAUSIBLE: f64 = 1.05;

impl Stopwatch {
    /// A stopwatch for `gpu`.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        let queries = gpu.tier.timestamps.then(|| Queries::new(gpu));
        Self { gpu: Arc::clone(gpu), queries, doubt: None }
    }

    /// A stopwatch that uses the wall clock, whatever the device offers.
    pub fn by_wall_clock(gpu: &Arc<Gpu>) -> Self {
        Self { gpu: Arc::clone(gpu), queries: None, doubt: None }
    }

    /// The clock for the next measurement.
    pub fn method(&self) -> TimingMethod {
        if self.queries.is_some() { TimingMethod::GpuTimestamps } else { TimingMethod::WallClock }
    }

    /// Why the device's timestamps are no longer trusted, if so.
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    /// The resolution of the device's timestamps in seconds, judged from those so far: browsers
    /// make them coarse. `None` before the first, and if there are none.
    pub fn quantum_secs(&self) -> Option<f64> {
        let queries = self.queries.as_ref().filter(|queries| queries.quantum > 0)?;
        Some(queries.quantum as f64 * queries.nanos_per_tick * 1e-9)
    }

    /// Seconds that one compute pass takes. `record` fills the pass, and may write buffers; the
    /// pass must stay within the driver's watchdog ([`crate::forces::Budget`]).
    ///
    /// # Errors
    ///
    /// The device failed; [`crate::error::Error::Stopped`].
    pub async fn time(&mut self, record: impl FnOnce(&mut wgpu::ComputePass<'_>)) -> Result<f64> {
        let gpu = Arc::clone(&self.gpu);
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        {
            let writes = self.queries.as_ref().map(|q| wgpu::ComputePassTimestampWrites {
                query_set: &q.set,
                beginning_of_pass_write_index: Some(0),
                end_of_pass_write_index: Some(1),
            });
            let description =
                wgpu::ComputePassDescriptor { label: Some("timed"), timestamp_writes: writes };
            record(&mut encoder.begin_compute_pass(&description));
        }
        if let Some(q) = &self.queries {
            encoder.resolve_query_set(&q.set, 0..2, &q.resolved, 0);
        }
        let commands = encoder.finish();
        // Submits pending buffer writes separately, so that the clock starts on an empty queue.
        gpu.finish(gpu.queue.submit([])).await?;
        let begun = Instant::now();
        let submission = gpu.queue.submit([commands]);
        gpu.finish(submission).await?;
        crate::stop::check()?;
        self.believed(begun.elapsed().as_secs_f64()).await
    }

    /// Seconds that this many evaluations take, in as few passes as the driver's watchdog allows.
    ///
    /// # Errors
    ///
    /// The device failed; [`crate::error::Error::Stopped`].
    pub(super) async fn evaluations(
        &mut self,
        forces: &mut dyn DeviceForces,
        throughput: &mut Throughput,
        count: u32,
    ) -> Result<f64> {
        let (gpu, budget) = (Arc::clone(&self.gpu), Budget::HEADLESS);
        let (mut left, mut total) = (count, 0.0);
        while left > 0 {
            let (mut interactions, mut dispatches) = (0, 0);
            let record = |pass: &mut wgpu::ComputePass<'_>| {
                forces.begin_submission();
                while left > 0
                    && !forces.is_full()
                    && (dispatches == 0
                        || throughput.secs(interactions, dispatches) < budget.submission_secs)
                {
                    let chunk = throughput.interactions_in(budget.dispatch_secs);
                    let done = forces.record(&gpu, pass, chunk);
                    interactions += done.interactions;
                    dispatches += 1;
                    left -= u32::from(done.is_last);
                }
                forces.end_submission(&gpu);
            };
            let secs = self.time(record).await?;
            throughput.learn(interactions, dispatches, secs);
            total += secs;
        }
        Ok(total)
    }

    /// Seconds from the beginning of the first compute pass of `run` to the end of its last,
    /// including waits between dispatches and gaps between submissions. `run` submits any number of
    /// passes and waits for them. If it is given a query set, it has the device write the beginning
    /// of the first pass to entry 0 and the end of the last to entry 1.
    ///
    /// # Errors
    ///
    /// Those of `run`; the device failed; [`crate::error::Error::Stopped`].
    pub async fn span(
        &mut self,
        run: impl AsyncFnOnce(Option<&wgpu::QuerySet>) -> Result<()>,
    ) -> Result<f64> {
        let gpu = Arc::clone(&self.gpu);
        gpu.finish(gpu.queue.submit([])).await?;
        let begun = Instant::now();
        run(self.queries.as_ref().map(|q| &q.set)).await?;
        // Interrupted work did not take its real time.
        crate::stop::check()?;
        let wall = begun.elapsed().as_secs_f64();
        if let Some(q) = &self.queries {
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            encoder.resolve_query_set(&q.set, 0..2, &q.resolved, 0);
            gpu.queue.submit([encoder.finish()]);
        }
        self.believed(wall).await
    }

    /// The time by the device's clock of what took `wall` seconds on the host's, if plausible.
    async fn believed(&mut self, wall: f64) -> Result<f64> {
        let Some(queries) = &mut self.queries else { return Ok(wall) };
        let secs = queries.read(&self.gpu).await?;
        if secs > 0.0 && secs <= wall * PLAUSIBLE {
            return Ok(secs);
        }
        // This sample and all later ones use the wall clock: methods are never mixed silently.
        self.doubt = Some(format!(
            "the device's timestamps say {secs:e} s for what took at most {wall:e} s: not believed"
        ));
        self.queries = None;
        Ok(wall)
    }
}

impl Queries {
    fn new(gpu: &Gpu) -> Self {
        Self {
            set: gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("timestamps"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            resolved: gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("timestamps"),
                size: BYTES,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            }),
            nanos_per_tick: f64::from(gpu.queue.get_timestamp_period()),
            quantum: 0,
        }
    }

    /// Seconds between the two timestamps.
    async fn read(&mut self, gpu: &Gpu) -> Result<f64> {
        let read = crate::gpu::read::<u64>(gpu, &[&self.resolved], 2).await?;
        let [begin, end] = [read[0][0], read[0][1]];
        self.quantum = [begin, end].into_iter().fold(self.quantum, common_divisor);
        Ok(end.wrapping_sub(begin) as f64 * self.nanos_per_tick * 1e-9)
    }
}

/// The greatest common divisor; if one number is 0, the other.
fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantum_is_common_divisor_of_ticks() {
        let quantum = |ticks: &[u64]| ticks.iter().copied().fold(0, common_divisor);
        assert_eq!(quantum(&[300_000, 1_700_000, 2_000_000]), 100_000);
        assert_eq!(quantum(&[0, 65_536]), 65_536);
        assert_eq!(quantum(&[12_345, 678]), 3);
    }
}
