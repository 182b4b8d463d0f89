//! How much of a frame the simulation may take if the device has no timestamps: by wall-clock time
//! between frames.

/// The assumed pause between frames until one was measured, in seconds.
const DEFAULT_SECS: f64 = 1.0 / 60.0;
/// A slice that takes less of its budget than this says nothing about the rate.
const FULL: f64 = 0.7;
/// A slice that takes less than this does not lengthen the frame.
const NEGLIGIBLE: f64 = 0.2;

/// Estimates what a slice adds to a frame, from the duration of frames with hardly any steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FramePace {
    /// Seconds between frames with hardly any steps: waiting for the screen, drawing.
    idle_secs: f64,
}

impl Default for FramePace {
    fn default() -> Self {
        Self { idle_secs: DEFAULT_SECS }
    }
}

impl FramePace {
    /// Takes in a frame that came after `wall_secs`, whose slice was expected to take `slice_secs`
    /// of `budget_secs`. Returns the factor by which to multiply the engine's rate.
    ///
    /// Only a slice that filled its budget changes the rate: while little is due, frames come in
    /// time whatever the rate, and a rate that grew meanwhile would make the next full slice far
    /// too long.
    pub fn learn(&mut self, wall_secs: f64, slice_secs: f64, budget_secs: f64) -> f64 {
        let fraction = slice_secs / budget_secs;
        if fraction < NEGLIGIBLE {
            self.idle_secs += 0.1 * (wall_secs - self.idle_secs);
        }
        if fraction < FULL {
            return 1.0;
        }
        // A screen shows frames at multiples of its refresh interval, so the rate stays between the
        // two limits.
        let target_secs = self.idle_secs + budget_secs;
        match wall_secs / target_secs {
            late if late > 1.3 => 0.7,
            early if early < 1.0 => 1.05,
            _ => 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: f64 = 0.012;

    /// Frames of a simulated device without timestamps: the rate after `frames`, starting at 1.
    fn after(frames: u32, pace: &mut FramePace, true_rate: f64, due_secs: f64, other: f64) -> f64 {
        let mut rate = 1.0;
        for _ in 0..frames {
            let work = (BUDGET * rate).min(due_secs * true_rate);
            let wall_secs = (other + work / true_rate).max(DEFAULT_SECS);
            rate *= pace.learn(wall_secs, work / rate, BUDGET);
        }
        rate
    }

    #[test]
    fn rate_converges_on_slow_and_fast_devices() {
        for true_rate in [0.05, 1.0, 30.0] {
            let rate = after(2000, &mut FramePace::default(), true_rate, f64::MAX, 0.004);
            // A frame then lasts between the pause with the budget and a third more.
            let frame_secs = 0.004 + BUDGET * rate / true_rate;
            assert!((0.9 * 0.028..1.45 * 0.029).contains(&frame_secs), "{true_rate}: {frame_secs}");
        }
    }

    #[test]
    fn rate_stays_while_little_is_due() {
        let mut pace = FramePace::default();
        assert_eq!(after(10_000, &mut pace, 1.0, 0.0, 0.004), 1.0);
        assert_eq!(after(10_000, &mut pace, 1.0, 0.5 * BUDGET, 0.004), 1.0);
    }

    #[test]
    fn a_slow_screen_does_not_starve_the_simulation() {
        let mut pace = FramePace::default();
        // Paused for a while at 20 frames per second, then as fast as possible.
        after(100, &mut pace, 1.0, 0.0, 0.05);
        assert!(after(500, &mut pace, 1.0, f64::MAX, 0.05) > 0.7);
    }
}
