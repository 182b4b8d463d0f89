//! The facade: one simulation, wherever its bodies live.

use std::sync::Arc;

use glam::DVec3;

use super::clock::{MOST_STEPS, check_advance, check_dt};
use super::{Choice, Clock, DeviceState, EngineKind, HostEngine, HostState, Settings, choose};
use crate::bodies::Bodies;
use crate::diagnostics::{Diagnostics, diagnose};
use crate::direct::Precision;
use crate::error::{Error, Result};
use crate::force::KernelConfig;
use crate::frame::{Frame, Rests, coincident};
use crate::gpu::{BodyBuffers, Gpu};
use crate::integrate::blocks::{BlockSteps, Passage, Restart};

/// A running simulation. See the module's text for an example.
pub struct Simulation {
    state: State,
    clock: Clock,
    settings: Settings,
    choice: Choice,
    /// What does not change on the device: ids, masses, components; and room to read the rest into.
    shell: Bodies,
    interactions: u64,
}

enum State {
    Host(Box<HostState>),
    Device(Box<DeviceState>),
}

/// The bodies and their accelerations at one time.
#[derive(Clone, Debug)]
pub struct Moment {
    /// Simulated time.
    pub time: f64,
    /// Steps done since the beginning of the run.
    pub steps: u64,
    /// Positions and velocities at that time.
    pub bodies: Bodies,
    /// Accelerations, same length.
    pub acceleration: Vec<DVec3>,
}

impl Simulation {
    /// Checks `bodies` and `settings`, chooses the engine and computes the first accelerations.
    ///
    /// Errors: bodies or settings out of range, an engine or adapter that is not there, bodies that
    /// do not fit the device.
    pub async fn open(bodies: Bodies, settings: Settings) -> Result<Self> {
        Self::open_from(bodies, settings, None).await
    }

    /// The same for bodies of a snapshot that was written in the middle of a run: with what
    /// [`Simulation::restart`] told then, it goes on to the same bits.
    pub async fn open_from(
        bodies: Bodies,
        mut settings: Settings,
        restart: Option<&Restart>,
    ) -> Result<Self> {
        bodies.validate()?;
        settings.validate()?;
        let n = bodies.len();
        let choice = choose(n, &settings).await?;
        let state = match (choice.kind, &choice.gpu) {
            (EngineKind::Gpu, Some(gpu)) if !settings.steps_on_host()? => {
                let rests = restart.and_then(|restart| Rests::find(&restart.columns, n));
                let gpu = Arc::clone(gpu);
                let device = DeviceState::new(gpu, &bodies, rests.as_ref(), &settings).await?;
                settings.frame = Some(*device.frame());
                State::Device(Box::new(device))
            }
            (kind, gpu) => {
                let engine = HostEngine::new(kind, gpu.as_ref(), &settings)?;
                let host = HostState::new(bodies.clone(), engine, &settings, restart)?;
                State::Host(Box::new(host))
            }
        };
        let clock = Clock::new(settings.start, settings.steps_before, settings.dt);
        let interactions = (n as u64).pow(2);
        Ok(Self { state, clock, settings, choice, shell: bodies, interactions })
    }

    /// [`Simulation::open`] for programs that have nothing else to do meanwhile.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn new(bodies: Bodies, settings: Settings) -> Result<Self> {
        pollster::block_on(Self::open(bodies, settings))
    }

    /// [`Simulation::open_from`], waiting.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn resume(bodies: Bodies, settings: Settings, restart: Option<&Restart>) -> Result<Self> {
        pollster::block_on(Self::open_from(bodies, settings, restart))
    }

    /// Simulated time.
    pub fn time(&self) -> f64 {
        self.clock.time()
    }

    /// Steps since the beginning of the run, the ones before a restart included.
    pub fn steps(&self) -> u64 {
        self.clock.steps()
    }

    /// Number of bodies.
    pub fn len(&self) -> usize {
        self.shell.len()
    }

    /// Never: a simulation has at least one body.
    pub fn is_empty(&self) -> bool {
        self.shell.is_empty()
    }

    /// What it is run with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Which engine computes, and why.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// What it computes on and how, in one line.
    pub fn describe_engine(&self) -> String {
        match &self.state {
            State::Host(host) => host.describe(),
            State::Device(device) => {
                let adapter = &device.gpu().adapter;
                format!("{} ({}), {}", adapter.name, adapter.backend, device.config())
            }
        }
    }

    /// The shape of the kernel, if the engine is the GPU.
    pub fn kernel_config(&self) -> Option<KernelConfig> {
        match &self.state {
            State::Host(_) => None,
            State::Device(device) => Some(device.config()),
        }
    }

    /// Interactions computed by steps so far (not those of diagnostics), the first force included.
    pub fn interactions(&self) -> u64 {
        match &self.state {
            State::Host(host) => host.interactions(),
            State::Device(_) => self.interactions,
        }
    }

    /// The individual steps, if the integrator has them: their histogram and what blocks were like.
    pub fn blocks(&self) -> Option<&BlockSteps> {
        match &self.state {
            State::Host(host) => host.blocks(),
            State::Device(_) => None,
        }
    }

    /// The closest passage since this was asked last: of bodies on individual steps on the host.
    pub fn take_passage(&mut self) -> Option<Passage> {
        let passage = match &mut self.state {
            State::Host(host) => host.take_passage(),
            State::Device(_) => None,
        };
        passage.map(|passage| Passage { time: self.settings.start + passage.time, ..passage })
    }

    /// What a snapshot of the bodies read last must hold besides them to be gone on with to the same bits:
    /// individual steps; on a device what f64 lacks far from the origin. Often nothing.
    pub fn restart(&self) -> Restart {
        match &self.state {
            State::Host(host) => host.restart(),
            State::Device(device) => Restart::of_rests(device.rests()),
        }
    }

    /// The frame of the numbers in the device's buffers now, if that is where the bodies live.
    pub fn frame(&self) -> Option<Frame> {
        match &self.state {
            State::Host(_) => None,
            State::Device(device) => Some(device.frame_at(self.time())),
        }
    }

    /// The time to which the bodies came when a step failed half way; `None` where they are at the end
    /// of a whole step.
    pub fn stopped_at(&self) -> Option<f64> {
        match &self.state {
            State::Host(host) => host.stopped_at().map(|time| self.settings.start + time),
            State::Device(_) => None,
        }
    }

    /// How many of `bodies` have another so near that f32 does not tell the two apart
    /// ([`crate::frame::coincident`]); 0 where forces are computed more precisely.
    pub fn closer_than_f32(&self, bodies: &Bodies) -> usize {
        let in_f32 = matches!(self.settings.precision, None | Some(Precision::Single))
            && self.choice.kind == EngineKind::Cpu
            && self.blocks().is_none();
        let frame = match &self.state {
            State::Device(device) => device.frame_at(self.time()),
            State::Host(_) if in_f32 => {
                let (x, eps) = (&bodies.position, self.settings.softening);
                Frame::of_call(x, x, &bodies.mass, eps)
            }
            State::Host(_) => return 0,
        };
        coincident(&frame, &bodies.position)
    }

    /// The device and the bodies' buffers on it, in the numbers of [`Simulation::frame`], if that is where they
    /// live.
    pub fn device(&self) -> Option<(&Arc<Gpu>, &BodyBuffers)> {
        match &self.state {
            State::Host(_) => None,
            State::Device(device) => Some((device.gpu(), device.buffers())),
        }
    }

    /// The bodies and accelerations on the host, if that is where they live: no copy is made.
    pub fn host(&self) -> Option<(&Bodies, &[DVec3])> {
        match &self.state {
            State::Host(host) => Some((host.bodies(), host.acceleration())),
            State::Device(_) => None,
        }
    }

    /// Changes the time step from now on; negative steps go back in time.
    pub fn set_dt(&mut self, dt: f64) -> Result<()> {
        check_dt(dt.abs())?;
        check_advance(self.time(), dt)?;
        if let State::Device(device) = &self.state {
            device.frame().dt(dt)?;
        }
        self.clock.set_dt(dt);
        Ok(())
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Simulation {
    /// Does `n` steps and waits for them.
    pub fn step(&mut self, n: u64) -> Result<()> {
        self.step_watched(n, &mut |_| true).map(|_| ())
    }

    /// Does up to `n` steps. `watch` sees the number done so far after each step or batch of steps and
    /// ends the run early by returning false. Returns the steps done; the state is whole in any case.
    ///
    /// Errors: those of the engine; [`Error::Stopped`] if [`crate::stop`] broke it off, the bodies then being
    /// at the end of their last whole step.
    pub fn step_watched(&mut self, n: u64, watch: &mut dyn FnMut(u64) -> bool) -> Result<u64> {
        let dt = self.clock.dt();
        let mut failed = None;
        let done = match &mut self.state {
            State::Device(device) => {
                let mut told = false;
                let done = device.run(dt, n, &mut |done| {
                    let go_on = watch(done);
                    told |= !go_on;
                    go_on
                })?;
                if done < n && !told {
                    failed = Some(Error::Stopped);
                }
                done
            }
            State::Host(host) => {
                let mut done = 0;
                while done < n {
                    if let Err(error) = host.step(dt) {
                        failed = Some(error);
                        break;
                    }
                    done += 1;
                    if !watch(done) {
                        break;
                    }
                }
                done
            }
        };
        // What was done before a failure counts.
        self.clock.advance(done);
        self.interactions += done * (self.shell.len() as u64).pow(2);
        failed.map_or(Ok(done), Err)
    }

    /// Steps until the clock shows at least `time`.
    ///
    /// Errors: those of a step; more than [`MOST_STEPS`] steps.
    pub fn run_until(&mut self, time: f64) -> Result<()> {
        let steps = self.clock.steps_until(time);
        if steps > MOST_STEPS {
            super::run_steps(self.time(), time, self.clock.dt())?;
        }
        self.step(steps)
    }

    /// The bodies now, with accelerations.
    ///
    /// Errors: [`Error::Body`] when a body has left the range of numbers, which a step too long for
    /// the softening does.
    pub fn moment(&mut self) -> Result<Moment> {
        let (bodies, acceleration) = match &mut self.state {
            State::Host(host) => (host.bodies().clone(), host.acceleration().to_vec()),
            State::Device(device) => {
                let mut bodies = self.shell.clone();
                let acceleration = device.read(&mut bodies, self.clock.time())?;
                (bodies, acceleration)
            }
        };
        let lost =
            |i: &usize| !(bodies.position[*i].is_finite() && bodies.velocity[*i].is_finite());
        if let Some(i) = (0..bodies.len()).find(lost) {
            let (step, time) = (self.clock.steps(), self.time());
            return Err(Error::Body {
                index: i,
                id: bodies.id[i],
                problem: format!(
                    "it has left the range of numbers by step {step} (t = {time}); a smaller dt or a larger softening is needed"
                ),
            });
        }
        let time = self.stopped_at().unwrap_or(self.time());
        Ok(Moment { time, steps: self.clock.steps(), bodies, acceleration })
    }

    /// The bodies now.
    pub fn bodies(&mut self) -> Result<Bodies> {
        Ok(self.moment()?.bodies)
    }

    /// Energies, momenta, virial ratio and Lagrangian radii now. Costs one force evaluation.
    pub fn diagnostics(&mut self) -> Result<Diagnostics> {
        let moment = self.moment()?;
        self.diagnostics_of(&moment)
    }

    /// The diagnostics of `moment`, which must be the present one.
    pub fn diagnostics_of(&mut self, moment: &Moment) -> Result<Diagnostics> {
        let potential = match &mut self.state {
            State::Host(host) => host.potential()?,
            State::Device(device) => device.potential()?,
        };
        diagnose(&moment.bodies, &potential)
    }
}
