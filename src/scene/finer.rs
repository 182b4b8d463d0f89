//! Softening and time step that follow the number of bodies.

use super::RunHints;
use crate::messages::rounded;

/// A scene's own number of bodies, and the run settings for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finer {
    pub n: usize,
    pub run: RunHints,
}

impl Finer {
    /// Adapts `run` to `n` bodies. More bodies than the scene's own are closer together: the
    /// softening scales with their distance, n^(-1/3), and the step with the softening, so that a
    /// body crosses the same part of it per step. Both are rounded to two digits, which a user can
    /// read and repeat. With fewer bodies nothing changes, as more softening would only blur.
    pub fn refine(&self, n: usize, run: &mut RunHints) {
        (run.softening, run.dt) = (self.run.softening, self.run.dt);
        if n > self.n {
            let factor = libm::cbrt(self.n as f64 / n as f64);
            run.softening = rounded(run.softening * factor, 2);
            run.dt = rounded(run.dt * factor, 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softening_and_step_scale_with_body_count_reversibly() {
        let own = RunHints { softening: 0.15, dt: 0.1, until: 50.0 };
        let finer = Finer { n: 30_000, run: own };
        let mut run = own;
        finer.refine(240_000, &mut run);
        assert_eq!(run, RunHints { softening: 0.075, dt: 0.05, until: 50.0 });
        finer.refine(1_000_000, &mut run);
        assert_eq!(run, RunHints { softening: 0.047, dt: 0.031, until: 50.0 });
        for n in [30_000, 100, 1] {
            finer.refine(n, &mut run);
            assert_eq!(run, own);
        }
        let unsoftened = Finer { run: RunHints { softening: 0.0, ..own }, ..finer };
        unsoftened.refine(1_000_000, &mut run);
        assert_eq!((run.softening, run.dt), (0.0, 0.031));
    }
}
