//! What is run: the content of `run.toml`.

use serde::{Deserialize, Serialize};

use crate::direct::Precision;
use crate::error::Result;
pub use crate::force::KernelPlan;
use crate::force::{KernelConfig, KernelWish};
use crate::frame::Frame;
use crate::gpu::{AdapterIdentity, AdapterWish};
use crate::integrate::blocks::BlockSettings;
use crate::sim::{EngineKind, Settings, Simulation};

/// Everything that decides the bits of a run besides its first snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The program's version that began the run.
    pub gravitile: String,
    /// Where the bodies came from, as the user named it; for the reader only.
    pub input: String,
    /// Number of bodies.
    pub n: usize,
    /// Plummer softening length.
    pub softening: f64,
    /// Time step.
    pub dt: f64,
    /// Time of step 0.
    pub start: f64,
    /// Steps of the whole run.
    pub steps: u64,
    /// Steps from one snapshot to the next.
    pub steps_per_snapshot: u64,
    /// Factor on masses wherever they attract.
    pub gravitational_constant: f64,
    /// Name of the integrator.
    pub integrator: String,
    /// Name of the engine, never `auto`.
    pub engine: String,
    /// How precisely forces are computed, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<String>,
    /// Whether the adapter is used as if it had WebGPU's baseline only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub baseline: bool,
    /// The graphics adapter, if the engine is the GPU; in older files its name alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<AdapterIdentity>,
    /// Shape of the kernel, if the engine is the GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelPlan>,
    /// How individual steps are chosen, if the integrator has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockSettings>,
    /// In which frame a device has the bodies in f32; runs from before there were frames have none, and go on
    /// with the plain numbers that they began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Frame>,
}

impl Plan {
    /// The plan of a simulation that has just been made, for `steps` steps.
    pub fn of(sim: &Simulation, input: String, steps: u64, steps_per_snapshot: u64) -> Self {
        let settings = sim.settings();
        let choice = sim.choice();
        Self {
            gravitile: env!("CARGO_PKG_VERSION").to_owned(),
            input,
            n: sim.len(),
            softening: settings.softening,
            dt: settings.dt,
            start: settings.start,
            steps,
            steps_per_snapshot,
            gravitational_constant: settings.gravitational_constant,
            integrator: settings.integrator.clone(),
            engine: choice.kind.name().to_owned(),
            baseline: choice.gpu.is_some() && settings.adapter.baseline_only,
            adapter: choice.gpu.as_ref().map(|gpu| gpu.adapter.identity()),
            kernel: sim.kernel_config().map(KernelPlan::from),
            precision: settings.precision.map(|precision| precision.name().to_owned()),
            blocks: sim.blocks().map(|steps| *steps.settings()),
            frame: sim.settings().frame.filter(|_| sim.device().is_some()),
        }
    }

    /// The settings that go on with the plan from the snapshot of that step.
    pub fn settings(&self, step: u64) -> Result<Settings> {
        let kernel = self.kernel.map(|kernel| KernelWish::from(KernelConfig::from(kernel)));
        Ok(Settings {
            softening: self.softening,
            dt: self.dt,
            start: self.start,
            steps_before: step,
            gravitational_constant: self.gravitational_constant,
            integrator: self.integrator.clone(),
            blocks: self.blocks.unwrap_or_default(),
            precision: self.precision.as_deref().map(Precision::from_name).transpose()?,
            engine: EngineKind::from_name(&self.engine)?,
            adapter: AdapterWish {
                name: None,
                identity: self.adapter.clone(),
                baseline_only: self.baseline,
            },
            kernel: kernel.unwrap_or_default(),
            frame: Some(self.frame.unwrap_or(Frame::PLAIN)),
        })
    }

    /// Time at which the run is over.
    pub fn until(&self) -> f64 {
        self.start + self.steps as f64 * self.dt
    }
}
