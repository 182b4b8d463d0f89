//! The speed of an interactive simulation over the last second or so.

use std::collections::VecDeque;

use super::mailbox;

/// Frames, steps and interactions of the recent past.
#[derive(Clone, Debug, Default)]
pub struct Rates {
    frames: VecDeque<Passed>,
    /// Interactions per second of engine time.
    kernel: Option<f64>,
    host: mailbox::WorkerProgress,
}

#[derive(Clone, Copy, Debug)]
struct Passed {
    secs: f64,
    steps: u64,
    interactions: u64,
}

/// Rates are averaged over this many seconds.
const WINDOW_SECS: f64 = 1.0;

impl Rates {
    /// Adds a frame that came `secs` after the last one.
    pub(super) fn frame(&mut self, secs: f64, steps: u64, interactions: u64) {
        self.frames.push_back(Passed { secs, steps, interactions });
        let mut total: f64 = self.frames.iter().map(|frame| frame.secs).sum();
        while self.frames.len() > 2 && total > WINDOW_SECS {
            total -= self.frames.pop_front().map_or(0.0, |frame| frame.secs);
        }
    }

    /// Adds the worker's progress since the last call.
    pub(super) fn host(&mut self, steps: u64, now: mailbox::WorkerProgress) {
        let interactions = now.interactions.saturating_sub(self.host.interactions);
        let busy = now.busy_secs - self.host.busy_secs;
        if let Some(frame) = self.frames.back_mut() {
            frame.steps += steps;
            frame.interactions += interactions;
        }
        if interactions > 0 && busy > 0.0 {
            self.kernel(interactions, busy);
        }
        self.host = now;
    }

    /// Adds that the engine took `secs` for `interactions`.
    pub(super) fn kernel(&mut self, interactions: u64, secs: f64) {
        if interactions > 0 && secs > 0.0 {
            let measured = interactions as f64 / secs;
            let weight = if self.kernel.is_some() { 0.1 } else { 1.0 };
            let rate = self.kernel.get_or_insert(measured);
            *rate += weight * (measured - *rate);
        }
    }

    /// Resets the engine's rate, for another kernel.
    pub(super) fn forget(&mut self) {
        self.kernel = None;
    }

    fn per_sec(&self, of: impl Fn(&Passed) -> f64) -> f64 {
        let secs: f64 = self.frames.iter().map(|frame| frame.secs).sum();
        // The first frames come in a burst, before the first picture is shown.
        if secs > 0.3 * WINDOW_SECS { self.frames.iter().map(of).sum::<f64>() / secs } else { 0.0 }
    }

    /// Frames per second of wall-clock time.
    pub fn frames_per_sec(&self) -> f64 {
        self.per_sec(|_| 1.0)
    }

    /// Steps per second of wall-clock time.
    pub fn steps_per_sec(&self) -> f64 {
        self.per_sec(|frame| frame.steps as f64)
    }

    /// Interactions per second of wall-clock time.
    pub fn interactions_per_sec(&self) -> f64 {
        self.per_sec(|frame| frame.interactions as f64)
    }

    /// Interactions per second while the engine computes; `None` until known.
    pub fn engine_interactions_per_sec(&self) -> Option<f64> {
        self.kernel
    }
}
