//! A simulation: bodies, an engine, an integrator and a clock.
//!
//! ```no_run
//! use gravitile::scene::Scene;
//! use gravitile::sim::{Settings, Simulation};
//!
//! let mut scene = Scene::builtin("plummer")?;
//! scene.set_n(1000)?;
//! let mut sim = Simulation::new(scene.build()?, Settings::of(&scene)?)?;
//! let before = sim.diagnostics()?;
//! sim.step(100)?;
//! let after = sim.diagnostics()?;
//! println!("t = {}, energy error {:e}", sim.time(), after.energy_error(&before));
//! # Ok::<(), gravitile::error::Error>(())
//! ```
//!
//! Loops that take steps, and why each is one of its own:
//!
//! | where | what differs |
//! |---|---|
//! | `sim/device/advance.rs` | one device: submissions end by the clock, two are in flight |
//! | `sim/device/lockstep.rs` | several devices with all bodies: submissions end at exchanges |
//! | `sim/group/domains.rs` | several devices with a part each: the host takes part in each force |
//! | `sim/host.rs` | the host steps in f64, with forces of any engine |
//! | `sim/varying.rs` | each step's length follows from the forces before it |
//! | `integrate/blocks/mod.rs` | individual steps on the host |
//! | `integrate/blocks/resident/run.rs` | individual steps on a device: many blocks per submission |
//! | `live/on_device.rs` | a frame of the window records a slice and waits for nothing |
//! | `live/worker.rs`, `record/runner.rs`, `film.rs`, `app/page/without_window.rs` | they call [`Simulation::step`] between requests of a window, outputs of a run, pictures, and turns of a browser |
//! | `measure/time/step_timer.rs` | steps between timestamps, without a simulation |

mod backend;
mod builder;
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
mod state;
mod suggest;
mod varying;

pub use backend::{
    Backend, BackendEntry, BlocksView, BodyPart, BodyParts, Capabilities, Observed, OnDevice,
    OnHost, OpenBackend, Varying, Watch,
};
pub use builder::SimulationBuilder;
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
pub use crate::tuned::KnownResults;
#[cfg(not(target_arch = "wasm32"))]
pub use group::{DeviceGroup, Exchanged, divides};
pub use host::HostState;
pub use settings::Settings;
pub use simulation::Simulation;
pub use state::State;
pub use suggest::{longest_step_in, suggest};
pub(crate) use varying::check_forwards;
pub use varying::{LONGEST, VaryingStep};

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
