//! Times work on the device: by its own timestamps where it has them, else by the wall clock around a
//! drained queue.

use std::sync::Arc;

use web_time::Instant;

use super::Method;
use crate::error::Result;
use crate::gpu::Gpu;

/// Times work on the device: by its own timestamps where it has them, else by the wall clock.
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
    /// What all ticks so far are multiples of.
    quantum: u64,
}

/// Two 64-bit ticks.
const BYTES: u64 = 16;

/// Work cannot take longer on the device than from submission to the end of the wait; beyond this
/// much, its clock is not believed. The slack is for periods that drivers round.
const PLAUSIBLE: f64 = 1.05;

impl Stopwatch {
    /// A stopwatch for `gpu`.
    pub fn new(gpu: &Arc<Gpu>) -> Self {
        let queries = gpu.tier.timestamps.then(|| Queries::new(gpu));
        Self { gpu: Arc::clone(gpu), queries, doubt: None }
    }

    /// A stopwatch that goes by the wall clock, whatever the device offers.
    pub fn by_wall_clock(gpu: &Arc<Gpu>) -> Self {
        Self { gpu: Arc::clone(gpu), queries: None, doubt: None }
    }

    /// How the next time will be taken.
    pub fn method(&self) -> Method {
        if self.queries.is_some() { Method::GpuTimestamps } else { Method::WallClock }
    }

    /// Why the device's timestamps are no longer believed, if that came to pass.
    pub fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    /// Seconds between two timestamps that the device can tell apart, by those so far: browsers make them coarse. `None`
    /// before the first, and where there are none.
    pub fn quantum_secs(&self) -> Option<f64> {
        let queries = self.queries.as_ref().filter(|queries| queries.quantum > 0)?;
        Some(queries.quantum as f64 * queries.nanos_per_tick * 1e-9)
    }

    /// Seconds that one compute pass takes. `record` fills the pass, and may write buffers; it must keep
    /// the pass within the driver's watchdog ([`crate::forces::Budget`]).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn time(&mut self, record: impl FnOnce(&mut wgpu::ComputePass<'_>)) -> Result<f64> {
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
        // Buffers written so far go first, on their own: the clock starts on an empty queue.
        gpu.queue.submit([]);
        gpu.wait()?;
        let begun = Instant::now();
        let submission = gpu.queue.submit([commands]);
        gpu.wait_for(submission)?;
        crate::stop::check()?;
        pollster::block_on(self.believed(begun.elapsed().as_secs_f64()))
    }

    /// Seconds from the begin of the first compute pass of `run` to the end of its last, with all that
    /// lies between: dispatches that wait for each other, and the gaps between submissions. `run` submits
    /// any number of passes and waits for them. Where it is given a query set it has the device write the
    /// begin of the first pass into entry 0, and the end of the last into entry 1.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn span(&mut self, run: impl FnOnce(Option<&wgpu::QuerySet>) -> Result<()>) -> Result<f64> {
        pollster::block_on(self.span_soon(async |stamps| run(stamps)))
    }

    /// [`Stopwatch::span`] without waiting, for a browser.
    ///
    /// Errors: those of `run`; the device was lost.
    pub async fn span_soon(
        &mut self,
        run: impl AsyncFnOnce(Option<&wgpu::QuerySet>) -> Result<()>,
    ) -> Result<f64> {
        let gpu = Arc::clone(&self.gpu);
        gpu.finish(gpu.queue.submit([])).await?;
        let begun = Instant::now();
        run(self.queries.as_ref().map(|q| &q.set)).await?;
        // What was broken off took another time.
        crate::stop::check()?;
        let wall = begun.elapsed().as_secs_f64();
        if let Some(q) = &self.queries {
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            encoder.resolve_query_set(&q.set, 0..2, &q.resolved, 0);
            gpu.queue.submit([encoder.finish()]);
        }
        self.believed(wall).await
    }

    /// What the device's clock says of what took `wall` seconds on ours, if that can be.
    async fn believed(&mut self, wall: f64) -> Result<f64> {
        let Some(queries) = &mut self.queries else { return Ok(wall) };
        let secs = queries.read(&self.gpu).await?;
        if secs > 0.0 && secs <= wall * PLAUSIBLE {
            return Ok(secs);
        }
        // This sample and all that follow: two methods are never mixed unseen.
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

/// The greatest number that divides both; of 0 and another that one.
fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantum_is_what_all_ticks_are_multiples_of() {
        let quantum = |ticks: &[u64]| ticks.iter().copied().fold(0, common_divisor);
        assert_eq!(quantum(&[300_000, 1_700_000, 2_000_000]), 100_000);
        assert_eq!(quantum(&[0, 65_536]), 65_536);
        assert_eq!(quantum(&[12_345, 678]), 3);
    }
}
