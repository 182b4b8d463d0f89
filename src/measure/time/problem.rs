//! The timed problem: sinks and sources of a synthetic cloud, and the correct result for a sample
//! of the sinks.

use std::ops::Range;

use glam::DVec3;

use crate::bodies::Bodies;
use crate::error::Result;
use crate::forces::direct::Reference;
use crate::forces::direct::gpu::Masses;
use crate::forces::{Answers, ForceEngine, Identity, Sinks, Sources, Want};
use crate::measure::{ErrorStats, acceleration_errors};
use crate::scene::{Spread, test_bodies};

/// Plummer softening length used for all timings.
pub(in crate::measure) const SOFTENING: f64 = 0.05;

/// Number of sinks compared with f64.
const PROBED: usize = 64;

/// A set of bodies; the first of them are the sinks, and the sources.
#[derive(Debug)]
pub(in crate::measure) struct Problem {
    pub position: Vec<DVec3>,
    pub mass: Vec<f64>,
    pub sinks: usize,
    pub sources: usize,
    /// The compared sinks, in blocks.
    pub probes: Vec<Range<usize>>,
    reference: Vec<DVec3>,
}

impl Problem {
    /// Both numbers must be at least 1.
    pub fn new(sinks: usize, sources: usize, masses: Masses) -> Result<Self> {
        let n = sources.max(sinks);
        let Bodies { position, mut mass, .. } = test_bodies(n, Spread::Uneven);
        if masses == Masses::InBlocks {
            // Two masses, like the components of a galaxy, so that a mass that is ignored shows.
            let narrow = |mass: f64| f64::from((mass / n as f64) as f32);
            mass[..n / 2].fill(narrow(0.75));
            mass[n / 2..].fill(narrow(1.25));
        }
        let probes = probes(sinks);
        let probed: Vec<DVec3> =
            probes.iter().flat_map(|r| &position[r.clone()]).copied().collect();
        let mut reference = Answers::default();
        Reference::default().evaluate_from(
            &Sources::new(&position[..sources], &mass[..sources]),
            &Sinks::new(&probed, Identity::Foreign),
            SOFTENING,
            &Want::ACCELERATION,
            &mut reference,
        )?;
        let reference = reference.acceleration;
        Ok(Self { position, mass, sinks, sources, probes, reference })
    }

    /// The errors of the accelerations of the probed sinks, in the order of the probes.
    pub fn errors(&self, probed: &[DVec3]) -> ErrorStats {
        acceleration_errors(probed, &self.reference)
    }
}

/// The compared blocks of sinks: the first, the last, and two between.
pub(in crate::measure) fn probes(sinks: usize) -> Vec<Range<usize>> {
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
        let problem = Problem::new(10, 100, Masses::Various).unwrap();
        let right = problem.reference.clone();
        assert_eq!(problem.errors(&right).worst, 0.0);
        let mut wrong = right.clone();
        wrong[9] *= 1.01;
        assert!(problem.errors(&wrong).worst > 0.009);
        assert!(problem.errors(&right[..9]).worst.is_infinite());
    }
}
