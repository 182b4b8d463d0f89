//! Settings of a simulation: one struct for the command line, the run folder and the library.

use serde::{Deserialize, Serialize};

use super::clock::{MOST_STEPS, check_advance, check_dt};
use super::{Clock, EngineKind, State};
use crate::bodies::{Bodies, Rows};
use crate::diagnostics::{Diagnostics, diagnose_all};
use crate::error::{Error, Result};
use crate::field::Field;
use crate::forces::direct::gpu::KernelRequest;
use crate::forces::direct::gpu::tiers::Fitted;
use crate::forces::tree::{Rebuild, TreeConfig};
use crate::forces::{Method, Precision, check_softening};
use crate::frame::Frame;
use crate::gpu::{AdapterRequest, DeviceCount};
use crate::integrate::blocks::BlockSettings;
use crate::integrate::{self, Integrator};
use crate::math::{AllReduce, Alone};
use crate::scene::{IntegratorHints, Scene};
use crate::settings::check_accuracy;
use crate::tuned::KnownResults;

/// Settings of a [`super::Simulation`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Plummer softening length, >= 0.
    pub softening: f64,
    /// Time step, > 0 and large enough to advance the clock. With individual steps: the interval at
    /// which bodies are synchronised; `blocks` sets the steps themselves. With `auto_dt`: the
    /// longest step.
    pub dt: f64,
    /// The accuracy of one step for all bodies that varies, > 0: a step of `dt` is then taken in
    /// steps of `dt` / 2^k, each at most this times the least sqrt(eps / |a|) of all bodies.
    /// `None`: steps of `dt`. Needs a softening, an integrator with one step for all bodies, and a
    /// tree that is rebuilt at each step.
    pub auto_dt: Option<f64>,
    /// Time at step 0.
    pub start: f64,
    /// Steps already done when the bodies were as given (a restart), at most 2^53.
    pub steps_before: u64,
    /// G, a factor on all masses that attract; 1 in N-body units.
    pub gravitational_constant: f64,
    /// External potentials that attract the bodies, in their coordinates and units.
    pub field: Field,
    /// The integrator, one of [`crate::integrate::ALL`].
    #[serde(with = "integrate::by_name")]
    pub integrator: &'static Integrator,
    /// How individual steps are chosen, for integrators that have them.
    pub blocks: BlockSettings,
    /// How precisely forces are computed; `None`: single if engine and integrator have it, else
    /// double.
    pub precision: Option<Precision>,
    /// Which engine computes the forces.
    pub engine: EngineKind,
    /// The method of computing forces, one of those that the engine has; `None`: its default.
    pub method: Option<Method>,
    /// The graphics adapter, for engines that need one.
    pub adapter: AdapterRequest,
    /// The number of such devices.
    pub devices: DeviceCount,
    /// Whether host engines split their sinks into chunks that ranks can share, so that the bits do
    /// not depend on the number of ranks. On devices they never do.
    pub spread: bool,
    /// The parameters of the kernel's shape that are fixed.
    pub kernel: KernelRequest,
    /// How the tree is walked, for the method `tree`.
    pub tree: TreeConfig,
    /// Stored results of tuning, used when nothing of the kernel's shape is fixed; empty unless the
    /// caller looks them up. Not recorded as a setting: the shape chosen by it is stored as
    /// `kernel`.
    #[serde(skip)]
    pub known: KnownResults,
    /// Shapes of the kernels with derivatives, for individual steps: each for a range of numbers of
    /// sinks and sources, with the engine's rule for the rest. `None`: those that tuning has found
    /// (`known`).
    pub shapes: Option<Vec<Fitted>>,
    /// The frame in which a device steps bodies in f32; `None`: one that suits the initial bodies.
    pub frame: Option<Frame>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            softening: 0.01,
            dt: 0.01,
            auto_dt: None,
            start: 0.0,
            steps_before: 0,
            gravitational_constant: 1.0,
            field: Field::default(),
            integrator: integrate::DEFAULT,
            blocks: BlockSettings::default(),
            precision: None,
            engine: EngineKind::Auto,
            method: None,
            adapter: AdapterRequest::default(),
            devices: DeviceCount::default(),
            spread: false,
            kernel: KernelRequest::default(),
            tree: TreeConfig::default(),
            known: KnownResults::default(),
            shapes: None,
            frame: None,
        }
    }
}

impl Settings {
    /// What suits a scene: its softening, step and external field, and its integrator with the
    /// individual steps, if it names one. Everything else is the default.
    ///
    /// # Errors
    /// An integrator that does not exist or does not take these steps; those of
    /// [`Settings::validate`].
    pub fn of(scene: &Scene) -> Result<Self> {
        let IntegratorHints { integrator, blocks } = &scene.integrator;
        let integrator =
            integrator.as_ref().map_or(Ok(integrate::DEFAULT), |name| integrate::find(name))?;
        blocks.fits(integrator)?;
        let settings = Self {
            softening: scene.run.softening,
            dt: scene.run.dt,
            field: scene.field.clone(),
            integrator,
            blocks: blocks.settings(4.0 * scene.run.dt),
            precision: blocks.tier()?,
            ..Self::default()
        };
        settings.validate()?;
        Ok(settings)
    }

    /// These settings for bodies that have reached `state`: the simulation continues from its time
    /// and steps.
    pub fn going_on_from(&self, state: &State) -> Self {
        // `start` is the time at step 0 had all steps been of the present length.
        let start = state.time - state.steps as f64 * self.dt;
        Self { start, steps_before: state.steps, ..self.clone() }
    }

    /// The frame in which a device steps `bodies` from the time `now` on. With an external field it
    /// is at rest, as the field is.
    ///
    /// # Errors
    /// At the beginning of a run: a body so far from most others that these have no distances in
    /// f32, as on the CPU.
    pub(crate) fn frame_of(&self, bodies: &Bodies, now: f64) -> Result<Frame> {
        let rows = Rows::all(bodies.len());
        self.check_reach_of_all(&Alone, &rows, bodies)?;
        self.frame_of_all(&Alone, &rows, bodies, now)
    }

    /// Checks at the beginning of a run that no body of this process is out of reach: see
    /// [`Settings::frame_of`].
    ///
    /// # Errors
    /// Names the farthest body, by its number among those of this process; as of [`AllReduce`].
    pub(crate) fn check_reach_of_all(
        &self,
        all: &dyn AllReduce,
        rows: &Rows,
        bodies: &Bodies,
    ) -> Result<()> {
        if self.frame.is_some() {
            return Ok(());
        }
        let (position, mass) = (&bodies.position, &bodies.mass);
        let reach = Frame::of_call_all(all, rows, position, mass, self.softening);
        reach.map(|_| ()).map_err(|error| error.with_ids(&bodies.id))
    }

    /// The frame of a run of the bodies of all processes, of which this one has `bodies`.
    ///
    /// # Errors
    /// As of [`AllReduce`].
    pub(crate) fn frame_of_all(
        &self,
        all: &dyn AllReduce,
        rows: &Rows,
        bodies: &Bodies,
        now: f64,
    ) -> Result<Frame> {
        if let Some(frame) = self.frame {
            return Ok(frame);
        }
        let frame = Frame::of_all(all, rows, bodies, self.gravitational_constant, now)?;
        Ok(match self.field.is_empty() {
            true => frame,
            false => Frame { velocity: [0.0; 3], ..frame },
        })
    }

    /// The external field, with G in its masses.
    pub(crate) fn gravitating_field(&self) -> Field {
        self.field.gravitating(self.gravitational_constant)
    }

    /// The diagnostics of `bodies` from their potentials on each other, in the external field.
    ///
    /// # Errors
    /// Another number of potentials than of bodies.
    pub(crate) fn diagnose(&self, bodies: &Bodies, potential: &[f64]) -> Result<Diagnostics> {
        self.diagnose_all(&Alone, bodies, potential)
    }

    /// [`Settings::diagnose`] of the bodies of all processes, of which this one has `bodies`.
    ///
    /// # Errors
    /// Another number of potentials than of bodies; as of [`AllReduce`].
    pub(crate) fn diagnose_all(
        &self,
        all: &dyn AllReduce,
        bodies: &Bodies,
        potential: &[f64],
    ) -> Result<Diagnostics> {
        let found = diagnose_all(all, bodies, potential)?;
        if self.field.is_empty() {
            return Ok(found);
        }
        let field = self.gravitating_field();
        found.in_field(all, bodies, |position| field.potential(position))
    }

    /// Checks that no more than one device is requested, for work that only one can do.
    pub fn check_one_device(&self) -> Result<()> {
        self.adapter.only()?;
        if !self.devices.is_one() {
            let allowed = "1 here: only run, resume, render and view take several";
            return Err(Error::value("--devices", self.devices, allowed));
        }
        Ok(())
    }

    /// The time of the initial bodies.
    pub fn begins_at(&self) -> f64 {
        Clock::new(self.start, self.steps_before, self.dt).time()
    }

    /// Whether the bodies are stepped on the host whatever the engine.
    pub fn steps_on_host(&self) -> bool {
        self.integrator.device.is_none()
    }

    /// Whether several devices could share the block steps: only those that live on devices in more
    /// than single precision.
    pub fn blocks_may_be_shared(&self) -> bool {
        let is_wide = self.precision != Some(crate::forces::Precision::Single);
        self.integrator.has_block_steps() && !self.blocks.on_host && is_wide
    }

    /// Checks all numbers for their ranges, and that the engine has the method.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn validate(&self) -> Result<()> {
        self.engine.by(self.method)?;
        check_softening(self.softening)?;
        self.tree.check()?;
        check_dt(self.dt)?;
        self.check_auto_dt()?;
        if let Some(frame) = &self.frame {
            frame.validate()?;
            frame.dt(self.dt)?;
        }
        if self.integrator.has_block_steps() {
            self.blocks.validate()?;
        }
        for (what, value) in [
            ("the gravitational constant", self.gravitational_constant),
            ("the start time", self.start),
        ] {
            if !value.is_finite() {
                return Err(crate::error::Error::value(what, value, "finite"));
            }
        }
        if self.steps_before > MOST_STEPS {
            let (what, steps) = ("the number of steps already done", self.steps_before);
            return Err(crate::error::Error::value(what, steps, "at most 2^53 (9.007e15)"));
        }
        check_advance(self.start + self.steps_before as f64 * self.dt, self.dt)
    }

    /// Checks what a step that varies needs.
    fn check_auto_dt(&self) -> Result<()> {
        let Some(accuracy) = self.auto_dt else { return Ok(()) };
        check_accuracy(accuracy)?;
        let refused = |what: &str, value: String, allowed: &str| {
            Err(crate::error::Error::value(what, value, allowed))
        };
        if self.integrator.has_block_steps() {
            let allowed =
                "leapfrog with --dt auto: it has individual steps, for which --eta is the accuracy";
            return refused("the integrator", self.integrator.name.to_owned(), allowed);
        }
        if self.softening == 0.0 {
            let allowed =
                "greater than 0 with --dt auto, whose steps are a part of sqrt(eps / |a|)";
            return refused("the softening", self.softening.to_string(), allowed);
        }
        if self.tree.rebuild.keeps() {
            let allowed = "1 with --dt auto, whose steps differ in length";
            return refused("rebuild", self.tree.rebuild.to_string(), allowed);
        }
        Ok(())
    }

    /// Refuses settings that depend on wall-clock time: they are for interactive use only, as no
    /// two runs would have the same bits.
    pub(super) fn check_same_bits(&self) -> Result<()> {
        match self.tree.rebuild {
            Rebuild::Auto => {
                let allowed =
                    "a number of steps: auto depends on the clock and is for the window only";
                Err(crate::error::Error::value("rebuild", "auto", allowed))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec3;

    use super::*;

    /// As [`Frame::check_reach`] refuses it for the CPU.
    #[test]
    fn body_too_far_for_f32_is_refused_before_the_first_step() {
        let mut bodies = Bodies::with_capacity(50);
        (0..50).for_each(|k| bodies.push(0.02, DVec3::splat(f64::from(k)), DVec3::ZERO, 0));
        bodies.id[7] = 77;
        let settings = Settings::default();
        bodies.position[7].x = 1e16;
        assert!(settings.frame_of(&bodies, 0.0).is_ok());
        bodies.position[7].x = 1e21;
        let text = settings.frame_of(&bodies, 0.0).unwrap_err().to_string();
        assert!(text.contains("body 7 (id 77)") && text.contains("2^58"), "{text}");
        // A run that has begun goes on in its frame.
        let begun = Settings { frame: Some(Frame::PLAIN), ..settings };
        assert!(begun.frame_of(&bodies, 0.0).is_ok());
    }
}
