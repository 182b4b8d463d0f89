//! Sources that move: their motion on the device, where a kernel predicts them to the time of each call.

use glam::DVec3;
use minijinja::context;
use rayon::prelude::*;

use super::changes::Changes;
use super::copies::Copies;
use super::frame::TierFrame;
use super::motion_records::{MOST_WORDS, Scale, WORDS_TO_JERK, high_of};
use super::records::{MANY, first_refused, in_wide_registers};
use super::rows::{Word, three_parts};
use super::staging::Staging;
use super::variant::Pairs;
use crate::error::{Error, Result};
use crate::forces::{Arrivals, Moving, Order, Precision, Sources, ToJerk};
use crate::gpu::layout::{PredictParams, VEC4};
use crate::gpu::{
    Batch, Binding, BoundKernel, Checks, ComputeKernel, Gpu, compile, storage, template,
};

/// Bodies after the next one whose places are fetched.
const AHEAD: usize = 8;

/// Bodies of a part of an update.
const PART: usize = 256;

/// What the kernel's text depends on: whether snaps are computed, and whether records have any.
type Text = [bool; 2];

/// Sources with their motion, and their copy on the device.
#[derive(Debug)]
pub(super) struct Motions {
    precision: Precision,
    pairs: Pairs,
    pub frame: TierFrame,
    /// As the caller set them: the distances of neighbours come from them.
    moving: Copies,
    /// Whether some that are announced are not among them yet.
    lags: bool,
    /// To when they are predicted.
    pub time: Option<f64>,
    /// What the heaviest weighed when the frame was chosen.
    heaviest: f64,
    changes: Changes,
    /// For which time and order the predicted sources are those of [`Motions::moving`].
    predicted: Option<(Option<u64>, bool)>,
    sources: Option<wgpu::Buffer>,
    kernels: Vec<(Text, ComputeKernel)>,
    /// The kernel bound to the buffers of motions, sources and the transfer.
    bound: Option<(Text, [wgpu::Buffer; 3], BoundKernel)>,
    /// A body has left the frame: before they are sent the next time, all get another.
    outgrown: bool,
}

impl Motions {
    pub fn new(precision: Precision, pairs: Pairs) -> Self {
        Self {
            precision,
            pairs,
            frame: TierFrame::of(&Sources::default(), precision),
            moving: Copies::default(),
            lags: false,
            time: None,
            heaviest: 0.0,
            changes: Changes::default(),
            predicted: None,
            sources: None,
            kernels: Vec::new(),
            bound: None,
            outgrown: false,
        }
    }

    /// Words of a record of motion: up to the jerk, as long as no body has more.
    fn words(&self) -> usize {
        if self.moving.has_snap() { self.most_words() } else { WORDS_TO_JERK }
    }

    /// The same where some has.
    fn most_words(&self) -> usize {
        match self.precision {
            Precision::Double => MOST_WORDS,
            _ => MOST_WORDS - 1,
        }
    }

    /// Number of sources.
    pub fn count(&self) -> usize {
        self.moving.len()
    }

    /// Where source `j` is at `time`, in the caller's units.
    pub fn position(&self, j: usize, time: Option<f64>) -> Option<DVec3> {
        Some(self.moving.get(j)?.at(time)[0])
    }

    /// Takes all sources anew. Nothing is kept of the old ones, also when these are refused.
    pub fn set(&mut self, gpu: &Gpu, sources: &[Moving]) -> Result<()> {
        // Snaps may come later.
        let bytes = self.most_words() as u64 * VEC4;
        self.moving.set(&[]);
        self.lags = false;
        self.changes.restart(0, self.words());
        let most = gpu.limits.storage_buffer / bytes;
        if sources.len() as u64 > most {
            return Err(gpu.refuse(format!(
                "{} moving sources of {bytes} bytes are more than one of its storage buffers holds (at most {most})",
                sources.len()
            )));
        }
        self.moving.set(sources);
        self.begin_frame();
        Ok(())
    }

    /// Others come in the place of some: what the device is to have of them is made now, so that it can be sent, and the
    /// host's own copies follow in [`Motions::take_in`]. As long as one that was refused stays, there are no forces.
    pub fn announce(&mut self, gpu: &Gpu, sources: &Arrivals) -> Result<()> {
        self.predicted = None;
        if self.changes.is_clean() && !self.outgrown && !self.changes.are_most(sources.len()) {
            match self.stage(gpu, sources) {
                Some(true) => {
                    self.lags = true;
                    return Ok(());
                }
                Some(false) => self.changes.unstage(),
                None => {}
            }
        }
        let (mut refused, had_snap) = (None, self.moving.has_snap());
        let mut record = [Word::default(); MOST_WORDS];
        let scale = Scale::of(self.precision, &self.frame, self.heaviest);
        for (at, moving) in sources.each() {
            let (low, high) = (ToJerk::from(&moving), high_of(&moving));
            self.outgrown |= scale.is_outgrown_by(&low);
            self.moving.put(at as usize, &low, high);
            self.changes.note(at);
            if refused.is_none() && !scale.record(&low, high, &mut record[..self.words()]) {
                refused = Some(at as usize);
            }
        }
        if self.moving.has_snap() && !had_snap {
            // All records are longer from now on.
            self.changes.restart(self.moving.len(), self.words());
        }
        // In another frame it may be none.
        match refused.filter(|_| !self.outgrown) {
            None => Ok(()),
            Some(j) => Err(self.out_of_range(j)),
        }
    }

    /// Makes the records of sources that come once each. False: they are not what they were expected to be; `None`: one
    /// comes twice.
    fn stage(&mut self, gpu: &Gpu, sources: &Arrivals) -> Option<bool> {
        let scale = Scale::of(self.precision, &self.frame, self.heaviest);
        let words = self.words();
        let (each, with_snap, scale) = (words + 1, self.moving.has_snap(), &scale);
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

    /// What was announced last takes its place here, too.
    pub fn take_in(&mut self, sources: &Arrivals) {
        if !std::mem::take(&mut self.lags) {
            return;
        }
        for (k, (place, low)) in sources.places.iter().zip(sources.low).enumerate() {
            if let Some(later) = sources.places.get(k + AHEAD) {
                self.moving.fetch(later.at as usize);
            }
            self.moving.put(place.at as usize, low, sources.high(k));
        }
    }

    /// Chooses another frame where a body has left the one there is.
    pub fn settle(&mut self) {
        if self.outgrown {
            self.begin_frame();
        }
    }

    /// What the device lacks.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// After the submission that uses what was sent last.
    pub fn submitted(&mut self) {
        self.changes.submitted();
    }

    /// What was sent last did not arrive.
    pub fn send_again(&mut self) {
        self.changes.all = true;
        self.predicted = None;
    }

    /// Chooses the frame by all sources as they are now.
    fn begin_frame(&mut self) {
        let row = |k: usize| -> Vec<DVec3> { self.moving.all().map(|m| m.motion[k]).collect() };
        let (position, velocity, acceleration) = (row(0), row(1), row(2));
        let mass: Vec<f64> = self.moving.all().map(|moving| moving.mass).collect();
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
        self.changes.restart(self.moving.len(), self.words());
        (self.predicted, self.outgrown) = (None, false);
    }

    fn out_of_range(&self, j: usize) -> Error {
        let ToJerk { time, mass, motion } = *self.moving.parts(j).0;
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

    /// The device's buffer of sources, predicted by what is done in `batch` for forces of this order. There
    /// must be sources, and [`Motions::settle`] comes before.
    ///
    /// Errors: a body out of the tier's range, a time that is; a kernel that does not compile.
    pub async fn send(
        &mut self,
        gpu: &Gpu,
        order: Order,
        batch: &mut Batch,
    ) -> Result<wgpu::Buffer> {
        let n = self.moving.len();
        let motions = self.changes.fit(gpu, "motions");
        if self.changes.is_whole() {
            let words = self.words();
            let mut records = vec![[0; 4]; n * words];
            let scale = Scale::of(self.precision, &self.frame, self.heaviest);
            let make = |(j, out): (usize, &mut [Word])| {
                let (low, high) = self.moving.parts(j);
                scale.record(low, high, out)
            };
            if let Some(j) = first_refused(&mut records, words, make) {
                return Err(self.out_of_range(j));
            }
            gpu.queue.write_buffer(&motions, 0, bytemuck::cast_slice(&records));
        } else {
            let scale = Scale::of(self.precision, &self.frame, self.heaviest);
            let Self { changes, moving, .. } = self;
            let make = |j: u32, out: &mut [Word]| {
                let (low, high) = moving.parts(j as usize);
                scale.record(low, high, out)
            };
            if let Some(j) = changes.scatter(gpu, batch, &motions, make).await? {
                return Err(self.out_of_range(j as usize));
            }
        }
        self.changes.sent();
        let room = (n * source_words(self.precision, true)) as u64 * VEC4;
        let sources = match &self.sources {
            Some(there) if there.size() >= room => there.clone(),
            _ => {
                self.predicted = None;
                let made = storage(
                    gpu,
                    "sources",
                    ((motions.size() / VEC4) as usize).max(n * source_words(self.precision, true)),
                );
                self.sources.insert(made).clone()
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
        let which: Text = [snaps, self.moving.has_snap()];
        if !self.kernels.iter().any(|(known, _)| *known == which) {
            let values = context! {
                tier => self.precision.name(),
                // Positions are pairs in single, too.
                pairs => self.precision != Precision::Double,
                fence => true,
                fused => self.pairs.fused,
                words => source_words(self.precision, snaps) as u64 * VEC4
                    / if self.precision == Precision::Double { 32 } else { 16 },
                snaps,
                high => self.moving.has_snap(),
            };
            let name = "direct/predict.wgsl";
            let text = template::assemble(name, values)?;
            let params = Binding::Params(size_of::<PredictParams>() as u64);
            let bindings = [Binding::Read, Binding::Write, params];
            let kernel = compile(gpu, name, &text, &bindings, Checks::default()).await?;
            self.kernels.push((which, kernel));
        }
        let drift = DVec3::from(frame.velocity) / frame.velocity_unit();
        let narrow = |v: DVec3| [v.x as f32, v.y as f32, v.z as f32, 0.0];
        let offset = batch.row(PredictParams {
            count: self.moving.len() as u32,
            unused: 0,
            moves: u32::from(self.time.is_some()),
            zero: 0,
            time: [parts[0], parts[1], parts[2], 0.0],
            drift: narrow(drift),
            drift_low: narrow(drift - drift.as_vec3().as_dvec3()),
        });
        let buffers = [motions, sources, batch.buffer()];
        let is_bound = |(known, there, _): &(Text, [wgpu::Buffer; 3], BoundKernel)| {
            *known == which && there.each_ref() == buffers
        };
        if !self.bound.as_ref().is_some_and(is_bound) {
            let kernel =
                self.kernels.iter().find(|(known, _)| *known == which).expect("made above");
            let row = batch.row_binding::<PredictParams>();
            let resources = [motions.as_entire_binding(), sources.as_entire_binding(), row];
            let bound = kernel.1.bind(gpu, "predict", &resources);
            self.bound = Some((which, buffers.map(Clone::clone), bound));
        }
        let (.., bound) = self.bound.as_ref().expect("made above");
        // Threads take several sources where there are more than a dispatch may have.
        let groups = self.moving.len().div_ceil(64).min(65_535) as u32;
        batch.dispatch(bound, offset, [groups, 1]);
        self.predicted = goal;
        Ok(())
    }
}

/// Words of a predicted source.
fn source_words(precision: Precision, snaps: bool) -> usize {
    if snaps { TierFrame::words(precision) } else { TierFrame::words_to_velocity(precision) }
}
