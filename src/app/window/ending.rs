//! The end of a scene: the run pauses there, and the user restarts or continues it. The goal of a
//! link: the run goes to that time as fast as possible.

use super::load::Session;
use crate::panel::ViewChoice;
use gravitile::live::{Command, Tempo};

/// Tolerance for reaching the end, as a fraction of a step.
const ROUNDING: f64 = 1e-6;

impl Session {
    /// The time at which the scene ends; `None` for a snapshot, which names no end.
    pub fn end(&self) -> Option<f64> {
        let has_end = self.view.is_some() && self.hints.until > 0.0;
        has_end.then_some(self.template.time + self.hints.until)
    }

    /// The time from which on no step may begin.
    pub fn limit(&self) -> Option<f64> {
        let end = self.end().filter(|_| !self.beyond_end && self.live.dt() > 0.0);
        end.into_iter().chain(self.goal).reduce(f64::min)
    }

    /// Takes the run to a later time as fast as possible, but not beyond its end. An earlier time
    /// changes nothing.
    pub fn set_goal(&mut self, time: f64) {
        let time = self.end().map_or(time, |end| time.min(end));
        if time.is_finite() && time > self.live.status().time {
            self.goal = Some(time);
            // Changing the tempo never fails.
            let _ = self.live.apply(Command::Tempo(Tempo::Fastest));
        }
    }

    /// Describes the goal and the progress in per cent.
    pub fn progress_to_goal(&self, view: &ViewChoice) -> Option<String> {
        let (goal, first) = (self.goal?, self.template.time);
        let part = 100.0 * (self.live.status().time - first) / (goal - first);
        Some(format!("going to {}: {part:.0} %", self.time(goal, view)))
    }

    /// Drops the goal, if there is one: the run continues in real time, or pauses if the link says
    /// so.
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

    /// Pauses once when the end is reached, and again after going back in time.
    pub fn rest_at_end(&mut self) {
        let Some(end) = self.end() else { return };
        let dt = self.live.dt();
        let is_at_end = dt > 0.0 && self.live.status().time >= end - ROUNDING * dt;
        if is_at_end && !self.beyond_end {
            // Pausing never fails.
            let _ = self.live.apply(Command::Pause(true));
        }
        self.beyond_end = is_at_end;
    }

    /// Whether it is paused at the end and waits for the user's choice.
    pub fn is_at_end(&self) -> bool {
        let missed = |end: f64| self.live.status().time - end;
        let is_near = self.end().is_some_and(|end| missed(end) < self.live.dt());
        self.beyond_end && is_near && self.live.keeper().paused
    }
}
