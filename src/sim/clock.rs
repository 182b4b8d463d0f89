//! Simulated time as a count of steps, so that it does not drift.

use crate::error::{Error, Result};

/// Time since the start in whole steps of `dt`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Time at step `first_step`.
    start: f64,
    first_step: u64,
    dt: f64,
    steps: u64,
}

impl Clock {
    /// A clock that showed `start` at step 0, has done `steps` steps of `dt`, and goes on by them.
    pub fn new(start: f64, steps: u64, dt: f64) -> Self {
        Self { start, first_step: 0, dt, steps }
    }

    /// The time now.
    pub fn time(&self) -> f64 {
        self.start + (self.steps - self.first_step) as f64 * self.dt
    }

    /// Steps done since the beginning of the run, the ones before a restart included.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The step length; negative when time runs back.
    pub fn dt(&self) -> f64 {
        self.dt
    }

    /// Counts `n` further steps.
    pub fn advance(&mut self, n: u64) {
        self.steps += n;
    }

    /// Changes the step length from now on.
    pub fn set_dt(&mut self, dt: f64) {
        *self = Self { start: self.time(), first_step: self.steps, dt, steps: self.steps };
    }

    /// Steps that reach `until` from now, the last one whole.
    pub fn steps_until(&self, until: f64) -> u64 {
        steps_in(until - self.time(), self.dt)
    }
}

/// The number of steps of `dt` that cover `span`; a span that is a whole number of steps up to
/// rounding takes that number.
pub fn steps_in(span: f64, dt: f64) -> u64 {
    let steps = span / dt;
    if !(steps > 0.0) {
        return 0;
    }
    let nearest = steps.round();
    if (steps - nearest).abs() < 1e-6 * nearest.max(1.0) {
        nearest as u64
    } else {
        steps.ceil() as u64
    }
}

/// Refuses a step length that is zero, negative or not a number.
pub fn check_dt(dt: f64) -> Result<()> {
    if dt.is_finite() && dt > 0.0 {
        Ok(())
    } else {
        Err(Error::value("the time step dt", dt, "finite and greater than 0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_small_steps_do_not_drift() {
        let mut clock = Clock::new(0.0, 0, 0.1);
        for _ in 0..1_000_000 {
            clock.advance(1);
        }
        assert_eq!(clock.time(), 100_000.0);
    }

    #[test]
    fn steps_are_whole_and_cover_the_span() {
        assert_eq!(steps_in(1.0, 0.1), 10);
        assert_eq!(steps_in(0.95, 0.1), 10);
        assert_eq!(steps_in(0.0, 0.1), 0);
        assert_eq!(steps_in(-1.0, 0.1), 0);
        assert_eq!(steps_in(f64::NAN, 0.1), 0);
    }

    #[test]
    fn changing_dt_keeps_the_time() {
        let mut clock = Clock::new(5.0, 40, 0.5);
        clock.advance(2);
        assert_eq!(clock.time(), 26.0);
        clock.set_dt(-0.25);
        clock.advance(4);
        assert_eq!((clock.time(), clock.steps()), (25.0, 46));
    }
}
