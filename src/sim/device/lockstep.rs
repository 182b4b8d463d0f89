//! Steps of a device in a group. Each device moves a range of the bodies and sends their positions,
//! through the host, after each drift.
//!
//! The work between two exchanges is a turn, in one submission if it is short: the force, the end of
//! the step, and the beginning of the next.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::wall_clock::Instant;

use super::advance::IN_FLIGHT;
use super::long::SavedMotion;
use super::range_exchange::RangeExchange;
use super::{DeviceState, Phase, SubmissionRequest, Submitted, Work};
use crate::error::Result;
use crate::exchange::{Exchange, Member};
use crate::forces::Budget;
use crate::gpu::layout::VEC4;
use crate::gpu::{begin_computing, read_part};
use crate::stop;

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
        exchange: &mut RangeExchange,
        (dt, steps): (f64, u64),
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64> {
        let mut advance = Advance { dt: dt / self.frame.time, done: 0, last, watch };
        loop {
            let duration = self.step_duration(&mut exchange.member)?;
            // The exchange above makes all earlier writes to `last` visible to all members.
            let target = steps.min(last.load(Ordering::SeqCst));
            match duration {
                _ if advance.done > 0 && advance.done >= target => return Ok(advance.done),
                StepDuration::Stopped => return Ok(advance.done),
                StepDuration::Long => {
                    if !self.take_long_step(exchange, &mut advance, target).await? {
                        return Ok(advance.done);
                    }
                }
                StepDuration::Short => {
                    self.take_short_steps(exchange, &mut advance, target).await?;
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
        exchange: &mut RangeExchange,
        advance: &mut Advance<'_>,
        until: u64,
    ) -> Result<()> {
        loop {
            let ends = u64::from(matches!(self.phase, Phase::Force { dt } if dt != 0.0));
            let target = until.min(advance.last.load(Ordering::SeqCst));
            let next = (advance.done + ends < target).then_some(advance.dt);
            if self.phase == Phase::Between && next.is_none() {
                return Ok(());
            }
            self.turn(exchange, next, false).await?;
            advance.done += ends;
            if ends > 0 {
                advance.report(u64::from(next.is_some()));
            }
            if next.is_some() {
                exchange.exchange()?;
            }
        }
    }

    /// One long step, if fewer than `target` are done; it has ended when this returns. If it is
    /// interrupted ([`stop`]) on any device, all devices restore the state before it, and the
    /// result is false.
    async fn take_long_step(
        &mut self,
        exchange: &mut RangeExchange,
        advance: &mut Advance<'_>,
        target: u64,
    ) -> Result<bool> {
        if self.phase != Phase::Between {
            self.turn(exchange, None, false).await?;
        }
        if advance.done >= target {
            return Ok(true);
        }
        let (saved, steps_before) = (SavedMotion::of(self), self.steps);
        self.turn(exchange, Some(advance.dt), false).await?;
        exchange.exchange()?;
        let complete = self.turn(exchange, None, true).await?;
        if !exchange.member.all_agree(complete)? {
            saved.restore(self, steps_before);
            return Ok(false);
        }
        advance.done += 1;
        advance.report(0);
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
        exchange: &mut RangeExchange,
        next: Option<f64>,
        may_stop: bool,
    ) -> Result<bool> {
        let mut in_flight: VecDeque<Submitted> = VecDeque::with_capacity(IN_FLIGHT);
        let mut since = Instant::now();
        let (mut complete, mut stopped) = (false, false);
        while !(complete || stopped) || !in_flight.is_empty() {
            // The first slice uploads what was received, so it is submitted before the first check
            // for a stop.
            if !(complete || stopped) {
                let slice;
                (slice, complete) = self.submit_turn(exchange, next);
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
                exchange.member.poll_stop();
            }
        }
        Ok(complete)
    }

    /// Submits as much of a turn as the budget allows; true if the turn is complete.
    fn submit_turn(
        &mut self,
        exchange: &mut RangeExchange,
        next: Option<f64>,
    ) -> (Submitted, bool) {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        exchange.record_received(&mut encoder, &self.buffers.position_mass);
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
            if begun.is_some() {
                (work, complete) = self.stepper.force(&mut pass, &request);
            }
            if complete {
                // The first force of the run is the end of a step of length 0 and does not count as
                // a step.
                work.steps = u64::from(begun.is_some_and(|dt| dt != 0.0));
                work.dispatches += self.stepper.end_and_begin(gpu, &mut pass, begun, next);
                self.phase = after;
            }
        }
        self.stepper.end_submission(&self.gpu);
        if complete && next.is_some() {
            exchange.record_send(&mut encoder, &self.buffers.position_mass);
        }
        let submission = self.gpu.queue.submit([encoder.finish()]);
        exchange.submitted();
        self.interactions += work.interactions;
        self.steps += work.steps;
        (Submitted { submission, work }, complete)
    }

    /// All-gathers velocities and accelerations, of which each member has only its range, so that
    /// this device can be read and rendered from as if it had moved all bodies.
    pub(in crate::sim) async fn gather(&mut self, exchange: &mut RangeExchange) -> Result<()> {
        let both = [&self.buffers.velocity, &self.buffers.acceleration];
        let sinks = self.sinks();
        let read = read_part::<[f32; 4]>(&self.gpu, &both, sinks.clone()).await?;
        for (buffer, own) in both.into_iter().zip(&read) {
            let all = exchange.gather(own)?;
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
