//! Moving sources: their motion is stored on the device, where a kernel predicts them to the time
//! of each call.

use glam::DVec3;
use minijinja::context;
use rayon::prelude::*;

use super::changes::{CachedBinding, Changes};
use super::frame::TierFrame;
use super::motion_records::{MOST_WORDS, RecordScale, Staging, WORDS_TO_JERK, has_snap};
use super::records::{MANY, first_refused, in_wide_registers};
use super::rows::{Word, three_parts};
use crate::error::{Error, Result};
use crate::forces::shape::Pairs;
use crate::forces::{Arrivals, Order, Precision, SharedTable, Sources, ToJerk};
use crate::gpu::layout::{PredictParams, VEC4};
use crate::gpu::{Batch, Binding, Checks, ComputeKernel, Gpu, compile, storage, template};

/// Bodies per task of a parallel update.
const PART: usize = 256;

/// Variant of the kernel: whether snaps are computed, and whether records have any.
type Text = [bool; 2];

/// Sources with their motion, and their copy on the device.
#[derive(Debug)]
pub(super) struct MovingStore {
    precision: Precision,
    pairs: Pairs,
    pub frame: TierFrame,
    /// The sources on the host: records of more than the announced ones are made from them, and
    /// distances of neighbours.
    pub table: SharedTable,
    count: usize,
    /// Whether any source has or had a snap or a crackle.
    with_snap: bool,
    /// Time of prediction.
    pub time: Option<f64>,
    /// Mass of the heaviest source when the frame was chosen.
    heaviest: f64,
    pub changes: Changes,
    /// Time and order for which the device's predicted sources are up to date.
    predicted: Option<(Option<u64>, bool)>,
    sources: Option<wgpu::Buffer>,
    kernels: Vec<(Text, ComputeKernel, CachedBinding)>,
    /// A body has left the frame: before the next upload a new frame is chosen and all records are
    /// rewritten.
    needs_new_frame: bool,
}

impl MovingStore {
    pub fn new(precision: Precision, pairs: Pairs) -> Self {
        Self {
            precision,
            pairs,
            frame: TierFrame::of(&Sources::default(), precision),
            table: SharedTable::default(),
            count: 0,
            with_snap: false,
            time: None,
            heaviest: 0.0,
            changes: Changes::default(),
            predicted: None,
            sources: None,
            kernels: Vec::new(),
            needs_new_frame: false,
        }
    }

    /// Words of a motion record: up to the jerk, as long as no body has a higher derivative.
    fn words(&self) -> usize {
        if self.with_snap { self.most_words() } else { WORDS_TO_JERK }
    }

    /// Words of a motion record with snap and crackle.
    fn most_words(&self) -> usize {
        match self.precision {
            Precision::Double => MOST_WORDS,
            _ => MOST_WORDS - 1,
        }
    }

    /// Number of sources.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Replaces all sources. The old ones are dropped even if the new ones are refused.
    pub fn set(&mut self, gpu: &Gpu, table: &SharedTable) -> Result<()> {
        // Snaps may be added later.
        let bytes = self.most_words() as u64 * VEC4;
        (self.count, self.with_snap) = (0, false);
        self.changes.restart(0, self.words());
        let count = table.read().len();
        let most = gpu.limits.storage_buffer / bytes;
        if count as u64 > most {
            return Err(gpu.refuse(format!(
                "{count} moving sources of {bytes} bytes are more than one of its storage buffers holds (at most {most})"
            )));
        }
        (self.table, self.count) = (table.clone(), count);
        self.with_snap = table.read().each().any(|(_, high)| has_snap(high));
        self.begin_frame();
        Ok(())
    }

    /// Replaces some sources. Their device records are computed here, for the next upload; if that
    /// needs more than the new sources, they are stored in the table, too. A refused source makes
    /// evaluations fail until it is replaced.
    pub fn announce(&mut self, gpu: &Gpu, sources: &Arrivals) -> Result<()> {
        self.predicted = None;
        if self.changes.is_clean()
            && !self.needs_new_frame
            && !self.changes.exceed_half(sources.len())
        {
            match self.stage(gpu, sources) {
                Some(true) => return Ok(()),
                Some(false) => self.changes.unstage(),
                None => {}
            }
        }
        let had_snap = self.with_snap;
        self.with_snap |= (0..sources.len()).any(|k| has_snap(sources.high(k)));
        let (mut refused, mut record) = (None, [Word::default(); MOST_WORDS]);
        let scale = RecordScale::of(self.precision, &self.frame, self.heaviest);
        let words = self.words();
        let mut table = self.table.write();
        for (k, (place, low)) in sources.places.iter().zip(sources.low).enumerate() {
            let (j, high) = (place.at as usize, sources.high(k));
            self.needs_new_frame |= scale.is_outgrown_by(low);
            table.replace(j, low, high);
            self.changes.note(place.at);
            if refused.is_none() && !scale.record(low, high, &mut record[..words]) {
                refused = Some(j);
            }
        }
        drop(table);
        if self.with_snap && !had_snap {
            // All records become longer.
            self.changes.restart(self.count, words);
        }
        // It may be in range of the next frame.
        match refused.filter(|_| !self.needs_new_frame) {
            None => Ok(()),
            Some(j) => Err(self.out_of_range(j)),
        }
    }

    /// Computes the records of distinct sources. `Some(false)`: one does not fit the frame, the
    /// range or the record length; `None`: a source occurs twice.
    fn stage(&mut self, gpu: &Gpu, sources: &Arrivals) -> Option<bool> {
        let scale = RecordScale::of(self.precision, &self.frame, self.heaviest);
        let words = self.words();
        let (each, with_snap, scale) = (words + 1, self.with_snap, &scale);
        let Arrivals { places, low, high } = *sources;
        let bodies = places.iter().map(|place| place.at);
        let staging = self.changes.stage(gpu, bodies, words)?;
        if sources.len() < MANY {
            return Some(in_wide_registers(Staging {
                scale,
                with_snap,
                sources: *sources,
                staging,
                each,
            }));
        }
        let parts = staging.par_chunks_mut(PART * each).enumerate();
        let part = |(k, staging): (usize, &mut [Word])| {
            let first = k * PART;
            let end = places.len().min(first + PART);
            let sources = Arrivals {
                places: &places[first..end],
                low: &low[first..end],
                high: if high.is_empty() { high } else { &high[first..end] },
            };
            in_wide_registers(Staging { scale, with_snap, sources, staging, each })
        };
        Some(parts.map(part).reduce(|| true, |a, b| a & b))
    }

    /// Chooses a new frame if a body has left the current one.
    pub fn settle(&mut self) {
        if self.needs_new_frame {
            self.begin_frame();
        }
    }

    /// The last upload was not submitted: everything is sent again.
    pub fn resend_all(&mut self) {
        self.changes.all = true;
        self.predicted = None;
    }

    /// Chooses the frame from the current sources.
    fn begin_frame(&mut self) {
        let table = self.table.read();
        let row = |k: usize| -> Vec<DVec3> { table.each().map(|(low, _)| low.motion[k]).collect() };
        let (position, velocity, acceleration) = (row(0), row(1), row(2));
        let mass: Vec<f64> = table.each().map(|(low, _)| low.mass).collect();
        self.frame = TierFrame::of(
            &Sources {
                position: &position,
                velocity: &velocity,
                acceleration: &acceleration,
                mass: &mass,
            },
            self.precision,
        );
        self.heaviest = mass.iter().copied().fold(0.0, f64::max);
        self.changes.restart(self.count, self.words());
        (self.predicted, self.needs_new_frame) = (None, false);
    }

    fn out_of_range(&self, j: usize) -> Error {
        let ToJerk { time, mass, motion } = *self.table.read().source(j).0;
        Error::Body {
            index: j,
            id: j as u64,
            problem: format!(
                "its motion at the time {time} (position {}, velocity {}, acceleration {}, higher derivatives) or G m {mass} leaves the range of the tier '{}'",
                motion[0],
                motion[1],
                motion[2],
                self.precision.name()
            ),
        }
    }

    /// The device's buffer of sources, predicted in `batch` for forces of this order. Needs at
    /// least one source, and [`MovingStore::settle`] before.
    ///
    /// # Errors
    /// A body or a time out of the tier's range; a kernel that does not compile.
    pub async fn send(
        &mut self,
        gpu: &Gpu,
        order: Order,
        batch: &mut Batch,
    ) -> Result<wgpu::Buffer> {
        let motions = self.changes.fit(gpu, "motions");
        let is_whole = self.changes.is_whole();
        if !is_whole {
            self.changes.prepare(gpu).await?;
        }
        let refused = {
            let (table, words) = (self.table.read(), self.words());
            let scale = RecordScale::of(self.precision, &self.frame, self.heaviest);
            let make = |j: usize, out: &mut [Word]| {
                let (low, high) = table.source(j);
                scale.record(low, high, out)
            };
            if is_whole {
                let mut records = vec![[0; 4]; self.count * words];
                let refused = first_refused(&mut records, words, |(j, out)| make(j, out));
                if refused.is_none() {
                    gpu.queue.write_buffer(&motions, 0, bytemuck::cast_slice(&records));
                }
                refused
            } else {
                self.changes.scatter(gpu, batch, &motions, make)
            }
        };
        if let Some(j) = refused {
            return Err(self.out_of_range(j));
        }
        self.changes.sent();
        let words = self.count * source_words(self.precision, true);
        let sources = match &self.sources {
            Some(sources) if sources.size() >= words as u64 * VEC4 => sources.clone(),
            _ => {
                self.predicted = None;
                let words = words.max((motions.size() / VEC4) as usize);
                self.sources.insert(storage(gpu, "sources", words)).clone()
            }
        };
        self.predict(gpu, order >= Order::Snap, (&motions, &sources), batch).await?;
        Ok(sources)
    }

    async fn predict(
        &mut self,
        gpu: &Gpu,
        snaps: bool,
        (motions, sources): (&wgpu::Buffer, &wgpu::Buffer),
        batch: &mut Batch,
    ) -> Result<()> {
        let goal = Some((self.time.map(f64::to_bits), snaps));
        if self.predicted == goal {
            return Ok(());
        }
        let frame = &self.frame.frame;
        let time = self.time.unwrap_or(0.0) / frame.time;
        let parts = three_parts(time);
        if !parts[0].is_finite() {
            let what = "the time that sources are predicted to";
            return Err(Error::value(what, time, "within the range of the precision"));
        }
        let which: Text = [snaps, self.with_snap];
        if !self.kernels.iter().any(|(known, ..)| *known == which) {
            let values = context! {
                tier => self.precision.name(),
                // Positions are pairs of f32 in the single tier, too.
                pairs => self.precision != Precision::Double,
                fence => true,
                fused => self.pairs.fused,
                words => source_words(self.precision, snaps) as u64 * VEC4
                    / if self.precision == Precision::Double { 32 } else { 16 },
                snaps,
                high => self.with_snap,
            };
            let name = "direct/predict.wgsl";
            let text = template::assemble(name, values)?;
            let params = Binding::Params(size_of::<PredictParams>() as u64);
            let bindings = [Binding::Read, Binding::Write, params];
            let kernel = compile(gpu, name, &text, &bindings, Checks::default()).await?;
            self.kernels.push((which, kernel, CachedBinding::default()));
        }
        let drift = DVec3::from(frame.velocity) / frame.velocity_unit();
        let narrow = |v: DVec3| [v.x as f32, v.y as f32, v.z as f32, 0.0];
        let offset = batch.row(PredictParams {
            count: self.count as u32,
            unused: 0,
            moves: u32::from(self.time.is_some()),
            zero: 0,
            time: [parts[0], parts[1], parts[2], 0.0],
            drift: narrow(drift),
            drift_low: narrow(drift - drift.as_vec3().as_dvec3()),
        });
        let known = self.kernels.iter_mut().find(|(known, ..)| *known == which);
        let (_, kernel, bound) = known.expect("made above");
        let row = batch.row_binding::<PredictParams>();
        let bound = bound.to(gpu, "predict", kernel, [motions, sources, batch.buffer()], row);
        // Threads predict several sources where one each would exceed the limit of a dispatch.
        let groups = self.count.div_ceil(64).min(65_535) as u32;
        batch.dispatch(bound, offset, [groups, 1]);
        self.predicted = goal;
        Ok(())
    }
}

/// Words of a predicted source.
fn source_words(precision: Precision, snaps: bool) -> usize {
    if snaps { TierFrame::words(precision) } else { TierFrame::words_to_velocity(precision) }
}
