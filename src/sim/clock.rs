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
    /// A clock that showed `start` at step 0 and has done `steps` steps of `dt`.
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

    /// The step length; negative if time runs backwards.
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

    /// Steps from now until `until` is reached, the last one in full.
    pub fn steps_until(&self, until: f64) -> u64 {
        steps_in(until - self.time(), self.dt)
    }
}

/// The number of steps of `dt` that cover `span`, rounded up; a span that is a whole number of
/// steps up to rounding takes exactly that number.
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

/// The most steps a run can have: up to here each step number is exact in f64, and so has a time of
/// its own.
pub const MOST_STEPS: u64 = 1 << 53;

/// The number of steps of `dt` that cover the time from `start` to `until`, as [`steps_in`] counts them.
///
/// Errors: no steps, or more than [`MOST_STEPS`].
pub fn run_steps(start: f64, until: f64, dt: f64) -> Result<u64> {
    let span = until - start;
    let steps = steps_in(span, dt);
    if (1..=MOST_STEPS).contains(&steps) {
        return Ok(steps);
    }
    Err(Error::value(
        "the number of time steps",
        format!("{:.3e} (from t = {start:?} to {until:?} in steps of {dt:?})", span / dt),
        "from 1 to 2^53 (9.007e15)",
    ))
}

/// Checks that a step length is a positive number, and not one so small that f64 loses digits.
///
/// Errors: any other `dt`.
pub fn check_dt(dt: f64) -> Result<()> {
    if dt.is_normal() && dt > 0.0 {
        Ok(())
    } else {
        let dt = format!("{dt:?}");
        Err(Error::value("the time step dt", dt, "finite and greater than 0 (2.3e-308 or more)"))
    }
}

/// Checks that a step of `dt` moves the clock on from `start`: rounding must not lose it.
pub fn check_advance(start: f64, dt: f64) -> Result<()> {
    if (start + dt).is_finite() && start + dt != start {
        return Ok(());
    }
    let allowed = format!("such that t = {start:?} + dt is another finite time");
    Err(Error::value("the time step dt", format!("{dt:?}"), allowed))
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
    fn a_run_has_steps_that_can_be_counted() {
        assert_eq!(run_steps(1.0, 2.0, 0.25).unwrap(), 4);
        assert_eq!(run_steps(0.0, MOST_STEPS as f64, 1.0).unwrap(), MOST_STEPS);
        assert_eq!(run_steps(0.0, 0.004, 0.01).unwrap(), 1);
        for (until, dt) in
            [(1e300, 0.01), (10.0, 1e-320), (1e-320, 0.01), (10.0, 1e308), (0.0, 1.0)]
        {
            let error = run_steps(0.0, until, dt).unwrap_err().to_string();
            assert!(error.contains("from 1 to 2^53") && error.len() < 200, "{error}");
        }
        assert!(check_dt(1e-320).is_err() && check_dt(1e-300).is_ok() && check_dt(1e308).is_ok());
        assert!(check_advance(1e6, 1e-11).is_err() && check_advance(1e6, 1e-9).is_ok());
        assert!(check_advance(1e308, 1e308).is_err());
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
