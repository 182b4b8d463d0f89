//! Steps of replicas: each device of the group holds and moves all bodies but computes the forces
//! of one range of sinks. The devices exchange these forces through the host. This serves methods
//! that order the sinks otherwise than the bodies ([`SharedForces`]), on devices of one kind, which
//! integrate to the same bits.
//!
//! With the tree, each device builds the whole tree and walks a range of the groups along the
//! curve. The devices exchange the forces and the cost of each group's walk, which determines the
//! ranges of the next step.
//!
//! [`SharedForces`]: crate::forces::SharedForces

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use web_time::Instant;

use super::lockstep::{IN_FLIGHT, copy, upload_buffer};
use super::long::{STEPS_PER_POLL, SavedState, StepDuration};
use super::telling::SendBuffer;
use super::{DeviceState, Phase, StepRequest, Submitted, Work};
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Member, shares};
use crate::forces::Budget;
use crate::gpu::layout::VEC4;
use crate::stop;

/// A member of such a group, with the buffers through which it exchanges forces.
pub(in crate::sim) struct Replica {
    pub member: Member,
    /// The range of sinks that each member computes next, in the method's order.
    shares: Vec<Range<usize>>,
    /// The range that this member computed at the last exchange; it is on the device already.
    last_own: Range<usize>,
    /// Ranges begin at multiples of this.
    unit: usize,
    /// The last cost of each `unit` of sinks, as the method counts it.
    costs: Vec<f32>,
    /// Readback of this device's forces.
    send: SendBuffer,
    /// Upload buffer for all forces, of which those of the other members are copied to the device;
    /// mapped between two turns.
    upload: wgpu::Buffer,
    /// Seconds spent in exchanges, and their number, since [`Replica::take_spent`].
    spent: (f64, u64),
}

impl Replica {
    /// Makes a member of a device that holds all bodies.
    ///
    /// # Errors
    /// A method whose forces cannot be shared; kernels that do not compile.
    pub async fn new(state: &mut DeviceState, member: Member) -> Result<Self> {
        let gpu = state.gpu.clone();
        let n = state.buffers.count as usize;
        let forces = state.stepper.forces_mut();
        let Some(shared) = forces.shared() else {
            let allowed = "one whose forces several devices can share";
            return Err(Error::value("the method", state.method.name(), allowed));
        };
        shared.prepare(&gpu).await?;
        let unit = shared.unit();
        let send = SendBuffer::new(&gpu, n);
        let upload = upload_buffer(&gpu, "others' answers", n);
        let shares = shares(n, &vec![1.0; member.members()], unit);
        let costs = vec![0.0; n.div_ceil(unit)];
        Ok(Self { member, shares, last_own: 0..0, unit, costs, send, upload, spent: (0.0, 0) })
    }

    /// Seconds spent copying and waiting for other members, and the number of exchanges, since the
    /// last call.
    pub fn take_spent(&mut self) -> (f64, u64) {
        std::mem::take(&mut self.spent)
    }

    /// Seconds spent copying and waiting for other members since [`Replica::take_spent`].
    pub fn exchanged_secs(&self) -> f64 {
        self.spent.0
    }

    /// The range of sinks that this device computes next, in the method's order.
    pub fn own(&self) -> Range<usize> {
        self.shares[self.member.member()].clone()
    }

    /// Divides the sinks into ranges of equal cost, by the costs of the last step.
    fn balance(&mut self, n: usize) {
        let members = self.shares.len();
        let total: f64 = self.costs.iter().map(|cost| f64::from(*cost)).sum();
        if !(total.is_finite() && total > 0.0) {
            return;
        }
        let (mut before, mut costs) = (0.0, self.costs.iter());
        let (mut units, mut begin) = (0, 0);
        for (member, share) in self.shares.iter_mut().enumerate() {
            let target = total * (member + 1) as f64 / members as f64;
            while let Some(cost) = costs.as_slice().first().map(|cost| f64::from(*cost)) {
                // A unit belongs to the member in whose range its midpoint lies.
                if before + 0.5 * cost >= target {
                    break;
                }
                before += cost;
                units += 1;
                costs.next();
            }
            let end = if member + 1 == members { n } else { (units * self.unit).min(n) };
            *share = begin..end;
            begin = end;
        }
    }
}

impl DeviceState {
    /// Takes up to `steps` steps of `dt`, as [`DeviceState::advance_lockstep`] does.
    ///
    /// # Errors
    /// The device failed; another member aborted.
    pub(in crate::sim) async fn advance_replica(
        &mut self,
        group: &mut Replica,
        (dt, steps): (f64, u64),
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64> {
        let dt = dt / self.frame.time;
        // Each device computes the first force, or ends a step begun in another mode, by itself.
        self.settle().await?;
        self.expect_force_pace();
        let mut done = 0;
        loop {
            let duration = self.step_duration(&mut group.member)?;
            // The exchange above makes all earlier writes to `last` visible to all members.
            let wanted = steps.min(last.load(Ordering::SeqCst));
            let until = wanted.min(done + STEPS_PER_POLL);
            match duration {
                _ if done >= wanted => return Ok(done),
                StepDuration::Stopped => return Ok(done),
                StepDuration::Long => {
                    if !self.advance_replica_long(group, dt, &mut done, last, watch).await? {
                        return Ok(done);
                    }
                }
                StepDuration::Short => {
                    self.advance_replica_short(group, dt, (&mut done, until), last, watch).await?;
                }
            }
        }
    }

    /// [`DeviceState::advance_replica`] until `until` steps are done; the end of each step and the
    /// beginning of the next share a submission.
    async fn advance_replica_short(
        &mut self,
        group: &mut Replica,
        dt: f64,
        (done, until): (&mut u64, u64),
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<()> {
        let mut close_last = None;
        while *done < until.min(last.load(Ordering::SeqCst)) {
            self.compute_own(group, close_last, dt, false).await?;
            *done += 1;
            self.end_step(group, *done, last, watch)?;
            close_last = Some(dt);
        }
        if close_last.is_some() {
            self.close_step(group, dt).await?;
        }
        Ok(())
    }

    /// One long step of [`DeviceState::advance_replica`], which has ended when this returns. If it
    /// is interrupted ([`stop`]) on any device, all devices restore the state before it, and the
    /// result is false.
    async fn advance_replica_long(
        &mut self,
        group: &mut Replica,
        dt: f64,
        done: &mut u64,
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool> {
        let saved = SavedState::of(self);
        let steps_before = self.steps;
        let complete = self.compute_own(group, None, dt, true).await?;
        if !group.member.all_agree(complete)? {
            if complete && !group.own().is_empty() {
                group.send.discard();
            }
            saved.restore(self, steps_before);
            return Ok(false);
        }
        *done += 1;
        self.end_step(group, *done, last, watch)?;
        self.close_step(group, dt).await?;
        Ok(true)
    }

    /// Ends a step of `dt` for which the forces of all members have been received.
    async fn close_step(&mut self, group: &mut Replica, dt: f64) -> Result<()> {
        let (slice, _) = self.submit_own(group, Some(dt), None);
        self.gpu.finish(slice.submission).await?;
        self.phase = Phase::Between;
        Ok(())
    }

    /// Calls `watch` with the number of steps done, and exchanges the forces of the last step.
    fn end_step(
        &mut self,
        group: &mut Replica,
        done: u64,
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<()> {
        // Written before the exchange, so all members see it afterwards.
        if !watch(done) {
            last.fetch_min(done, Ordering::SeqCst);
        }
        self.exchange_forces(group)
    }

    /// Ends the previous step, if `close` gives its length, begins another of `dt`, and computes
    /// the forces of this device's range. Returns false if it was interrupted ([`stop`]), which
    /// only happens with `may_stop`.
    async fn compute_own(
        &mut self,
        group: &mut Replica,
        mut close: Option<f64>,
        dt: f64,
        may_stop: bool,
    ) -> Result<bool> {
        let own = group.own();
        let own = own.start as u32..own.end as u32;
        let restrict_to = |state: &mut Self, own: Option<&Range<u32>>| {
            if let Some(shared) = state.stepper.forces_mut().shared() {
                shared.answer_for(own);
            }
        };
        restrict_to(self, Some(&own));
        let mut in_flight: VecDeque<Submitted> = VecDeque::with_capacity(IN_FLIGHT);
        let begun = Instant::now();
        let mut since = begun;
        let (mut begins, mut complete) = (Some(dt), false);
        let mut stopped = false;
        while !(complete || stopped) || !in_flight.is_empty() {
            if !(complete || stopped) {
                let slice;
                (slice, complete) = self.submit_own(group, close.take(), Some(begins.take()));
                self.phase = Phase::Force { dt };
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
        restrict_to(self, None);
        self.steps += u64::from(complete);
        if complete {
            (self.step_secs, self.since_step) = (Some(begun.elapsed().as_secs_f64()), 0.0);
        }
        Ok(complete)
    }

    /// Submits the end of a step of length `close`, with the received forces, and as much of a
    /// force as the budget allows. `Some(Some(dt))` first begins a step of `dt`; `None` computes no
    /// force. Returns whether the force is complete.
    fn submit_own(
        &mut self,
        group: &mut Replica,
        close: Option<f64>,
        force: Option<Option<f64>>,
    ) -> (Submitted, bool) {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let own = group.own();
        let bytes = |range: Range<usize>| range.start as u64 * VEC4..range.end as u64 * VEC4;
        let own = bytes(own);
        let forces = self.stepper.forces_mut().shared().map(|shared| shared.answers().clone());
        let forces = forces.expect("a group has asked for it");
        let has_received = close.is_some();
        if has_received {
            group.upload.unmap();
            let mine = bytes(group.last_own.clone());
            for others in [0..mine.start, mine.end..forces.size()] {
                let length = others.end - others.start;
                if length > 0 {
                    let from = others.start;
                    encoder.copy_buffer_to_buffer(&group.upload, from, &forces, from, length);
                }
            }
        }
        self.stepper.begin_submission();
        let (mut work, mut complete) = (Work::default(), true);
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some("steps"),
                timestamp_writes: None,
            });
            self.stepper.close_and_open(&mut pass, &self.gpu, close, force.flatten());
            if force.is_some() {
                let (gpu, throughput, budget) = (&self.gpu, &self.throughput, Budget::HEADLESS);
                let request = StepRequest { gpu, throughput, dt: 0.0, steps: 0, budget };
                (work, complete) = self.stepper.force(&mut pass, &request);
            }
        }
        self.stepper.end_submission(&self.gpu);
        let sends = complete && force.is_some() && !own.is_empty();
        if sends {
            let length = own.end - own.start;
            encoder.copy_buffer_to_buffer(&forces, own.start, group.send.buffer(), 0, length);
        }
        let submission = self.gpu.queue.submit([encoder.finish()]);
        // Both buffers are mapped when the submission has completed; the caller waits for it.
        if has_received {
            group.upload.map_async(wgpu::MapMode::Write, .., |_| ());
        }
        if sends {
            group.send.map_after_submit(own.end - own.start);
        }
        self.interactions += work.interactions;
        (Submitted { submission, work }, complete)
    }

    /// Sends this device's forces, receives those of the other members, and divides the sinks of
    /// the next step.
    fn exchange_forces(&mut self, group: &mut Replica) -> Result<()> {
        let begun = Instant::now();
        let failed = |error: wgpu::MapRangeError| {
            Error::Device(format!("cannot copy forces from device to device: {error}"))
        };
        let bytes: Vec<usize> =
            group.shares.iter().map(|share| share.len() * VEC4 as usize).collect();
        let (own, range) = (group.member.member(), group.own());
        {
            let mut upload = group.upload.get_mapped_range_mut(..).map_err(failed)?;
            let (shares, costs, unit) = (&group.shares, &mut group.costs, group.unit);
            let mut at = 0;
            group.send.all_gather(&mut group.member, &bytes, &mut |k, received| {
                if k != own && !received.is_empty() {
                    copy(received, upload.slice(at..at + received.len()));
                }
                at += received.len();
                let first = shares[k].start / unit;
                for (cost, forces) in
                    costs[first..].iter_mut().zip(received.chunks(unit * VEC4 as usize))
                {
                    // The fourth number of the first sink of a unit is the unit's cost.
                    *cost = bytemuck::pod_read_unaligned(&forces[12..16]);
                }
            })?;
        }
        group.last_own = range;
        group.balance(self.buffers.count as usize);
        group.spent.0 += begun.elapsed().as_secs_f64();
        group.spent.1 += 1;
        Ok(())
    }
}
