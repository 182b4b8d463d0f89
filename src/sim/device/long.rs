//! Long steps can be interrupted: the bodies are then restored to the beginning of the step.
//!
//! Members of a group decide together whether steps take long and whether to stop: a rank that
//! receives a request to stop passes it on, and all restore a step that one of them has not
//! finished. For all pairs the number of interactions says whether steps take long; for a tree the
//! clock does (`forces/throughput.rs`).

use super::DeviceState;
#[cfg(not(target_arch = "wasm32"))]
use super::Phase;
#[cfg(not(target_arch = "wasm32"))]
use crate::{
    error::Result,
    exchange::{Exchange, Member},
    gpu::storage,
    stop,
};

/// Longer steps are interrupted on request ([`crate::stop`]); shorter ones are finished first.
pub(super) const LONG_STEP_SECS: f64 = 0.3;

/// Positions, velocities and accelerations before a step that several devices take.
#[cfg(not(target_arch = "wasm32"))]
pub(super) struct SavedState {
    motion: [wgpu::Buffer; 3],
}

/// Number of short steps after which the devices exchange the duration of their steps again, for
/// methods whose cost depends on where the bodies are.
#[cfg(not(target_arch = "wasm32"))]
pub(super) const STEPS_PER_POLL: u64 = 64;

/// The end of shorter steps is polled for: the other devices wait for this one, and waking a
/// sleeping thread takes some 100 µs.
#[cfg(not(target_arch = "wasm32"))]
const SHORT_STEP_SECS: f64 = 0.005;

/// How long the next steps of a group take.
#[cfg(not(target_arch = "wasm32"))]
pub(super) enum StepDuration {
    Short,
    /// Steps are interrupted on request.
    Long,
    /// A request to stop came between two steps: none is taken.
    Stopped,
}

impl DeviceState {
    /// The duration of steps, agreed by all members: long if it is long for one of them.
    ///
    /// # Errors
    /// Another member aborted.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn step_duration(&self, member: &mut Member) -> Result<StepDuration> {
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

    /// Whether a step takes longer than [`LONG_STEP_SECS`]: by the number of interactions, or by
    /// the last step if the cost of interactions varies (true before the first).
    pub(super) fn takes_long_steps(&self) -> bool {
        let forces = self.stepper.forces();
        let is_long = |secs: f64| secs > LONG_STEP_SECS;
        match forces.is_even() {
            true => is_long(self.throughput.secs(forces.interactions(), 2)),
            false => self.step_secs.is_none_or(is_long),
        }
    }

    /// Waits for `submission`; polls instead of sleeping if it is the `last` of a turn and steps
    /// are short.
    ///
    /// # Errors
    /// The device was lost.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) async fn finish_last(
        &self,
        submission: wgpu::SubmissionIndex,
        last: bool,
    ) -> Result<()> {
        let is_short = self.step_secs.is_some_and(|secs| secs < SHORT_STEP_SECS);
        if last && is_short {
            let patience = std::time::Duration::from_secs_f64(2.0 * SHORT_STEP_SECS);
            return self.gpu.finish_soon(submission, patience).await;
        }
        self.gpu.finish(submission).await
    }

    /// Lets the throughput follow a varying cost of interactions, if the method's does vary; for
    /// callers that wait for whole steps.
    pub(super) fn expect_force_pace(&mut self) {
        if !self.stepper.forces().is_even() {
            self.throughput.expect_uneven();
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl SavedState {
    /// Saves `state`, between two steps.
    pub fn of(state: &DeviceState) -> Self {
        let n = state.buffers.count as usize;
        let motion = std::array::from_fn(|_| storage(&state.gpu, "bodies before a step", n));
        let saved = Self { motion };
        saved.copy(state, true);
        saved
    }

    /// Restores the bodies as saved after `steps` steps of the run. Accelerations are restored too,
    /// since some devices may have ended the step and overwritten theirs.
    pub fn restore(&self, state: &mut DeviceState, steps: u64) {
        self.copy(state, false);
        state.stepper.restart_force();
        state.stepper.begin_step(steps + 1);
        state.steps = steps;
        state.phase = Phase::Between;
    }

    fn copy(&self, state: &DeviceState, save: bool) {
        let mut encoder = state.gpu.device.create_command_encoder(&Default::default());
        let buffers = &state.buffers;
        let now = [&buffers.position_mass, &buffers.velocity, &buffers.acceleration];
        for (now, then) in now.into_iter().zip(&self.motion) {
            let (from, to) = if save { (now, then) } else { (then, now) };
            encoder.copy_buffer_to_buffer(from, 0, to, 0, now.size());
        }
        state.gpu.queue.submit([encoder.finish()]);
    }
}
