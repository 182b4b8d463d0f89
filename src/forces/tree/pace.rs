//! How often a tree is rebuilt if the interval is chosen by timing.

use crate::settings::Rebuild;

/// Intervals between rebuilds to try, in steps.
const TRIED: [u64; 5] = [1, 2, 4, 8, 16];

/// A trial lasts at least this many trees and seconds.
const TREES: u64 = 4;
const SECS: f64 = 0.1;

/// A smaller gain is noise.
const WORTH: f64 = 0.98;

/// How long a result is valid, in seconds of steps: bodies and lists change.
const HOLDS_SECS: f64 = 10.0;

/// The number of steps between rebuilds: fixed, or the one measured to be fastest. Longer intervals
/// are tried until one is slower than the one before; after a while the search starts again.
#[derive(Clone, Copy, Debug)]
pub(super) struct RebuildPace {
    rebuild: Rebuild,
    /// Steps between rebuilds.
    now: u64,
    /// The fastest interval tried in this round with its seconds per step, and the next one to try.
    fastest: Option<(u64, f64)>,
    trial: Option<usize>,
    steps: u64,
    secs: f64,
}

impl RebuildPace {
    pub fn new(rebuild: Rebuild) -> Self {
        let (now, trial) = match rebuild {
            Rebuild::Every(steps) => (steps.max(1), None),
            Rebuild::Auto => (TRIED[0], Some(0)),
        };
        Self { rebuild, now, fastest: None, trial, steps: 0, secs: 0.0 }
    }

    /// Whether a tree may serve more than one step.
    pub fn keeps(&self) -> bool {
        self.rebuild.keeps()
    }

    /// Whether the forces of this step need a new tree.
    pub fn builds_at(&self, step: u64) -> bool {
        step.is_multiple_of(self.now)
    }

    /// Suffix to the description of [`super::TreeConfig`]: the current interval, or nothing if it
    /// is fixed.
    pub fn description(&self) -> String {
        match (self.rebuild, self.now) {
            (Rebuild::Auto, 1) => " (at each step now)".to_owned(),
            (Rebuild::Auto, now) => format!(" (every {now} steps now)"),
            _ => String::new(),
        }
    }

    /// Records that `steps` more steps took `secs`.
    pub fn learn(&mut self, steps: u64, secs: f64) {
        if self.rebuild != Rebuild::Auto || secs.is_nan() || secs < 0.0 {
            return;
        }
        self.steps += steps;
        self.secs += secs;
        match self.trial {
            Some(trial) if self.steps >= TREES * self.now && self.secs >= SECS => {
                self.judge(trial, self.secs / self.steps as f64);
            }
            None if self.secs >= HOLDS_SECS => self.begin(Some(0), TRIED[0]),
            _ => {}
        }
    }

    fn judge(&mut self, trial: usize, step_secs: f64) {
        let is_faster = self.fastest.is_none_or(|(_, least)| step_secs < WORTH * least);
        let fastest = match self.fastest {
            Some(fastest) if !is_faster => fastest,
            _ => (self.now, step_secs),
        };
        match TRIED.get(trial + 1).filter(|_| is_faster) {
            Some(&next) => {
                self.begin(Some(trial + 1), next);
                self.fastest = Some(fastest);
            }
            None => self.begin(None, fastest.0),
        }
    }

    fn begin(&mut self, trial: Option<usize>, now: u64) {
        (self.trial, self.now) = (trial, now);
        (self.fastest, self.steps, self.secs) = (None, 0, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The interval found on a machine on which building takes `build`, and each step `older` more
    /// per step of the tree's age.
    fn settled(build: f64, older: f64) -> u64 {
        let mut pace = RebuildPace::new(Rebuild::Auto);
        let mut age = 0;
        let mut step = 0;
        while pace.trial.is_some() {
            age = if pace.builds_at(step) { 0 } else { age + 1 };
            let secs = 1e-3 + if age == 0 { build } else { 0.0 } + older * f64::from(age);
            pace.learn(1, secs);
            step += 1;
            assert!(step < 10_000);
        }
        pace.now
    }

    #[test]
    fn fastest_rebuild_interval_is_found() {
        // Means over k steps: build / k + older (k - 1) / 2.
        assert_eq!(settled(1e-6, 1e-4), 1);
        assert_eq!(settled(1e-3, 2e-4), 4);
        assert_eq!(settled(1e-3, 0.0), 16);
    }

    #[test]
    fn automatic_interval_is_measured_again_and_fixed_one_stays() {
        let mut pace = RebuildPace::new(Rebuild::Auto);
        let mut intervals = Vec::new();
        for _ in 0..4000 {
            pace.learn(1, 0.1 / pace.now as f64);
            intervals.push(pace.now);
        }
        let first = intervals.iter().position(|&every| every == 16).unwrap();
        assert!(intervals[first..].contains(&1), "what was found is not looked at again");
        let mut fixed = RebuildPace::new(Rebuild::Every(3));
        fixed.learn(1000, 1000.0);
        assert_eq!(fixed.now, 3);
        assert!(fixed.builds_at(6) && !fixed.builds_at(7));
    }
}
