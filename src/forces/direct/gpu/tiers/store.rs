//! Fixed sources: records on the host, their copy on the device, and which of them changed.

use glam::DVec3;

use super::changes::Changes;
use super::frame::{BodyMotion, TierFrame};
use super::records::first_refused;
use super::rows::Word;
use crate::error::{Error, Result};
use crate::forces::{Precision, Sources};
use crate::gpu::layout::VEC4;
use crate::gpu::{Batch, Gpu};

/// Sources of an engine.
#[derive(Debug)]
pub(super) struct SourceStore {
    precision: Precision,
    pub frame: TierFrame,
    /// Positions in the caller's units: distances of neighbours are computed from them.
    pub position: Vec<DVec3>,
    pub has_velocity: bool,
    pub has_acceleration: bool,
    records: Vec<Word>,
    pub changes: Changes,
}

impl SourceStore {
    pub fn new(precision: Precision) -> Self {
        Self {
            precision,
            frame: TierFrame::of(&Sources::default(), precision),
            position: Vec::new(),
            has_velocity: false,
            has_acceleration: false,
            records: Vec::new(),
            changes: Changes::default(),
        }
    }

    fn words(&self) -> usize {
        TierFrame::words(self.precision)
    }

    /// Number of sources.
    pub fn count(&self) -> usize {
        self.position.len()
    }

    /// Replaces all sources. The old ones are dropped even if the new ones are refused.
    pub fn set(&mut self, gpu: &Gpu, sources: &Sources) -> Result<()> {
        let n = sources.position.len();
        let bytes = self.words() as u64 * VEC4;
        self.position.clear();
        self.records.clear();
        self.changes.restart(0, self.words());
        if n as u64 > gpu.limits.storage_buffer / bytes {
            return Err(gpu.refuse(format!(
                "{n} sources of {bytes} bytes are more than one of its storage buffers holds (at most {})",
                gpu.limits.storage_buffer / bytes
            )));
        }
        self.frame = TierFrame::of(sources, self.precision);
        self.has_velocity = !sources.velocity.is_empty();
        self.has_acceleration = !sources.acceleration.is_empty();
        let (frame, words) = (self.frame, self.words());
        self.records.resize(n * words, [0; 4]);
        let fits = |(k, record): (usize, &mut [Word])| frame.source(&entry(sources, k), record);
        let refused = first_refused(&mut self.records, words, fits);
        if let Some(k) = refused {
            self.records.clear();
            return Err(out_of_range(sources, k, k, self.precision));
        }
        self.position.extend_from_slice(sources.position);
        self.changes.restart(n, self.words());
        Ok(())
    }

    /// Replaces some. A derivative that is not given keeps its value, 0 if it was never set.
    pub fn update(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        self.widen_units(sources);
        let words = self.words();
        let mut record = vec![[0; 4]; words];
        for (k, &j) in index.iter().enumerate() {
            if !self.frame.source(&entry(sources, k), &mut record) {
                return Err(out_of_range(sources, k, j as usize, self.precision));
            }
            let at = j as usize * words;
            let retained =
                self.retained(!sources.velocity.is_empty(), !sources.acceleration.is_empty());
            for (word, new) in
                record.iter().enumerate().filter(|(word, _)| !retained.contains(word))
            {
                self.records[at + word] = *new;
            }
            self.position[j as usize] = sources.position[k];
            self.changes.note(j);
        }
        Ok(())
    }

    /// Adapts the units if derivatives of close pairs exceed the range of the initial ones: again
    /// powers of two.
    fn widen_units(&mut self, later: &Sources) {
        let Some((time, by)) = self.frame.wider(later) else { return };
        self.frame.frame.time = time;
        self.changes.all = true;
        let (words, retained) = (self.words(), self.retained(false, false));
        for record in self.records.chunks_mut(words) {
            for &word in &retained {
                let is_velocity = word < retained[retained.len() / 2];
                let by = if is_velocity { by } else { by * by };
                let scaled = |bits: u32| (f64::from(f32::from_bits(bits)) * by) as f32;
                record[word] = record[word].map(|bits| scaled(bits).to_bits());
            }
        }
    }

    /// Words of a record that remain unchanged by an update without these derivatives.
    fn retained(&self, velocity: bool, acceleration: bool) -> Vec<usize> {
        let (velocities, accelerations) = match self.precision {
            Precision::Single => (1..2, 2..3),
            Precision::DoubleSingle | Precision::Double => (2..4, 4..6),
        };
        let mut retained = Vec::new();
        if !(velocity && self.has_velocity) {
            retained.extend(velocities);
        }
        if !(acceleration && self.has_acceleration) {
            retained.extend(accelerations);
        }
        retained
    }

    /// The device's buffer, updated: completely, or by one transfer of the changes and a kernel in
    /// `batch` that scatters them. Needs at least one source.
    ///
    /// # Errors
    /// A kernel that does not compile.
    pub async fn send(&mut self, gpu: &Gpu, batch: &mut Batch) -> Result<wgpu::Buffer> {
        let buffer = self.changes.fit(gpu, "sources");
        if self.changes.is_whole() {
            gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&self.records));
        } else {
            let (records, words) = (&self.records, self.words());
            let copy = |j: usize, out: &mut [Word]| {
                out.copy_from_slice(&records[j * words..][..words]);
                true
            };
            self.changes.prepare(gpu).await?;
            self.changes.scatter(gpu, batch, &buffer, copy);
        }
        self.changes.sent();
        Ok(buffer)
    }
}

fn entry(sources: &Sources, k: usize) -> BodyMotion {
    let or_zero = |of: &[DVec3]| of.get(k).copied().unwrap_or(DVec3::ZERO);
    BodyMotion {
        position: sources.position[k],
        velocity: or_zero(sources.velocity),
        acceleration: or_zero(sources.acceleration),
        last: sources.mass[k],
    }
}

/// The error for entry `k`, which is body `j`.
fn out_of_range(sources: &Sources, k: usize, j: usize, precision: Precision) -> Error {
    let BodyMotion { position, velocity, acceleration, last } = entry(sources, k);
    Error::Body {
        index: j,
        id: j as u64,
        problem: format!(
            "position {position}, velocity {velocity}, acceleration {acceleration} or G m {last} leaves the range of the tier '{}'",
            precision.name()
        ),
    }
}
