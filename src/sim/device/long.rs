//! Long steps can be interrupted: the bodies are then restored to the beginning of the step.
//!
//! Members of a group decide together whether steps take long and whether to stop (`lockstep.rs`):
//! a rank that receives a request to stop passes it on, and all restore a step that one of them has
//! not finished. For all pairs the number of interactions says whether steps take long; for a tree
//! the clock does (`forces/throughput.rs`).

use super::{DeviceState, Phase};
use crate::gpu::storage;

/// Longer steps are interrupted on request ([`crate::stop`]); shorter ones are finished first.
const LONG_STEP_SECS: f64 = 0.3;

impl DeviceState {
    /// Whether a step takes longer than [`LONG_STEP_SECS`]: by the number of interactions, or by
    /// the last step if the cost of interactions varies (true before the first).
    pub(super) fn takes_long_steps(&self) -> bool {
        let forces = &self.stepper.forces;
        let is_long = |secs: f64| secs > LONG_STEP_SECS;
        match forces.is_even() {
            true => is_long(self.throughput.secs(forces.interactions(), 2)),
            false => self.step_secs.is_none_or(is_long),
        }
    }

    /// Lets the throughput follow a varying cost of interactions, if the method's does vary; for
    /// callers that wait for whole steps.
    pub(super) fn expect_force_pace(&mut self) {
        if !self.stepper.forces.is_even() {
            self.throughput.expect_uneven();
        }
    }
}

/// Positions, velocities and accelerations before a step.
pub(super) struct SavedMotion([wgpu::Buffer; 3]);

impl DeviceState {
    /// Saves the present motion, between two steps.
    pub(in crate::sim) fn save_motion(&mut self) {
        match &self.saved {
            Some((motion, _)) => motion.save(self),
            None => self.saved = Some((SavedMotion::of(self), 0)),
        }
        let steps = self.steps;
        self.saved.iter_mut().for_each(|(_, before)| *before = steps);
    }

    /// Restores the motion saved last, if any.
    pub(in crate::sim) fn restore_motion(&mut self) {
        if let Some((motion, steps)) = self.saved.take() {
            self.forget_combined();
            motion.restore(self, steps);
            self.saved = Some((motion, steps));
        }
    }
}

impl SavedMotion {
    /// Saves the motion of `state`, between two steps.
    pub fn of(state: &DeviceState) -> Self {
        let n = state.buffers.count as usize;
        let saved = Self(std::array::from_fn(|_| storage(&state.gpu, "bodies before a step", n)));
        saved.save(state);
        saved
    }

    /// Saves a later motion of the same bodies.
    pub fn save(&self, state: &DeviceState) {
        self.copy(state, true);
    }

    /// Restores the bodies as saved after `steps` steps of the run. Accelerations are restored too,
    /// since some devices may have ended the step and overwritten theirs.
    pub fn restore(&self, state: &mut DeviceState, steps: u64) {
        self.copy(state, false);
        state.stepper.forces.restart();
        state.stepper.begin_step(steps + 1);
        state.steps = steps;
        state.phase = Phase::Between;
    }

    /// The accelerations' buffer also holds the low bits of positions and velocities.
    fn copy(&self, state: &DeviceState, save: bool) {
        let mut encoder = state.gpu.device.create_command_encoder(&Default::default());
        let buffers = &state.buffers;
        let now = [&buffers.position_mass, &buffers.velocity, &buffers.acceleration];
        for (now, then) in now.into_iter().zip(&self.0) {
            let (from, to) = if save { (now, then) } else { (then, now) };
            encoder.copy_buffer_to_buffer(from, 0, to, 0, now.size());
        }
        state.gpu.queue.submit([encoder.finish()]);
    }
}
