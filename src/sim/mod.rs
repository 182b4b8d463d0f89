//! A simulation: bodies, an engine, an integrator and a clock.
//!
//! ```no_run
//! use gravitile::scene::Scene;
//! use gravitile::sim::{Settings, Simulation};
//!
//! let mut scene = Scene::builtin("plummer")?;
//! scene.set_n(1000)?;
//! let bodies = scene.build()?;
//! let mut sim = Simulation::new(bodies, Settings { softening: 0.05, dt: 0.01, ..Settings::default() })?;
//! let before = sim.diagnostics()?;
//! sim.step(100)?;
//! let after = sim.diagnostics()?;
//! println!("t = {}, energy error {:e}", sim.time(), after.energy_error(&before));
//! # Ok::<(), gravitile::error::Error>(())
//! ```

mod backend;
mod choice;
mod choose;
mod clock;
mod collisional;
mod device;
mod engine;
#[cfg(not(target_arch = "wasm32"))]
mod group;
mod host;
mod settings;
mod shapes;
mod simulation;
mod suggest;
mod varying;

pub use backend::{
    Backend, BackendEntry, BlocksView, BodyPart, BodyParts, Capabilities, Observed, OnDevice,
    OnHost, OpenBackend, Watch,
};
pub use choice::{ASKED_FOR, Choice};
pub use choose::{choose, choose_on};
pub(crate) use clock::check_advance;
pub use clock::{Clock, EvenSteps, MOST_STEPS, even_steps, run_steps};
pub use collisional::{Collisional, MOST_BODIES, collisional, suits_encounters};
pub use device::{
    CompiledKernel, DeviceState, Diagnosis, NextKernel, Submitted, Work, add_potentials,
};
pub use engine::{check_tier, direct_engine, host_engine, tiers};
// Re-exported because [`Backend`] returns the futures, and [`Settings`] is made of the rest.
pub use crate::forces::{BoxFuture, EngineKind, Method, engine_names};
pub use crate::gpu::{DevicePart, Share};
pub use crate::settings::Domains;
pub use crate::tuned::KnownResults;
#[cfg(not(target_arch = "wasm32"))]
pub use group::{DeviceGroup, Exchanged, divides};
pub use host::HostState;
pub use settings::Settings;
pub use simulation::{Simulation, State};
pub use suggest::{longest_step_in, suggest};
pub(crate) use varying::check_forwards;
pub use varying::{LONGEST, Varying, VaryingStep};

/// All backends; the first that suits a simulation steps its bodies.
pub const BACKENDS: &[BackendEntry] = &[
    #[cfg(not(target_arch = "wasm32"))]
    group::DOMAINS,
    #[cfg(not(target_arch = "wasm32"))]
    group::HOSTS,
    #[cfg(not(target_arch = "wasm32"))]
    group::BACKEND,
    device::BACKEND,
    host::BACKEND,
];
