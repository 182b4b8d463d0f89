//! Advancing one device by whole steps, and reading back. Each submission is awaited; natively that
//! blocks the thread.
//!
//! Submissions end when their time is used up, often in the middle of a step, and two are in
//! flight. Those of a group of devices end at exchanges, so it has a loop of its own
//! (`lockstep.rs`); frames of a window record slices and wait for nothing (`live/on_device.rs`).

use std::collections::VecDeque;

use crate::wall_clock::Instant;
use glam::DVec3;
use rayon::prelude::*;

use super::long::SavedMotion;
use super::*;
use crate::error::Error;
use crate::forces::evaluate;
use crate::gpu::fine;
use crate::gpu::layout::VEC4;
use crate::stop;

/// Submissions in flight, so that the device always has the next one queued.
pub(super) const IN_FLIGHT: usize = 2;

/// Number of bodies that are read back at once, 16 bytes each from every buffer.
const PIECE: usize = if cfg!(test) { 1 << 9 } else { 1 << 21 };

impl DeviceState {
    /// [`DeviceState::advance`], blocking.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run(&mut self, dt: f64, steps: u64, watch: &mut dyn FnMut(u64) -> bool) -> Result<u64> {
        pollster::block_on(self.advance(dt, steps, None, watch))
    }

    /// Takes up to `steps` steps of `dt` and returns the number done. `watch` is called with the
    /// steps done so far after each submission, and ends the advance between two steps by returning
    /// false. So does [`stop`], which also interrupts a long step and restores the bodies to its
    /// beginning.
    ///
    /// With `stamps`, a set of at least two timestamps, the device writes the beginning of the
    /// first pass into entry 0 and the end of the last pass into entry 1.
    ///
    /// # Errors
    /// The device failed; [`Error::Stopped`] during the first accelerations.
    pub async fn advance(
        &mut self,
        dt: f64,
        steps: u64,
        stamps: Option<&wgpu::QuerySet>,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64> {
        let mut first = Some(0);
        let mut in_flight: VecDeque<Submitted> = VecDeque::with_capacity(IN_FLIGHT);
        let (mut submitted, mut done, mut target) = (0, 0, steps);
        let mut since = Instant::now();
        // The motion before a long step, and the steps submitted before that step.
        let mut saved: Option<(SavedMotion, u64)> = None;
        self.expect_force_pace();
        loop {
            if stop::is_wanted() && (submitted < target || !self.is_between_steps()) {
                let begins = self.phase == Phase::Force { dt: 0.0 };
                let can_stop_now = self.is_between_steps()
                    || saved.as_ref().is_some_and(|(_, of_step)| *of_step == submitted);
                if begins || can_stop_now {
                    for slice in in_flight.drain(..) {
                        self.gpu.finish(slice.submission).await?;
                        done += slice.work.steps;
                    }
                    stop::check().or_else(|stopped| if begins { Err(stopped) } else { Ok(()) })?;
                    if let (false, Some((motion, _))) = (self.is_between_steps(), &saved) {
                        let steps = self.steps;
                        motion.restore(self, steps);
                    }
                    return Ok(done);
                }
                // Finishes the step that has begun and takes no further ones: submissions rarely
                // end at the end of a step.
                target = target.min(submitted + u64::from(!self.is_between_steps()));
            }
            let more = submitted < target || !self.is_between_steps();
            if more {
                // Any pass may be the last: each overwrites the end timestamp of the one before.
                let writes = stamps.map(|query_set| wgpu::ComputePassTimestampWrites {
                    query_set,
                    beginning_of_pass_write_index: first.take(),
                    end_of_pass_write_index: Some(1),
                });
                let mut left = target - submitted;
                if self.takes_long_steps() {
                    left = left.min(1);
                    if left > 0 && self.is_between_steps() {
                        match &saved {
                            Some((motion, _)) => motion.save(self),
                            None => saved = Some((SavedMotion::of(self), 0)),
                        }
                        saved.iter_mut().for_each(|(_, of_step)| *of_step = submitted);
                    }
                }
                let slice = self.submit_stamped(dt, left, Budget::HEADLESS, writes);
                submitted += slice.work.steps;
                in_flight.push_back(slice);
            }
            if in_flight.len() == IN_FLIGHT || !more {
                let Some(slice) = in_flight.pop_front() else { return Ok(done) };
                self.gpu.finish(slice.submission.clone()).await?;
                // Submissions run one after the other: the time between two completions is that of
                // the later one.
                self.learn(slice.work, since.elapsed().as_secs_f64());
                since = Instant::now();
                done += slice.work.steps;
                if !watch(done) {
                    // Finishes the step that has begun and takes no further ones.
                    target = submitted + u64::from(!self.is_between_steps());
                }
            }
        }
    }

    /// Finishes a step that has begun, if there is one.
    pub async fn settle(&mut self) -> Result<()> {
        self.advance(0.0, 0, None, &mut |_| true).await.map(|_| ())
    }

    /// Reads positions and velocities into `bodies`, when the clock shows `time`, and returns the
    /// accelerations. Only the bodies that this device moves are read.
    pub async fn read(&mut self, bodies: &mut Bodies, time: f64) -> Result<Vec<DVec3>> {
        self.read_range(self.sinks(), bodies, time).await
    }

    /// [`DeviceState::read`] for a range of the bodies, whichever device moved them.
    pub(in crate::sim) async fn read_range(
        &mut self,
        sinks: Range<usize>,
        bodies: &mut Bodies,
        time: f64,
    ) -> Result<Vec<DVec3>> {
        self.settle().await?;
        let BodyBuffers { position_mass, velocity, acceleration, count, .. } = &self.buffers;
        let buffers = [position_mass, velocity, acceleration].map(wgpu::Buffer::clone);
        let count = *count as usize;
        let frame = self.frame_at(time);
        let three = |v: &[f32; 4]| [v[0], v[1], v[2]];
        let mut rests = std::mem::take(&mut self.rests);
        if !frame.is_central() {
            rests.position.resize(count, DVec3::ZERO);
            rests.velocity.resize(count, DVec3::ZERO);
        }
        let mut last = std::mem::take(&mut self.last);
        if self.stepper.needs_last_accelerations() {
            last.resize(sinks.len(), [0.0; 3]);
        }
        let mut acceleration: Vec<DVec3> = bytemuck::zeroed_vec(sinks.len());
        let widen = |piece: Range<usize>, read: &[&[[f32; 4]]]| {
            let fine = |i: usize| fine::join(three(&read[0][i]), three(&read[1][i]), read[2][i][3]);
            let bodies_of = piece.start..piece.end;
            let position = bodies.position[bodies_of.clone()].par_iter_mut().enumerate();
            let velocity = bodies.velocity[bodies_of.clone()].par_iter_mut().enumerate();
            if frame.is_central() {
                // The frame's units are powers of two and its origin is 0: f64 holds the products
                // exactly.
                position.for_each(|(i, wide)| *wide = frame.exact_position(fine(i).0).0);
                velocity.for_each(|(i, wide)| *wide = frame.exact_velocity(fine(i).1).0);
            } else {
                let rest = rests.position[bodies_of.clone()].par_iter_mut();
                position.zip(rest).for_each(|((i, wide), rest)| {
                    (*wide, *rest) = frame.exact_position(fine(i).0);
                });
                let rest = rests.velocity[bodies_of].par_iter_mut();
                velocity.zip(rest).for_each(|((i, wide), rest)| {
                    (*wide, *rest) = frame.exact_velocity(fine(i).1);
                });
            }
            let own = piece.start - sinks.start..piece.end - sinks.start;
            let wide = acceleration[own.clone()].par_iter_mut().zip(read[2]);
            wide.for_each(|(wide, a)| *wide = frame.wide_acceleration(three(a)));
            if let Some(last) = last.get_mut(own) {
                last.par_iter_mut().zip(read[2]).for_each(|(last, a)| *last = three(a));
            }
        };
        let read = self.read_pieces(&buffers, sinks.clone(), widen).await;
        self.rests = rests;
        self.last = last;
        read?;
        self.built_at.clear();
        let steps = self.stepper.forces.steps();
        if let Some(built_at) = steps.and_then(|steps| steps.built_at().cloned()) {
            let wide = |at: &[f32; 4]| DVec3::from(three(at).map(f64::from));
            let mut all = std::mem::take(&mut self.built_at);
            let widen = |_, read: &[&[[f32; 4]]]| all.par_extend(read[0].par_iter().map(wide));
            self.read_pieces(&[built_at], 0..count, widen).await?;
            self.built_at = all;
        }
        Ok(acceleration)
    }

    /// [`DeviceState::read_entries`] of at most [`PIECE`] entries at a time, so that readback
    /// buffers stay small. Nothing else may be submitted meanwhile, or the pieces are of different
    /// times.
    async fn read_pieces(
        &mut self,
        buffers: &[wgpu::Buffer],
        entries: Range<usize>,
        mut convert: impl FnMut(Range<usize>, &[&[[f32; 4]]]),
    ) -> Result<()> {
        for first in entries.clone().step_by(PIECE) {
            let piece = first..(first + PIECE).min(entries.end);
            self.read_entries(buffers, piece.clone(), |read| convert(piece, read)).await?;
        }
        Ok(())
    }

    /// Reads a range of the entries of each buffer, all in one submission, and returns the result
    /// of `convert` on the mapped memory. The readback buffers are reused: allocating them takes
    /// longer than the copy.
    async fn read_entries<R>(
        &mut self,
        buffers: &[wgpu::Buffer],
        entries: Range<usize>,
        convert: impl FnOnce(&[&[[f32; 4]]]) -> R,
    ) -> Result<R> {
        if entries.is_empty() {
            return Ok(convert(&vec![&[][..]; buffers.len()]));
        }
        // On an error the readback is dropped and not reused.
        let mut readback = std::mem::take(&mut self.readback);
        let bytes = entries.start as u64 * VEC4..entries.end as u64 * VEC4;
        let ranges: Vec<_> = buffers.iter().map(|buffer| (buffer, bytes.clone())).collect();
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        readback.record(&self.gpu.device, &mut encoder, &ranges);
        let submission = self.gpu.queue.submit([encoder.finish()]);
        readback.submitted();
        self.gpu.finish(submission).await?;
        let converted = readback.arrive_as(convert).await?;
        self.readback = readback;
        Ok(converted)
    }

    /// Potentials of the bodies that the device moves, G included: from the last force if it gave
    /// them, else by a kernel with potential.
    pub async fn potential(&mut self) -> Result<Vec<f64>> {
        self.settle().await?;
        if self.make_combined().await? {
            self.evaluate_combined().await?;
        } else {
            self.make_potential().await?;
            self.begin_potential();
            let forces = self.potential.as_mut().expect("bound above");
            evaluate(forces.as_mut(), &self.gpu, &mut self.throughput).await?;
        }
        let sinks = self.sinks();
        let n = sinks.len();
        let (sums, slices) = self.potential_sums();
        let sums = [sums.clone()];
        let unit = self.frame.potential_unit();
        let potential = match slices {
            1 => {
                let mut potential = Vec::with_capacity(n);
                let widen = |piece: Range<usize>, sums: &[&[[f32; 4]]]| {
                    potential.append(&mut add_potentials(sums[0], piece.len(), unit));
                };
                self.read_pieces(&sums, 0..n, widen).await?;
                potential
            }
            slices => {
                let add = |sums: &[&[[f32; 4]]]| add_potentials(sums[0], n, unit);
                self.read_entries(&sums, 0..slices as usize * n, add).await?
            }
        };
        match potential.par_iter().position_first(|phi| !phi.is_finite()) {
            None => Ok(potential),
            Some(i) => Err(Error::Body {
                index: sinks.start + i,
                id: (sinks.start + i) as u64,
                problem: format!("its potential is {}", potential[i]),
            }),
        }
    }
}
