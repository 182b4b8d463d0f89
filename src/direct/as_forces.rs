//! A direct engine where plain accelerations and potentials are asked for: leapfrog in double precision,
//! say.

use super::{Answers, DirectEngine, Order};
use crate::error::{Error, Result};
use crate::force::{ForceEngine, Forces, Sinks, Sources, Want};

/// A [`DirectEngine`] as a [`ForceEngine`].
pub struct AsForces(pub Box<dyn DirectEngine>);

impl ForceEngine for AsForces {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn compute(
        &mut self,
        sinks: &Sinks,
        sources: &Sources,
        softening: f64,
        want: Want,
        out: &mut Forces,
    ) -> Result<()> {
        if sources.mass.len() != sources.position.len() {
            let allowed = format!("{}, as of source positions", sources.position.len());
            return Err(Error::value("the number of masses", sources.mass.len(), allowed));
        }
        self.0.set_sources(&super::Sources {
            position: sources.position,
            mass: sources.mass,
            ..super::Sources::default()
        })?;
        let sinks = super::Sinks {
            position: sinks.position,
            velocity: &[],
            acceleration: &[],
            identity: sinks.identity,
        };
        let potential = want == Want::AccelerationAndPotential;
        let want = super::Want { potential, ..super::Want::only(Order::Acceleration) };
        let mut answers = Answers::default();
        self.0.begin(&sinks, softening, &want)?;
        self.0.collect(&mut answers)?;
        out.acceleration = answers.acceleration;
        out.potential = answers.potential;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::super::Cpu;
    use super::*;
    use crate::force::{Identity, Reference};

    #[test]
    fn it_answers_like_the_reference() {
        let position: Vec<DVec3> =
            (0..30).map(|k| DVec3::new(f64::from(k).sin(), f64::from(k).cos(), 0.1)).collect();
        let sources = Sources { position: &position, mass: &[0.1; 30] };
        let sinks = Sinks { position: &position[5..20], identity: Identity::Offset(5) };
        let (mut found, mut right) = (Forces::default(), Forces::default());
        let want = Want::AccelerationAndPotential;
        AsForces(Box::new(Cpu::new())).evaluate(&sinks, &sources, 0.01, want, &mut found).unwrap();
        Reference.evaluate(&sinks, &sources, 0.01, want, &mut right).unwrap();
        for i in 0..15 {
            let off = (found.acceleration[i] - right.acceleration[i]).length();
            assert!(off < 1e-13 * right.acceleration[i].length());
            assert!((found.potential[i] / right.potential[i] - 1.0).abs() < 1e-14);
        }
    }
}
