//! What a simulation is run with. One struct for the command line, the run folder and the library.

use serde::{Deserialize, Serialize};

use super::clock::{MOST_STEPS, check_advance, check_dt};
use super::{Clock, EngineKind, Moment};
use crate::error::Result;
use crate::forces::direct::gpu::KernelRequest;
use crate::forces::direct::gpu::tiers::Fitted;
use crate::forces::tree::{Rebuild, TreeConfig};
use crate::forces::{Method, Precision, check_softening};
use crate::frame::Frame;
use crate::gpu::{AdapterRequest, DeviceCount};
use crate::integrate::blocks::BlockSettings;
use crate::integrate::{self, Integrator};
use crate::tuned::Known;

/// Settings of a [`super::Simulation`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Plummer softening length, >= 0.
    pub softening: f64,
    /// Time step, > 0, that brings the time on. With individual steps: how often the bodies are synchronised; see `blocks` for
    /// the steps themselves.
    pub dt: f64,
    /// Time at step 0.
    pub start: f64,
    /// Steps already done when the bodies were as they are given (a restart).
    pub steps_before: u64,
    /// Factor on masses wherever they attract; 1 in N-body units.
    pub gravitational_constant: f64,
    /// The integrator, one of [`crate::integrate::ALL`].
    #[serde(with = "integrate::by_name")]
    pub integrator: &'static Integrator,
    /// How individual steps are chosen, if the integrator has them.
    pub blocks: BlockSettings,
    /// How precisely forces are computed; `None`: single where there is single, double on the engines
    /// and with the integrators that have only that.
    pub precision: Option<Precision>,
    /// Which engine computes the forces.
    pub engine: EngineKind,
    /// By which method, of those that the engine has; `None`: the usual one.
    pub method: Option<Method>,
    /// Which graphics adapter, if one is needed.
    pub adapter: AdapterRequest,
    /// On how many of them.
    pub devices: DeviceCount,
    /// Whether engines on the host take their sinks in pieces that ranks can share: so that the bits do not depend on
    /// how many ranks there are. On devices they do not in any case.
    pub spread: bool,
    /// What is fixed of the kernel's shape.
    pub kernel: KernelRequest,
    /// How a tree is walked, where that is the method.
    pub tree: TreeConfig,
    /// What tuning has found: serves where nothing of the kernel's shape is fixed. Nothing, unless somebody
    /// looks it up. No setting of its own: what it came to is kept as `kernel`.
    #[serde(skip)]
    pub known: Known,
    /// Shapes of the kernels with derivatives that bodies on individual steps are moved with, each for some numbers of sinks
    /// and sources; the engine's rule serves for the rest. `None`: those that tuning has found (`known`).
    pub shapes: Option<Vec<Fitted>>,
    /// In which frame a device steps bodies in f32; `None`: one that suits the bodies as they are given.
    pub frame: Option<Frame>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            softening: 0.01,
            dt: 0.01,
            start: 0.0,
            steps_before: 0,
            gravitational_constant: 1.0,
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
            known: Known::default(),
            shapes: None,
            frame: None,
        }
    }
}

impl Settings {
    /// Settings for bodies that have already come as far as `moment`: its time and steps are where the
    /// simulation goes on.
    pub fn going_on_from(&self, moment: &Moment) -> Self {
        // `start` is the time at step 0, had all steps been of this length.
        let start = moment.time - moment.steps as f64 * self.dt;
        Self { start, steps_before: moment.steps, ..self.clone() }
    }

    /// Refuses several devices, where one alone computes.
    pub fn check_one_device(&self) -> Result<()> {
        self.adapter.only()?;
        if self.devices.is_one() {
            return Ok(());
        }
        let allowed = "1 here: several are for run, resume, render and view";
        Err(crate::error::Error::value("--devices", self.devices, allowed))
    }

    /// The time of the bodies as they are given.
    pub fn begins_at(&self) -> f64 {
        Clock::new(self.start, self.steps_before, self.dt).time()
    }

    /// Whether the bodies are stepped on the host whatever the engine.
    pub fn steps_on_host(&self) -> bool {
        self.integrator.device.is_none()
    }

    /// Whether several devices could share the block steps: those that live on devices, which f32 alone is too narrow for.
    pub fn blocks_may_be_shared(&self) -> bool {
        let is_wide = self.precision != Some(crate::forces::Precision::Single);
        self.integrator.has_block_steps() && !self.blocks.on_host && is_wide
    }

    /// Refuses numbers outside their range, and a method that the engine lacks.
    pub fn validate(&self) -> Result<()> {
        self.engine.by(self.method)?;
        check_softening(self.softening)?;
        self.tree.check()?;
        check_dt(self.dt)?;
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

    /// Refuses what goes by the clock: it is for who watches, and no two runs would have the same bits.
    pub(super) fn check_same_bits(&self) -> Result<()> {
        match self.tree.rebuild {
            Rebuild::Auto => {
                let allowed =
                    "a number of steps: auto goes by the clock, which is for the window alone";
                Err(crate::error::Error::value("rebuild", "auto", allowed))
            }
            _ => Ok(()),
        }
    }
}
