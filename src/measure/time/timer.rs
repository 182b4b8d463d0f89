//! The interface for timing candidates, used by the tuner, the figures and pages, and sampling in
//! turns.

use crate::error::Result;
use crate::forces::direct::gpu::KernelConfig;

/// Times candidates. On a device [`super::KernelTimer`] times forces alone and [`super::StepTimer`]
/// whole steps; tests provide their own.
pub trait Timer<Candidate = KernelConfig> {
    /// Prepares a candidate: compiles it, checks its results, warms up. Costs nothing if it is
    /// already prepared.
    ///
    /// # Errors
    ///
    /// A candidate that the device cannot run, or that computes wrong forces; neither is a reason
    /// to stop a sweep, but [`crate::error::Error::Device`] is.
    fn prepare(&mut self, candidate: &Candidate) -> impl Future<Output = Result<()>>;

    /// Takes one sample: seconds per force evaluation or step. Prepares the candidate first if
    /// needed.
    ///
    /// # Errors
    ///
    /// Those of [`Timer::prepare`].
    fn sample(&mut self, candidate: &Candidate) -> impl Future<Output = Result<f64>>;

    /// Releases a candidate's resources on the device.
    fn forget(&mut self, candidate: &Candidate);

    /// Takes `samples` samples in a row, after one that is discarded. For comparisons use
    /// [`interleave`].
    ///
    /// # Errors
    ///
    /// Those of [`Timer::prepare`].
    fn time(
        &mut self,
        candidate: &Candidate,
        samples: usize,
    ) -> impl Future<Output = Result<Vec<f64>>> {
        async move {
            let mut secs = Vec::with_capacity(samples);
            for round in 0..=samples {
                let sample = self.sample(candidate).await?;
                secs.extend((round > 0).then_some(sample));
            }
            Ok(secs)
        }
    }
}

/// Samples prepared candidates in turn, so that a drifting clock affects all alike. The first round
/// is discarded. Stops early if `go_on` returns false; returns the samples so far as
/// `[candidate][round]`.
///
/// # Errors
///
/// Those of [`Timer::prepare`].
pub async fn interleave<Candidate>(
    timer: &mut impl Timer<Candidate>,
    candidates: &[Candidate],
    rounds: usize,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<Vec<f64>>> {
    let mut samples = vec![Vec::with_capacity(rounds); candidates.len()];
    for round in 0..=rounds {
        for (candidate, set) in candidates.iter().zip(&mut samples) {
            if !go_on() {
                return Ok(samples);
            }
            let secs = timer.sample(candidate).await?;
            if round > 0 {
                set.push(secs);
            }
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::blocking;

    /// Counts rounds; candidate p takes p microseconds, and more in each round.
    struct Fake {
        sampled: Vec<u32>,
    }

    impl Timer for Fake {
        async fn prepare(&mut self, candidate: &KernelConfig) -> Result<()> {
            candidate.validate(None)
        }

        async fn sample(&mut self, candidate: &KernelConfig) -> Result<f64> {
            self.prepare(candidate).await?;
            self.sampled.push(candidate.p);
            Ok(f64::from(candidate.p) + self.sampled.len() as f64 * 1e-3)
        }

        fn forget(&mut self, _: &KernelConfig) {}
    }

    const BASE: KernelConfig = KernelConfig::tiled(64);

    #[test]
    fn candidates_take_turns_and_the_first_round_is_dropped() {
        let mut fake = Fake { sampled: Vec::new() };
        let two = [BASE, KernelConfig { p: 128, ..BASE }];
        let samples = blocking(interleave(&mut fake, &two, 3, &mut || true)).unwrap();
        assert_eq!(fake.sampled, [64, 128, 64, 128, 64, 128, 64, 128]);
        assert_eq!(samples.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
        assert_eq!(samples[0][0], 64.0 + 3e-3);
        assert_eq!(blocking(fake.time(&BASE, 4)).unwrap().len(), 4);
        assert!(blocking(fake.time(&KernelConfig { p: 0, ..BASE }, 4)).is_err());
    }

    #[test]
    fn interrupted_sampling_returns_samples_so_far() {
        let mut left = 5;
        let mut go_on = || {
            left -= 1;
            left > 0
        };
        let mut fake = Fake { sampled: Vec::new() };
        let samples = blocking(interleave(&mut fake, &[BASE, BASE], 9, &mut go_on)).unwrap();
        assert_eq!(samples.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
    }
}
