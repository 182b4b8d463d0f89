//! One step for all bodies that varies (`--dt auto`).
//!
//! A step of the simulation, of length dt, is taken in shorter ones of dt / 2^k, each at most
//! eta sqrt(eps / |a|) for the largest acceleration of all bodies (the criterion of GADGET,
//! Springel 2005, and others). Times within dt are integers as those of individual steps
//! (`integrate/blocks/schedule.rs`): a step becomes shorter at once, and longer only at multiples
//! of the longer one. All steps of dt therefore end at their exact times, for outputs.
//!
//! The next step follows from the accelerations and the time within dt alone. Nothing has to be
//! stored for a restart, and the bits do not depend on how many steps are taken at once. The
//! accelerations are those at the beginning of a step, so that the steps back would be other ones:
//! time cannot be reversed, and the energy drifts slowly, as it does not with steps of one length.
//!
//! The host waits for one number per force: the largest acceleration, a maximum of integers on the
//! device (`shaders/integrate/strongest.wgsl`).

use super::{Backend, Varying, Watch};
use crate::error::{Error, Result};
use crate::integrate::blocks::{LEVELS, PERIOD, common_step};

/// How much longer than a suitable step of constant length the longest step is, where only outputs
/// need the bodies at one time: steps of the built-in scenes are from 1/12 to 3 times those of the
/// default accuracy.
pub const LONGEST: f64 = 16.0;

/// The step of all bodies that varies, and the steps taken so far by this simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct VaryingStep {
    /// Steps are at most this times the least time.
    accuracy: f64,
    softening: f64,
    /// The longest step.
    longest: f64,
    /// The least sqrt(eps / |a|) of all bodies now.
    least_time: f64,
    by_level: Vec<u64>,
}

impl VaryingStep {
    /// The first step of bodies on `backend`.
    ///
    /// # Errors
    /// A backend without such steps; those of the engine.
    pub(super) async fn open(
        (accuracy, softening, longest): (f64, f64, f64),
        backend: &mut dyn Backend,
    ) -> Result<Self> {
        let mut opened =
            Self { accuracy, softening, longest, least_time: f64::INFINITY, by_level: Vec::new() };
        opened.look(backend).await?;
        Ok(opened)
    }

    /// The least sqrt(eps / |a|) of all bodies now; infinite without accelerations.
    pub fn least_time(&self) -> f64 {
        self.least_time
    }

    /// The accuracy: no step is longer than this times [`VaryingStep::least_time`].
    pub fn accuracy(&self) -> f64 {
        self.accuracy
    }

    /// The longest step.
    pub fn longest(&self) -> f64 {
        self.longest
    }

    /// The number of steps of [`VaryingStep::longest`] / 2^k taken so far, as element k.
    pub fn by_level(&self) -> &[u64] {
        &self.by_level
    }

    /// The number of steps taken so far.
    pub fn steps(&self) -> u64 {
        self.by_level.iter().sum()
    }

    /// The length of the next step, at the beginning of a longest one.
    ///
    /// # Errors
    /// A step below the shortest.
    pub fn next_dt(&self) -> Result<f64> {
        Ok(self.length(self.step_at(0)?))
    }

    pub(super) fn set_longest(&mut self, longest: f64) {
        self.longest = longest;
    }

    /// Takes in another softening, with the accelerations that follow from it.
    pub(super) async fn renew(&mut self, softening: f64, backend: &mut dyn Backend) -> Result<()> {
        self.softening = softening;
        self.look(backend).await
    }

    /// Takes up to `n` longest steps; `watch` is called after each and returns false to end early.
    /// Returns the number done, also on failure.
    pub(super) async fn advance_steps(
        &mut self,
        n: u64,
        backend: &mut dyn Backend,
        watch: &mut Watch<'_>,
    ) -> (u64, Result<()>) {
        for done in 0..n {
            if let Err(error) = self.advance(backend).await {
                return (done, Err(error));
            }
            if !watch(done + 1) {
                return (done + 1, Ok(()));
            }
        }
        (n, Ok(()))
    }

    /// One longest step.
    ///
    /// # Errors
    /// Those of the engine; a step below the shortest. The bodies are then where they were.
    async fn advance(&mut self, backend: &mut dyn Backend) -> Result<()> {
        let (least_time, by_level) = (self.least_time, self.by_level.clone());
        of(backend)?.save()?;
        let advanced = self.advance_in_parts(backend).await;
        if advanced.is_err() {
            of(backend)?.restore();
            (self.least_time, self.by_level) = (least_time, by_level);
        }
        advanced
    }

    async fn advance_in_parts(&mut self, backend: &mut dyn Backend) -> Result<()> {
        let mut now = 0;
        while now < PERIOD {
            let step = self.step_at(now)?;
            let dt = self.length(step);
            if let Some(frame) = backend.capabilities(0.0).first_frame() {
                frame.dt(dt)?;
            }
            match backend.advance(dt, 1, &mut |_| true).await {
                (_, Err(error)) => return Err(error),
                (0, Ok(())) => return Err(Error::Stopped),
                _ => {}
            }
            now += step;
            let level = (LEVELS - step.trailing_zeros()) as usize;
            if self.by_level.len() <= level {
                self.by_level.resize(level + 1, 0);
            }
            self.by_level[level] += 1;
            self.look(backend).await?;
        }
        Ok(())
    }

    /// Takes in the present accelerations.
    async fn look(&mut self, backend: &mut dyn Backend) -> Result<()> {
        let largest = of(backend)?.largest_acceleration().await?;
        if !largest.is_finite() {
            let allowed = "finite: bodies may be too close for --dt auto and this softening";
            return Err(Error::value("the largest acceleration", largest, allowed));
        }
        self.least_time = (self.softening / largest).sqrt();
        Ok(())
    }

    /// The step at `now`, in shortest steps since the last longest one.
    fn step_at(&self, now: u64) -> Result<u64> {
        let criterion = self.accuracy * self.least_time / self.longest * PERIOD as f64;
        common_step(now, criterion).ok_or_else(|| {
            let allowed = format!("at least {:.1e}, the longest / 2^{LEVELS}", self.length(1));
            let step = self.accuracy * self.least_time;
            Error::value("the step of --dt auto", format!("{step:.1e}"), allowed)
        })
    }

    /// The length of a number of shortest steps, a power of two: exact.
    fn length(&self, step: u64) -> f64 {
        self.longest * (step as f64 / PERIOD as f64)
    }
}

/// Refuses a step back in time.
///
/// # Errors
/// A step that is not greater than 0.
pub(crate) fn check_forwards(dt: f64) -> Result<()> {
    if dt > 0.0 {
        return Ok(());
    }
    let allowed = "greater than 0 with --dt auto, whose steps do not retrace the path";
    Err(Error::value("the time step dt", dt, allowed))
}

/// What the backend offers for a step that varies.
///
/// # Errors
/// It has no such steps.
fn of(backend: &mut dyn Backend) -> Result<&mut dyn Varying> {
    let allowed = "a number: this backend has steps of one length only";
    backend.varying().ok_or_else(|| Error::value("--dt", "auto", allowed))
}
