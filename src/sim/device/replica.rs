//! Steps of a device that has all bodies and moves them all, as others do, but computes a part of the forces: once these
//! are known every one tells the others its part, through the host. For methods whose order of sinks is no order of
//! bodies ([`SharedForces`]), on devices of one kind, which move bodies alike.
//!
//! [`SharedForces`]: crate::forces::SharedForces

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use web_time::Instant;

use super::lockstep::{IN_FLIGHT, copy, others};
use super::long::{ASKED_EVERY, Before, Length};
use super::telling::Telling;
use super::{DeviceState, Phase, Submitted, Wanted, Work};
use crate::error::{Error, Result};
use crate::exchange::{Exchange, Member, shares};
use crate::forces::Budget;
use crate::gpu::layout::VEC4;
use crate::stop;

/// A device's place in a group of such devices, and the memory by which answers come and go.
pub(in crate::sim) struct Replica {
    pub member: Member,
    /// Which sinks each member answers for next, in the forces' own order.
    shares: Vec<Range<usize>>,
    /// What of the answers that are there it has given itself.
    heard_own: Range<usize>,
    /// Parts begin at multiples of this.
    unit: usize,
    /// What each such piece of the sinks has taken last.
    took: Vec<f32>,
    /// Its own answers, on their way to the host.
    telling: Telling,
    /// All answers, of which those of the others are on their way to the device; mapped between two turns.
    up: wgpu::Buffer,
    /// Seconds spent in exchanges since they were asked for last, and how many those were.
    spent: (f64, u64),
}

impl Replica {
    /// For a device with all bodies, and forces that can be shared.
    ///
    /// Errors: a method that cannot be shared; kernels that do not compile.
    pub async fn new(state: &mut DeviceState, member: Member) -> Result<Self> {
        let gpu = state.gpu.clone();
        let n = state.buffers.count as usize;
        let forces = state.stepper.forces_mut();
        if let Some(making) = forces.share(&gpu) {
            making.await?;
        }
        let Some(shared) = forces.shared() else {
            let allowed = "one whose forces several devices can share";
            return Err(Error::value("the method", state.method.name(), allowed));
        };
        let unit = shared.unit();
        let telling = Telling::new(&gpu, n);
        let up = others(&gpu, "others' answers", n);
        let shares = shares(n, &vec![1.0; member.members()], unit);
        let took = vec![0.0; n.div_ceil(unit)];
        Ok(Self { member, shares, heard_own: 0..0, unit, took, telling, up, spent: (0.0, 0) })
    }

    /// Seconds spent waiting for others and copying since this was asked last, and exchanges.
    pub fn take_spent(&mut self) -> (f64, u64) {
        std::mem::take(&mut self.spent)
    }

    /// Seconds spent waiting for others and copying since they were taken last.
    pub fn exchanged_secs(&self) -> f64 {
        self.spent.0
    }

    /// The sinks that this device answers for next, in the forces' own order.
    pub fn own(&self) -> Range<usize> {
        self.shares[self.member.member()].clone()
    }

    /// Cuts the sinks anew, so that each member has as much to do as the others by what they took last.
    fn balance(&mut self, n: usize) {
        let members = self.shares.len();
        let total: f64 = self.took.iter().map(|took| f64::from(*took)).sum();
        if !(total.is_finite() && total > 0.0) {
            return;
        }
        let (mut before, mut pieces) = (0.0, self.took.iter());
        let (mut piece, mut begin) = (0, 0);
        for (member, share) in self.shares.iter_mut().enumerate() {
            let wanted = total * (member + 1) as f64 / members as f64;
            while let Some(took) = pieces.as_slice().first().map(|took| f64::from(*took)) {
                // A piece is whose it is for the most part.
                if before + 0.5 * took >= wanted {
                    break;
                }
                before += took;
                piece += 1;
                pieces.next();
            }
            let end = if member + 1 == members { n } else { (piece * self.unit).min(n) };
            *share = begin..end;
            begin = end;
        }
    }
}

impl DeviceState {
    /// Takes up to `steps` steps of `dt`, as [`DeviceState::advance_with`] does.
    ///
    /// Errors: the device failed; another member gave up.
    pub(in crate::sim) async fn advance_alike(
        &mut self,
        group: &mut Replica,
        (dt, steps): (f64, u64),
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<u64> {
        let dt = dt / self.frame.time;
        // A first force, or a step that another way has begun: this device alone.
        self.settle().await?;
        self.expect_its_pace();
        let mut done = 0;
        loop {
            let length = self.length_of_steps(&mut group.member)?;
            // What was written there before is seen by all since they have asked each other.
            let wanted = steps.min(last.load(Ordering::SeqCst));
            let until = wanted.min(done + ASKED_EVERY);
            match length {
                _ if done >= wanted => return Ok(done),
                Length::None => return Ok(done),
                Length::Long => {
                    if !self.advance_alike_long(group, dt, &mut done, last, watch).await? {
                        return Ok(done);
                    }
                }
                Length::Short => {
                    self.advance_alike_short(group, dt, (&mut done, until), last, watch).await?;
                }
            }
        }
    }

    /// [`DeviceState::advance_alike`] until so many steps are done, the end of each in one submission with the beginning of the
    /// next.
    async fn advance_alike_short(
        &mut self,
        group: &mut Replica,
        dt: f64,
        (done, until): (&mut u64, u64),
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<()> {
        let mut close_last = None;
        while *done < until.min(last.load(Ordering::SeqCst)) {
            self.answer(group, close_last, dt, false).await?;
            *done += 1;
            self.end_step(group, *done, last, watch)?;
            close_last = Some(dt);
        }
        if close_last.is_some() {
            self.close_step(group, dt).await?;
        }
        Ok(())
    }

    /// One step of [`DeviceState::advance_alike`] where a step takes long: it has ended before this returns, and if it is broken
    /// off ([`stop`]) on any device it has not been on any. Whether it was not.
    async fn advance_alike_long(
        &mut self,
        group: &mut Replica,
        dt: f64,
        done: &mut u64,
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<bool> {
        let before = Before::of(self);
        let steps_before = self.steps;
        let complete = self.answer(group, None, dt, true).await?;
        if !group.member.all_agree(complete)? {
            if complete && !group.own().is_empty() {
                group.telling.forget();
            }
            before.restore(self, steps_before);
            return Ok(false);
        }
        *done += 1;
        self.end_step(group, *done, last, watch)?;
        self.close_step(group, dt).await?;
        Ok(true)
    }

    /// Ends a step of `dt` whose forces all have answered.
    async fn close_step(&mut self, group: &mut Replica, dt: f64) -> Result<()> {
        let (slice, _) = self.submit_answer(group, Some(dt), None);
        self.gpu.finish(slice.submission).await?;
        self.phase = Phase::Between;
        Ok(())
    }

    /// Shows `watch` how many steps are done, and exchanges the answers of the last.
    fn end_step(
        &mut self,
        group: &mut Replica,
        done: u64,
        last: &AtomicU64,
        watch: &mut dyn FnMut(u64) -> bool,
    ) -> Result<()> {
        // Said before the exchange, and so heard by all after it.
        if !watch(done) {
            last.fetch_min(done, Ordering::SeqCst);
        }
        self.exchange_answers(group)
    }

    /// Ends the step before, if it has not ended, begins another one of `dt`, and computes its own part of the force. If it
    /// may be broken off ([`stop`]): whether it was not.
    async fn answer(
        &mut self,
        group: &mut Replica,
        mut close: Option<f64>,
        dt: f64,
        may_stop: bool,
    ) -> Result<bool> {
        let own = group.own();
        let own = own.start as u32..own.end as u32;
        let answer_for = |state: &mut Self, own: Option<&Range<u32>>| {
            if let Some(shared) = state.stepper.forces_mut().shared() {
                shared.answer_for(own);
            }
        };
        answer_for(self, Some(&own));
        let mut flying: VecDeque<Submitted> = VecDeque::with_capacity(IN_FLIGHT);
        let begun = Instant::now();
        let mut since = begun;
        let (mut begins, mut complete) = (Some(dt), false);
        let mut stopped = false;
        while !(complete || stopped) || !flying.is_empty() {
            if !(complete || stopped) {
                let slice;
                (slice, complete) = self.submit_answer(group, close.take(), Some(begins.take()));
                self.phase = Phase::Force { dt };
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
        answer_for(self, None);
        self.steps += u64::from(complete);
        if complete {
            (self.step_secs, self.since_step) = (Some(begun.elapsed().as_secs_f64()), 0.0);
        }
        Ok(complete)
    }

    /// Submits the end of a step, with the answers that were heard, and as much as the budget allows of a force, with the
    /// beginning of a step before it; whether the force is complete.
    fn submit_answer(
        &mut self,
        group: &mut Replica,
        close: Option<f64>,
        force: Option<Option<f64>>,
    ) -> (Submitted, bool) {
        let mut encoder = self.gpu.device.create_command_encoder(&Default::default());
        let own = group.own();
        let bytes = |range: Range<usize>| range.start as u64 * VEC4..range.end as u64 * VEC4;
        let own = bytes(own);
        let answers = self.stepper.forces_mut().shared().map(|shared| shared.answers().clone());
        let answers = answers.expect("a group has asked for it");
        let has_heard = close.is_some();
        if has_heard {
            group.up.unmap();
            let mine = bytes(group.heard_own.clone());
            for others in [0..mine.start, mine.end..answers.size()] {
                let length = others.end - others.start;
                if length > 0 {
                    let from = others.start;
                    encoder.copy_buffer_to_buffer(&group.up, from, &answers, from, length);
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
            self.stepper.pass_on(&mut pass, &self.gpu, close, force.flatten());
            if force.is_some() {
                let (gpu, throughput, budget) = (&self.gpu, &self.throughput, Budget::HEADLESS);
                let wanted = Wanted { gpu, throughput, dt: 0.0, steps: 0, budget };
                (work, complete) = self.stepper.force(&mut pass, &wanted);
            }
        }
        self.stepper.end_submission(&self.gpu);
        let has_answered = complete && force.is_some() && !own.is_empty();
        if has_answered {
            let length = own.end - own.start;
            encoder.copy_buffer_to_buffer(&answers, own.start, group.telling.buffer(), 0, length);
        }
        let submission = self.gpu.queue.submit([encoder.finish()]);
        // They are mapped once the submission is done, which is waited for.
        if has_heard {
            group.up.map_async(wgpu::MapMode::Write, .., |_| ());
        }
        if has_answered {
            group.telling.bring(own.end - own.start);
        }
        self.interactions += work.interactions;
        (Submitted { submission, work }, complete)
    }

    /// Tells the others this device's answers, hears theirs, and shares out the sinks of the next step.
    fn exchange_answers(&mut self, group: &mut Replica) -> Result<()> {
        let begun = Instant::now();
        let failed = |error: wgpu::MapRangeError| {
            Error::Device(format!("cannot copy forces from device to device: {error}"))
        };
        let bytes: Vec<usize> =
            group.shares.iter().map(|share| share.len() * VEC4 as usize).collect();
        let (own, range) = (group.member.member(), group.own());
        {
            let mut up = group.up.get_mapped_range_mut(..).map_err(failed)?;
            let (shares, took, unit) = (&group.shares, &mut group.took, group.unit);
            let mut at = 0;
            group.telling.tell(&mut group.member, &bytes, &mut |k, told| {
                if k != own && !told.is_empty() {
                    copy(told, up.slice(at..at + told.len()));
                }
                at += told.len();
                let first = shares[k].start / unit;
                for (took, answers) in
                    took[first..].iter_mut().zip(told.chunks(unit * VEC4 as usize))
                {
                    *took = bytemuck::pod_read_unaligned(&answers[12..16]);
                }
            })?;
        }
        group.heard_own = range;
        group.balance(self.buffers.count as usize);
        group.spent.0 += begun.elapsed().as_secs_f64();
        group.spent.1 += 1;
        Ok(())
    }
}
