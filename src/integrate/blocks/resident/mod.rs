//! Block steps on the device: time, the next block, the list of its bodies, predictor, forces,
//! corrector and next steps, with many blocks per submission and no round trip to the host between
//! them.
//!
//! A block consists of these kernels, dispatched indirectly with the sizes found by
//! `shaders/blocks/plan.wgsl`: plan, predict, forces (in one of two shapes, in chunks), sum,
//! correct. The host submits several blocks, reads whether any are left, and reads all bodies back
//! at the end of a [`Resident::run`]. The formulas are those of the host's [`super::Scheme`], in
//! double-single or in f64.
//!
//! The plan needs only the number of bodies per level: steps are powers of two and times are
//! multiples of them, so the shortest step present ends next. Predict makes the sources and the
//! list of sinks; forces and sums are the kernels of `forces/direct/gpu/tiers/`; correct advances
//! the bodies of the block and changes their levels. The host submits as many blocks as take 20 ms
//! and reads 256 bytes (`run`).
//!
//! A scheme is one WGSL file in `shaders/blocks/` with `predict` and `correct`, and the Rust file
//! of the scheme. Before a run, the device's predictions are compared with the host's (`proof`).
//! The device's units are powers of two, so a restart is exact; around the origin 0 no bit depends
//! on them.

mod devices;
mod kernels;
mod proof;
mod records;
mod run;
mod shared;

use std::sync::Arc;

use super::schedule::{PERIOD, Schedule};
use super::stats::BlocksTaken;
use super::{Accuracy, Attractors, LEVELS, Scheme, Track};
use crate::error::{Error, Result};
use crate::forces::direct::gpu::tiers::{Pairs, TierFrame, TierShape, three_parts};
use crate::forces::{Precision, Sources};
use crate::gpu::layout::{BlockParams, BlockState};
use crate::gpu::{DeviceClass, Gpu, Params, Readback, read_each};
pub(super) use devices::Residents;
use kernels::{BlockBuffers, BlockKernels, KernelTier};

/// The most dispatches of forces that a block is cut into.
const MOST_PIECES: u64 = 64;

/// Bodies per dispatch of the kernels with one thread or one workgroup per body.
const MOST_BODIES: u64 = 64 * 65_535;

/// Blocks of up to this many bodies use the first shape.
const FEW: usize = 16;

/// Block sizes for which the two shapes are tuned; the first shape is used for all blocks of up to
/// [`FEW`].
pub(super) const SHAPED: [usize; 2] = [8, 1024];

/// Submissions that take longer than this are waited for without polling.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(10);

/// Marks that no body is in the block.
const NONE: u32 = u32::MAX;

/// All bodies of a run, on the device.
pub(super) struct Resident {
    gpu: Arc<Gpu>,
    tier: TierFrame,
    count: usize,
    params: Params<BlockParams>,
    common: BlockParams,
    kernels: BlockKernels,
    buffers: BlockBuffers,
    /// Number of blocks to submit at once.
    at_once: u32,
    last_state: BlockState,
    /// Its staging buffers are used again: new ones for each block take up to a millisecond.
    readback: Readback,
    shared: Option<shared::SharedState>,
}

/// The most interactions of a dispatch: some hundredths of a second.
fn most_interactions(class: DeviceClass) -> u64 {
    match class {
        DeviceClass::Software => 1 << 20,
        DeviceClass::Discrete => 1 << 32,
        _ => 1 << 28,
    }
}

impl Resident {
    /// Uploads the bodies' present state, and checks with them that the device's arithmetic holds.
    /// The shapes are for blocks of a few bodies and for larger ones.
    ///
    /// # Errors
    /// More bodies than fit; numbers out of the precision's range; arithmetic that does not hold.
    pub async fn new(
        gpu: &Arc<Gpu>,
        (precision, pairs): (Precision, Pairs),
        [few, many]: [TierShape; 2],
        scheme: &dyn Scheme,
        accuracy: &Accuracy,
        (tracks, schedule): (&[Track], &Schedule),
        field: &Attractors<'_>,
    ) -> Result<Self> {
        let Some(file) = scheme.shader() else {
            return Err(gpu.refuse("the integrator has no kernels for it"));
        };
        let count = tracks.len();
        let largest = gpu.limits.storage_buffer / records::track_bytes(precision);
        if count as u64 > largest.min(MOST_BODIES) {
            return Err(gpu.refuse(format!(
                "{count} bodies on individual steps are more than it holds (at most {})",
                largest.min(MOST_BODIES)
            )));
        }
        let position: Vec<_> = tracks.iter().map(|track| track.position).collect();
        let velocity: Vec<_> = tracks.iter().map(|track| track.velocity).collect();
        let sources = Sources {
            position: &position,
            velocity: &velocity,
            acceleration: &[],
            mass: field.mass,
        };
        let tier = TierFrame::around(glam::DVec3::ZERO, &sources, precision);
        let refined = precision.refines(count);
        let softened = !refined && tier.is_softened(field.softening);
        let kernel_tier =
            KernelTier { precision, pairs, refined, softened, order: scheme.order(), scheme: file };
        let class = gpu.adapter.class;
        let n = count as u64;
        let piece = (most_interactions(class) / n.max(1))
            .max(n.div_ceil(MOST_PIECES))
            .clamp(1, u64::from(gpu.limits.workgroups).min(65_535));
        let pieces = n.div_ceil(piece).max(1);
        let tick = accuracy.settings.dt_max / PERIOD as f64
            * (tier.frame.velocity_unit() / tier.frame.length);
        if !(2f64.powi(-100)..=2f64.powi(60)).contains(&tick) {
            return Err(gpu.refuse(format!(
                "dt-max {} differs too much from the time in which bodies move by their distances",
                accuracy.settings.dt_max
            )));
        }
        let pull = three_parts(
            tier.frame.mass
                / (tier.frame.length * tier.frame.velocity_unit() * tier.frame.velocity_unit()),
        );
        let softening = tier.softening_squared(field.softening);
        let noise = precision.noise(count);
        let common = BlockParams {
            count: count as u32,
            few: FEW as u32,
            few_sinks: few.sinks_per_workgroup(),
            few_threads: few.threads(),
            few_tile: few.tile(),
            many_sinks: many.sinks_per_workgroup(),
            many_threads: many.threads(),
            many_tile: many.tile(),
            fill: class.threads_to_fill(),
            room: class.threads_to_fill().max(piece as u32),
            piece: piece as u32,
            alone: u32::MAX,
            parts: 1,
            pieces: pieces as u32,
            softening_squared: softening[0],
            softening_low: softening[1],
            softening_lowest: softening[2],
            tick: tick as f32,
            pull: pull[0],
            pull_low: pull[1],
            pull_lowest: pull[2],
            eta: accuracy.settings.eta as f32,
            eta6: accuracy.settings.eta6 as f32,
            noise_acceleration: noise.acceleration as f32,
            noise_jerk: noise.jerk as f32,
            ..Default::default()
        };
        let params = Params::new(gpu, "blocks", 2);
        // Enough segments to keep the device busy. The sums of all chunks share one allocation,
        // each chunk's from the index of its first body on.
        let room = u64::from(common.room) + n;
        let sizes = (n, pieces, room);
        let (kernels, buffers) =
            kernels::make(gpu, &kernel_tier, [few, many], &params, sizes).await?;
        let common = BlockParams { stride: buffers.stride / 64, ..common };
        let mut made = Self {
            gpu: Arc::clone(gpu),
            tier,
            count,
            params,
            common,
            kernels,
            buffers,
            at_once: 1,
            last_state: BlockState::default(),
            readback: Readback::default(),
            shared: None,
        };
        made.params.offset_of(common);
        made.params.upload(gpu);
        made.upload(accuracy, tracks, schedule, field)?;
        made.prove(scheme, tracks, schedule).await?;
        Ok(made)
    }

    /// Uploads everything that the blocks change.
    fn upload(
        &mut self,
        accuracy: &Accuracy,
        tracks: &[Track],
        schedule: &Schedule,
        field: &Attractors,
    ) -> Result<()> {
        let mut words = Vec::new();
        for (i, track) in tracks.iter().enumerate() {
            if !records::push(track, field.mass[i], &self.tier, &mut words) {
                let problem = format!(
                    "its motion leaves the range of the tier '{}'",
                    self.tier.precision.name()
                );
                return Err(Error::Body { index: i, id: field.id[i], problem });
            }
        }
        let levels: Vec<u32> =
            schedule.step.iter().map(|step| LEVELS - step.trailing_zeros()).collect();
        let now = schedule.now();
        let unit = self.tier.frame.velocity_unit() * self.tier.frame.velocity_unit()
            / self.tier.frame.length;
        let mut state = BlockState {
            now: two_words(now),
            next: two_words(now),
            lost: NONE,
            too_short: NONE,
            least: (accuracy.least_acceleration / unit) as f32,
            ..Default::default()
        };
        for &level in &levels {
            state.levels[level as usize] += 1;
        }
        let queue = &self.gpu.queue;
        queue.write_buffer(&self.buffers.tracks, 0, bytemuck::cast_slice(&words));
        queue.write_buffer(&self.buffers.levels, 0, bytemuck::cast_slice(&levels));
        queue.write_buffer(&self.buffers.state, 0, bytemuck::bytes_of(&state));
        self.last_state = state;
        Ok(())
    }

    /// Takes up to `blocks` blocks, and exchanges the forces of a shared one that comes next, after
    /// a single submission.
    ///
    /// # Errors
    /// The device failed; those of exchanges.
    async fn take_blocks(&mut self, blocks: u32) -> Result<()> {
        let gpu = Arc::clone(&self.gpu);
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            self.end_shared(&mut pass);
            for _ in 0..blocks {
                self.block(&mut pass);
            }
            self.begin_shared(&mut pass);
        }
        let mut readback = std::mem::take(&mut self.readback);
        let state = (&self.buffers.state, 0..size_of::<BlockState>() as u64);
        let ranges: Vec<_> = std::iter::once(state).chain(self.expected_forces()).collect();
        readback.record(&gpu.device, &mut encoder, &ranges);
        let received = self.received();
        let submission = gpu.queue.submit(received.into_iter().chain([encoder.finish()]));
        readback.submitted();
        self.recall_staging();
        gpu.finish_within(submission, PATIENCE).await?;
        let look = |read: &[&[u32]]| {
            self.last_state = bytemuck::pod_read_unaligned(bytemuck::cast_slice(read[0]));
            match read[1..] {
                [itself, sums] if self.last_state.waiting > 0 => self.exchange_read(itself, sums),
                _ => Ok(None),
            }
        };
        let more = readback.arrive_as(look).await??;
        self.readback = readback;
        match more {
            Some(first) => self.exchange_more(first).await,
            None => Ok(()),
        }
    }

    fn block(&self, pass: &mut wgpu::ComputePass<'_>) {
        let kernels = &self.kernels;
        kernels.plan.set(pass, &[0]);
        pass.dispatch_workgroups(1, 1, 1);
        kernels.predict.set(pass, &[0, 0]);
        self.indirect(pass, 0);
        self.forces(pass);
        self.correct(pass);
    }

    fn indirect(&self, pass: &mut wgpu::ComputePass<'_>, at: u32) {
        pass.dispatch_workgroups_indirect(&self.buffers.workgroups, 12 * u64::from(at));
    }

    fn forces(&self, pass: &mut wgpu::ComputePass<'_>) {
        let Self { kernels, buffers, common, .. } = self;
        for piece in 0..common.pieces {
            let offset = piece * buffers.stride;
            kernels.few.set(pass, &[offset]);
            self.indirect(pass, 2 + 3 * piece);
            kernels.many.set(pass, &[offset]);
            self.indirect(pass, 3 + 3 * piece);
            kernels.sum.set(pass, &[offset]);
            self.indirect(pass, 4 + 3 * piece);
        }
    }

    fn correct(&self, pass: &mut wgpu::ComputePass<'_>) {
        self.kernels.correct.set(pass, &[0, 0]);
        self.indirect(pass, 1);
    }

    /// Begins the next `dt_max`, once all bodies have reached the end of this one.
    pub fn turn_over(&self) {
        self.gpu.submit_pass(|pass| {
            self.kernels.turn.set(pass, &[0, 0]);
            pass.dispatch_workgroups(1, 1, 1);
        });
    }

    /// Reads the present state of all bodies back to the host.
    ///
    /// # Errors
    /// The device failed.
    pub async fn download(
        &mut self,
        accuracy: &mut Accuracy,
        tracks: &mut [Track],
        schedule: &mut Schedule,
    ) -> Result<()> {
        let (gpu, n) = (&self.gpu, self.count);
        let words = records::track_bytes(self.tier.precision) as usize / 4 * n;
        let BlockBuffers { tracks: there, levels, state, .. } = &self.buffers;
        let ranges = [(there, words), (levels, n), (state, size_of::<BlockState>() / 4)];
        let read = read_each::<u32>(gpu, &ranges).await?;
        let (found, levels) = (&read[0], &read[1]);
        self.last_state = bytemuck::pod_read_unaligned(bytemuck::cast_slice(&read[2]));
        let now = one_number(self.last_state.now);
        for (i, track) in tracks.iter_mut().enumerate() {
            *track = records::track(found, i, &self.tier);
        }
        for (i, level) in levels.iter().enumerate() {
            let step = PERIOD >> level;
            (schedule.step[i], schedule.time[i]) = (step, now & !(step - 1));
        }
        let unit = self.tier.frame.velocity_unit() * self.tier.frame.velocity_unit()
            / self.tier.frame.length;
        accuracy.least_acceleration = f64::from(self.last_state.least) * unit;
        Ok(())
    }
}

/// A time in the device's form: low word, high word.
fn two_words(time: u64) -> [u32; 2] {
    [time as u32, (time >> 32) as u32]
}

fn one_number([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}
