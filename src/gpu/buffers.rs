//! Bodies on the device, in the units of a frame.
//!
//! Buffers hold all bodies, which attract, and name the range of them that this device moves: its
//! sinks, usually all. Forces, kicks, drifts, potentials and read-back apply to the sinks.

use std::ops::Range;

use rayon::prelude::*;
use std::sync::Arc;

use super::layout::VEC4;
use super::{Gpu, fine};
use crate::bodies::Bodies;
use crate::error::{Error, Result};
use crate::frame::{Frame, Rests};

/// The bodies of a simulation on the device, in units of a [`Frame`] and relative to its origin: 48
/// bytes each, and 16 more per slice of partial sums in the force kernel's own buffer.
///
/// All three buffers are `array<vec4<f32>>` of `count` entries, bound as storage by kernels and
/// sprites alike. All bodies attract; this device moves the `sinks` among them, and holds the last
/// uploaded values of the others.
#[derive(Clone, Debug)]
pub struct BodyBuffers {
    /// Number of bodies.
    pub count: u32,
    /// The bodies whose forces are computed and which are moved on this device: a range of
    /// `0..count`.
    pub sinks: Range<u32>,
    /// Position x, y, z; gravitating mass G m. In the frame's units.
    pub position_mass: wgpu::Buffer,
    /// The masses of `position_mass`, which do not change.
    pub mass: Arc<[f32]>,
    /// Velocity x, y, z; [`Bodies::tag`] as a float.
    pub velocity: wgpu::Buffer,
    /// Acceleration x, y, z; w has five more bits of each component of position and velocity
    /// (`fine.rs`).
    pub acceleration: wgpu::Buffer,
    /// The fourth components of the acceleration, with the additional bits, as uploaded.
    pub rests: Arc<[f32]>,
}

/// Number of bodies that are converted and copied at once.
const PIECE: usize = if cfg!(test) { 1 << 9 } else { 1 << 21 };

impl BodyBuffers {
    /// Copies `bodies` to the device in the units of `frame` at its epoch, with masses times
    /// `gravitational_constant`. With `rests` the values are, to the bit, those from which the
    /// bodies were read.
    ///
    /// # Errors
    /// [`Error::Adapter`] if they do not fit; [`Error::Body`] if a value is outside the range of
    /// f32 even in the frame.
    pub fn upload(
        gpu: &Gpu,
        bodies: &Bodies,
        gravitational_constant: f64,
        frame: &Frame,
        rests: Option<&Rests>,
    ) -> Result<Self> {
        let n = bodies.len();
        let largest = gpu.limits.storage_buffer / VEC4;
        if n as u64 > largest || n > u32::MAX as usize / 2 {
            return Err(gpu.refuse(format!(
                "{n} bodies need storage buffers of {} bytes, but it allows {} (at most {largest} bodies)",
                n as u64 * VEC4,
                gpu.limits.storage_buffer
            )));
        }
        let split = |i: usize| {
            let (position, velocity) = (bodies.position[i], bodies.velocity[i]);
            let (position, velocity) = match rests {
                Some(rests) => (
                    frame.scaled_exact_position(position, rests.position[i]),
                    frame.scaled_exact_velocity(velocity, rests.velocity[i]),
                ),
                None => (frame.scaled_position(position), frame.scaled_velocity(velocity)),
            };
            fine::split(position, velocity)
        };
        let mass = |i: usize| (bodies.mass[i] * gravitational_constant / frame.mass) as f32;
        let mut buffers = Self {
            count: n as u32,
            sinks: 0..n as u32,
            mass: (0..n).into_par_iter().map(mass).collect(),
            position_mass: storage(gpu, "position and mass", n),
            velocity: storage(gpu, "velocity", n),
            acceleration: storage(gpu, "acceleration", n),
            rests: Arc::default(),
        };
        let mut rests = Vec::with_capacity(n);
        #[cfg(not(target_arch = "wasm32"))]
        let mut before = None;
        for first in (0..n).step_by(PIECE) {
            let piece = first..(first + PIECE).min(n);
            let split: Vec<_> = piece.clone().into_par_iter().map(split).collect();
            rests.par_extend(split.par_iter().map(|(.., rest)| *rest));
            let of = |i: usize| &split[i - first];
            let pieces = [
                entries(piece.clone(), |i| (of(i).0, mass(i))),
                entries(piece.clone(), |i| (of(i).1, bodies.tag(i) as f32)),
                entries(piece, |i| ([0.0; 3], of(i).2)),
            ];
            for (entries, what) in pieces.iter().zip(["position or mass", "velocity"]) {
                let is_out = |entry: &[f32; 4]| entry.iter().any(|x| !x.is_finite());
                if let Some(index) = entries.par_iter().position_first(is_out) {
                    let problem = format!(
                        "its {what} is so far from that of the other bodies that it leaves the range of f32 (1e38 times theirs)"
                    );
                    let index = first + index;
                    return Err(Error::Body { index, id: bodies.id[index], problem });
                }
            }
            let targets = [&buffers.position_mass, &buffers.velocity, &buffers.acceleration];
            for (target, entries) in targets.into_iter().zip(&pieces) {
                let at = first as u64 * VEC4;
                gpu.queue.write_buffer(target, at, bytemuck::cast_slice(entries));
            }
            // The copy of what is written lives until the device has it. A page has few bodies, and
            // cannot wait.
            #[cfg(not(target_arch = "wasm32"))]
            if n > PIECE
                && let Some(before) = before.replace(gpu.queue.submit([]))
            {
                gpu.wait_for(before)?;
            }
        }
        buffers.rests = rests.into();
        Ok(buffers)
    }

    /// The same buffers, of which the device moves only the `sinks`.
    ///
    /// # Errors
    /// [`Error::Value`] if they are not a range of the bodies.
    pub fn with_sinks(self, sinks: Range<u32>) -> Result<Self> {
        if sinks.start > sinks.end || sinks.end > self.count {
            let (given, n) = (format!("{}..{}", sinks.start, sinks.end), self.count);
            let allowed = format!("part of 0..{n}");
            return Err(Error::value("the range of a device's sinks", given, allowed));
        }
        Ok(Self { sinks, ..self })
    }

    /// Number of bodies that the device moves.
    pub fn sink_count(&self) -> u32 {
        self.sinks.end - self.sinks.start
    }

    /// Whether the device moves all bodies.
    pub fn moves_all(&self) -> bool {
        self.sinks == (0..self.count)
    }
}

/// Entries of a vector and a fourth component, computed in parallel.
fn entries(range: Range<usize>, of: impl Fn(usize) -> ([f32; 3], f32) + Sync) -> Vec<[f32; 4]> {
    let entry = |i: usize| {
        let ([x, y, z], w) = of(i);
        [x, y, z, w]
    };
    range.into_par_iter().map(entry).collect()
}

/// A storage buffer of `count` `vec4<f32>`, readable, writable and copyable.
pub(crate) fn storage(gpu: &Gpu, label: &str, count: usize) -> wgpu::Buffer {
    stored(gpu, label, count, wgpu::BufferUsages::empty())
}

/// A storage buffer in host memory, for results that kernels write once and the host reads; used if
/// the device has [`super::Tier::mapped_storage`].
pub(crate) fn read_in_place(gpu: &Gpu, label: &str, count: usize) -> wgpu::Buffer {
    stored(gpu, label, count, wgpu::BufferUsages::MAP_READ)
}

fn stored(gpu: &Gpu, label: &str, count: usize, more: wgpu::BufferUsages) -> wgpu::Buffer {
    new_buffer(&gpu.device, label, (count.max(1) as u64) * VEC4, COPYABLE | more)
}

/// The usage of storage that is copied both ways.
pub(super) const COPYABLE: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE
    .union(wgpu::BufferUsages::COPY_SRC)
    .union(wgpu::BufferUsages::COPY_DST);

/// A new buffer of zeros.
pub(crate) fn new_buffer(
    device: &wgpu::Device,
    label: &str,
    size: u64,
    usage: wgpu::BufferUsages,
) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size,
        usage,
        mapped_at_creation: false,
    })
}

/// A uniform buffer of `size` bytes, written by the host.
pub(crate) fn uniform_buffer(device: &wgpu::Device, label: &str, size: usize) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
    new_buffer(device, label, size as u64, usage)
}

/// A small table of parameter blocks in one uniform buffer; each dispatch selects its row by
/// offset.
#[derive(Debug)]
pub struct Params<T> {
    buffer: wgpu::Buffer,
    stride: u32,
    rows: Vec<T>,
    /// The rows last uploaded: a write takes the host longer than recording a step, so unchanged
    /// rows are not written again.
    sent: Vec<T>,
    capacity: usize,
    staging: Vec<u8>,
}

impl<T: bytemuck::Pod + PartialEq> Params<T> {
    /// An empty table with room for `capacity` rows.
    pub fn new(gpu: &Gpu, label: &str, capacity: usize) -> Self {
        let stride = (size_of::<T>() as u32).next_multiple_of(gpu.limits.uniform_alignment);
        let buffer = uniform_buffer(&gpu.device, label, stride as usize * capacity);
        let [rows, sent] = [(); 2].map(|()| Vec::with_capacity(capacity));
        Self { buffer, stride, rows, sent, capacity, staging: Vec::new() }
    }

    /// Empties the table for the next submission.
    pub fn clear(&mut self) {
        self.rows.clear();
    }

    /// Whether no further distinct row fits.
    pub fn is_full(&self) -> bool {
        self.rows.len() >= self.capacity
    }

    /// Whether this many further rows fit.
    pub(crate) fn has_room(&self, rows: usize) -> bool {
        self.rows.len() + rows <= self.capacity
    }

    /// The offset of a row equal to `row`, which is added if necessary. The table must not be full.
    pub fn offset_of(&mut self, row: T) -> u32 {
        // Searched from the end, because a step repeats the rows of the step before.
        let known = self.rows.iter().rposition(|r| *r == row);
        let index = known.unwrap_or_else(|| {
            assert!(!self.is_full(), "the caller should submit before the table is full");
            self.rows.push(row);
            self.rows.len() - 1
        });
        index as u32 * self.stride
    }

    /// Uploads the rows; they are valid for the next submission.
    pub fn upload(&mut self, gpu: &Gpu) {
        if self.sent.starts_with(&self.rows) {
            return;
        }
        self.stage();
        gpu.queue.write_buffer(&self.buffer, 0, &self.staging);
        self.sent.clone_from(&self.rows);
    }

    fn stage(&mut self) {
        self.staging.clear();
        for row in &self.rows {
            self.staging.extend_from_slice(bytemuck::bytes_of(row));
            self.staging.resize(self.staging.len().next_multiple_of(self.stride as usize), 0);
        }
    }

    /// The binding of one row.
    pub fn binding(&self) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: &self.buffer,
            offset: 0,
            size: wgpu::BufferSize::new(size_of::<T>() as u64),
        })
    }
}
