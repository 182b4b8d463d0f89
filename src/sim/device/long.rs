//! Steps that take long are broken off where that is asked for: the bodies go back to where the step began.

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

/// Steps that take longer are broken off where that is asked for ([`crate::stop`]); the others are finished.
pub(super) const LONG_STEP_SECS: f64 = 0.3;

/// The bodies before a step that several devices take: positions, velocities and accelerations.
#[cfg(not(target_arch = "wasm32"))]
pub(super) struct Before {
    motion: [wgpu::Buffer; 3],
}

/// After so many short steps devices ask each other again how long they take, if that changes with where the bodies are.
#[cfg(not(target_arch = "wasm32"))]
pub(super) const ASKED_EVERY: u64 = 64;

/// The end of shorter steps is awaited awake: others wait for this device, and being woken takes some 100 µs.
#[cfg(not(target_arch = "wasm32"))]
const SHORT_STEP_SECS: f64 = 0.005;

/// How long the next steps of several devices take.
#[cfg(not(target_arch = "wasm32"))]
pub(super) enum Length {
    Short,
    /// So that one is broken off where that is asked for.
    Long,
    /// It is asked for already, between two steps.
    None,
}

impl DeviceState {
    /// How long steps take, as all members know it: long for all if they are for one.
    ///
    /// Errors: another member gave up.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn length_of_steps(&self, member: &mut Member) -> Result<Length> {
        let mine = match self.phase == Phase::Between && stop::is_wanted() {
            true => 2,
            false => u8::from(self.takes_long_steps()),
        };
        Ok(match member.greatest(mine)? {
            0 => Length::Short,
            1 => Length::Long,
            _ => Length::None,
        })
    }

    /// Whether a step takes long, as far as is known: by what it counts for, or by the last one where that tells little; who
    /// has seen none yet expects the worst.
    pub(super) fn takes_long_steps(&self) -> bool {
        let forces = self.stepper.forces();
        let is_long = |secs: f64| secs > LONG_STEP_SECS;
        match forces.is_even() {
            true => is_long(self.throughput.secs(forces.interactions(), 2)),
            false => self.step_secs.is_none_or(is_long),
        }
    }

    /// Waits for `submission`, which is the `last` of a turn or has another behind it.
    ///
    /// Errors: the device was lost.
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

    /// Makes the pace that of the forces, for who waits for whole steps.
    pub(super) fn expect_its_pace(&mut self) {
        if !self.stepper.forces().is_even() {
            self.throughput.expect_uneven();
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Before {
    /// Those of `state`, between two steps.
    pub fn of(state: &DeviceState) -> Self {
        let n = state.buffers.count as usize;
        let motion = std::array::from_fn(|_| storage(&state.gpu, "bodies before a step", n));
        let before = Self { motion };
        before.copy(state, true);
        before
    }

    /// Takes the bodies back to where they were saved after `steps` steps of the run. Some devices may have ended the
    /// step, and have other accelerations by now.
    pub fn restore(&self, state: &mut DeviceState, steps: u64) {
        self.copy(state, false);
        state.stepper.begin_force_again();
        state.stepper.forces_mut().begin_step(steps + 1);
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
