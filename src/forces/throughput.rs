//! How much work goes into one dispatch and one submission, from the measured rate.
//!
//! A dispatch may take 50 ms, or 8 ms if a window is open ([`Budget`]). [`Throughput`] converts
//! that to a number of interactions. For all pairs the time of a chunk follows from its number of
//! interactions. For a tree it does not: a walk can take a thousand times as long as its count
//! suggests. The first chunks are therefore small, and the rate follows slow ones at once
//! ([`Throughput::expect_uneven`]).

/// The longest time that a dispatch and a submission may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Seconds per dispatch.
    pub dispatch_secs: f64,
    /// Seconds per submission.
    pub submission_secs: f64,
}

impl Budget {
    /// With a window open: frames must not wait.
    pub const INTERACTIVE: Self = Self { dispatch_secs: 0.008, submission_secs: 0.012 };
    /// Without a window: stay clear of drivers' watchdogs.
    pub const HEADLESS: Self = Self { dispatch_secs: 0.05, submission_secs: 0.25 };
}

/// The rate of a kernel on a device, as measured so far.
#[derive(Clone, Copy, Debug)]
pub struct Throughput {
    interactions_per_sec: f64,
    dispatch_secs: f64,
    measured: bool,
    fixed: bool,
    uneven: bool,
}

/// For uneven work, a submission this long gets full weight when learning.
const UNEVEN_SECS: f64 = 1.0;

impl Throughput {
    /// A first estimate: the rate of the slowest device of the class.
    pub fn guess(class: crate::gpu::DeviceClass) -> Self {
        use crate::gpu::DeviceClass::*;
        let interactions_per_sec = match class {
            Software => 2e8,
            Integrated | Unknown | Virtual => 2e9,
            Discrete => 2e10,
        };
        // lavapipe needs 60 microseconds to start a dispatch; a GPU a few.
        let dispatch_secs = if class == Software { 6e-5 } else { 5e-6 };
        Self { interactions_per_sec, dispatch_secs, measured: false, fixed: false, uneven: false }
    }

    /// A fixed rate that never changes: for chunks of known size.
    pub fn fixed(interactions_per_sec: f64) -> Self {
        let dispatch_secs = 0.0;
        Self { interactions_per_sec, dispatch_secs, measured: true, fixed: true, uneven: false }
    }

    /// Starts from this rate, until others are measured.
    #[must_use]
    pub fn with_rate(self, interactions_per_sec: f64) -> Self {
        Self { interactions_per_sec, measured: true, ..self }
    }

    /// Declares that chunks of equal count may take very different times. The rate then follows
    /// slow chunks at once, so that none is slow twice, and quick ones in proportion to their
    /// length and by factors, so that they do not hide slow ones that follow.
    pub fn expect_uneven(&mut self) {
        self.uneven = true;
    }

    /// Learns from a finished submission. Short ones say little about the rate.
    pub fn learn(&mut self, interactions: u64, dispatches: u64, secs: f64) {
        if self.fixed || interactions == 0 || !(secs > 0.0) {
            return;
        }
        let fixed = dispatches as f64 * self.dispatch_secs;
        let observed = interactions as f64 / (secs - fixed).max(0.2 * secs);
        if self.uneven && self.measured {
            let ratio = observed / self.interactions_per_sec;
            let weight = if ratio < 0.5 { 1.0 } else { 0.3 * (secs / UNEVEN_SECS).min(1.0) };
            self.interactions_per_sec *= ratio.powf(weight);
            return;
        }
        // A shared machine is slower now and then: follow slowly, except from the first estimate.
        let weight = if self.measured { 0.3 } else { 1.0 };
        self.interactions_per_sec += weight * (observed - self.interactions_per_sec);
        self.measured = true;
    }

    /// Number of interactions that take `secs`.
    pub fn interactions_in(&self, secs: f64) -> u64 {
        (secs * self.interactions_per_sec).max(1.0) as u64
    }

    /// Seconds that this work takes.
    pub fn secs(&self, interactions: u64, dispatches: u64) -> f64 {
        interactions as f64 / self.interactions_per_sec + dispatches as f64 * self.dispatch_secs
    }

    /// Interactions per second, as measured so far.
    pub fn rate(&self) -> f64 {
        self.interactions_per_sec
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::DeviceClass;

    #[test]
    fn throughput_converges_to_true_rate() {
        let true_rate = 7e11;
        let mut throughput = Throughput::guess(DeviceClass::Discrete);
        for _ in 0..20 {
            let work = throughput.interactions_in(0.25);
            throughput.learn(work, 4, work as f64 / true_rate + 4.0 * 5e-6);
        }
        assert!((throughput.rate() / true_rate - 1.0).abs() < 0.01, "{}", throughput.rate());
    }

    /// Like a tree with strict opening: a second of walking after a tenth of building that counts
    /// as much.
    #[test]
    fn uneven_work_exceeds_budget_at_most_once() {
        let slowest = |uneven: bool| {
            let mut throughput = Throughput::guess(DeviceClass::Discrete);
            if uneven {
                throughput.expect_uneven();
            }
            let mut slowest = 0.0_f64;
            for step in 0..10 {
                for (rate, secs) in [(1e11, 0.1), (1e9, 1.0)] {
                    let mut left: f64 = rate * secs;
                    while left > 0.0 {
                        let work = left.min(throughput.interactions_in(0.25) as f64);
                        left -= work;
                        throughput.learn(work as u64, 1, work / rate + 5e-6);
                        if step > 0 {
                            slowest = slowest.max(work / rate);
                        }
                    }
                }
            }
            slowest
        };
        assert!(slowest(true) < 0.5, "{}", slowest(true));
        assert!(slowest(false) > 0.9, "{}", slowest(false));
    }
}
