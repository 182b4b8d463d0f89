//! The reference engine: f64, one pair after the other, obviously right. Every other engine is tested
//! against it. Sinks are spread over the cores; each sink's sum runs over the sources in their order,
//! so the result does not depend on the number of cores.

use glam::DVec3;
use rayon::prelude::*;

use super::{ForceEngine, Forces, Sinks, Sources, Want, check_softening};
use crate::error::Result;
use crate::stop;

/// See the module's text. Equation 1 of GPU Gems 3, chapter 31, in double precision.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reference;

impl ForceEngine for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn describe(&self) -> String {
        format!("scalar f64 on {} threads", rayon::current_num_threads())
    }

    fn compute(
        &mut self,
        sinks: &Sinks,
        sources: &Sources,
        softening: f64,
        want: Want,
        out: &mut Forces,
    ) -> Result<()> {
        check_softening(softening)?;
        let force = |i: usize| match stop::is_wanted() {
            true => Default::default(),
            false => force_on(sinks.position[i], sinks.identity.of(i), sources, softening),
        };
        let pairs: Vec<(DVec3, f64)> =
            (0..sinks.position.len()).into_par_iter().map(force).collect();
        stop::check()?;
        out.acceleration.clear();
        out.acceleration.extend(pairs.iter().map(|(acceleration, _)| *acceleration));
        out.potential.clear();
        if want == Want::AccelerationAndPotential {
            out.potential.extend(pairs.iter().map(|(_, potential)| *potential));
        }
        Ok(())
    }
}

/// Acceleration and potential at `sink`, which is the source `itself`, if any.
fn force_on(sink: DVec3, itself: Option<usize>, sources: &Sources, softening: f64) -> (DVec3, f64) {
    let mut acceleration = DVec3::ZERO;
    let mut potential = 0.0;
    for (j, (&source, &mass)) in sources.position.iter().zip(sources.mass).enumerate() {
        let towards = source - sink;
        let distance_squared = towards.length_squared() + softening * softening;
        if Some(j) == itself || distance_squared == 0.0 {
            continue;
        }
        let inverse = 1.0 / distance_squared.sqrt();
        acceleration += towards * (mass * inverse * inverse * inverse);
        potential -= mass * inverse;
    }
    (acceleration, potential)
}

#[cfg(test)]
mod tests {
    use super::super::Identity;
    use super::*;

    #[test]
    fn two_bodies_by_hand() {
        let position = [DVec3::ZERO, DVec3::new(3.0, 0.0, 0.0)];
        let sources = Sources { position: &position, mass: &[2.0, 5.0] };
        let sinks = Sinks { position: &position, identity: Identity::Offset(0) };
        let mut out = Forces::default();
        Reference
            .evaluate(&sinks, &sources, 4.0, Want::AccelerationAndPotential, &mut out)
            .unwrap();
        // |r|^2 + eps^2 = 9 + 16 = 5^2
        assert!((out.acceleration[0] - DVec3::new(5.0 * 3.0 / 125.0, 0.0, 0.0)).length() < 1e-16);
        assert!((out.acceleration[1] - DVec3::new(-2.0 * 3.0 / 125.0, 0.0, 0.0)).length() < 1e-16);
        assert!((out.potential[0] + 1.0).abs() < 1e-15 && (out.potential[1] + 0.4).abs() < 1e-15);
    }

    #[test]
    fn bodies_in_one_place_are_left_alone_without_softening() {
        let position = [DVec3::ONE; 2];
        let sources = Sources { position: &position, mass: &[1.0, 1.0] };
        let sinks = Sinks { position: &position, identity: Identity::Foreign };
        let mut out = Forces::default();
        Reference
            .evaluate(&sinks, &sources, 0.0, Want::AccelerationAndPotential, &mut out)
            .unwrap();
        assert_eq!(out.acceleration, [DVec3::ZERO; 2]);
        assert_eq!(out.potential, [0.0; 2]);
    }
}
