//! One evaluation of the forces of all bodies on all, by any engine.

use super::derivatives::DerivativeOptions;
use crate::bodies::Bodies;
use crate::error::Error;
use crate::forces::{
    Answers, ForceEngine, Identity, Order, Sinks, Sources, Want, Within, check_softening,
};
use crate::input::Input;

/// What to compute, by one engine or by several that are compared.
pub struct Evaluation<'a> {
    pub bodies: &'a Bodies,
    pub eps: f64,
    /// Masses times the gravitational constant.
    mass: Vec<f64>,
    /// Radius around each body within which its neighbours lie.
    radius: Vec<f64>,
    pub options: &'a DerivativeOptions,
}

impl<'a> Evaluation<'a> {
    /// An evaluation for these bodies, softened by `eps` or by a length that suits them.
    pub fn of(
        input: &'a Input,
        eps: Option<f64>,
        options: &'a DerivativeOptions,
    ) -> Result<Self, Error> {
        let eps = eps.unwrap_or(input.run.softening);
        check_softening(eps)?;
        let bodies = &input.snapshot.bodies;
        let mass = bodies.gravitating_mass(input.snapshot.units.gravitational_constant);
        let radius = vec![options.neighbours.unwrap_or(0.0); bodies.len()];
        Ok(Self { bodies, eps, mass, radius, options })
    }

    /// Computes everything with this engine. Snaps need the accelerations of a first pass.
    pub fn by(&self, engine: &mut dyn ForceEngine) -> Result<Answers, Error> {
        let mut found = Answers::default();
        let mut acceleration = Vec::new();
        let order = self.options.order();
        if order == Order::Snap {
            self.evaluate(engine, &[], &Want::only(Order::Acceleration), &mut found)?;
            acceleration = std::mem::take(&mut found.acceleration);
        }
        let within = Within { radius: &self.radius, capacity: self.options.capacity };
        let want = Want {
            order,
            potential: true,
            nearest: self.options.neighbours.is_some(),
            distance: true,
            within: self.options.neighbours.map(|_| within),
        };
        self.evaluate(engine, &acceleration, &want, &mut found)?;
        Ok(found)
    }

    fn evaluate(
        &self,
        engine: &mut dyn ForceEngine,
        acceleration: &[glam::DVec3],
        want: &Want,
        found: &mut Answers,
    ) -> Result<(), Error> {
        let (position, velocity) = (&self.bodies.position[..], &self.bodies.velocity[..]);
        let sources = Sources { position, velocity, acceleration, mass: &self.mass };
        let sinks = Sinks { position, velocity, acceleration, identity: Identity::Offset(0) };
        let result = engine
            .set_sources(&sources)
            .and_then(|()| engine.evaluate(&sinks, self.eps, want, found));
        result.map_err(|error| error.with_ids(&self.bodies.id))
    }
}
