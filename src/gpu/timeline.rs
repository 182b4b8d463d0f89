//! The device time of each part of a frame, from timestamps, without waiting for them.

use super::Readback;
use super::buffers::new_buffer;

/// The most parts of a frame.
const MOST_PARTS: u32 = 15;
/// The most frames in flight.
const FRAMES: usize = 4;

/// Timestamps at the boundaries between the parts of a frame. On a device without timestamps, all
/// calls do nothing and no times are returned.
#[derive(Debug)]
pub struct Timeline {
    frames: Vec<Recorded>,
    /// The frame being recorded.
    current: Option<usize>,
    secs_per_tick: f64,
}

#[derive(Debug)]
struct Recorded {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    readback: Readback,
    parts: Vec<&'static str>,
    number: u64,
}

/// Seconds that the parts of one frame took on the device.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameTimes {
    /// The number given to [`Timeline::begin`].
    pub number: u64,
    /// Each part with its seconds, in order.
    pub parts: Vec<(&'static str, f64)>,
}

impl FrameTimes {
    /// Seconds of one part; `None` if the frame had no part with this name.
    pub fn secs(&self, part: &str) -> Option<f64> {
        self.parts.iter().find(|(name, _)| *name == part).map(|(_, secs)| *secs)
    }

    /// Seconds of all parts.
    pub fn total_secs(&self) -> f64 {
        self.parts.iter().map(|(_, secs)| secs).sum()
    }
}

impl Timeline {
    /// A timeline for the frames of one device.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let has_timestamps = device.features().contains(wgpu::Features::TIMESTAMP_QUERY);
        let count = if has_timestamps { FRAMES } else { 0 };
        let frame = |_| Recorded {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("frame"),
                ty: wgpu::QueryType::Timestamp,
                count: MOST_PARTS + 1,
            }),
            resolved: new_buffer(
                device,
                "frame times",
                u64::from(MOST_PARTS + 1) * 8,
                wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            ),
            readback: Readback::default(),
            parts: Vec::new(),
            number: 0,
        };
        Self {
            frames: (0..count).map(frame).collect(),
            current: None,
            secs_per_tick: f64::from(queue.get_timestamp_period()) * 1e-9,
        }
    }

    /// Whether times are returned.
    pub fn is_supported(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Begins a frame. It is not timed if all earlier ones are still in flight.
    pub fn begin(&mut self, encoder: &mut wgpu::CommandEncoder, number: u64) {
        // An encoder may have been dropped without submission.
        if let Some(dropped) = self.current.take() {
            self.frames[dropped].readback.forget_recorded();
        }
        self.current = self.frames.iter().position(|frame| frame.readback.is_idle());
        if let Some(frame) = self.current.map(|i| &mut self.frames[i]) {
            frame.parts.clear();
            frame.number = number;
            stamp(encoder, &frame.queries, 0);
        }
    }

    /// Ends the part that has just been recorded.
    pub fn end_part(&mut self, encoder: &mut wgpu::CommandEncoder, name: &'static str) {
        let Some(frame) = self.current.map(|i| &mut self.frames[i]) else { return };
        if (frame.parts.len() as u32) < MOST_PARTS {
            frame.parts.push(name);
            stamp(encoder, &frame.queries, frame.parts.len() as u32);
        }
    }

    /// Ends the frame, before its submission.
    pub fn end(&mut self, device: &wgpu::Device, encoder: &mut wgpu::CommandEncoder) {
        let Some(frame) = self.current.map(|i| &mut self.frames[i]) else { return };
        let count = frame.parts.len() as u32 + 1;
        encoder.resolve_query_set(&frame.queries, 0..count, &frame.resolved, 0);
        frame.readback.record(device, encoder, &[(&frame.resolved, 0..u64::from(count) * 8)]);
    }

    /// Must be called after the submission.
    pub fn submitted(&mut self) {
        if let Some(frame) = self.current.take().map(|i| &mut self.frames[i]) {
            frame.readback.submitted();
        }
    }

    /// Returns the times of a frame that has arrived, oldest first; the device must be polled in
    /// between.
    pub fn take(&mut self) -> Option<FrameTimes> {
        let mut order: Vec<usize> = (0..self.frames.len()).collect();
        order.sort_unstable_by_key(|&i| self.frames[i].number);
        for i in order {
            let frame = &mut self.frames[i];
            let Some(Ok(ticks)) = frame.readback.take::<u64>() else { continue };
            let secs =
                |k: usize| ticks[0][k + 1].saturating_sub(ticks[0][k]) as f64 * self.secs_per_tick;
            let parts = frame.parts.iter().enumerate().map(|(k, name)| (*name, secs(k))).collect();
            return Some(FrameTimes { number: frame.number, parts });
        }
        None
    }
}

/// WebGPU's baseline writes timestamps only at the boundaries of passes, so an empty pass marks a
/// boundary.
fn stamp(encoder: &mut wgpu::CommandEncoder, queries: &wgpu::QuerySet, index: u32) {
    drop(encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
        label: Some("timestamp"),
        timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
            query_set: queries,
            beginning_of_pass_write_index: None,
            end_of_pass_write_index: Some(index),
        }),
    }));
}
