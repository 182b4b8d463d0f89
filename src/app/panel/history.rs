//! What has been measured so far, for plots.

use std::collections::VecDeque;

use gravitile::field::Field;
use gravitile::live::Report;

/// Rates every tenth of a second for a minute, and diagnostics since the beginning.
#[derive(Debug, Default)]
pub struct History {
    rates: VecDeque<RateSample>,
    reports: Vec<ReportSample>,
    /// Reports later than the restored state, stored until new steps reach their times.
    later: Vec<ReportSample>,
    /// Step count at the last change of the time step or the integrator; earlier errors are those
    /// of the old one.
    changed_at: Option<u64>,
    /// The external field and the number of bodies of the reports to come.
    field: Field,
    count: usize,
    since_sample_secs: f64,
    clock_secs: f64,
    /// Whether [`History::take_ruined`] has returned true for this run.
    has_warned: bool,
}

/// Rates at one time.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Seconds since the window opened.
    pub secs: f64,
    /// Interactions per second.
    pub interactions_per_sec: f64,
    /// Steps per second.
    pub steps_per_sec: f64,
    /// Frames per second.
    pub frames_per_sec: f64,
}

/// Diagnostics at one time.
#[derive(Clone, Debug)]
pub struct ReportSample {
    /// The diagnostics as reported.
    pub report: Report,
    /// (E - E0) / |E0| since the beginning, without the jumps where softening, field or number of
    /// bodies were changed.
    pub energy_error: f64,
    /// The energy at the beginning, and by how much those changes have changed it since.
    first_energy: f64,
    jumps: f64,
    field: Field,
    count: usize,
}

const SAMPLE_SECS: f64 = 0.1;
const SAMPLES: usize = 600;
/// Beyond this every second report is dropped: the plots keep their shape.
const MOST_REPORTS: usize = 4000;

impl History {
    /// Adds a frame's rates.
    pub fn frame(&mut self, secs: f64, rates: &gravitile::live::Rates) {
        self.clock_secs += secs;
        self.since_sample_secs += secs;
        if self.since_sample_secs < SAMPLE_SECS {
            return;
        }
        self.since_sample_secs = 0.0;
        if self.rates.len() == SAMPLES {
            self.rates.pop_front();
        }
        self.rates.push_back(RateSample {
            secs: self.clock_secs,
            interactions_per_sec: rates.interactions_per_sec(),
            steps_per_sec: rates.steps_per_sec(),
            frames_per_sec: rates.frames_per_sec(),
        });
    }

    /// Adds diagnostics. A change of softening, field or number of bodies changes the energy: this
    /// jump is no error, and the accumulated error remains. If steps were taken between the reports
    /// before and after the change, their error counts as part of the jump.
    pub fn report(&mut self, report: &Report) {
        let energy = report.diagnostics.energy();
        let (first_energy, jumps) = match self.reports.last() {
            Some(last)
                if last.report.softening == report.softening
                    && last.field == self.field
                    && last.count == self.count =>
            {
                (last.first_energy, last.jumps)
            }
            Some(last) => {
                let before = last.report.diagnostics.energy();
                (last.first_energy, last.jumps + energy - before)
            }
            None => (energy, 0.0),
        };
        if self.reports.len() >= MOST_REPORTS {
            let mut keep = false;
            self.reports.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.later.retain(|later| later.report.time > report.time);
        let energy_error = gravitile::diagnostics::relative_change(energy - jumps, first_energy);
        let (report, field) = (report.clone(), self.field.clone());
        let count = self.count;
        self.reports.push(ReportSample { report, energy_error, first_energy, jumps, field, count });
    }

    /// Continues from `time`: later reports are hidden, and reappear if the user goes there again
    /// before taking steps.
    pub fn go_to(&mut self, time: f64) {
        self.reports.append(&mut self.later);
        let all = std::mem::take(&mut self.reports).into_iter();
        (self.reports, self.later) = all.partition(|sample| sample.report.time <= time);
        // Steps from here on are taken with the current time step.
        let steps = self.reports.last().map_or(0, |last| last.report.steps);
        self.changed_at = self.changed_at.map(|changed_at| changed_at.min(steps));
    }

    /// Sets the external field and the number of bodies of the reports to come.
    pub fn set_forces(&mut self, field: &Field, count: usize) {
        self.field.clone_from(field);
        self.count = count;
    }

    /// Clears the diagnostics, for other bodies.
    pub fn restart(&mut self) {
        self.reports.clear();
        self.later.clear();
        self.has_warned = false;
        self.changed_at = None;
    }

    /// Rates, oldest first.
    pub fn rates(&self) -> impl ExactSizeIterator<Item = &RateSample> {
        self.rates.iter()
    }

    /// Records that the time step or the integrator was changed after `steps` steps.
    pub fn change_step(&mut self, steps: u64) {
        self.changed_at = Some(steps);
    }

    /// The latest diagnostics, if there are earlier ones to compare their energy with, and if steps
    /// of the current length were taken before them.
    pub fn newest_compared(&self) -> Option<&ReportSample> {
        let [_, .., last] = &self.reports[..] else { return None };
        Some(last).filter(|last| self.changed_at.is_none_or(|steps| last.report.steps > steps))
    }

    /// Whether the latest energy is so far off that the bodies cannot be trusted; true at most once
    /// per run.
    pub fn take_ruined(&mut self) -> bool {
        let is_ruined = self.reports.last().is_some_and(|last| {
            last.report.diagnostics.energy_is_off(last.first_energy + last.jumps)
        });
        is_ruined && !std::mem::replace(&mut self.has_warned, true)
    }

    /// Diagnostics, oldest first.
    pub fn reports(&self) -> &[ReportSample] {
        &self.reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gravitile::diagnostics::Diagnostics;

    /// Diagnostics at a time, with a softening and a potential energy; the kinetic energy is 1.
    fn report(time: f64, softening: f64, potential: f64) -> Report {
        Report {
            time,
            steps: time as u64,
            softening,
            diagnostics: Diagnostics {
                field: None,
                kinetic: 1.0,
                potential,
                momentum: glam::DVec3::ZERO,
                angular_momentum: glam::DVec3::ZERO,
                centre: glam::DVec3::ZERO,
                drift: glam::DVec3::ZERO,
                half_mass_radius: 1.0,
                components: Vec::new(),
            },
        }
    }

    #[test]
    fn field_change_keeps_the_energy_error() {
        let mut history = History::default();
        history.report(&report(0.0, 0.1, -2.0));
        history.report(&report(1.0, 0.1, -1.5));
        history.set_forces(&"point:mass=1".parse().unwrap(), 0);
        for (time, energy) in [(1.0, -7.0), (2.0, -7.0)] {
            history.report(&report(time, 0.1, energy));
            assert_eq!(history.newest_compared().unwrap().energy_error, 0.5);
        }
        history.report(&report(3.0, 0.1, -6.75));
        assert_eq!(history.newest_compared().unwrap().energy_error, 0.75);
        // Before the change the field was another one.
        history.go_to(1.0);
        history.go_to(0.5);
        history.report(&report(0.6, 0.1, -7.0));
        assert_eq!(history.newest_compared().unwrap().energy_error, 0.0);
    }

    #[test]
    fn bodies_thrown_in_keep_the_energy_error() {
        let mut history = History::default();
        history.set_forces(&Field::default(), 100);
        history.report(&report(0.0, 0.1, -2.0));
        history.set_forces(&Field::default(), 150);
        for time in [1.0, 2.0] {
            history.report(&report(time, 0.1, -9.0));
            assert_eq!(history.newest_compared().map(|sample| sample.energy_error), Some(0.0));
        }
        assert!(!history.take_ruined());
    }

    #[test]
    fn softening_change_keeps_the_energy_error_and_dt_change_hides_it() {
        let mut history = History::default();
        history.report(&report(0.0, 0.1, -2.0));
        // The run is ruined; then the softening is changed, and changed back.
        history.report(&report(1.0, 0.1, -1.5));
        assert_eq!(history.newest_compared().unwrap().energy_error, 0.5);
        history.report(&report(1.0, 0.4, -1.2));
        assert_eq!(history.newest_compared().unwrap().energy_error, 0.5);
        history.report(&report(2.0, 0.4, -1.1));
        assert!((history.newest_compared().unwrap().energy_error - 0.6).abs() < 1e-12);
        history.report(&report(2.0, 0.1, -1.4));
        assert!((history.newest_compared().unwrap().energy_error - 0.6).abs() < 1e-12);
        // What was measured before a change of the step says nothing about the steps since.
        history.change_step(2);
        history.report(&report(2.0, 0.1, -1.4));
        assert!(history.newest_compared().is_none());
        history.report(&report(3.0, 0.1, -1.0));
        assert!((history.newest_compared().unwrap().energy_error - 1.0).abs() < 1e-12);
        // Before the change, too, steps now have the current length.
        history.change_step(9);
        history.go_to(2.0);
        history.report(&report(2.5, 0.1, -1.0));
        assert!(history.newest_compared().is_none(), "no step was taken since");
        history.report(&report(4.0, 0.1, -1.0));
        assert!(history.newest_compared().is_some());
    }

    #[test]
    fn reports_after_a_restored_time_survive_until_new_steps() {
        let report = |time: f64| report(time, 0.1, -2.0);
        let times = |history: &History| -> Vec<f64> {
            history.reports().iter().map(|sample| sample.report.time).collect()
        };
        let mut history = History::default();
        (0..6).for_each(|k| history.report(&report(f64::from(k))));
        history.go_to(2.0);
        assert_eq!(times(&history), [0.0, 1.0, 2.0]);
        history.go_to(5.0);
        assert_eq!(times(&history), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        history.go_to(2.0);
        history.report(&report(3.5));
        history.go_to(9.0);
        assert_eq!(times(&history), [0.0, 1.0, 2.0, 3.5, 4.0, 5.0]);
        assert!(!history.take_ruined());
        for expected in [true, false] {
            let mut exploded = report(10.0);
            exploded.diagnostics.kinetic = 100.0;
            history.report(&exploded);
            assert_eq!(history.take_ruined(), expected, "it is reported once");
        }
    }
}
