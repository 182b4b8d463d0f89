//! Sources that move: their motion on the device, where a kernel predicts them to the time of each call.

use glam::DVec3;
use minijinja::context;

use super::changes::Changes;
use super::frame::{TierFrame, Word, three_parts, wide_words};
use super::records::first_refused;
use super::variant::Pairs;
use crate::error::{Error, Result};
use crate::forces::{Moving, Order, Precision, Sources};
use crate::gpu::layout::{PredictParams, VEC4};
use crate::gpu::{
    Batch, Binding, BoundKernel, Checks, ComputeKernel, Gpu, Params, compile, storage, template,
};

/// Vectors of a body's motion, from position to crackle.
const ROWS: usize = 6;

/// A body so many units of length away, or so much heavier than the heaviest was, asks for another frame.
const FAR: f64 = 8.0;

/// Sources with their motion, and their copy on the device.
#[derive(Debug)]
pub(super) struct Motions {
    precision: Precision,
    pairs: Pairs,
    pub frame: TierFrame,
    /// As the caller set them: the distances of neighbours come from them.
    moving: Vec<Moving>,
    /// To when they are predicted.
    pub time: Option<f64>,
    /// Whether any of them has a snap or a crackle.
    has_snap: bool,
    /// What the heaviest weighed when the frame was chosen.
    heaviest: f64,
    changes: Changes,
    /// For which time and order the predicted sources are those of [`Motions::moving`].
    predicted: Option<(Option<u64>, bool)>,
    sources: Option<wgpu::Buffer>,
    kernels: Vec<(bool, ComputeKernel)>,
    params: Option<Params<PredictParams>>,
    /// The kernel bound to the buffers of motions and sources, and for which order.
    bound: Option<(bool, [wgpu::Buffer; 2], BoundKernel)>,
    /// A body has left the frame: before they are sent the next time, all get another.
    outgrown: bool,
    /// Memory for those that change.
    records: Vec<Word>,
}

impl Motions {
    pub fn new(precision: Precision, pairs: Pairs) -> Self {
        Self {
            precision,
            pairs,
            frame: TierFrame::of(&Sources::default(), precision),
            moving: Vec::new(),
            time: None,
            has_snap: false,
            heaviest: 0.0,
            changes: Changes::default(),
            predicted: None,
            sources: None,
            kernels: Vec::new(),
            params: None,
            bound: None,
            outgrown: false,
            records: Vec::new(),
        }
    }

    /// Words of a record of motion.
    fn words(&self) -> usize {
        match self.precision {
            Precision::Double => 2 * ROWS,
            _ => 2 * ROWS - 1,
        }
    }

    /// Number of sources.
    pub fn count(&self) -> usize {
        self.moving.len()
    }

    /// Where source `j` is at `time`, in the caller's units.
    pub fn position(&self, j: usize, time: Option<f64>) -> Option<DVec3> {
        self.moving.get(j).map(|moving| moving.at(time)[0])
    }

    /// Takes all sources anew. Nothing is kept of the old ones, also when these are refused.
    pub fn set(&mut self, gpu: &Gpu, sources: &[Moving]) -> Result<()> {
        let bytes = self.words() as u64 * VEC4;
        self.moving.clear();
        self.changes.restart(0, self.words());
        let most = gpu.limits.storage_buffer / bytes;
        if sources.len() as u64 > most {
            return Err(gpu.refuse(format!(
                "{} moving sources of {bytes} bytes are more than one of its storage buffers holds (at most {most})",
                sources.len()
            )));
        }
        self.moving.extend_from_slice(sources);
        self.has_snap = sources.iter().any(has_snap);
        self.begin_frame();
        Ok(())
    }

    /// Replaces some. As long as one that was refused stays, there are no forces.
    pub fn update(&mut self, index: &[u32], sources: &[Moving]) -> Result<()> {
        self.predicted = None;
        for (&j, moving) in index.iter().zip(sources) {
            self.moving[j as usize] = *moving;
            self.has_snap |= has_snap(moving);
            self.outgrown |= self.outgrown_by(moving);
        }
        // In another frame these records are of no use, and all are made anew.
        if self.outgrown || self.changes.all {
            return Ok(());
        }
        let (words, mut records) = (self.words(), std::mem::take(&mut self.records));
        records.resize(index.len() * words, [0; 4]);
        let refused = first_refused(&mut records, words, |(k, out)| self.record(&sources[k], out));
        if let Some(k) = refused {
            // No force comes of records that the device lacks: all are made anew, and refused as long as one is.
            self.changes.all = true;
            return Err(self.out_of_range(index[k] as usize));
        }
        for (&j, record) in index.iter().zip(records.chunks_exact(words)) {
            self.changes.put(j, record);
        }
        self.records = records;
        Ok(())
    }

    /// Chooses another frame where a body has left the one there is.
    pub fn settle(&mut self) {
        if self.outgrown {
            self.begin_frame();
        }
    }

    /// Bytes that the next [`Motions::send`] sends.
    pub fn bytes_to_send(&self) -> u64 {
        self.changes.bytes()
    }

    /// What was sent last did not arrive.
    pub fn send_again(&mut self) {
        self.changes.all = true;
        self.predicted = None;
    }

    /// Chooses the frame by all sources as they are now.
    fn begin_frame(&mut self) {
        let row = |k: usize| -> Vec<DVec3> { self.moving.iter().map(|m| m.motion[k]).collect() };
        let (position, velocity, acceleration) = (row(0), row(1), row(2));
        let mass: Vec<f64> = self.moving.iter().map(|moving| moving.mass).collect();
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

    /// Whether the frame does not suit this body: all are then sent in another.
    fn outgrown_by(&self, moving: &Moving) -> bool {
        let position = self.frame.frame.scaled_position(moving.motion[0]);
        let heavy = moving.mass > FAR * self.heaviest;
        heavy || position.abs().max_element() > FAR || self.frame.is_outrun(moving)
    }

    /// Makes a record. False if a number of it leaves the range of the tier.
    fn record(&self, moving: &Moving, out: &mut [Word]) -> bool {
        let frame = &self.frame.frame;
        let (l, v) = (frame.length, frame.velocity_unit());
        // The unit of time is l / v; all of them are powers of two, and so a product is the quotient.
        let (mut unit, per_time) = (1.0 / v, l / v);
        let rows: [DVec3; ROWS] = std::array::from_fn(|k| match k {
            0 => frame.scaled_position(moving.motion[0]),
            1 => frame.scaled_velocity(moving.motion[1]),
            _ => {
                unit *= per_time;
                moving.motion[k] * unit
            }
        });
        let mass = moving.mass / frame.mass;
        let time = moving.time * (v / l);
        if self.precision == Precision::Double {
            for (k, (row, out)) in rows.iter().zip(out.chunks_exact_mut(2)).enumerate() {
                out.copy_from_slice(&wide_words(*row, [mass, time][k.min(1)]));
            }
            return rows.iter().all(|row| row.is_finite()) && mass.is_finite() && time.is_finite();
        }
        let [first, second, third] = three_parts(time);
        let last = [mass as f32, (mass - f64::from(mass as f32)) as f32, first, second, third];
        let mut good = true;
        for (word, out) in out.iter_mut().enumerate() {
            let (row, high) = (rows[word / 2], rows[word / 2].as_vec3());
            let part = if word % 2 == 0 { high } else { (row - high.as_dvec3()).as_vec3() };
            let w = last.get(word).copied().unwrap_or(0.0);
            good &= part.is_finite() && w.is_finite();
            *out = [part.x, part.y, part.z, w].map(f32::to_bits);
        }
        good
    }

    fn out_of_range(&self, j: usize) -> Error {
        let Moving { time, mass, motion } = self.moving[j];
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
            let make = |(j, out): (usize, &mut [Word])| self.record(&self.moving[j], out);
            if let Some(j) = first_refused(&mut records, words, make) {
                return Err(self.out_of_range(j));
            }
            gpu.queue.write_buffer(&motions, 0, bytemuck::cast_slice(&records));
        } else {
            self.changes.scatter(gpu, batch, &motions).await?;
        }
        self.changes.sent();
        let room = (n * TierFrame::words(self.precision)) as u64 * VEC4;
        let sources = match &self.sources {
            Some(there) if there.size() >= room => there.clone(),
            _ => {
                self.predicted = None;
                let made = storage(gpu, "sources", (motions.size() / VEC4) as usize);
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
        if !self.kernels.iter().any(|(known, _)| *known == snaps) {
            let values = context! {
                tier => self.precision.name(),
                // Positions are pairs in single, too.
                pairs => self.precision != Precision::Double,
                fence => true,
                fused => self.pairs.fused,
                words => TierFrame::words(self.precision) as u64 * VEC4
                    / if self.precision == Precision::Double { 32 } else { 16 },
                snaps,
            };
            let name = "direct/predict.wgsl";
            let text = template::assemble(name, values)?;
            let params = Binding::Params(size_of::<PredictParams>() as u64);
            let bindings = [Binding::Read, Binding::Write, params];
            let kernel = compile(gpu, name, &text, &bindings, Checks::default()).await?;
            self.kernels.push((snaps, kernel));
        }
        let params = self.params.get_or_insert_with(|| Params::new(gpu, "predict params", 1));
        let drift = DVec3::from(frame.velocity) / frame.velocity_unit();
        let narrow = |v: DVec3| [v.x as f32, v.y as f32, v.z as f32, 0.0];
        params.clear();
        let offset = params.offset_of(PredictParams {
            count: self.moving.len() as u32,
            has_snap: u32::from(self.has_snap),
            moves: u32::from(self.time.is_some()),
            zero: 0,
            time: [parts[0], parts[1], parts[2], 0.0],
            drift: narrow(drift),
            drift_low: narrow(drift - drift.as_vec3().as_dvec3()),
        });
        params.write(batch);
        let is_bound = |(known, [from, to], _): &(bool, [wgpu::Buffer; 2], BoundKernel)| {
            *known == snaps && from == motions && to == sources
        };
        if !self.bound.as_ref().is_some_and(is_bound) {
            let kernel =
                self.kernels.iter().find(|(known, _)| *known == snaps).expect("made above");
            let resources =
                [motions.as_entire_binding(), sources.as_entire_binding(), params.binding()];
            let bound = kernel.1.bind(gpu, "predict", &resources);
            self.bound = Some((snaps, [motions.clone(), sources.clone()], bound));
        }
        let (.., bound) = self.bound.as_ref().expect("made above");
        // Threads take several sources where there are more than a dispatch may have.
        let groups = self.moving.len().div_ceil(64).min(65_535) as u32;
        batch.dispatch(bound, offset, [groups, 1]);
        self.predicted = goal;
        Ok(())
    }
}

fn has_snap(moving: &Moving) -> bool {
    moving.motion[4] != DVec3::ZERO || moving.motion[5] != DVec3::ZERO
}
