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
    whole(steps).unwrap_or(steps.ceil() as u64)
}

/// The whole number that `steps` is up to rounding: to 1e-6 of it, and 0.01 of a step at most.
fn whole(steps: f64) -> Option<u64> {
    let nearest = steps.round();
    ((steps - nearest).abs() < (1e-6 * nearest.max(1.0)).min(0.01)).then_some(nearest as u64)
}

/// The steps of a run that ends at a given time, all of one length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvenSteps {
    /// The length of each.
    pub dt: f64,
    /// Their number.
    pub steps: u64,
    /// The number of them between outputs.
    pub per_output: u64,
}

/// How many times shorter than requested steps may become to fit both a span and its outputs.
const MOST_SHORTENED: u64 = 10;
/// How many numbers of steps per output are tried at most: if outputs fit, they do so for a small
/// multiple.
const MOST_TRIED: usize = 100_000;

/// The longest steps of at most `dt` of which `span` and, if it is not longer, `every` are whole
/// multiples: of length `dt` itself, bit for bit, if it fits up to rounding. Without `every`
/// there is one output, at the end.
///
/// Returns `None` if no step of at least `dt / 10` fits both.
pub fn even_steps(span: f64, every: Option<f64>, dt: f64) -> Option<EvenSteps> {
    let least = steps_in(span, dt).max(1);
    let Some(every) = every.filter(|every| *every < span) else {
        let dt = if whole(span / dt) == Some(least) { dt } else { span / least as f64 };
        let per_output = every.map_or(least, |every| steps_in(every, dt).max(1));
        return Some(EvenSteps { dt, steps: least, per_output });
    };
    let per_output = steps_in(every, dt).max(1);
    if whole(every / dt) == Some(per_output) && whole(span / dt) == Some(least) {
        return Some(EvenSteps { dt, steps: least, per_output });
    }
    let outputs = span / every;
    let mut tried = (per_output..=per_output.saturating_mul(MOST_SHORTENED)).take(MOST_TRIED);
    tried.find_map(|per_output| {
        let steps = outputs * per_output as f64;
        // The tolerance allows for the rounding of decimal numbers to f64.
        let is_whole = (steps - steps.round()).abs() < 1e-12 * steps.max(1e3);
        let dt = every / per_output as f64;
        is_whole.then(|| EvenSteps { dt, steps: steps.round() as u64, per_output })
    })
}

/// The maximum number of steps of a run: up to here each step number is exact in f64, so each step
/// has a distinct time.
pub const MOST_STEPS: u64 = 1 << 53;

/// The number of steps of `dt` that cover the time from `start` to `until`, rounded up unless it is
/// a whole number up to rounding.
///
/// # Errors
/// No steps, or more than [`MOST_STEPS`].
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
/// # Errors
/// Any other `dt`.
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
    fn time_does_not_drift_over_a_million_small_steps() {
        let mut clock = Clock::new(0.0, 0, 0.1);
        for _ in 0..1_000_000 {
            clock.advance(1);
        }
        assert_eq!(clock.time(), 100_000.0);
    }

    #[test]
    fn number_of_steps_is_whole_and_covers_the_span() {
        assert_eq!(steps_in(1.0, 0.1), 10);
        assert_eq!(steps_in(0.95, 0.1), 10);
        assert_eq!(steps_in(0.0, 0.1), 0);
        assert_eq!(steps_in(-1.0, 0.1), 0);
        assert_eq!(steps_in(f64::NAN, 0.1), 0);
    }

    #[test]
    fn steps_that_do_not_fit_are_shortened_evenly() {
        let fit = |span, every, dt| even_steps(span, every, dt);
        let made = |dt, steps, per_output| Some(EvenSteps { dt, steps, per_output });
        // A step that fits is returned unchanged.
        assert_eq!(fit(0.3, None, 0.1), made(0.1, 3, 3));
        assert_eq!(fit(10.0, Some(1.0), 0.001), made(0.001, 10_000, 1000));
        assert_eq!(fit(1.0, None, 10.0), made(1.0, 1, 1));
        assert_eq!(fit(1.0, None, 0.3), made(0.25, 4, 4));
        // Ten steps for each output, then nine for each of 3: 0.7 and 10.5 share steps of 0.07.
        assert_eq!(fit(10.5, Some(0.7), 0.075), made(0.7 / 10.0, 150, 10));
        assert_eq!(fit(1.0, Some(0.3), 0.1), made(0.1, 10, 3));
        assert_eq!(fit(1.0, Some(0.4), 0.3), made(0.2, 5, 2));
        // There is no output after the end.
        assert_eq!(fit(1.0, Some(5.0), 0.3), made(0.25, 4, 20));
        assert_eq!(fit(std::f64::consts::PI, Some(1.0), 0.1), None);
        // A small remainder counts even among a million steps.
        let long = fit(1_000_000.5, None, 1.0).unwrap();
        assert!(long.steps == 1_000_001 && long.dt < 1.0);
    }

    #[test]
    fn number_of_steps_out_of_range_is_an_error() {
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
