//! The tempo of an interactive simulation: paused, step by step, real time with a factor, or as
//! fast as possible.

/// How fast simulated time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tempo {
    /// A fixed amount of simulated time per second of wall-clock time.
    #[default]
    RealTime,
    /// As fast as the engine can.
    Fastest,
}

/// Turns wall-clock time into steps that are due.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeKeeper {
    /// Nothing is due while paused, except single steps.
    pub paused: bool,
    /// How time passes otherwise.
    pub tempo: Tempo,
    /// Speed as a multiple of the default one, greater than 0; for [`Tempo::RealTime`].
    pub factor: f64,
    /// The default speed: units of simulated time per second.
    pub units_per_sec: f64,
    /// Simulated time that is due and not yet done, in units of time.
    owed: f64,
    /// Single steps requested and not yet done.
    singles: u64,
    /// Whether the engine has fallen behind recently.
    behind: bool,
}

/// Most wall-clock seconds that an engine catches up on: one that cannot keep up runs slower.
const MOST_ARREARS_SECS: f64 = 0.1;

impl TimeKeeper {
    /// Running in real time at the default speed.
    pub fn new(units_per_sec: f64) -> Self {
        Self {
            paused: false,
            tempo: Tempo::RealTime,
            factor: 1.0,
            units_per_sec,
            owed: 0.0,
            singles: 0,
            behind: false,
        }
    }

    /// Requests single steps, which are taken even while paused.
    pub fn request_steps(&mut self, steps: u64) {
        self.singles += steps;
    }

    /// Lets `wall_secs` pass and returns how many steps of |`dt`| are now due.
    pub fn due(&mut self, wall_secs: f64, dt: f64) -> u64 {
        if self.paused {
            self.owed = 0.0;
            return self.singles;
        }
        match self.tempo {
            Tempo::Fastest => u64::MAX,
            Tempo::RealTime => {
                let per_sec = self.units_per_sec * self.factor;
                self.owed += per_sec * wall_secs.max(0.0);
                // A fraction of a step does not count as being behind.
                let most = per_sec * MOST_ARREARS_SECS + dt.abs();
                self.behind = self.owed > most;
                self.owed = self.owed.min(most);
                (self.owed / dt.abs()) as u64 + self.singles
            }
        }
    }

    /// Takes in that `steps` steps of `dt` have been done.
    pub fn done(&mut self, steps: u64, dt: f64) {
        let singles = steps.min(self.singles);
        self.singles -= singles;
        self.owed = (self.owed - (steps - singles) as f64 * dt.abs()).max(0.0);
    }

    /// Whether no step will be due until one is requested.
    pub fn is_still(&self) -> bool {
        self.paused && self.singles == 0
    }

    /// Whether more is due than the engine can do.
    pub fn is_behind(&self) -> bool {
        self.behind && !self.paused && self.tempo == Tempo::RealTime
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulated_time_per_second_is_independent_of_the_frame_rate() {
        for frames in [10, 60, 144] {
            let mut keeper = TimeKeeper::new(2.0);
            let mut steps = 0;
            for _ in 0..frames * 5 {
                let due = keeper.due(1.0 / frames as f64, -0.01);
                keeper.done(due, -0.01);
                steps += due;
            }
            assert!((999..=1000).contains(&steps), "{steps} steps at {frames} frames/s");
            assert!(!keeper.is_behind());
        }
    }

    #[test]
    fn arrears_of_a_slow_engine_are_at_most_a_tenth_of_a_second() {
        let mut keeper = TimeKeeper::new(1.0);
        for _ in 0..1000 {
            assert!(keeper.due(0.02, 1e-3) <= 101);
        }
        assert!(keeper.is_behind());
    }

    #[test]
    fn while_paused_only_single_steps_are_due() {
        let mut keeper = TimeKeeper { paused: true, ..TimeKeeper::new(1.0) };
        assert_eq!(keeper.due(10.0, 0.1), 0);
        keeper.request_steps(2);
        assert_eq!(keeper.due(10.0, 0.1), 2);
        keeper.done(1, 0.1);
        assert_eq!(keeper.due(10.0, 0.1), 1);
        keeper.done(1, 0.1);
        assert_eq!(keeper.due(10.0, 0.1), 0);
        keeper.paused = false;
        assert_eq!(keeper.due(0.0, 0.1), 0, "time that passed while paused is not made up for");
    }
}
