//! A simulation whose bodies live on the host in f64.

use glam::DVec3;

use crate::bodies::Bodies;
use crate::error::Result;
use crate::force::{ForceEngine, Forces, Identity, Sinks, Sources, Want};
use crate::integrate::{HostIntegrator, Integrator};

/// Bodies, a force engine and an integrator on the host.
pub struct HostState {
    bodies: Bodies,
    /// G m.
    gravitating_mass: Vec<f64>,
    acceleration: Vec<DVec3>,
    engine: Box<dyn ForceEngine>,
    integrator: Box<dyn HostIntegrator>,
    softening: f64,
    forces: Forces,
}

/// Accelerations, and potentials if wanted, of all `bodies` on each other.
fn evaluate(
    engine: &mut dyn ForceEngine,
    bodies: &Bodies,
    gravitating_mass: &[f64],
    softening: f64,
    want: Want,
    out: &mut Forces,
) -> Result<()> {
    let sources = Sources { position: &bodies.position, mass: gravitating_mass };
    let sinks = Sinks { position: &bodies.position, identity: Identity::Offset(0) };
    engine.evaluate(&sinks, &sources, softening, want, out)
}

impl HostState {
    /// Takes `bodies` over and computes their accelerations.
    pub fn new(
        bodies: Bodies,
        mut engine: Box<dyn ForceEngine>,
        integrator: &Integrator,
        softening: f64,
        gravitational_constant: f64,
    ) -> Result<Self> {
        let gravitating_mass: Vec<f64> =
            bodies.mass.iter().map(|mass| mass * gravitational_constant).collect();
        let mut forces = Forces::default();
        evaluate(
            engine.as_mut(),
            &bodies,
            &gravitating_mass,
            softening,
            Want::Acceleration,
            &mut forces,
        )?;
        let acceleration = forces.acceleration.clone();
        let integrator = (integrator.host)();
        Ok(Self { bodies, gravitating_mass, acceleration, engine, integrator, softening, forces })
    }

    /// The bodies now.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Their accelerations.
    pub fn acceleration(&self) -> &[DVec3] {
        &self.acceleration
    }

    /// What computes the forces.
    pub fn engine(&self) -> &dyn ForceEngine {
        self.engine.as_ref()
    }

    /// Goes on with another softening: new accelerations at once.
    pub fn set_softening(&mut self, softening: f64) -> Result<()> {
        crate::force::check_softening(softening)?;
        let (engine, masses, want) =
            (self.engine.as_mut(), &self.gravitating_mass, Want::Acceleration);
        evaluate(engine, &self.bodies, masses, softening, want, &mut self.forces)?;
        self.acceleration.clone_from(&self.forces.acceleration);
        self.softening = softening;
        Ok(())
    }

    /// One step of `dt`.
    pub fn step(&mut self, dt: f64) -> Result<()> {
        let Self { bodies, gravitating_mass, acceleration, engine, integrator, softening, forces } =
            self;
        let mut accelerate = |bodies: &Bodies, out: &mut Vec<DVec3>| {
            evaluate(
                engine.as_mut(),
                bodies,
                gravitating_mass,
                *softening,
                Want::Acceleration,
                forces,
            )?;
            std::mem::swap(out, &mut forces.acceleration);
            Ok(())
        };
        integrator.step(bodies, acceleration, dt, &mut accelerate)
    }

    /// Potentials of all bodies, G included.
    pub fn potential(&mut self) -> Result<Vec<f64>> {
        let mut forces = Forces::default();
        let want = Want::AccelerationAndPotential;
        let (engine, masses) = (self.engine.as_mut(), &self.gravitating_mass);
        evaluate(engine, &self.bodies, masses, self.softening, want, &mut forces)?;
        Ok(forces.potential)
    }
}
