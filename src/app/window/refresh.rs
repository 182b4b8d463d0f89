//! When the panel is laid out: after input, when egui or a message requires it, and 2 to 10 times a
//! second for its numbers. Other frames spend no time on it.

use web_time::{Duration, Instant};

use crate::panel::overlay::Marks;

/// Interval of layouts for changing numbers, which nobody reads faster. On a slow adapter it is
/// longer, so that drawing them takes at most a tenth of the time, but at most half a second.
const NUMBERS: Duration = Duration::from_millis(100);
const SELDOM: f64 = 10.0;
const LEAST: Duration = Duration::from_millis(500);
/// A frame with less device time for the panel has not drawn it.
const DRAWN_SECS: f64 = 5e-4;

/// When the panel was last laid out, and what makes the next layout due.
#[derive(Debug, Default)]
pub struct Refresh {
    is_stale: bool,
    last: Option<Instant>,
    /// Device time of its last drawing, in seconds.
    took: f64,
    /// When egui requests the next layout.
    requested: Option<Instant>,
    /// The last drawn marks, which move with the camera.
    marks: Option<Marks>,
}

impl Refresh {
    /// Records a possible change: the next frame lays the panel out.
    pub fn disturb(&mut self) {
        self.is_stale = true;
    }

    fn due(&self) -> Option<Instant> {
        let pause = Duration::from_secs_f64(SELDOM * self.took).clamp(NUMBERS, LEAST);
        let numbers = self.last? + pause;
        Some(self.requested.map_or(numbers, |requested| requested.min(numbers)))
    }

    fn is_due(&self, now: Instant) -> bool {
        self.is_stale || self.due().is_none_or(|due| due <= now)
    }

    fn done(&mut self, now: Instant, requested: Duration) {
        (self.is_stale, self.last, self.requested) = (false, Some(now), now.checked_add(requested));
    }

    /// Begins a frame at `now` with these marks over the picture; returns whether it lays the panel
    /// out. `drawn_secs` is the device time for the panel in an earlier frame, if it is known.
    pub fn begin(&mut self, now: Instant, marks: Option<Marks>, drawn_secs: Option<f64>) -> bool {
        self.took = drawn_secs.filter(|secs| *secs > DRAWN_SECS).unwrap_or(self.took);
        if self.marks == marks && !self.is_due(now) {
            return false;
        }
        self.marks = marks;
        // Before the layout, as changes by the layout itself need another one.
        self.done(now, Duration::MAX);
        true
    }

    /// Ends the layout of the frame that began at `now`; egui requests the next one after
    /// `requested`.
    pub fn end(&mut self, now: Instant, requested: Duration) {
        self.requested = now.checked_add(requested);
    }

    /// The time from `now`, the beginning of a frame, to the next layout if no event comes: when
    /// egui requests it, and after a frame without layout also when numbers are due, so that the
    /// last ones are shown. Never while `hidden`, as an event starts the first visible frame.
    pub fn delay(&self, now: Instant, hidden: bool) -> Duration {
        if hidden {
            return Duration::MAX;
        }
        if self.is_stale {
            return Duration::ZERO;
        }
        let due = if self.last == Some(now) { self.requested } else { self.due() };
        due.map_or(Duration::MAX, |due| due.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout_follows_input_egui_and_a_tenth_of_a_second() {
        let ms = Duration::from_millis;
        let begun = Instant::now();
        let mut refresh = Refresh::default();
        assert!(refresh.is_due(begun), "it was never shown");
        refresh.done(begun, Duration::MAX);
        assert_eq!(refresh.delay(begun, false), Duration::MAX, "at rest nothing follows");
        assert!(!refresh.is_due(begun + ms(50)));
        assert_eq!(refresh.delay(begun + ms(50), false), ms(50), "the last numbers are shown");
        assert!(refresh.is_due(begun + ms(100)));
        refresh.disturb();
        assert!(refresh.is_due(begun + ms(50)), "after input");
        assert_eq!(refresh.delay(begun + ms(50), false), Duration::ZERO);
        refresh.done(begun + ms(50), ms(10));
        assert!(!refresh.is_due(begun + ms(55)) && refresh.is_due(begun + ms(60)), "for egui");
        assert_eq!(refresh.delay(begun + ms(99), true), Duration::MAX, "hidden");
    }
}
