//! The timed problem: sinks and sources of a synthetic cloud, and the correct result for a sample
//! of the sinks.

use std::ops::Range;

use glam::DVec3;

use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::{Forces, Identity, Order, Outputs, TestBodies};
#[cfg(feature = "bench")]
use crate::forces::{Sinks, Sources};
use crate::measure::{ErrorStats, acceleration_errors, reference};
use crate::scene::{Spread, test_bodies};

/// Plummer softening length used for all timings.
pub(in crate::measure) const SOFTENING: f64 = 0.05;

/// Number of sinks compared with f64.
const PROBED: usize = 64;

/// A set of bodies; the first of them are the sinks, and the sources.
#[derive(Debug)]
pub(in crate::measure) struct Problem {
    pub bodies: TestBodies,
    pub sink_count: usize,
    pub source_count: usize,
    /// The compared sinks, in blocks.
    pub probes: Vec<Range<usize>>,
    right: Forces,
}

impl Problem {
    /// Bodies at rest that are exact in f32. Both numbers must be at least 1.
    pub fn new(sinks: usize, sources: usize) -> Result<Self> {
        let n = sources.max(sinks);
        let Bodies { position, mut mass, .. } = test_bodies(n, Spread::Uneven);
        // Two masses, like the components of a galaxy, so that a mass that is ignored shows.
        let narrow = |mass: f64| f64::from((mass / n as f64) as f32);
        mass[..n / 2].fill(narrow(0.75));
        mass[n / 2..].fill(narrow(1.25));
        let (velocity, acceleration) = (vec![DVec3::ZERO; n], vec![DVec3::ZERO; n]);
        let bodies = TestBodies { position, velocity, acceleration, mass };
        Self::of(bodies, (sinks, sources), Order::Acceleration)
    }

    /// Moving bodies that are not exact in f32, for forces up to a derivative.
    #[cfg(feature = "bench")]
    pub fn moving(sinks: usize, sources: usize, order: Order) -> Result<Self> {
        Self::of(TestBodies::new(sources, 0xd1ce), (sinks, sources), order)
    }

    fn of(bodies: TestBodies, (sinks, sources): (usize, usize), order: Order) -> Result<Self> {
        let probes = probes(sinks);
        let mut probed = TestBodies::default();
        for i in probes.iter().cloned().flatten() {
            let (position, velocity) = (bodies.position[i], bodies.velocity[i]);
            probed.push(position, velocity, bodies.acceleration[i], bodies.mass[i]);
        }
        // The softened force of a body on itself is 0, and so are its derivatives.
        let probed = probed.sinks(0..probed.len(), Identity::Foreign);
        let right = reference(&bodies.sources(sources), &probed, SOFTENING, &Outputs::only(order))?;
        Ok(Self { bodies, sink_count: sinks, source_count: sources, probes, right })
    }

    /// The errors of the accelerations of the probed sinks, in the order of the probes.
    pub fn errors_of_probed(&self, probed: &[DVec3]) -> ErrorStats {
        acceleration_errors(probed, &self.right.acceleration)
    }
}

/// For engines that are called from the host.
#[cfg(feature = "bench")]
impl Problem {
    pub fn sources(&self) -> Sources<'_> {
        self.bodies.sources(self.source_count)
    }

    /// Sinks beyond the sources are foreign.
    pub fn sinks(&self) -> Sinks<'_> {
        let is_source = self.sink_count <= self.source_count;
        let identity = if is_source { Identity::Offset(0) } else { Identity::Foreign };
        self.bodies.sinks(0..self.sink_count, identity)
    }

    /// The errors of accelerations, jerks and snaps of all sinks, as far as computed.
    pub fn errors(&self, found: &Forces) -> [Option<ErrorStats>; 3] {
        let of = |found: &[DVec3], right: &[DVec3]| {
            let probed = self.probes.iter().cloned().flatten().map(|i| found.get(i).copied());
            let probed: Option<Vec<DVec3>> = probed.collect();
            probed.map(|probed| acceleration_errors(&probed, right))
        };
        let right = &self.right;
        [
            of(&found.acceleration, &right.acceleration),
            of(&found.jerk, &right.jerk),
            of(&found.snap, &right.snap),
        ]
    }
}

/// The compared blocks of sinks: the first, the last, and two between.
fn probes(sinks: usize) -> Vec<Range<usize>> {
    if sinks <= PROBED {
        return vec![0..sinks; 1];
    }
    let block = PROBED / 4;
    let begin = |k: usize| (sinks - block) * k / 3;
    (0..4).map(|k| begin(k)..begin(k) + block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_reach_both_ends() {
        for n in [1, 64, 65, 1000, 1 << 20] {
            let probes = probes(n);
            assert_eq!((probes[0].start, probes[probes.len() - 1].end), (0, n));
            assert!(probes.iter().map(ExactSizeIterator::len).sum::<usize>() <= PROBED);
        }
    }

    #[test]
    fn wrong_results_give_large_errors() {
        let problem = Problem::new(10, 100).unwrap();
        let right = problem.right.acceleration.clone();
        assert_eq!(problem.errors_of_probed(&right).worst, 0.0);
        let mut wrong = right.clone();
        wrong[9] *= 1.01;
        assert!(problem.errors_of_probed(&wrong).worst > 0.009);
        assert!(problem.errors_of_probed(&right[..9]).worst.is_infinite());
    }
}
