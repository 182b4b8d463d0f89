//! Whole steps at a time, and reading back: each submission is awaited, natively by waiting for it.

use std::collections::VecDeque;

use glam::DVec3;
use rayon::prelude::*;
use web_time::Instant;

use super::*;
use crate::error::Error;
use crate::forces::evaluate;
use crate::gpu::layout::VEC4;
use crate::gpu::{fine, storage};
use crate::stop;

/// Submissions in flight: the device always has the next one at hand.
const IN_FLIGHT: usize = 2;

/// The bodies before a long step.
struct Before {
    motion: [wgpu::Buffer; 3],
    /// Steps submitted before it, in this run.
    of_step: u64,
}

impl DeviceState {
    /// [`DeviceState::advance`], waiting.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn run(&mut self, dt: f64, steps: u64, watch: &mut dyn FnMut(u64) -> bool) -> Result<u64> {
        pollster::block_on(self.advance(dt, steps, None, watch))
    }

    /// Does `steps` steps of `dt`. `watch` sees the steps done so far now and then, and stops the run early (between steps) by returning false. So does [`stop`], which also
    /// breaks off a long step and takes the bodies back to its beginning. Returns the steps done.
    ///
    /// Errors: the device failed; [`Error::Stopped`] during the first accelerations.
    ///
    /// Where there are `stamps`, two entries of timestamps at least, the device writes the begin
    /// of the first pass into entry 0 and the end of the last into entry 1.
    pub async fn advance(
        &mut self,
        dt: f64,
        steps: u64,
        stamps: Option<&wgpu::QuerySet>,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64> {
        let mut first = Some(0);
        let mut flying: VecDeque<Submitted> = VecDeque::with_capacity(IN_FLIGHT);
        let (mut submitted, mut done, mut wanted) = (0, 0, steps);
        let mut since = Instant::now();
        let mut before: Option<Before> = None;
        self.expect_its_pace();
        loop {
            if stop::is_wanted() && (submitted < wanted || !self.is_between_steps()) {
                let begins = self.phase == Phase::Force { dt: 0.0 };
                let stepped_back = self.is_between_steps()
                    || before.as_ref().is_some_and(|before| before.of_step == submitted);
                if begins || stepped_back {
                    for slice in flying.drain(..) {
                        self.gpu.finish(slice.submission).await?;
                        done += slice.work.steps;
                    }
                    stop::check().or_else(|stopped| if begins { Err(stopped) } else { Ok(()) })?;
                    if let (false, Some(before)) = (self.is_between_steps(), &before) {
                        self.copy_motion(before, false);
                        self.stepper.begin_force_again();
                        self.phase = Phase::Between;
                    }
                    return Ok(done);
                }
                // The step that was begun is finished, nothing more is: slices rarely end where a step does.
                wanted = wanted.min(submitted + u64::from(!self.is_between_steps()));
            }
            let more = submitted < wanted || !self.is_between_steps();
            if more {
                // Each pass may be the last one: a later end takes the place of an earlier one.
                let writes = stamps.map(|query_set| wgpu::ComputePassTimestampWrites {
                    query_set,
                    beginning_of_pass_write_index: first.take(),
                    end_of_pass_write_index: Some(1),
                });
                let mut left = wanted - submitted;
                if self.takes_long_steps() {
                    left = left.min(1);
                    if left > 0 && self.is_between_steps() {
                        let n = self.buffers.count as usize;
                        let room = || storage(&self.gpu, "bodies before a step", n);
                        let before = before.get_or_insert_with(|| Before {
                            motion: [room(), room(), room()],
                            of_step: 0,
                        });
                        before.of_step = submitted;
                        self.copy_motion(before, true);
                    }
                }
                let slice = self.submit_stamped(dt, left, Budget::HEADLESS, writes);
                submitted += slice.work.steps;
                flying.push_back(slice);
            }
            if flying.len() == IN_FLIGHT || !more {
                let Some(slice) = flying.pop_front() else { return Ok(done) };
                self.gpu.finish(slice.submission.clone()).await?;
                // Submissions run one after the other: the time between two ends is one's own.
                self.learn(slice.work, since.elapsed().as_secs_f64());
                since = Instant::now();
                done += slice.work.steps;
                if !watch(done) {
                    // What was begun is finished, nothing more is.
                    wanted = submitted + u64::from(!self.is_between_steps());
                }
            }
        }
    }

    /// Copies positions and velocities, and accelerations with their further bits, into `before`, or back from there.
    fn copy_motion(&self, before: &Before, save: bool) {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let BodyBuffers { position_mass, velocity, acceleration, .. } = &self.buffers;
        let now = [position_mass, velocity, acceleration];
        for (now, then) in now.into_iter().zip(&before.motion) {
            let (from, to) = if save { (now, then) } else { (then, now) };
            encoder.copy_buffer_to_buffer(from, 0, to, 0, now.size());
        }
        self.gpu.queue.submit([encoder.finish()]);
    }

    /// Finishes a step that was left half done.
    pub async fn settle(&mut self) -> Result<()> {
        self.advance(0.0, 0, None, &mut |_| true).await.map(|_| ())
    }

    /// The bodies now, when the clock shows `time`: positions and velocities into `bodies`, and accelerations.
    /// Of bodies that the device does not move none of these is read.
    pub async fn read(&mut self, bodies: &mut Bodies, time: f64) -> Result<Vec<DVec3>> {
        self.read_range(self.sinks(), bodies, time).await
    }

    /// [`DeviceState::read`] of a range of the bodies, whoever has moved them.
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
        let widened = self.bring(&buffers, sinks.clone(), |read| {
            let fine = |i: usize| fine::join(three(&read[0][i]), three(&read[1][i]), read[2][i][3]);
            let position = bodies.position[sinks.clone()].par_iter_mut().enumerate();
            let velocity = bodies.velocity[sinks.clone()].par_iter_mut().enumerate();
            if frame.is_central() {
                // Multiples of powers of two: f64 has them all.
                position.for_each(|(i, wide)| *wide = frame.exact_position(fine(i).0).0);
                velocity.for_each(|(i, wide)| *wide = frame.exact_velocity(fine(i).1).0);
            } else {
                rests.position.resize(count, DVec3::ZERO);
                rests.velocity.resize(count, DVec3::ZERO);
                let rest = rests.position[sinks.clone()].par_iter_mut();
                position.zip(rest).for_each(|((i, wide), rest)| {
                    (*wide, *rest) = frame.exact_position(fine(i).0);
                });
                let rest = rests.velocity[sinks.clone()].par_iter_mut();
                velocity.zip(rest).for_each(|((i, wide), rest)| {
                    (*wide, *rest) = frame.exact_velocity(fine(i).1);
                });
            }
            read[2].par_iter().map(|a| frame.wide_acceleration(three(a))).collect()
        });
        let widened: Result<Vec<DVec3>> = widened.await;
        self.rests = rests;
        let acceleration = widened?;
        if self.stepper.forces().needs_last_accelerations() {
            self.last.clone_from(&acceleration);
        }
        self.built_at.clear();
        if let Some(built_at) = self.stepper.forces().built_at().cloned() {
            let wide = |at: &[f32; 4]| DVec3::from(three(at).map(f64::from));
            let widen = |read: &[&[[f32; 4]]]| {
                read.first().map(|all| all.par_iter().map(wide).collect()).unwrap_or_default()
            };
            self.built_at = self.bring(&[built_at], 0..count, widen).await?;
        }
        Ok(acceleration)
    }

    /// What `look` makes of a range of the entries of each of these buffers, all at one moment, where they lie. Room for
    /// them is kept from one time to the next: to have it anew takes longer than to copy.
    async fn bring<R>(
        &mut self,
        buffers: &[wgpu::Buffer],
        entries: Range<usize>,
        look: impl FnOnce(&[&[[f32; 4]]]) -> R,
    ) -> Result<R> {
        if entries.is_empty() {
            return Ok(look(&vec![&[][..]; buffers.len()]));
        }
        // One that fails on the way is not used again.
        let mut readback = std::mem::take(&mut self.readback);
        let bytes = entries.start as u64 * VEC4..entries.end as u64 * VEC4;
        let wanted: Vec<_> = buffers.iter().map(|buffer| (buffer, bytes.clone())).collect();
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        readback.record(&self.gpu.device, &mut encoder, &wanted);
        let submission = self.gpu.queue.submit([encoder.finish()]);
        readback.submitted();
        self.gpu.finish(submission).await?;
        let made = readback.arrive_as(look).await?;
        self.readback = readback;
        Ok(made)
    }

    /// Potentials of the bodies that the device moves, G included: those that the last force has given, or by a kernel with
    /// potential.
    pub async fn potential(&mut self) -> Result<Vec<f64>> {
        self.settle().await?;
        if self.make_together().await? {
            self.evaluate_together().await?;
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
        let add = |sums: &[&[[f32; 4]]]| add_potentials(sums[0], n, unit);
        let potential = self.bring(&sums, 0..slices as usize * n, add).await?;
        match potential.iter().position(|phi| !phi.is_finite()) {
            None => Ok(potential),
            Some(i) => Err(Error::Body {
                index: sinks.start + i,
                id: (sinks.start + i) as u64,
                problem: format!("its potential is {}", potential[i]),
            }),
        }
    }
}
