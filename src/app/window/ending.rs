//! The end that a scene names: time stops there, and the user chooses to play it again or to continue.

use super::load::Session;
use crate::live::Command;

/// Part of a step by which the end may be missed.
const ROUNDING: f64 = 1e-6;

impl Session {
    /// The time at which the scene ends; `None` for a snapshot, which names no end.
    pub fn end(&self) -> Option<f64> {
        let has_end = self.view.is_some() && self.hints.until > 0.0;
        has_end.then_some(self.template.time + self.hints.until)
    }

    /// No step may begin at this time or beyond it.
    pub fn limit(&self) -> Option<f64> {
        self.end().filter(|_| !self.beyond_end && self.live.dt() > 0.0)
    }

    /// Pauses once when the end is reached; after going back it is reached again.
    pub fn rest_at_end(&mut self) {
        let Some(end) = self.end() else { return };
        let dt = self.live.dt();
        let is_there = dt > 0.0 && self.live.status().time >= end - ROUNDING * dt;
        if is_there && !self.beyond_end {
            // Pausing is never refused.
            let _ = self.live.apply(Command::Pause(true));
        }
        self.beyond_end = is_there;
    }

    /// Whether it is paused at the end and waits for the user's choice.
    pub fn is_at_end(&self) -> bool {
        let missed = |end: f64| self.live.status().time - end;
        let is_near = self.end().is_some_and(|end| missed(end) < self.live.dt());
        self.beyond_end && is_near && self.live.keeper().paused
    }
}
