//! [`Backend`] on the host, in f64. (Bodies on block steps may live on the engine's device during
//! a step and return at its end.)

use std::future::ready;

use glam::DVec3;
use rayon::prelude::*;

use self::evaluation::{all_on_all, begin_step, check_kinds, evaluate, in_f64};
use super::backend::first_of_all;
use super::{
    Backend, BackendEntry, BlocksView, BodyParts, BoxFuture, Capabilities, Clock, Observed, OnHost,
    Settings, Varying, Watch, host_engine,
};
use crate::bodies::{Bodies, copied};
use crate::error::{Error, Result};
use crate::exchange::Ranks;
use crate::forces::{ForceEngine, Forces, InField, Outputs, Precision, RankEngine};
use crate::forces::{last, rebuilds};
use crate::integrate::blocks::{Attractors, BlockSteps, Restart};
use crate::integrate::{HostSide, HostStep};

mod evaluation;

/// The host: for every simulation that suits no other backend.
pub const BACKEND: BackendEntry = BackendEntry {
    suits: |_, _, _| true,
    open: |choice, bodies, settings, restart| {
        Box::pin(async move {
            if settings.integrator.has_block_steps() {
                check_kinds(choice)?;
            }
            let (gpu, others) = (choice.gpu.as_ref(), &choice.others);
            let mut engine = host_engine(choice.kind, gpu, others, settings).await?;
            let engine: Box<dyn ForceEngine> = match settings.spread {
                // Such an engine computes the bits of one rank by itself.
                true if !choice.is_shared() && engine.interfaces().divides.is_some() => engine,
                true => {
                    let ranks = choice.ranks.clone().unwrap_or_else(Ranks::alone);
                    Box::new(match choice.is_mixed {
                        true => RankEngine::mixed(engine, ranks)?,
                        false => RankEngine::new(engine, ranks)?,
                    })
                }
                false => engine,
            };
            let state = HostState::open(std::mem::take(bodies), engine, settings, restart).await?;
            Ok(Box::new(state) as Box<dyn Backend>)
        })
    },
};

/// G m, if G is not 1.
fn own_mass(bodies: &Bodies, gravitational_constant: f64) -> Option<Vec<f64>> {
    let g = gravitational_constant;
    (g != 1.0).then(|| bodies.gravitating_mass(g))
}

/// G m of the bodies, whose [`own_mass`] this is.
fn attracting<'a>(own_mass: &'a Option<Vec<f64>>, bodies: &'a Bodies) -> &'a [f64] {
    own_mass.as_deref().unwrap_or(&bodies.mass)
}

/// Bodies, an engine and an integrator on the host.
pub struct HostState {
    bodies: Bodies,
    /// G m, if G is not 1.
    own_mass: Option<Vec<f64>>,
    acceleration: Vec<DVec3>,
    softening: f64,
    interactions: u64,
    engine: Box<dyn ForceEngine>,
    /// The engine for potentials, made on first use, if the main one is too coarse: its errors are
    /// biased (tree) or larger than those of block steps (f32 pairs).
    finer: Option<Box<dyn ForceEngine>>,
    stepping: Stepping,
    /// The ranks that have the other bodies, if these are some of all, and the number of the first.
    others: Option<(Ranks, usize)>,
}

/// The two kinds of integrators.
enum Stepping {
    Shared {
        step: HostStep,
        forces: Box<Forces>,
        /// Positions, velocities and accelerations before the present step, restored if it fails;
        /// the next step's first forces take the memory of the accelerations.
        before: [Vec<DVec3>; 3],
        /// The same before a step that is taken in shorter ones.
        saved: [Vec<DVec3>; 3],
        /// Steps done since the beginning of the run.
        steps: u64,
    },
    Blocks {
        steps: Box<BlockSteps>,
        /// Counts the steps of the simulation; the bodies are synchronised at the end of each.
        clock: Clock,
    },
}

impl HostState {
    /// Takes over `bodies` and computes their first forces with `engine`, which must be made for
    /// these `settings`. With `restart`, block steps continue to the same bits.
    ///
    /// # Errors
    /// Settings out of range; bodies that the integrator cannot begin with; an engine for another
    /// kind of integrator.
    pub async fn open(
        bodies: Bodies,
        mut engine: Box<dyn ForceEngine>,
        settings: &Settings,
        restart: Option<&Restart>,
    ) -> Result<Self> {
        let own_mass = own_mass(&bodies, settings.gravitational_constant);
        engine = InField::engine(engine, settings.gravitating_field());
        let softening = settings.softening;
        let n = bodies.len();
        let integrator = settings.integrator;
        let mut acceleration = Vec::new();
        let mut bodies = bodies;
        let (stepping, interactions) = match integrator.host {
            _ if engine.highest_order() < integrator.order_of_forces() => {
                let allowed = format!("one made for {}", integrator.name);
                return Err(Error::value("the engine", engine.describe(), allowed));
            }
            HostSide::Shared(step) => {
                let mut forces = Box::<Forces>::default();
                let remembered = restart.filter(|_| engine.capabilities().last_accelerations);
                let now = settings.steps_before;
                let interactions = match remembered.and_then(|r| last::find(&r.columns, n)) {
                    Some(found) => {
                        acceleration = found;
                        if let (Some(rebuilds), Some(restart)) =
                            (engine.interfaces().rebuilds, restart)
                        {
                            let built_at = rebuilds::find_on_host(&restart.columns, n);
                            let (sources, _) =
                                all_on_all(&bodies, attracting(&own_mass, &bodies), &[]);
                            rebuilds.resume(now, built_at.as_deref(), &sources, softening);
                        }
                        0
                    }
                    None => {
                        begin_step(engine.as_mut(), now, true);
                        let known = (attracting(&own_mass, &bodies), &[][..]);
                        let engine = engine.as_mut();
                        let outputs = &Outputs::ACCELERATION;
                        evaluate(engine, &bodies, known, softening, outputs, &mut forces).await?;
                        acceleration = std::mem::take(&mut forces.acceleration);
                        engine.interactions(n)
                    }
                };
                let (before, saved) = Default::default();
                (Stepping::Shared { step, forces, before, saved, steps: now }, interactions)
            }
            HostSide::Blocks(scheme) => {
                // The integrator's time is 0 at step 0, whatever the outer clock shows.
                let clock = Clock::new(0.0, settings.steps_before, settings.dt);
                let accuracy = settings.blocks;
                let mass = attracting(&own_mass, &bodies);
                let field = Attractors { mass, softening, id: &bodies.id };
                let mut steps = match restart.filter(|restart| restart.has_steps()) {
                    Some(restart) => BlockSteps::resume(scheme, accuracy, restart)?,
                    None => {
                        let now = clock.time();
                        let engine = engine.as_mut();
                        BlockSteps::start(scheme, accuracy, &bodies, now, &field, engine).await?
                    }
                };
                steps.move_to_device(&field, engine.as_ref()).await;
                steps.synchronise(clock.time(), &mut bodies, &mut acceleration);
                (Stepping::Blocks { steps: Box::new(steps), clock }, 0)
            }
        };
        let finer = None;
        Ok(Self {
            bodies,
            own_mass,
            acceleration,
            softening,
            interactions,
            engine,
            finer,
            stepping,
            others: None,
        })
    }

    /// The bodies are those from number `first` on, of all that `ranks` have: steps succeed on all
    /// ranks or on none.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn among(self, ranks: Ranks, first: usize) -> Self {
        Self { others: Some((ranks, first)), ..self }
    }

    /// Continues with other `bodies`, any number of them, or with other settings of forces;
    /// recomputes the forces at once.
    ///
    /// # Errors
    /// Those of the engine; a softening or bodies out of range. On an error nothing has changed.
    pub async fn replace(&mut self, bodies: &Bodies, settings: &Settings) -> Result<()> {
        let (softening, g) = (settings.softening, settings.gravitational_constant);
        crate::forces::check_softening(softening)?;
        let own_mass = own_mass(bodies, g);
        let (mut bodies, engine) = (bodies.clone(), self.engine.as_mut());
        match &mut self.stepping {
            Stepping::Shared { steps, .. } => {
                let mut found = Forces::default();
                let outputs = &Outputs::ACCELERATION;
                begin_step(engine, settings.steps_before, true);
                let known = (attracting(&own_mass, &bodies), &[][..]);
                evaluate(engine, &bodies, known, softening, outputs, &mut found).await?;
                *steps = settings.steps_before;
                self.acceleration = found.acceleration;
                self.interactions += engine.interactions(bodies.len());
            }
            Stepping::Blocks { steps, clock, .. } => {
                let mass = attracting(&own_mass, &bodies);
                let field = Attractors { mass, softening, id: &bodies.id };
                let mut restarted = steps.restarted(&bodies, clock.time(), &field, engine).await?;
                restarted.move_to_device(&field, engine).await;
                restarted.synchronise(clock.time(), &mut bodies, &mut self.acceleration);
                **steps = restarted;
            }
        }
        (self.bodies, self.own_mass, self.softening) = (bodies, own_mass, softening);
        Ok(())
    }

    /// Takes one step of `dt`. With individual steps: all blocks that end within it, after which
    /// the bodies are synchronised to its end.
    ///
    /// # Errors
    /// Those of the engine; [`Error::Stopped`]; a negative `dt` if the integrator cannot go back.
    /// Individual steps: a body whose step would become shorter than the shortest allowed; the
    /// bodies are then synchronised to the last block. One step for all bodies: a body that leaves
    /// the range of numbers, which is named; any error leaves everything as before the step.
    pub async fn step(&mut self, dt: f64) -> Result<()> {
        let others = self.others.clone();
        let Self {
            bodies, own_mass, acceleration, softening, engine, stepping, interactions, ..
        } = self;
        match stepping {
            Stepping::Shared { step, forces, before, steps, .. } => {
                let next = *steps + 1;
                let [position, velocity, known] = before;
                let mut is_new = false;
                let mut accelerate = |bodies: &Bodies, out: &mut Vec<DVec3>| {
                    // A single body that is not finite would spread to all others in the next step.
                    // Ranks learn of it at the end of the step.
                    if others.is_none() {
                        bodies.check_range()?;
                    }
                    let (sources, sinks) = all_on_all(bodies, attracting(own_mass, bodies), out);
                    begin_step(engine.as_mut(), next, false);
                    let outputs = &Outputs::ACCELERATION;
                    if !is_new {
                        std::mem::swap(&mut forces.acceleration, known);
                    }
                    engine.evaluate_from(&sources, &sinks, *softening, outputs, forces)?;
                    std::mem::swap(out, &mut forces.acceleration);
                    if !is_new {
                        std::mem::swap(&mut forces.acceleration, known);
                    }
                    is_new = true;
                    Ok(())
                };
                position.clone_from(&bodies.position);
                velocity.clone_from(&bodies.velocity);
                let stepped = step(bodies, acceleration, dt, &mut accelerate);
                let stepped = bodies.check_range().and(stepped);
                let stepped = stepped.map_err(|error| error.with_ids(&bodies.id));
                let stepped = match &others {
                    Some((ranks, first)) => {
                        let numbered = stepped.map_err(|error| error.numbered_from(*first));
                        first_of_all(Some(ranks), numbered)
                    }
                    None => stepped,
                };
                if stepped.is_err() {
                    std::mem::swap(&mut bodies.position, position);
                    std::mem::swap(&mut bodies.velocity, velocity);
                    if is_new {
                        std::mem::swap(acceleration, known);
                    }
                }
                stepped?;
                *steps = next;
                *interactions += engine.interactions(bodies.len());
            }
            Stepping::Blocks { steps, clock, .. } => {
                if !(dt > 0.0) {
                    let allowed = "greater than 0: individual steps only go forward";
                    return Err(Error::value("the time step dt", dt, allowed));
                }
                if dt != clock.dt() {
                    clock.set_dt(dt);
                }
                let mut next = *clock;
                next.advance(1);
                let mass = attracting(own_mass, bodies);
                let field = Attractors { mass, softening: *softening, id: &bodies.id };
                let advanced = steps.advance_whole(next.time(), &field, engine.as_mut()).await;
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

    /// Potentials of all bodies, G included; with block steps in f64, whatever the engine's
    /// precision.
    ///
    /// # Errors
    /// Those of the engine; [`Error::Stopped`].
    pub async fn potential(&mut self) -> Result<Vec<f64>> {
        if self.finer.is_none() {
            self.finer = match self.stepping {
                Stepping::Blocks { .. } if self.engine.precision() != Precision::Double => {
                    Some(in_f64(self.engine.as_ref()).await?)
                }
                _ => self.engine.capabilities().for_energies,
            };
        }
        let engine = self.finer.as_mut().unwrap_or(&mut self.engine);
        let known = (attracting(&self.own_mass, &self.bodies), &self.acceleration[..]);
        let (bodies, outputs, mut found) = (&self.bodies, &Outputs::POTENTIAL, Forces::default());
        evaluate(engine.as_mut(), bodies, known, self.softening, outputs, &mut found).await?;
        Ok(found.potential)
    }
}

impl Backend for HostState {
    fn describe(&self) -> String {
        match &self.stepping {
            Stepping::Shared { .. } => self.engine.describe(),
            Stepping::Blocks { steps, .. } => {
                format!("{}, {}", self.engine.describe(), steps.describe_backend())
            }
        }
    }

    fn interactions(&self) -> u64 {
        let by_blocks = match &self.stepping {
            Stepping::Shared { .. } => 0,
            Stepping::Blocks { steps, .. } => steps.stats().interactions,
        };
        self.interactions + by_blocks
    }

    fn advance<'a>(
        &'a mut self,
        dt: f64,
        steps: u64,
        watch: &'a mut Watch<'a>,
    ) -> BoxFuture<'a, (u64, Result<()>)> {
        Box::pin(async move {
            let mut done = 0;
            while done < steps {
                if let Err(error) = self.step(dt).await {
                    return (done, Err(error));
                }
                done += 1;
                if !watch(done) {
                    break;
                }
            }
            (done, Ok(()))
        })
    }

    fn read<'a>(&'a mut self, bodies: &'a mut Bodies, _: f64) -> BoxFuture<'a, Result<Vec<DVec3>>> {
        bodies.position = copied(&self.bodies.position);
        bodies.velocity = copied(&self.bodies.velocity);
        Box::pin(ready(Ok(copied(&self.acceleration))))
    }

    fn potential(&mut self) -> BoxFuture<'_, Result<Vec<f64>>> {
        Box::pin(HostState::potential(self))
    }

    fn replace<'a>(
        &'a mut self,
        bodies: &'a Bodies,
        settings: &'a Settings,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(HostState::replace(self, bodies, settings))
    }

    fn set_softening(&mut self, _: f64) -> BoxFuture<'_, Result<bool>> {
        Box::pin(ready(Ok(false)))
    }

    fn restart(&self) -> Restart {
        match &self.stepping {
            Stepping::Blocks { steps, .. } => steps.restart(),
            Stepping::Shared { .. } => {
                let capabilities = self.engine.capabilities();
                if !capabilities.last_accelerations {
                    return Restart::default();
                }
                let mut restart = Restart::of_last(&self.acceleration);
                let built_at = capabilities.built_at.map(rebuilds::on_host);
                restart.columns.extend(built_at.unwrap_or_default());
                restart
            }
        }
    }

    fn capabilities(&self, _: f64) -> Capabilities<'_> {
        let blocks = match &self.stepping {
            Stepping::Shared { .. } => None,
            Stepping::Blocks { steps, clock } => {
                let latest = steps.time();
                let stopped_at = (latest > clock.time()).then_some(latest);
                Some(BlocksView { steps, stopped_at })
            }
        };
        let in_f32 = self.engine.precision() == Precision::Single && blocks.is_none();
        let (bodies, acceleration) = (&self.bodies, &self.acceleration[..]);
        let host = Some(OnHost { bodies, acceleration });
        Capabilities { host, blocks, in_f32, ..Capabilities::default() }
    }

    fn take_observed(&mut self) -> Observed {
        match &mut self.stepping {
            Stepping::Shared { .. } => Observed::default(),
            Stepping::Blocks { steps, .. } => {
                Observed { passage: steps.take_passage(), parts: steps.take_parts() }
            }
        }
    }

    fn varying(&mut self) -> Option<&mut dyn Varying> {
        match self.stepping {
            Stepping::Shared { .. } => Some(self),
            Stepping::Blocks { .. } => None,
        }
    }

    fn parts(&mut self) -> Option<&mut dyn BodyParts> {
        None
    }
}

impl Varying for HostState {
    fn largest_acceleration(&mut self) -> BoxFuture<'_, Result<f64>> {
        // As bits: they are ordered as the numbers, NaN last.
        let bits = self.acceleration.par_iter().map(|a| a.length_squared().to_bits()).max();
        Box::pin(ready(Ok(f64::from_bits(bits.unwrap_or(0)).sqrt())))
    }

    fn save(&mut self) -> Result<()> {
        if let Stepping::Shared { saved, .. } = &mut self.stepping {
            saved[0].clone_from(&self.bodies.position);
            saved[1].clone_from(&self.bodies.velocity);
            saved[2].clone_from(&self.acceleration);
        }
        Ok(())
    }

    fn restore(&mut self) {
        if let Stepping::Shared { saved, .. } = &mut self.stepping {
            self.bodies.position.clone_from(&saved[0]);
            self.bodies.velocity.clone_from(&saved[1]);
            self.acceleration.clone_from(&saved[2]);
        }
    }
}

#[cfg(test)]
mod tests;
