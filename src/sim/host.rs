//! A simulation that the host steps in f64. (Bodies on block steps may live on the engine's device and come
//! back at the end of each step.)

use std::sync::Arc;

use glam::DVec3;

use super::engine::HostEngine;
use super::{Clock, Settings};
use crate::bodies::Bodies;
use crate::direct::{self, Answers, DirectEngine, Order, Precision};
use crate::error::{Error, Result};
use crate::force::{ForceEngine, Forces, Identity, Sinks, Sources, Want};
use crate::integrate::blocks::{BlockSteps, Field, Passage, Restart};
use crate::integrate::{self, HostIntegrator, HostSide};

/// Bodies, an engine and an integrator on the host.
pub struct HostState {
    bodies: Bodies,
    /// G m.
    gravitating_mass: Vec<f64>,
    acceleration: Vec<DVec3>,
    softening: f64,
    interactions: u64,
    how: How,
}

/// The two kinds of integrators, each with the engine that it needs.
enum How {
    Shared {
        engine: Box<dyn ForceEngine>,
        integrator: Box<dyn HostIntegrator>,
        forces: Forces,
        /// Positions and velocities before the present step, to go back to if it is broken off.
        before: [Vec<DVec3>; 2],
    },
    Blocks {
        engine: Box<dyn DirectEngine>,
        /// What computes potentials, once they are asked for, if the engine is too coarse for them: the
        /// errors of these integrators are smaller than those of f32 pairs.
        exact: Option<Box<dyn DirectEngine>>,
        steps: Box<BlockSteps>,
        /// Counts the steps of the simulation, at whose ends the bodies are synchronised.
        clock: Clock,
    },
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
    let (sources, sinks) = all_on_all(bodies, gravitating_mass);
    let evaluated = engine.evaluate(&sinks, &sources, softening, want, out);
    evaluated.map_err(|error| error.with_ids(&bodies.id))
}

/// `bodies` as sources and as sinks.
fn all_on_all<'a>(bodies: &'a Bodies, gravitating_mass: &'a [f64]) -> (Sources<'a>, Sinks<'a>) {
    let position = &bodies.position;
    let sources = Sources { position, mass: gravitating_mass };
    (sources, Sinks { position, identity: Identity::Offset(0) })
}

/// An engine in f64 where `engine` computes, or else on the CPU.
fn in_f64(engine: &dyn DirectEngine) -> Box<dyn DirectEngine> {
    #[cfg(not(target_arch = "wasm32"))]
    if let Some(there) = engine.on_device()
        && there.gpu().adapter.class != crate::gpu::DeviceClass::Software
        && let Ok(made) = direct::gpu::GpuEngine::new(Arc::clone(there.gpu()), Precision::Double)
    {
        return Box::new(made);
    }
    let _ = engine;
    Box::new(direct::Cpu::new())
}

impl HostState {
    /// Takes `bodies` over and computes their first forces with `engine`, which was made for these
    /// `settings`. With `restart`, which integrators with block steps need to go on to the same bits, they go
    /// on from there.
    ///
    /// Errors: settings out of range; bodies that the integrator cannot begin with; an engine for
    /// another kind of integrator.
    pub fn new(
        bodies: Bodies,
        engine: HostEngine,
        settings: &Settings,
        restart: Option<&Restart>,
    ) -> Result<Self> {
        let g = settings.gravitational_constant;
        let gravitating_mass: Vec<f64> = bodies.mass.iter().map(|mass| mass * g).collect();
        let softening = settings.softening;
        let n = bodies.len();
        let integrator = integrate::find(&settings.integrator)?;
        let mut acceleration = Vec::new();
        let mut bodies = bodies;
        let (how, interactions) = match (engine, integrator.host) {
            (HostEngine::Plain(mut engine), HostSide::Shared(make)) => {
                let mut forces = Forces::default();
                let want = Want::Acceleration;
                let masses = &gravitating_mass;
                evaluate(engine.as_mut(), &bodies, masses, softening, want, &mut forces)?;
                acceleration.clone_from(&forces.acceleration);
                let before = Default::default();
                (How::Shared { engine, integrator: make(), forces, before }, (n as u64).pow(2))
            }
            (HostEngine::Direct(mut engine), HostSide::Blocks(scheme)) => {
                // The integrator's time is 0 at step 0, whatever the clock on the outside shows.
                let clock = Clock::new(0.0, settings.steps_before, settings.dt);
                let accuracy = settings.blocks;
                let field = Field { mass: &gravitating_mass, softening, id: &bodies.id };
                let steps = match restart.filter(|restart| restart.has_steps()) {
                    Some(restart) => BlockSteps::resume(scheme, accuracy, restart)?,
                    None => {
                        let now = clock.time();
                        BlockSteps::start(scheme, accuracy, &bodies, now, &field, engine.as_mut())?
                    }
                };
                let mut steps = steps;
                steps.settle(&field, engine.as_ref());
                steps.synchronise(clock.time(), &mut bodies, &mut acceleration);
                (How::Blocks { engine, exact: None, steps: Box::new(steps), clock }, 0)
            }
            (engine, _) => {
                let allowed = format!("one made for {}", integrator.name);
                return Err(Error::value("the engine", engine.describe(), allowed));
            }
        };
        Ok(Self { bodies, gravitating_mass, acceleration, softening, interactions, how })
    }

    /// The bodies now.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// Their accelerations.
    pub fn acceleration(&self) -> &[DVec3] {
        &self.acceleration
    }

    /// What computes the forces, in one line.
    pub fn describe(&self) -> String {
        match &self.how {
            How::Shared { engine, .. } => engine.describe(),
            How::Blocks { engine, steps, .. } => {
                format!("{}, {}", engine.describe(), steps.describe_home())
            }
        }
    }

    /// The individual steps, if the integrator has them.
    pub fn blocks(&self) -> Option<&BlockSteps> {
        match &self.how {
            How::Shared { .. } => None,
            How::Blocks { steps, .. } => Some(steps),
        }
    }

    /// The closest passage since this was asked last, if the integrator has individual steps.
    pub fn take_passage(&mut self) -> Option<Passage> {
        match &mut self.how {
            How::Shared { .. } => None,
            How::Blocks { steps, .. } => steps.take_passage(),
        }
    }

    /// Interactions computed for steps so far, the first forces included.
    pub fn interactions(&self) -> u64 {
        self.interactions + self.blocks().map_or(0, |steps| steps.stats().interactions)
    }

    /// Goes on with another softening: new forces at once.
    pub fn set_softening(&mut self, softening: f64) -> Result<()> {
        crate::force::check_softening(softening)?;
        let masses = &self.gravitating_mass;
        match &mut self.how {
            How::Shared { engine, forces, .. } => {
                let want = Want::Acceleration;
                evaluate(engine.as_mut(), &self.bodies, masses, softening, want, forces)?;
                self.acceleration.clone_from(&forces.acceleration);
            }
            How::Blocks { engine, steps, clock, .. } => {
                let field = Field { mass: masses, softening, id: &self.bodies.id };
                let mut again = steps.again(&self.bodies, clock.time(), &field, engine.as_mut())?;
                again.settle(&field, engine.as_ref());
                **steps = again;
            }
        }
        self.softening = softening;
        Ok(())
    }

    /// One step of `dt`. With individual steps: all blocks that end within it; the bodies are then
    /// synchronised to its end.
    ///
    /// Errors: those of the engine; a body whose individual step would fall under the shortest, with the
    /// bodies left synchronised to the last block; a negative `dt` where the integrator has no way back;
    /// [`Error::Stopped`], with everything as before the step.
    pub fn step(&mut self, dt: f64) -> Result<()> {
        let Self { bodies, gravitating_mass, acceleration, softening, how, interactions } = self;
        match how {
            How::Shared { engine, integrator, forces, before } => {
                let mut accelerate = |bodies: &Bodies, out: &mut Vec<DVec3>| {
                    let want = Want::Acceleration;
                    let engine = engine.as_mut();
                    // Bodies that have left the range of numbers are told with time and step, by the moment.
                    let (sources, sinks) = all_on_all(bodies, gravitating_mass);
                    engine.compute(&sinks, &sources, *softening, want, forces)?;
                    std::mem::swap(out, &mut forces.acceleration);
                    Ok(())
                };
                before[0].clone_from(&bodies.position);
                before[1].clone_from(&bodies.velocity);
                let stepped = integrator.step(bodies, acceleration, dt, &mut accelerate);
                if matches!(stepped, Err(Error::Stopped)) {
                    let [position, velocity] = before;
                    std::mem::swap(&mut bodies.position, position);
                    std::mem::swap(&mut bodies.velocity, velocity);
                }
                stepped?;
                *interactions += (bodies.len() as u64).pow(2);
            }
            How::Blocks { engine, steps, clock, .. } => {
                if !(dt > 0.0) {
                    let allowed = "greater than 0: individual steps lead forward only";
                    return Err(Error::value("the time step dt", dt, allowed));
                }
                if dt != clock.dt() {
                    clock.set_dt(dt);
                }
                let mut next = *clock;
                next.advance(1);
                let field = Field { mass: gravitating_mass, softening: *softening, id: &bodies.id };
                let advanced = steps.advance_whole(next.time(), &field, engine.as_mut());
                let now = match &advanced {
                    Ok(()) => next.time(),
                    Err(Error::Stopped) => clock.time(),
                    Err(_) => steps.time(),
                };
                steps.synchronise(now, bodies, acceleration);
                advanced?;
                *clock = next;
            }
        }
        Ok(())
    }

    /// The time that the bodies are synchronised to, since step 0, if it is not that of a whole step:
    /// after an error of [`HostState::step`].
    pub fn stopped_at(&self) -> Option<f64> {
        match &self.how {
            How::Shared { .. } => None,
            How::Blocks { steps, clock, .. } => {
                let latest = steps.time();
                (latest > clock.time()).then_some(latest)
            }
        }
    }

    /// What has to be saved besides the bodies to go on to the same bits.
    pub fn restart(&self) -> Restart {
        self.blocks().map(BlockSteps::restart).unwrap_or_default()
    }

    /// Potentials of all bodies, G included; with block steps in f64, whatever the engine's tier.
    pub fn potential(&mut self) -> Result<Vec<f64>> {
        let (bodies, masses, softening) = (&self.bodies, &self.gravitating_mass, self.softening);
        match &mut self.how {
            How::Shared { engine, .. } => {
                let mut forces = Forces::default();
                let want = Want::AccelerationAndPotential;
                evaluate(engine.as_mut(), bodies, masses, softening, want, &mut forces)?;
                Ok(forces.potential)
            }
            How::Blocks { engine, exact, .. } => {
                let engine = match exact {
                    Some(exact) => exact,
                    None if engine.precision() == Precision::Double => engine,
                    None => exact.insert(in_f64(engine.as_ref())),
                };
                let (position, mut answers) = (&bodies.position[..], Answers::default());
                let sources = direct::Sources { position, mass: masses, ..Default::default() };
                engine.set_sources(&sources)?;
                let identity = Identity::Offset(0);
                let sinks = direct::Sinks { position, velocity: &[], acceleration: &[], identity };
                let want =
                    direct::Want { potential: true, ..direct::Want::only(Order::Acceleration) };
                let found = engine.evaluate(&sinks, softening, &want, &mut answers);
                found.map_err(|error| error.with_ids(&bodies.id))?;
                Ok(answers.potential)
            }
        }
    }
}
