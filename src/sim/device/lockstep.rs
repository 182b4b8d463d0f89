//! Steps of a device that moves a part of the bodies, together with others that move the rest: after each drift every
//! one tells the others its positions, through the host.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use web_time::Instant;

use super::long::{Before, Length};
use super::telling::Telling;
use super::{DeviceState, Phase, Submitted, Wanted};
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Member};
use crate::forces::Budget;
use crate::gpu::layout::VEC4;
use crate::gpu::{Gpu, read_part};
use crate::stop;

/// Submissions in flight, as elsewhere.
pub(super) const IN_FLIGHT: usize = 2;

/// One core copies so many bytes.
const COPY_BYTES: usize = 1 << 20;

/// A device's place in a group, and the memory by which positions come and go.
pub(in crate::sim) struct Lockstep {
    pub member: Member,
    /// Which bodies each member moves, in the order of members.
    shares: Vec<Range<usize>>,
    /// Its own positions, on their way to the host.
    telling: Telling,
    /// All positions, of which those of the others are on their way to the device; mapped between two turns.
    up: wgpu::Buffer,
    /// Whether there is something in `up` that the device has not got yet.
    has_heard: bool,
    /// Seconds spent in exchanges since they were asked for last, and how many those were.
    spent: (f64, u64),
}

impl Lockstep {
    pub fn new(state: &DeviceState, member: Member, shares: Vec<Range<usize>>) -> Self {
        let telling = Telling::new(&state.gpu, state.sinks().len());
        let up = others(&state.gpu, "others' positions", state.buffers.count as usize);
        Self { member, shares, telling, up, has_heard: false, spent: (0.0, 0) }
    }

    /// Seconds spent waiting for others and copying since this was asked last, and exchanges.
    pub fn take_spent(&mut self) -> (f64, u64) {
        std::mem::take(&mut self.spent)
    }

    /// Seconds spent waiting for others and copying since they were taken last.
    pub fn exchanged_secs(&self) -> f64 {
        self.spent.0
    }

    /// The bodies that this device moves.
    pub fn own(&self) -> Range<usize> {
        self.shares[self.member.member()].clone()
    }

    /// Bytes that each member tells where each of its bodies has so many.
    fn bytes(&self, each: u64) -> Vec<usize> {
        self.shares.iter().map(|share| share.len() * each as usize).collect()
    }

    /// What each member has told, one after the other, where each body has one `T`.
    pub fn gather<T: bytemuck::Pod>(&mut self, mine: &[T]) -> Result<Vec<T>> {
        let bytes = self.bytes(size_of::<T>() as u64);
        let mut all = Vec::with_capacity(bytes.iter().sum::<usize>() / size_of::<T>().max(1));
        self.member.all_gather(bytemuck::cast_slice(mine), &bytes, &mut |_, told| {
            all.extend(bytemuck::pod_collect_to_vec::<u8, T>(told));
        })?;
        Ok(all)
    }
}

impl DeviceState {
    /// Takes up to `steps` steps of `dt` with the other members of the group, all of which are told the same. Returns
    /// those done. After each step `watch` sees how many they are, and ends the advance by returning false: it writes
    /// the last step that is wanted into `last`, which all members of this process look at.
    ///
    /// Errors: the device failed; another member gave up.
    pub(in crate::sim) async fn advance_with(
        &mut self,
        group: &mut Lockstep,
        (dt, steps): (f64, u64),
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64> {
        let dt = dt / self.frame.time;
        let mut done = 0;
        loop {
            let length = self.length_of_steps(&mut group.member)?;
            // What was written there before is seen by all since they have asked each other.
            let wanted = steps.min(last.load(Ordering::SeqCst));
            match length {
                _ if done > 0 && done >= wanted => return Ok(done),
                Length::None => return Ok(done),
                Length::Long => {
                    let are_whole =
                        self.advance_long(group, dt, (&mut done, wanted), last, watch).await?;
                    if !are_whole {
                        return Ok(done);
                    }
                }
                Length::Short => {
                    self.advance_short(group, dt, (&mut done, wanted), last, watch).await?;
                }
            }
            if done >= steps {
                return Ok(done);
            }
        }
    }

    /// [`DeviceState::advance_with`] until so many steps are wanted, the end of each in one turn with the beginning of the next.
    async fn advance_short(
        &mut self,
        group: &mut Lockstep,
        dt: f64,
        (done, wanted): (&mut u64, u64),
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<()> {
        loop {
            let is_in_step = matches!(self.phase, Phase::Force { dt } if dt != 0.0);
            let ends = *done + u64::from(is_in_step);
            let next = (ends < wanted.min(last.load(Ordering::SeqCst))).then_some(dt);
            if self.phase == Phase::Between && next.is_none() {
                return Ok(());
            }
            self.turn(group, next, false).await?;
            let is_new = ends > *done;
            *done = ends;
            // Said before the exchange, and so heard by all after it: the step that has begun is everybody's last.
            if is_new && !watch(ends) {
                last.fetch_min(ends + u64::from(next.is_some()), Ordering::SeqCst);
            }
            if next.is_some() {
                self.exchange(group)?;
            }
        }
    }

    /// One step of [`DeviceState::advance_with`], if one is wanted, where a step takes long: it has ended before this returns, and if
    /// it is broken off ([`stop`]) on any device it has not been on any. Whether it was not.
    async fn advance_long(
        &mut self,
        group: &mut Lockstep,
        dt: f64,
        (done, wanted): (&mut u64, u64),
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool> {
        if self.phase != Phase::Between {
            self.turn(group, None, false).await?;
        }
        if *done >= wanted {
            return Ok(true);
        }
        let before = Before::of(self);
        let steps_before = self.steps;
        self.turn(group, Some(dt), false).await?;
        self.exchange(group)?;
        let complete = self.turn(group, None, true).await?;
        if !group.member.all_agree(complete)? {
            before.restore(self, steps_before);
            return Ok(false);
        }
        *done += 1;
        if !watch(*done) {
            last.fetch_min(*done, Ordering::SeqCst);
        }
        Ok(true)
    }

    /// Ends the step that has begun, and begins another one of `next`. If it may be broken off ([`stop`]): whether
    /// it was not.
    async fn turn(
        &mut self,
        group: &mut Lockstep,
        next: Option<f64>,
        may_stop: bool,
    ) -> Result<bool> {
        let mut flying: VecDeque<Submitted> = VecDeque::with_capacity(IN_FLIGHT);
        let mut since = Instant::now();
        let mut complete = false;
        let mut stopped = false;
        while !(complete || stopped) || !flying.is_empty() {
            // Not before the first slice, which takes in what was heard.
            if !(complete || stopped) {
                let slice;
                (slice, complete) = self.submit_turn(group, next);
                flying.push_back(slice);
            }
            if flying.len() == IN_FLIGHT || complete || stopped {
                let Some(slice) = flying.pop_front() else { break };
                self.finish_last(slice.submission, flying.is_empty()).await?;
                self.learn(slice.work, since.elapsed().as_secs_f64());
                since = Instant::now();
            }
            if may_stop && !stopped {
                stopped = stop::is_wanted() && !complete;
                // The others hear of it, if so.
                group.member.look_for_stop();
            }
        }
        Ok(complete)
    }

    /// Submits as much of a turn as the budget allows, and whether that is all.
    fn submit_turn(&mut self, group: &mut Lockstep, next: Option<f64>) -> (Submitted, bool) {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let positions = &self.buffers.position_mass;
        let own = self.buffers.sinks.start as u64 * VEC4..self.buffers.sinks.end as u64 * VEC4;
        let has_heard = std::mem::take(&mut group.has_heard);
        if has_heard {
            group.up.unmap();
            for others in [0..own.start, own.end..positions.size()] {
                let length = others.end - others.start;
                if length > 0 {
                    let from = others.start;
                    encoder.copy_buffer_to_buffer(&group.up, from, positions, from, length);
                }
            }
        }
        let budget = Budget::HEADLESS;
        let wanted =
            Wanted { gpu: &self.gpu, throughput: &self.throughput, dt: 0.0, steps: 0, budget };
        self.stepper.begin_submission();
        let (work, complete) = {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("steps"),
                timestamp_writes: None,
            });
            self.stepper.turn(&mut pass, &mut self.phase, &wanted, next)
        };
        self.stepper.end_submission(&self.gpu);
        let moved = complete && next.is_some() && !own.is_empty();
        if moved {
            let length = own.end - own.start;
            encoder.copy_buffer_to_buffer(positions, own.start, group.telling.buffer(), 0, length);
        }
        let submission = self.gpu.queue.submit([encoder.finish()]);
        // They are mapped once the submission is done, which is waited for.
        if has_heard {
            group.up.map_async(wgpu::MapMode::Write, .., |_| ());
        }
        if moved {
            group.telling.bring(own.end - own.start);
        }
        self.interactions += work.interactions;
        self.steps += work.steps;
        (Submitted { submission, work }, complete)
    }

    /// Tells the others where this device's bodies are, and hears where theirs are.
    fn exchange(&mut self, group: &mut Lockstep) -> Result<()> {
        let begun = Instant::now();
        let failed = |error: wgpu::MapRangeError| {
            Error::Device(format!("cannot copy positions from device to device: {error}"))
        };
        let bytes = group.bytes(VEC4);
        let own = group.member.member();
        {
            let mut up = group.up.get_mapped_range_mut(..).map_err(failed)?;
            let mut at = 0;
            group.telling.tell(&mut group.member, &bytes, &mut |k, told| {
                if k != own && !told.is_empty() {
                    copy(told, up.slice(at..at + told.len()));
                }
                at += told.len();
            })?;
        }
        group.has_heard = true;
        group.spent.0 += begun.elapsed().as_secs_f64();
        group.spent.1 += 1;
        Ok(())
    }

    /// Brings the velocities and accelerations of all bodies to this device, where each member has its own: so that it
    /// can be read and drawn from as if it had moved them all.
    pub(in crate::sim) async fn gather(&mut self, group: &mut Lockstep) -> Result<()> {
        let both = [&self.buffers.velocity, &self.buffers.acceleration];
        let sinks = self.sinks();
        let read = read_part::<[f32; 4]>(&self.gpu, &both, sinks.clone()).await?;
        for (buffer, own) in both.into_iter().zip(&read) {
            let all = group.gather(own)?;
            for others in [0..sinks.start, sinks.end..all.len()] {
                let at = others.start as u64 * VEC4;
                if !others.is_empty() {
                    self.gpu.queue.write_buffer(buffer, at, bytemuck::cast_slice(&all[others]));
                }
            }
        }
        self.gpu.check()
    }
}

/// Memory of the host for what the others tell of `bodies` bodies, mapped, from where the device takes it.
pub(super) fn others(gpu: &Gpu, label: &str, bodies: usize) -> wgpu::Buffer {
    gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: (bodies.max(1) as u64) * VEC4,
        usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    })
}

/// Copies by as many cores as it takes to keep memory busy.
pub(super) fn copy(from: &[u8], to: wgpu::WriteOnly<'_, [u8]>) {
    let (pieces, mut rest) = to.into_chunks::<COPY_BYTES>();
    let pieces: Vec<wgpu::WriteOnly<'_, [u8; COPY_BYTES]>> = pieces.into_iter().collect();
    let (whole, last) = from.split_at(pieces.len() * COPY_BYTES);
    pieces.into_par_iter().zip(whole.par_chunks(COPY_BYTES)).for_each(|(to, from)| {
        wgpu::WriteOnly::<[u8]>::from(to).copy_from_slice(from);
    });
    rest.copy_from_slice(last);
}
