//! How often something costly is brought back: seldom enough to take little time.

use std::sync::Arc;

use web_time::{Duration, Instant};

use super::Event;
use crate::sim::Moment;

/// It takes at most this part of the time.
const PART: f64 = 0.1;
/// The first one also waits for compilers and while the device's speed is being found: later ones take about this part of
/// its time.
const LATER: f64 = 0.25;

/// If the first forces take longer, the first request is delayed, so that the bodies move first.
const LONG: Duration = Duration::from_secs(2);
/// With fewer frames than this it was the window that took long, not the forces.
const MANY_FRAMES: u64 = 20;

/// Why the bodies are brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// [`super::Command::Moment`] asked for them.
    Answer,
    /// To go on from if the device is lost.
    Keep,
}

impl Purpose {
    pub fn event(self, moment: Arc<Moment>) -> Event {
        match self {
            Purpose::Answer => Event::Moment(moment),
            Purpose::Keep => Event::Kept(moment),
        }
    }
}

/// Decides when to ask for something, by the time that it took to come before.
#[derive(Debug)]
pub(super) struct Cadence {
    /// It comes at most this often.
    pause: Duration,
    /// When it was asked for, if it has not come yet.
    asked: Option<Instant>,
    took: Duration,
    /// When it came last, and its step; `None` after a failure.
    last: Option<(Instant, Option<u64>)>,
}

impl Cadence {
    pub fn new(pause: Duration) -> Self {
        Self { pause, asked: None, took: Duration::ZERO, last: None }
    }

    /// Reports that the first forces took `took` in `frames` frames. What needs potentials takes about as long, so the first
    /// request is delayed as if an earlier one had taken that long.
    pub fn expect(&mut self, took: Duration, frames: u64) {
        if self.last.is_none() && took > LONG && frames > MANY_FRAMES {
            (self.took, self.last) = (took, Some((Instant::now(), None)));
        }
    }

    /// It has been asked for.
    pub fn ask(&mut self) {
        self.asked = Some(Instant::now());
    }

    /// Whether it has been asked for and has not come.
    pub fn is_on_its_way(&self) -> bool {
        self.asked.is_some()
    }

    /// Whether the latest one is of `step`.
    pub fn is_of(&self, step: u64) -> bool {
        self.last.is_some_and(|(_, last)| last == Some(step))
    }

    /// It has come, of this step.
    pub fn come(&mut self, step: u64) {
        if let Some(asked) = self.asked.take() {
            let part = if self.last.is_none() { LATER } else { 1.0 };
            self.took = asked.elapsed().mul_f64(part);
        }
        self.last = Some((Instant::now(), Some(step)));
    }

    /// It will not come: it is asked for again after the pause.
    pub fn give_up(&mut self) {
        if self.asked.take().is_some() {
            self.last = Some((Instant::now(), None));
        }
    }

    /// Whether it is time to ask again, if the simulation is at `step`.
    pub fn is_due(&self, step: u64) -> bool {
        let pause = self.took.div_f64(PART).max(self.pause);
        self.asked.is_none()
            && self.last.is_none_or(|(at, last)| last != Some(step) && at.elapsed() > pause)
    }
}

/// The state of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reporting {
    Nothing,
    /// Potentials are being computed.
    Potential,
    /// This many of the dispatches of the [`crate::sim::Diagnosis`] are done.
    Summing(u32),
    /// The results are on their way.
    Flying,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_asked_for_once_and_after_a_pause_if_there_is_news() {
        let mut never = Cadence::new(Duration::from_secs(1000));
        assert!(never.is_due(0));
        never.ask();
        assert!(!never.is_due(5), "it is on its way");
        never.come(5);
        assert!(!never.is_due(6), "it came just now");
        let mut always = Cadence::new(Duration::ZERO);
        always.come(5);
        std::thread::sleep(Duration::from_millis(1));
        assert!(always.is_due(6));
        assert!(!always.is_due(5), "nothing has moved");
        always.ask();
        always.give_up();
        std::thread::sleep(Duration::from_millis(1));
        assert!(always.is_due(5), "it failed");
    }

    #[test]
    fn the_first_request_is_delayed_after_slow_first_forces() {
        let mut first = Cadence::new(Duration::ZERO);
        first.expect(LONG / 2, 2 * MANY_FRAMES);
        first.expect(2 * LONG, 1);
        assert!(first.is_due(0));
        first.expect(2 * LONG, 2 * MANY_FRAMES);
        assert!(!first.is_due(0), "it waits for {:?}", 2 * LONG / 10);
    }

    #[test]
    fn what_takes_long_comes_seldom() {
        let mut slow = Cadence::new(Duration::ZERO);
        slow.took = Duration::from_secs(60);
        slow.come(1);
        std::thread::sleep(Duration::from_millis(1));
        assert!(!slow.is_due(2), "it waits for 10 minutes");
        slow.took = Duration::ZERO;
        assert!(slow.is_due(2));
    }
}
