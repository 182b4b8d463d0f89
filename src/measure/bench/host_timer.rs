//! Times engines through the host's interface, including transfers, by the wall clock.

use web_time::Instant;

use crate::error::{Error, Result};
use crate::forces::{Answers, ForceEngine, Identity, Sinks, Sources, Want};
use crate::measure::ErrorStats;
use crate::measure::time::problem::{Problem, SOFTENING};

/// An engine, and the problem it is timed on.
pub(super) struct HostTimer<'a> {
    engine: Box<dyn ForceEngine>,
    problem: &'a Problem,
    out: Answers,
    /// Evaluations per sample.
    pub repeats: u32,
    /// Seconds per evaluation in the last sample.
    last: f64,
    /// Error against f64, for a sample of the sinks.
    pub error: ErrorStats,
}

/// Shortest time of a sample.
const SAMPLE_SECS: f64 = 5e-3;

/// Largest rms error of a correct engine: f32 pairs, and sums of at least two levels.
const RMS_LIMIT: f64 = 1e-5;

impl<'a> HostTimer<'a> {
    /// Evaluates until the time of a sample is known, and checks the engine's results.
    ///
    /// # Errors
    ///
    /// The engine's own, and forces that differ from f64.
    pub fn prepare(engine: Box<dyn ForceEngine>, problem: &'a Problem) -> Result<Self> {
        let (out, error) = (Answers::default(), ErrorStats::default());
        let mut timer = Self { engine, problem, out, repeats: 1, last: 0.0, error };
        timer.sample()?;
        let probed: Vec<_> = problem
            .probes
            .iter()
            .flat_map(|range| &timer.out.acceleration[range.clone()])
            .copied()
            .collect();
        timer.error = problem.errors(&probed);
        if !(timer.error.rms < RMS_LIMIT) {
            let (name, rms) = (timer.engine.name(), timer.error.rms);
            return Err(Error::Outside(format!(
                "the engine {name} is wrong: rms error {rms:.1e} against f64, allowed {RMS_LIMIT:.1e}"
            )));
        }
        let secs = timer.sample()?;
        timer.repeats = (SAMPLE_SECS / secs).ceil().clamp(1.0, 10_000.0) as u32;
        Ok(timer)
    }

    /// Seconds per evaluation.
    pub fn sample(&mut self) -> Result<f64> {
        let begun = Instant::now();
        for _ in 0..self.repeats {
            self.problem.evaluate(self.engine.as_mut(), &mut self.out)?;
        }
        self.last = (begun.elapsed().as_secs_f64() / f64::from(self.repeats)).max(1e-9);
        Ok(self.last)
    }

    /// Approximate seconds of a sample.
    pub fn sample_secs(&self) -> f64 {
        self.last * f64::from(self.repeats)
    }
}

impl Problem {
    /// Interactions of one evaluation.
    pub fn interactions(&self) -> f64 {
        self.sinks as f64 * self.sources as f64
    }

    /// Runs the engine once.
    fn evaluate(&self, engine: &mut dyn ForceEngine, out: &mut Answers) -> Result<()> {
        // A body's pair with itself adds nothing to its acceleration, so sinks beyond the sources
        // can be foreign.
        let identity =
            if self.sinks <= self.sources { Identity::Offset(0) } else { Identity::Foreign };
        engine.evaluate_from(
            &Sources::new(&self.position[..self.sources], &self.mass[..self.sources]),
            &Sinks::new(&self.position[..self.sinks], identity),
            SOFTENING,
            &Want::ACCELERATION,
            out,
        )
    }
}
