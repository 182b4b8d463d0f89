//! Times work on the device: by its own timestamps where it has them, else by the wall clock around a
//! drained queue.

use std::sync::Arc;

use web_time::Instant;

use super::Method;
use crate::error::{Error, Result};
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
    staging: wgpu::Buffer,
    secs_per_tick: f64,
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

    /// Seconds that one compute pass takes. `record` fills the pass, and may write buffers; it must keep
    /// the pass within the driver's watchdog ([`crate::forces::Budget`]).
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
            encoder.copy_buffer_to_buffer(&q.resolved, 0, &q.staging, 0, BYTES);
        }
        let commands = encoder.finish();
        // Buffers written so far go first, on their own: the clock starts on an empty queue.
        gpu.queue.submit([]);
        gpu.wait()?;
        let begun = Instant::now();
        let submission = gpu.queue.submit([commands]);
        gpu.wait_for(submission)?;
        crate::stop::check()?;
        self.believed(begun.elapsed().as_secs_f64())
    }

    /// Seconds from the begin of the first compute pass of `run` to the end of its last, with all that
    /// lies between: dispatches that wait for each other, and the gaps between submissions. `run` submits
    /// any number of passes and waits for them. Where it is given a query set it has the device write the
    /// begin of the first pass into entry 0, and the end of the last into entry 1.
    pub fn span(&mut self, run: impl FnOnce(Option<&wgpu::QuerySet>) -> Result<()>) -> Result<f64> {
        let gpu = Arc::clone(&self.gpu);
        gpu.queue.submit([]);
        gpu.wait()?;
        let begun = Instant::now();
        run(self.queries.as_ref().map(|q| &q.set))?;
        // What was broken off took another time.
        crate::stop::check()?;
        let wall = begun.elapsed().as_secs_f64();
        if let Some(q) = &self.queries {
            let mut encoder = gpu.device.create_command_encoder(&Default::default());
            encoder.resolve_query_set(&q.set, 0..2, &q.resolved, 0);
            encoder.copy_buffer_to_buffer(&q.resolved, 0, &q.staging, 0, BYTES);
            gpu.queue.submit([encoder.finish()]);
        }
        self.believed(wall)
    }

    /// What the device's clock says of what took `wall` seconds on ours, if that can be.
    fn believed(&mut self, wall: f64) -> Result<f64> {
        let Some(queries) = &self.queries else { return Ok(wall) };
        let secs = queries.read(&self.gpu)?;
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
        let buffer = |label, usage| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: BYTES,
                usage,
                mapped_at_creation: false,
            })
        };
        Self {
            set: gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("timestamps"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            resolved: buffer(
                "timestamps",
                wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            ),
            staging: buffer(
                "timestamps read",
                wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            ),
            secs_per_tick: f64::from(gpu.queue.get_timestamp_period()) * 1e-9,
        }
    }

    /// Seconds between the two timestamps.
    fn read(&self, gpu: &Gpu) -> Result<f64> {
        self.staging.map_async(wgpu::MapMode::Read, .., |_| ());
        gpu.wait()?;
        let ticks: Vec<u64> = {
            let mapped = self
                .staging
                .get_mapped_range(..)
                .map_err(|error| Error::Device(format!("cannot read timestamps: {error}")))?;
            bytemuck::pod_collect_to_vec(&mapped)
        };
        self.staging.unmap();
        Ok(ticks[1].wrapping_sub(ticks[0]) as f64 * self.secs_per_tick)
    }
}
