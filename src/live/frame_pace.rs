//! How much of a frame the simulation may take if the device has no timestamps: by wall-clock time
//! between frames.

/// The assumed pause between frames until one was measured, in seconds.
const USUAL_SECS: f64 = 1.0 / 60.0;
/// A slice that takes less of its budget than this says nothing about the rate.
const FULL: f64 = 0.7;
/// One below this leaves the frame as long as without a simulation.
const HARDLY_ANY: f64 = 0.2;

/// How long frames with hardly any steps take, and so what a slice adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FramePace {
    /// Seconds between frames that hold hardly any steps: waiting for the screen, drawing.
    idle_secs: f64,
}

impl Default for FramePace {
    fn default() -> Self {
        Self { idle_secs: USUAL_SECS }
    }
}

impl FramePace {
    /// A frame came after `wall_secs`; its slice was thought to take `slice_secs` of `budget_secs`.
    /// Returns the factor by which to multiply the engine's rate.
    ///
    /// Only a slice that filled its budget says anything: while little is due, frames come in time
    /// whatever the rate, and a rate that grew meanwhile would make the next full slice far too long.
    pub fn learn(&mut self, wall_secs: f64, slice_secs: f64, budget_secs: f64) -> f64 {
        let part = slice_secs / budget_secs;
        if part < HARDLY_ANY {
            self.idle_secs += 0.1 * (wall_secs - self.idle_secs);
        }
        if part < FULL {
            return 1.0;
        }
        // A screen shows frames at multiples of its own pause: between the two limits nothing
        // changes.
        let wanted_secs = self.idle_secs + budget_secs;
        match wall_secs / wanted_secs {
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
            let wall_secs = (other + work / true_rate).max(USUAL_SECS);
            rate *= pace.learn(wall_secs, work / rate, BUDGET);
        }
        rate
    }

    #[test]
    fn a_fast_and_a_slow_device_are_found_out() {
        for true_rate in [0.05, 1.0, 30.0] {
            let rate = after(2000, &mut FramePace::default(), true_rate, f64::MAX, 0.004);
            // A frame then lasts between the pause with the budget and a third more.
            let frame_secs = 0.004 + BUDGET * rate / true_rate;
            assert!((0.9 * 0.028..1.45 * 0.029).contains(&frame_secs), "{true_rate}: {frame_secs}");
        }
    }

    #[test]
    fn nothing_is_learnt_while_little_is_due() {
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
