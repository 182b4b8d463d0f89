//! Steps of devices that each move a range of the bodies. After each drift the devices exchange
//! positions through the host.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;
use web_time::Instant;

use super::long::{SavedState, StepDuration};
use super::telling::SendBuffer;
use super::{DeviceState, Phase, StepRequest, Submitted};
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Member};
use crate::forces::Budget;
use crate::gpu::layout::VEC4;
use crate::gpu::{Gpu, read_part};
use crate::stop;

/// Submissions in flight, as in `advance.rs`.
pub(super) const IN_FLIGHT: usize = 2;

/// Bytes that one core copies at a time.
const COPY_BYTES: usize = 1 << 20;

/// A member of a group, with the buffers through which it exchanges positions.
pub(in crate::sim) struct Lockstep {
    pub member: Member,
    /// The range of bodies that each member moves, in the order of members.
    shares: Vec<Range<usize>>,
    /// Readback of this device's positions.
    send: SendBuffer,
    /// Upload buffer for all positions, of which those of the other members are copied to the
    /// device; mapped between two turns.
    upload: wgpu::Buffer,
    /// Whether `upload` holds positions that are not on the device yet.
    has_received: bool,
    /// Seconds spent in exchanges, and their number, since [`Lockstep::take_spent`].
    spent: (f64, u64),
}

impl Lockstep {
    pub fn new(state: &DeviceState, member: Member, shares: Vec<Range<usize>>) -> Self {
        let send = SendBuffer::new(&state.gpu, state.sinks().len());
        let upload = upload_buffer(&state.gpu, "others' positions", state.buffers.count as usize);
        Self { member, shares, send, upload, has_received: false, spent: (0.0, 0) }
    }

    /// Seconds spent copying and waiting for other members, and the number of exchanges, since the
    /// last call.
    pub fn take_spent(&mut self) -> (f64, u64) {
        std::mem::take(&mut self.spent)
    }

    /// Seconds spent copying and waiting for other members since [`Lockstep::take_spent`].
    pub fn exchanged_secs(&self) -> f64 {
        self.spent.0
    }

    /// The bodies that this device moves.
    pub fn own(&self) -> Range<usize> {
        self.shares[self.member.member()].clone()
    }

    /// Bytes that each member sends, at `each` bytes per body.
    fn bytes(&self, each: u64) -> Vec<usize> {
        self.shares.iter().map(|share| share.len() * each as usize).collect()
    }

    /// All-gathers one `T` per body, in the order of members.
    pub fn gather<T: bytemuck::Pod>(&mut self, mine: &[T]) -> Result<Vec<T>> {
        let bytes = self.bytes(size_of::<T>() as u64);
        let mut all = Vec::with_capacity(bytes.iter().sum::<usize>() / size_of::<T>().max(1));
        self.member.all_gather(bytemuck::cast_slice(mine), &bytes, &mut |_, received| {
            all.extend(bytemuck::pod_collect_to_vec::<u8, T>(received));
        })?;
        Ok(all)
    }
}

impl DeviceState {
    /// Takes up to `steps` steps of `dt`; all members of the group make the same call. Returns the
    /// number of steps done. After each step `watch` is called with that number and ends the
    /// advance by returning false: the number of the last step is then written into `last`, which
    /// all members of this process read.
    ///
    /// # Errors
    /// The device failed; another member aborted.
    pub(in crate::sim) async fn advance_lockstep(
        &mut self,
        group: &mut Lockstep,
        (dt, steps): (f64, u64),
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64> {
        let dt = dt / self.frame.time;
        let mut done = 0;
        loop {
            let duration = self.step_duration(&mut group.member)?;
            // The exchange above makes all earlier writes to `last` visible to all members.
            let wanted = steps.min(last.load(Ordering::SeqCst));
            match duration {
                _ if done > 0 && done >= wanted => return Ok(done),
                StepDuration::Stopped => return Ok(done),
                StepDuration::Long => {
                    let is_complete =
                        self.advance_long(group, dt, (&mut done, wanted), last, watch).await?;
                    if !is_complete {
                        return Ok(done);
                    }
                }
                StepDuration::Short => {
                    self.advance_short(group, dt, (&mut done, wanted), last, watch).await?;
                }
            }
            if done >= steps {
                return Ok(done);
            }
        }
    }

    /// [`DeviceState::advance_lockstep`] up to step `wanted`; the end of each step and the
    /// beginning of the next share a turn.
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
            // Written before the exchange, so all members see it afterwards: the step that has
            // begun is the last for all.
            if is_new && !watch(ends) {
                last.fetch_min(ends + u64::from(next.is_some()), Ordering::SeqCst);
            }
            if next.is_some() {
                self.exchange(group)?;
            }
        }
    }

    /// One long step of [`DeviceState::advance_lockstep`], if `done` is less than `wanted`. The
    /// step has ended when this returns. If it is interrupted ([`stop`]) on any device, all devices
    /// restore the state before it, and the result is false.
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
        let saved = SavedState::of(self);
        let steps_before = self.steps;
        self.turn(group, Some(dt), false).await?;
        self.exchange(group)?;
        let complete = self.turn(group, None, true).await?;
        if !group.member.all_agree(complete)? {
            saved.restore(self, steps_before);
            return Ok(false);
        }
        *done += 1;
        if !watch(*done) {
            last.fetch_min(*done, Ordering::SeqCst);
        }
        Ok(true)
    }

    /// A turn: ends the step that has begun, and begins another of length `next`, if given. Returns
    /// false if it was interrupted ([`stop`]), which only happens with `may_stop`.
    async fn turn(
        &mut self,
        group: &mut Lockstep,
        next: Option<f64>,
        may_stop: bool,
    ) -> Result<bool> {
        let mut in_flight: VecDeque<Submitted> = VecDeque::with_capacity(IN_FLIGHT);
        let mut since = Instant::now();
        let mut complete = false;
        let mut stopped = false;
        while !(complete || stopped) || !in_flight.is_empty() {
            // The first slice uploads the received positions, so it is submitted before the first
            // check for a stop.
            if !(complete || stopped) {
                let slice;
                (slice, complete) = self.submit_turn(group, next);
                in_flight.push_back(slice);
            }
            if in_flight.len() == IN_FLIGHT || complete || stopped {
                let Some(slice) = in_flight.pop_front() else { break };
                self.finish_last(slice.submission, in_flight.is_empty()).await?;
                self.learn(slice.work, since.elapsed().as_secs_f64());
                since = Instant::now();
            }
            if may_stop && !stopped {
                stopped = stop::is_wanted() && !complete;
                // Propagates the request to the other members.
                group.member.poll_stop();
            }
        }
        Ok(complete)
    }

    /// Submits as much of a turn as the budget allows; true if the turn is complete.
    fn submit_turn(&mut self, group: &mut Lockstep, next: Option<f64>) -> (Submitted, bool) {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let positions = &self.buffers.position_mass;
        let own = self.buffers.sinks.start as u64 * VEC4..self.buffers.sinks.end as u64 * VEC4;
        let has_received = std::mem::take(&mut group.has_received);
        if has_received {
            group.upload.unmap();
            for others in [0..own.start, own.end..positions.size()] {
                let length = others.end - others.start;
                if length > 0 {
                    let from = others.start;
                    encoder.copy_buffer_to_buffer(&group.upload, from, positions, from, length);
                }
            }
        }
        let budget = Budget::HEADLESS;
        let request =
            StepRequest { gpu: &self.gpu, throughput: &self.throughput, dt: 0.0, steps: 0, budget };
        self.stepper.begin_submission();
        let (work, complete) = {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("steps"),
                timestamp_writes: None,
            });
            self.stepper.turn(&mut pass, &mut self.phase, &request, next)
        };
        self.stepper.end_submission(&self.gpu);
        let moved = complete && next.is_some() && !own.is_empty();
        if moved {
            let length = own.end - own.start;
            encoder.copy_buffer_to_buffer(positions, own.start, group.send.buffer(), 0, length);
        }
        let submission = self.gpu.queue.submit([encoder.finish()]);
        // Both buffers are mapped when the submission has completed; the caller waits for it.
        if has_received {
            group.upload.map_async(wgpu::MapMode::Write, .., |_| ());
        }
        if moved {
            group.send.map_after_submit(own.end - own.start);
        }
        self.interactions += work.interactions;
        self.steps += work.steps;
        (Submitted { submission, work }, complete)
    }

    /// Sends the positions of this device's bodies and receives those of the other members.
    fn exchange(&mut self, group: &mut Lockstep) -> Result<()> {
        let begun = Instant::now();
        let failed = |error: wgpu::MapRangeError| {
            Error::Device(format!("cannot copy positions from device to device: {error}"))
        };
        let bytes = group.bytes(VEC4);
        let own = group.member.member();
        {
            let mut upload = group.upload.get_mapped_range_mut(..).map_err(failed)?;
            let mut at = 0;
            group.send.all_gather(&mut group.member, &bytes, &mut |k, received| {
                if k != own && !received.is_empty() {
                    copy(received, upload.slice(at..at + received.len()));
                }
                at += received.len();
            })?;
        }
        group.has_received = true;
        group.spent.0 += begun.elapsed().as_secs_f64();
        group.spent.1 += 1;
        Ok(())
    }

    /// All-gathers velocities and accelerations, of which each member has only its range, so that
    /// this device can be read and rendered from as if it had moved all bodies.
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

/// A mapped upload buffer for what other members send: a `vec4<f32>` for each of `bodies` bodies.
pub(super) fn upload_buffer(gpu: &Gpu, label: &str, bodies: usize) -> wgpu::Buffer {
    gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: (bodies.max(1) as u64) * VEC4,
        usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    })
}

/// Copies on several cores, since one core does not saturate the memory bandwidth.
pub(super) fn copy(from: &[u8], to: wgpu::WriteOnly<'_, [u8]>) {
    let (chunks, mut rest) = to.into_chunks::<COPY_BYTES>();
    let chunks: Vec<wgpu::WriteOnly<'_, [u8; COPY_BYTES]>> = chunks.into_iter().collect();
    let (whole, last) = from.split_at(chunks.len() * COPY_BYTES);
    chunks.into_par_iter().zip(whole.par_chunks(COPY_BYTES)).for_each(|(to, from)| {
        wgpu::WriteOnly::<[u8]>::from(to).copy_from_slice(from);
    });
    rest.copy_from_slice(last);
}
