//! The end that a scene names: time stops there, and the user chooses to play it again or to continue. The time that a
//! link names: the run goes there first.

use super::load::Session;
use crate::app::panel::ViewChoice;
use crate::live::{Command, Tempo};

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
        let end = self.end().filter(|_| !self.beyond_end && self.live.dt() > 0.0);
        end.into_iter().chain(self.goal).reduce(f64::min)
    }

    /// Takes the run to a later time as fast as possible, but not beyond its end. An earlier time changes nothing.
    pub fn set_goal(&mut self, time: f64) {
        let time = self.end().map_or(time, |end| time.min(end));
        if time.is_finite() && time > self.live.status().time {
            self.goal = Some(time);
            // Never refused.
            let _ = self.live.apply(Command::Tempo(Tempo::Fastest));
        }
    }

    /// Describes the goal and how much of the way is done.
    pub fn progress_to_goal(&self, view: &ViewChoice) -> Option<String> {
        let (goal, first) = (self.goal?, self.template.time);
        let part = 100.0 * (self.live.status().time - first) / (goal - first);
        Some(format!("going to {}: {part:.0} %", self.time(goal, view)))
    }

    /// Drops the goal, if there is one: from here on time passes at the fixed speed, or not if the link says so.
    pub fn clear_goal(&mut self) {
        if self.goal.take().is_some() {
            let _ = self.live.apply(Command::Tempo(Tempo::RealTime));
            let _ = self.live.apply(Command::Pause(self.pauses_at_goal));
        }
    }

    /// Stops at the goal, once it is reached.
    pub fn stop_at_goal(&mut self) {
        let is_reached = |goal: f64| self.live.status().time >= goal - ROUNDING * self.live.dt();
        if self.goal.is_some_and(is_reached) {
            self.clear_goal();
        }
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
