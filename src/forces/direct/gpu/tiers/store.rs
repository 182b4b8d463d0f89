//! The sources: records on the host, their copy on the device, and which of them changed.

use glam::DVec3;

use super::frame::{Entry, TierFrame, Word};
use crate::error::{Error, Result};
use crate::forces::{Precision, Sources};
use crate::gpu::layout::{ScatterParams, VEC4};
use crate::gpu::{
    Binding, BoundKernel, Checks, ComputeKernel, Gpu, Params, compile, storage, template,
};

/// Sources of an engine.
#[derive(Debug)]
pub(super) struct Store {
    precision: Precision,
    pub frame: TierFrame,
    /// Positions in the caller's units: the distances of neighbours come from them.
    pub position: Vec<DVec3>,
    pub has_velocity: bool,
    pub has_acceleration: bool,
    records: Vec<Word>,
    /// Sources that changed since the last [`Store::send`], each once.
    changed: Vec<u32>,
    is_changed: Vec<bool>,
    all_changed: bool,
    buffer: Option<wgpu::Buffer>,
    changes: Option<wgpu::Buffer>,
    scatter: Option<(ComputeKernel, Params<ScatterParams>)>,
    /// The kernel bound to the buffers as they are now.
    bound_scatter: Option<BoundKernel>,
    staging: Vec<Word>,
}

impl Store {
    pub fn new(precision: Precision) -> Self {
        Self {
            precision,
            frame: TierFrame::of(&Sources::default(), precision),
            position: Vec::new(),
            has_velocity: false,
            has_acceleration: false,
            records: Vec::new(),
            changed: Vec::new(),
            is_changed: Vec::new(),
            all_changed: false,
            buffer: None,
            changes: None,
            scatter: None,
            bound_scatter: None,
            staging: Vec::new(),
        }
    }

    fn words(&self) -> usize {
        TierFrame::words(self.precision)
    }

    /// Number of sources.
    pub fn count(&self) -> usize {
        self.position.len()
    }

    /// Takes all sources anew. Nothing is kept of the old ones, also when these are refused.
    pub fn set(&mut self, gpu: &Gpu, sources: &Sources) -> Result<()> {
        let n = sources.position.len();
        let bytes = self.words() as u64 * VEC4;
        self.position.clear();
        self.records.clear();
        self.changed.clear();
        self.is_changed.clear();
        if n as u64 > gpu.limits.storage_buffer / bytes {
            return Err(gpu.refuse(format!(
                "{n} sources of {bytes} bytes are more than one of its storage buffers holds (at most {})",
                gpu.limits.storage_buffer / bytes
            )));
        }
        self.frame = TierFrame::of(sources, self.precision);
        self.has_velocity = !sources.velocity.is_empty();
        self.has_acceleration = !sources.acceleration.is_empty();
        self.records.reserve(n * self.words());
        for k in 0..n {
            let mut records = std::mem::take(&mut self.records);
            let fits = self.frame.source(&entry(sources, k), &mut records);
            self.records = records;
            if !fits {
                self.records.clear();
                return Err(out_of_range(sources, k, k, self.precision));
            }
        }
        self.position.extend_from_slice(sources.position);
        self.is_changed.resize(n, false);
        self.all_changed = true;
        Ok(())
    }

    /// Replaces some. A derivative that is missing stays as it was, 0 if there never was one.
    pub fn update(&mut self, index: &[u32], sources: &Sources) -> Result<()> {
        self.make_room(sources);
        let words = self.words();
        let mut record = Vec::with_capacity(words);
        for (k, &j) in index.iter().enumerate() {
            record.clear();
            if !self.frame.source(&entry(sources, k), &mut record) {
                return Err(out_of_range(sources, k, j as usize, self.precision));
            }
            let at = j as usize * words;
            let kept = self.kept(!sources.velocity.is_empty(), !sources.acceleration.is_empty());
            for (word, new) in record.iter().enumerate().filter(|(word, _)| !kept.contains(word)) {
                self.records[at + word] = *new;
            }
            self.position[j as usize] = sources.position[k];
            if !std::mem::replace(&mut self.is_changed[j as usize], true) {
                self.changed.push(j);
            }
        }
        Ok(())
    }

    /// Derivatives of close pairs need other units than those that the sources began with: powers of two, too.
    fn make_room(&mut self, later: &Sources) {
        let Some((time, by)) = self.frame.wider(later) else { return };
        self.frame.frame.time = time;
        self.all_changed = true;
        let (words, kept) = (self.words(), self.kept(false, false));
        for record in self.records.chunks_mut(words) {
            for &word in &kept {
                let is_velocity = word < kept[kept.len() / 2];
                let by = if is_velocity { by } else { by * by };
                let scaled = |bits: u32| (f64::from(f32::from_bits(bits)) * by) as f32;
                record[word] = record[word].map(|bits| scaled(bits).to_bits());
            }
        }
    }

    /// Words of a record that an update without these derivatives leaves alone.
    fn kept(&self, velocity: bool, acceleration: bool) -> Vec<usize> {
        let (velocities, accelerations) = match self.precision {
            Precision::Single => (1..2, 2..3),
            Precision::DoubleSingle | Precision::Double => (2..4, 4..6),
        };
        let mut kept = Vec::new();
        if !(velocity && self.has_velocity) {
            kept.extend(velocities);
        }
        if !(acceleration && self.has_acceleration) {
            kept.extend(accelerations);
        }
        kept
    }

    /// The device's buffer, brought up to date: everything, or the changes in one piece that a kernel
    /// recorded into `encoder` puts where they belong. There must be sources.
    ///
    /// Errors: a kernel that does not compile.
    pub async fn send(
        &mut self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
    ) -> Result<wgpu::Buffer> {
        let need = self.records.len();
        let fits = self.buffer.as_ref().is_some_and(|b| b.size() >= need as u64 * VEC4);
        if !fits {
            // A client that adds one body at a time does not get a new buffer for each.
            let most = (gpu.limits.storage_buffer / VEC4) as usize;
            let room = if self.buffer.is_some() { need + need / 2 } else { need };
            self.buffer = Some(storage(gpu, "sources", room.min(most)));
            self.bound_scatter = None;
            self.all_changed = true;
        }
        let buffer = self.buffer.clone().expect("made above if it was not there");
        if self.all_changed || self.changed.len() > self.count() / 2 {
            gpu.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&self.records));
        } else if !self.changed.is_empty() {
            self.scatter(gpu, encoder, &buffer).await?;
        }
        for j in self.changed.drain(..) {
            self.is_changed[j as usize] = false;
        }
        self.all_changed = false;
        Ok(buffer)
    }

    async fn scatter(
        &mut self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        buffer: &wgpu::Buffer,
    ) -> Result<()> {
        let words = self.words();
        self.staging.clear();
        for &j in &self.changed {
            let at = j as usize * words;
            self.staging.push([j, 0, 0, 0]);
            self.staging.extend_from_slice(&self.records[at..at + words]);
        }
        let need = self.staging.len();
        let fits = self.changes.as_ref().is_some_and(|b| b.size() >= need as u64 * VEC4);
        if !fits {
            self.changes = Some(storage(gpu, "changes", need.next_power_of_two()));
            self.bound_scatter = None;
        }
        let changes = self.changes.as_ref().expect("made above");
        if self.scatter.is_none() {
            let name = "direct/scatter.wgsl";
            let text = template::assemble(name, minijinja::context! {})?;
            let params = Binding::Params(size_of::<ScatterParams>() as u64);
            let bindings = [Binding::Read, Binding::Write, params];
            let kernel = compile(gpu, name, &text, &bindings, Checks::default()).await?;
            self.scatter = Some((kernel, Params::new(gpu, "scatter params", 1)));
        }
        let (kernel, params) = self.scatter.as_mut().expect("made above");
        gpu.queue.write_buffer(changes, 0, bytemuck::cast_slice(&self.staging));
        params.clear();
        let offset = params.offset_of(ScatterParams {
            count: self.changed.len() as u32,
            words: words as u32,
            ..Default::default()
        });
        params.upload(gpu);
        let bound = self.bound_scatter.get_or_insert_with(|| {
            let resources =
                [changes.as_entire_binding(), buffer.as_entire_binding(), params.binding()];
            kernel.bind(gpu, "scatter", &resources)
        });
        let mut pass = encoder.begin_compute_pass(&Default::default());
        bound.set(&mut pass, &[offset]);
        // Threads take several words where there are more than a dispatch may have.
        let groups = (self.changed.len() * words).div_ceil(64).min(4096) as u32;
        pass.dispatch_workgroups(groups, 1, 1);
        Ok(())
    }
}

fn entry(sources: &Sources, k: usize) -> Entry {
    let or_zero = |of: &[DVec3]| of.get(k).copied().unwrap_or(DVec3::ZERO);
    Entry {
        position: sources.position[k],
        velocity: or_zero(sources.velocity),
        acceleration: or_zero(sources.acceleration),
        last: sources.mass[k],
    }
}

/// What is wrong with entry `k`, which is body `j`.
fn out_of_range(sources: &Sources, k: usize, j: usize, precision: Precision) -> Error {
    let Entry { position, velocity, acceleration, last } = entry(sources, k);
    Error::Body {
        index: j,
        id: j as u64,
        problem: format!(
            "position {position}, velocity {velocity}, acceleration {acceleration} or G m {last} leaves the range of the tier '{}'",
            precision.name()
        ),
    }
}
