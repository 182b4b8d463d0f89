//! How long each part of a picture takes, by GPU timestamps, read back without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::device::Gpu;

/// Parts of a picture, in the order of their work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Adding up the bodies' light, and their trails.
    Sprites,
    /// Shrinking the picture and spreading its light.
    Glow,
    /// Finding the exposure.
    Exposure,
    /// Making grey levels.
    ToneMap,
}

impl Part {
    /// All parts with their names.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Sprites, "sprites"),
        (Self::Glow, "glow"),
        (Self::Exposure, "exposure"),
        (Self::ToneMap, "tone map"),
    ];
}

/// Timestamps of one picture: a beginning and an end for each part.
const STAMPS: u32 = 2 * Part::ALL.len() as u32;

/// Seconds that each part of one picture took on the device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartTimes {
    secs: [f64; Part::ALL.len()],
}

impl PartTimes {
    /// Seconds of one part.
    pub fn secs(&self, part: Part) -> f64 {
        self.secs[part as usize]
    }

    /// Seconds of all parts.
    pub fn total_secs(&self) -> f64 {
        self.secs.iter().sum()
    }
}

/// Where the passes of a picture write their timestamps, if anywhere.
#[derive(Clone, Copy)]
pub struct Marks<'a>(Option<&'a wgpu::QuerySet>);

impl<'a> Marks<'a> {
    /// No timestamps.
    pub const NONE: Self = Self(None);

    /// For a part of a single pass.
    pub(crate) fn whole(self, part: Part) -> Edges<'a> {
        Edges { begin: true, end: true, ..self.edges(part) }
    }

    /// For the first pass of a part.
    pub(crate) fn begin(self, part: Part) -> Edges<'a> {
        Edges { begin: true, ..self.edges(part) }
    }

    /// For the last pass of a part.
    pub(crate) fn end(self, part: Part) -> Edges<'a> {
        Edges { end: true, ..self.edges(part) }
    }

    fn edges(self, part: Part) -> Edges<'a> {
        Edges { queries: self.0, first: 2 * part as u32, begin: false, end: false }
    }
}

/// The timestamps that one pass writes.
#[derive(Clone, Copy, Default)]
pub struct Edges<'a> {
    queries: Option<&'a wgpu::QuerySet>,
    first: u32,
    begin: bool,
    end: bool,
}

impl<'a> Edges<'a> {
    fn indices(self) -> Option<(&'a wgpu::QuerySet, [Option<u32>; 2])> {
        let [begin, end] = [self.begin.then_some(self.first), self.end.then_some(self.first + 1)];
        self.queries.filter(|_| self.begin || self.end).map(|queries| (queries, [begin, end]))
    }

    pub(crate) fn render(self) -> Option<wgpu::RenderPassTimestampWrites<'a>> {
        self.indices().map(|(query_set, [begin, end])| wgpu::RenderPassTimestampWrites {
            query_set,
            beginning_of_pass_write_index: begin,
            end_of_pass_write_index: end,
        })
    }

    pub(crate) fn compute(self) -> Option<wgpu::ComputePassTimestampWrites<'a>> {
        self.indices().map(|(query_set, [begin, end])| wgpu::ComputePassTimestampWrites {
            query_set,
            beginning_of_pass_write_index: begin,
            end_of_pass_write_index: end,
        })
    }
}

/// Takes the times of pictures and brings them back some pictures later, without waiting.
pub struct PassTimes {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    ring: [Slot; 3],
    secs_per_tick: f64,
}

/// A buffer on its way to the host.
struct Slot {
    buffer: wgpu::Buffer,
    state: Arc<AtomicU8>,
}

/// Frees the buffer when nothing came of it: an encoder may be dropped without being submitted.
struct OnItsWay(Arc<AtomicU8>);

impl Drop for OnItsWay {
    fn drop(&mut self) {
        let _ = self.0.compare_exchange(UNDER_WAY, FREE, Ordering::AcqRel, Ordering::Acquire);
    }
}

const FREE: u8 = 0;
const UNDER_WAY: u8 = 1;
const THERE: u8 = 2;

impl PassTimes {
    /// `None` where the device has no timestamps ([`crate::gpu::Tier::timestamps`]).
    pub fn new(gpu: Gpu) -> Option<Self> {
        if !gpu.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return None;
        }
        let buffer = |label, usage| {
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: 8 * u64::from(STAMPS),
                usage,
                mapped_at_creation: false,
            })
        };
        use wgpu::BufferUsages as Usage;
        Some(Self {
            queries: gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("parts of a picture"),
                ty: wgpu::QueryType::Timestamp,
                count: STAMPS,
            }),
            resolved: buffer("timestamps", Usage::QUERY_RESOLVE | Usage::COPY_SRC),
            ring: std::array::from_fn(|_| Slot {
                buffer: buffer("timestamps read back", Usage::MAP_READ | Usage::COPY_DST),
                state: Arc::default(),
            }),
            secs_per_tick: f64::from(gpu.queue.get_timestamp_period()) * 1e-9,
        })
    }

    /// For [`super::GpuCanvas::paint_timed`].
    pub fn marks(&self) -> Marks<'_> {
        Marks(Some(&self.queries))
    }

    /// Records the way back behind a timed picture. Where the host still has to look at the last
    /// three, this one is not brought back.
    pub fn finish(&mut self, encoder: &mut wgpu::CommandEncoder) {
        let Some(slot) = self.ring.iter().find(|s| s.state.load(Ordering::Acquire) == FREE) else {
            return;
        };
        encoder.resolve_query_set(&self.queries, 0..STAMPS, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &slot.buffer, 0, slot.buffer.size());
        slot.state.store(UNDER_WAY, Ordering::Release);
        let way = OnItsWay(Arc::clone(&slot.state));
        encoder.map_buffer_on_submit(&slot.buffer, wgpu::MapMode::Read, .., move |result| {
            if result.is_ok() {
                way.0.store(THERE, Ordering::Release);
            }
        });
    }

    /// Times of a picture that is done, each picture once; `None` where none has come back since
    /// the last call. Callbacks must have had their chance: poll the device once a frame.
    pub fn take(&mut self) -> Option<PartTimes> {
        let slot = self.ring.iter().find(|s| s.state.load(Ordering::Acquire) == THERE)?;
        let ticks: Option<Vec<u64>> =
            slot.buffer.get_mapped_range(..).ok().map(|bytes| bytemuck::pod_collect_to_vec(&bytes));
        slot.buffer.unmap();
        slot.state.store(FREE, Ordering::Release);
        let ticks = ticks?;
        // Some drivers' clocks go back between passes; that is no time.
        let secs = |k: usize| ticks[2 * k + 1].saturating_sub(ticks[2 * k]) as f64;
        Some(PartTimes { secs: std::array::from_fn(|k| secs(k) * self.secs_per_tick) })
    }
}
