//! Steps of a device in a group. The devices exchange, through the host and once per step, either
//! positions or forces:
//!
//! - Each device moves a range of the bodies and sends their positions after each drift.
//! - Replicas: each device holds and moves all bodies but computes the forces of one range of
//!   sinks, which it sends. This serves methods that order the sinks otherwise than the bodies
//!   ([`SharedForces`]), on devices of one kind, which integrate to the same bits. With the tree,
//!   each device builds the whole tree and walks a range of the groups along the curve. The cost of
//!   each group's walk, which is sent along, determines the ranges of the next step.
//!
//! The work between two exchanges is a turn, in one submission if it is short:
//!
//! ```text
//! ranges of bodies    force, end of the step, beginning of the next
//! replicas            end of the step with the received forces, beginning of the next, force
//! ```
//!
//! [`SharedForces`]: crate::forces::SharedForces

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::wall_clock::Instant;

use super::advance::IN_FLIGHT;
use super::long::SavedMotion;
use super::range_exchange::RangeExchange;
use super::{DeviceState, Phase, SubmissionRequest, Submitted, Work};
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Member, shares};
use crate::forces::Budget;
use crate::gpu::layout::VEC4;
use crate::gpu::{Share, begin_computing, read_part};
use crate::stop;

/// Number of short steps after which the devices exchange the duration of their steps again, for
/// methods whose cost depends on where the bodies are.
const STEPS_PER_POLL: u64 = 64;

/// The end of shorter steps is polled for: the other devices wait for this one, and waking a
/// sleeping thread takes some 100 µs.
const SHORT_STEP_SECS: f64 = 0.005;

/// How long the next steps of a group take.
enum StepDuration {
    Short,
    /// Steps are interrupted on request.
    Long,
    /// A request to stop came between two steps: none is taken.
    Stopped,
}

/// A device's role in a group.
pub(in crate::sim) struct GroupMember {
    pub exchange: RangeExchange,
    /// Present if each device moves all bodies; the ranges are then of the forces.
    replica: Option<LoadBalance>,
}

/// Measured costs, by which the forces are divided among replicas.
struct LoadBalance {
    /// Ranges begin at multiples of this.
    unit: usize,
    /// The last cost of each `unit` of sinks, as the method counts it.
    costs: Vec<f32>,
}

impl GroupMember {
    /// The role of a device that moves its range of the bodies.
    pub fn of_range(state: &DeviceState, member: Member, ranges: Vec<Range<usize>>) -> Self {
        let sizes = [state.buffers.count as usize, state.sinks().len()];
        let exchange = RangeExchange::new(&state.gpu, member, ranges, sizes);
        Self { exchange, replica: None }
    }

    /// The role of a device that moves all bodies.
    ///
    /// # Errors
    /// A method whose forces cannot be shared; kernels that do not compile.
    pub async fn replica(state: &mut DeviceState, member: Member) -> Result<Self> {
        let gpu = state.gpu.clone();
        let n = state.buffers.count as usize;
        let Some(shared) = state.stepper.forces.shared() else {
            let allowed = "one whose forces several devices can share";
            return Err(Error::value("the method", state.method.name(), allowed));
        };
        shared.prepare(&gpu).await?;
        let unit = shared.unit();
        let ranges = shares(n, &vec![1.0; member.members()], unit);
        let exchange = RangeExchange::new(&gpu, member, ranges, [n, n]);
        let costs = vec![0.0; n.div_ceil(unit)];
        Ok(Self { exchange, replica: Some(LoadBalance { unit, costs }) })
    }

    /// Whether each device moves all bodies.
    pub fn is_replica(&self) -> bool {
        self.replica.is_some()
    }

    /// The share of this device.
    pub fn share(&self) -> Share {
        let own = self.exchange.own();
        if self.is_replica() { Share::Curve(own) } else { Share::Bodies(own) }
    }

    /// Sends what this device has computed in a turn and receives that of the others; divides the
    /// forces of the next step among replicas.
    fn exchange(&mut self) -> Result<()> {
        let Self { exchange, replica } = self;
        let Some(LoadBalance { unit, costs }) = replica else {
            return exchange.exchange(&mut |_, _| ());
        };
        let ranges = exchange.ranges.clone();
        exchange.exchange(&mut |k, received| {
            let first = ranges[k].start / *unit;
            let units = received.chunks(*unit * VEC4 as usize);
            for (cost, forces) in costs[first..].iter_mut().zip(units) {
                // The fourth number of the first sink of a unit is the unit's cost.
                *cost = bytemuck::pod_read_unaligned(&forces[12..16]);
            }
        })?;
        balance(&mut exchange.ranges, costs, *unit);
        Ok(())
    }
}

/// Divides the sinks into ranges of equal cost, by the costs of the last step.
fn balance(ranges: &mut [Range<usize>], costs: &[f32], unit: usize) {
    let n = ranges.last().map_or(0, |range| range.end);
    let members = ranges.len();
    let total: f64 = costs.iter().map(|cost| f64::from(*cost)).sum();
    if !(total.is_finite() && total > 0.0) {
        return;
    }
    let (mut before, mut costs) = (0.0, costs.iter().map(|cost| f64::from(*cost)).peekable());
    let (mut units, mut begin) = (0, 0);
    for (member, range) in ranges.iter_mut().enumerate() {
        let target = total * (member + 1) as f64 / members as f64;
        // A unit belongs to the member in whose range its midpoint lies.
        while let Some(cost) = costs.next_if(|cost| before + 0.5 * cost < target) {
            before += cost;
            units += 1;
        }
        let end = if member + 1 == members { n } else { (units * unit).min(n) };
        *range = begin..end;
        begin = end;
    }
}

/// An advance of a group: the length of its steps in the frame's unit of time, and its progress.
struct Advance<'a> {
    dt: f64,
    done: u64,
    /// The number of the last step, written by the member that is watched.
    last: &'a AtomicU64,
    watch: &'a mut dyn FnMut(u64) -> bool,
}

impl Advance<'_> {
    /// Reports the steps done. If the advance is to end, `begun` further steps are the last ones.
    /// Called before an exchange, which makes the decision visible to all members.
    fn report(&mut self, begun: u64) {
        if !(self.watch)(self.done) {
            self.last.fetch_min(self.done + begun, Ordering::SeqCst);
        }
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
    pub(in crate::sim) async fn advance_in_group(
        &mut self,
        group: &mut GroupMember,
        (dt, steps): (f64, u64),
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64> {
        if group.is_replica() {
            // Each device computes the first force, or ends a step begun in another mode, by
            // itself.
            self.settle().await?;
            self.expect_force_pace();
        }
        let mut advance = Advance { dt: dt / self.frame.time, done: 0, last, watch };
        loop {
            let duration = self.step_duration(&mut group.exchange.member)?;
            // The exchange above makes all earlier writes to `last` visible to all members.
            let target = steps.min(last.load(Ordering::SeqCst));
            match duration {
                _ if advance.done > 0 && advance.done >= target => return Ok(advance.done),
                StepDuration::Stopped => return Ok(advance.done),
                StepDuration::Long => {
                    if !self.take_long_step(group, &mut advance, target).await? {
                        return Ok(advance.done);
                    }
                }
                StepDuration::Short => {
                    let until = match self.stepper.forces.is_even() {
                        true => target,
                        false => target.min(advance.done + STEPS_PER_POLL),
                    };
                    self.take_short_steps(group, &mut advance, until).await?;
                }
            }
            if advance.done >= steps {
                return Ok(advance.done);
            }
        }
    }

    /// Steps up to step `until`; the end of each and the beginning of the next share a turn.
    async fn take_short_steps(
        &mut self,
        group: &mut GroupMember,
        advance: &mut Advance<'_>,
        until: u64,
    ) -> Result<()> {
        loop {
            // A turn of a replica computes the force of the step that it begins, else of the one
            // that it ends: that step is then done.
            let is_in_step = matches!(self.phase, Phase::Force { dt } if dt != 0.0);
            let ends = u64::from(is_in_step && !group.is_replica());
            let target = until.min(advance.last.load(Ordering::SeqCst));
            let next = (advance.done + ends < target).then_some(advance.dt);
            if self.phase == Phase::Between && next.is_none() {
                return Ok(());
            }
            self.turn(group, next, false).await?;
            let begins = u64::from(next.is_some());
            let (ends, begun) = if group.is_replica() { (begins, 0) } else { (ends, begins) };
            advance.done += ends;
            if ends > 0 {
                advance.report(begun);
            }
            if next.is_some() {
                group.exchange()?;
            }
        }
    }

    /// One long step, if fewer than `target` are done; it has ended when this returns. If it is
    /// interrupted ([`stop`]) on any device, all devices restore the state before it, and the
    /// result is false.
    async fn take_long_step(
        &mut self,
        group: &mut GroupMember,
        advance: &mut Advance<'_>,
        target: u64,
    ) -> Result<bool> {
        if self.phase != Phase::Between {
            self.turn(group, None, false).await?;
        }
        if advance.done >= target {
            return Ok(true);
        }
        let (saved, steps_before) = (SavedMotion::of(self), self.steps);
        let (dt, is_replica) = (advance.dt, group.is_replica());
        if !is_replica {
            self.turn(group, Some(dt), false).await?;
            group.exchange()?;
        }
        let complete = self.turn(group, is_replica.then_some(dt), true).await?;
        if !group.exchange.member.all_agree(complete)? {
            if is_replica && complete {
                group.exchange.discard();
            }
            saved.restore(self, steps_before);
            return Ok(false);
        }
        advance.done += 1;
        advance.report(0);
        if is_replica {
            group.exchange()?;
            self.turn(group, None, false).await?;
        }
        Ok(true)
    }

    /// The duration of steps, agreed by all members: long if it is long for one of them.
    fn step_duration(&self, member: &mut Member) -> Result<StepDuration> {
        let mine = match self.phase == Phase::Between && stop::is_wanted() {
            true => 2,
            false => u8::from(self.takes_long_steps()),
        };
        Ok(match member.greatest(mine)? {
            0 => StepDuration::Short,
            1 => StepDuration::Long,
            _ => StepDuration::Stopped,
        })
    }

    /// Waits for `submission`; polls instead of sleeping if it is the `last` of a turn and steps
    /// are short.
    async fn finish_last(&self, submission: wgpu::SubmissionIndex, last: bool) -> Result<()> {
        let is_short = self.step_secs.is_some_and(|secs| secs < SHORT_STEP_SECS);
        if last && is_short {
            let patience = std::time::Duration::from_secs_f64(2.0 * SHORT_STEP_SECS);
            return self.gpu.finish_within(submission, patience).await;
        }
        self.gpu.finish(submission).await
    }

    /// A turn: ends the step that has begun, and begins another of length `next`, if given. Returns
    /// false if it was interrupted ([`stop`]), which only happens with `may_stop`.
    async fn turn(
        &mut self,
        group: &mut GroupMember,
        next: Option<f64>,
        may_stop: bool,
    ) -> Result<bool> {
        // The forces of the step that begins, of which this device computes a range.
        let computes_range = group.is_replica() && next.is_some();
        let own = group.exchange.own();
        self.restrict_forces(computes_range.then_some(own.start as u32..own.end as u32));
        let mut in_flight: VecDeque<Submitted> = VecDeque::with_capacity(IN_FLIGHT);
        let begun = Instant::now();
        let mut since = begun;
        let (mut is_first, mut complete, mut stopped) = (true, false, false);
        while !(complete || stopped) || !in_flight.is_empty() {
            // The first slice uploads what was received, so it is submitted before the first check
            // for a stop.
            if !(complete || stopped) {
                let slice;
                (slice, complete) = self.submit_turn(group, next, is_first);
                is_first = false;
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
                group.exchange.member.poll_stop();
            }
        }
        self.restrict_forces(None);
        if computes_range && complete {
            self.steps += 1;
            (self.step_secs, self.since_step) = (Some(begun.elapsed().as_secs_f64()), 0.0);
        }
        Ok(complete)
    }

    /// Restricts the next forces to a range of the sinks in the method's order, if it has one.
    fn restrict_forces(&mut self, sinks: Option<Range<u32>>) {
        if let Some(shared) = self.stepper.forces.shared() {
            shared.answer_for(sinks.as_ref());
        }
    }

    /// Submits as much of a turn as the budget allows; true if the turn is complete.
    fn submit_turn(
        &mut self,
        group: &mut GroupMember,
        next: Option<f64>,
        is_first: bool,
    ) -> (Submitted, bool) {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let exchanged = match self.stepper.forces.shared().filter(|_| group.is_replica()) {
            Some(shared) => shared.answers().clone(),
            None => self.buffers.position_mass.clone(),
        };
        group.exchange.record_received(&mut encoder, &exchanged);
        let begun = match self.phase {
            Phase::Force { dt } => Some(dt),
            Phase::Between => None,
        };
        let after = next.map_or(Phase::Between, |dt| Phase::Force { dt });
        let (gpu, throughput, budget) = (&self.gpu, &self.throughput, Budget::HEADLESS);
        let request = SubmissionRequest { gpu, throughput, dt: 0.0, steps: 0, budget };
        let (mut work, mut complete) = (Work::default(), true);
        self.stepper.begin_submission();
        {
            let mut pass = begin_computing(&mut encoder, "steps");
            if group.is_replica() {
                if is_first {
                    if let (Some(_), Some(shared)) = (begun, self.stepper.forces.shared()) {
                        shared.take_answers(gpu, &mut pass);
                    }
                    self.stepper.end_and_begin(gpu, &mut pass, begun, next);
                    self.phase = after;
                }
                if next.is_some() {
                    // The step is counted when its force is complete, not by the slice: the pace at
                    // which a tree is rebuilt must not depend on one device's clock.
                    (work, complete) = self.stepper.force(&mut pass, &request);
                }
            } else {
                if begun.is_some() {
                    (work, complete) = self.stepper.force(&mut pass, &request);
                }
                if complete {
                    // The first force of the run is the end of a step of length 0 and does not
                    // count as a step.
                    work.steps = u64::from(begun.is_some_and(|dt| dt != 0.0));
                    work.dispatches += self.stepper.end_and_begin(gpu, &mut pass, begun, next);
                    self.phase = after;
                }
            }
        }
        self.stepper.end_submission(&self.gpu);
        if complete && next.is_some() {
            group.exchange.record_send(&mut encoder, &exchanged);
        }
        let submission = self.gpu.queue.submit([encoder.finish()]);
        group.exchange.submitted();
        self.interactions += work.interactions;
        self.steps += work.steps;
        (Submitted { submission, work }, complete)
    }

    /// All-gathers velocities and accelerations, of which each member has only its range, so that
    /// this device can be read and rendered from as if it had moved all bodies.
    pub(in crate::sim) async fn gather(&mut self, group: &mut GroupMember) -> Result<()> {
        let both = [&self.buffers.velocity, &self.buffers.acceleration];
        let sinks = self.sinks();
        let read = read_part::<[f32; 4]>(&self.gpu, &both, sinks.clone()).await?;
        for (buffer, own) in both.into_iter().zip(&read) {
            let all = group.exchange.gather(own)?;
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
