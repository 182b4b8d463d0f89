//! How often a costly result (diagnostics, a copy of the bodies) is requested, so that it takes
//! only a small fraction of the time.

use std::sync::Arc;

use crate::wall_clock::{Duration, Instant};

use super::Event;
use crate::sim::State;

/// Largest fraction of the time that requests take.
const MAX_FRACTION: f64 = 0.1;
/// The first request also waits for shader compilation and for the measurement of the device's
/// speed; later ones take about this fraction of its time.
const LATER: f64 = 0.25;

/// If the first forces take longer, the first request is delayed, so that the bodies move first.
const LONG: Duration = Duration::from_secs(2);
/// If fewer frames than this were drawn meanwhile, drawing was slow, not the forces.
const MANY_FRAMES: u64 = 20;

/// Why the bodies are copied to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyPurpose {
    /// [`super::Command::State`] requested them.
    Answer,
    /// A checkpoint, to continue from if the device is lost.
    Checkpoint,
}

impl CopyPurpose {
    /// Adds a request for this purpose; a checkpoint does not replace an answer.
    pub fn request(self, pending: &mut Option<Self>) {
        if *pending != Some(Self::Answer) {
            *pending = Some(self);
        }
    }

    pub fn event(self, state: Arc<State>) -> Event {
        match self {
            CopyPurpose::Answer => Event::State(state),
            CopyPurpose::Checkpoint => Event::Checkpoint(state),
        }
    }
}

/// Decides when to send the next request, by how long the previous one took.
#[derive(Debug)]
pub(super) struct Cadence {
    /// Shortest pause between two requests.
    pause: Duration,
    /// When the pending request was made.
    requested: Option<Instant>,
    took: Duration,
    /// When the last result came, and its step; the step is `None` after a failure.
    last: Option<(Instant, Option<u64>)>,
}

impl Cadence {
    pub fn new(pause: Duration) -> Self {
        Self { pause, requested: None, took: Duration::ZERO, last: None }
    }

    /// Sets the time that the first forces took, in `frames` frames. Potentials take about as long,
    /// so the first request is delayed as if an earlier one had taken that long.
    pub fn expect(&mut self, took: Duration, frames: u64) {
        if self.last.is_none() && took > LONG && frames > MANY_FRAMES {
            (self.took, self.last) = (took, Some((Instant::now(), None)));
        }
    }

    /// Records that a request was made.
    pub fn request(&mut self) {
        self.requested = Some(Instant::now());
    }

    /// Whether a request is pending.
    pub fn is_pending(&self) -> bool {
        self.requested.is_some()
    }

    /// Whether the latest result is of `step`.
    pub fn is_of(&self, step: u64) -> bool {
        self.last.is_some_and(|(_, last)| last == Some(step))
    }

    /// Records that a result of this step has come.
    pub fn receive(&mut self, step: u64) {
        if let Some(requested) = self.requested.take() {
            let factor = if self.last.is_none() { LATER } else { 1.0 };
            self.took = requested.elapsed().mul_f64(factor);
        }
        self.last = Some((Instant::now(), Some(step)));
    }

    /// Records that the pending request has failed: the next one is due after the pause.
    pub fn give_up(&mut self) {
        if self.requested.take().is_some() {
            self.last = Some((Instant::now(), None));
        }
    }

    /// Whether the next request is due, if the simulation is at `step` and moves on.
    pub fn is_due(&self, step: u64) -> bool {
        self.is_due_after(self.took.div_f64(MAX_FRACTION), step)
    }

    /// The same for a simulation that takes no steps, where a result delays none.
    pub fn is_due_at_rest(&self, step: u64) -> bool {
        self.is_due_after(Duration::ZERO, step)
    }

    fn is_due_after(&self, pause: Duration, step: u64) -> bool {
        let pause = pause.max(self.pause);
        self.requested.is_none()
            && self.last.is_none_or(|(at, last)| last != Some(step) && at.elapsed() > pause)
    }
}

/// The state of a report.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reporting {
    Nothing,
    /// Potentials are being computed.
    Potential,
    /// The number of dispatches of the [`crate::sim::Diagnosis`] that are done.
    Summing(u32),
    /// The results are being read back.
    Reading,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_at_a_time_and_the_next_after_a_pause_and_a_step() {
        let mut never = Cadence::new(Duration::from_secs(1000));
        assert!(never.is_due(0));
        never.request();
        assert!(!never.is_due(5), "a request is pending");
        never.receive(5);
        assert!(!never.is_due(6), "a result came just now");
        let mut always = Cadence::new(Duration::ZERO);
        always.receive(5);
        std::thread::sleep(Duration::from_millis(1));
        assert!(always.is_due(6));
        assert!(!always.is_due(5), "nothing has moved");
        always.request();
        always.give_up();
        std::thread::sleep(Duration::from_millis(1));
        assert!(always.is_due(5), "the request failed");
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
    fn slow_requests_are_sent_seldom() {
        let mut slow = Cadence::new(Duration::ZERO);
        slow.took = Duration::from_secs(60);
        slow.receive(1);
        std::thread::sleep(Duration::from_millis(1));
        assert!(!slow.is_due(2), "it waits for 10 minutes");
        assert!(slow.is_due_at_rest(2), "nothing moves");
        assert!(!slow.is_due_at_rest(1), "nothing has moved since the last one");
        slow.took = Duration::ZERO;
        assert!(slow.is_due(2));
    }
}
