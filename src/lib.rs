//! gravitile: a portable N-body engine on wgpu.
//!
//! Bodies attract each other by brute force, in tiled WGSL compute shaders on any GPU or with SIMD on
//! the CPU; scenes and snapshots give the bodies, films and snapshots take them.
//!
//! ```
//! use gravitile::scene::Scene;
//! use gravitile::sim::{EngineKind, Settings, Simulation};
//!
//! let mut scene = Scene::builtin("plummer")?;
//! scene.set_n(100)?;
//! let bodies = scene.build(&|path| Ok(gravitile::snapshot::read(path)?.bodies))?;
//! let settings =
//!     Settings { softening: 0.1, dt: 0.01, engine: EngineKind::Cpu, ..Settings::default() };
//! let mut sim = Simulation::new(bodies, settings)?;
//! let before = sim.diagnostics()?;
//! sim.step(10)?;
//! assert!(sim.diagnostics()?.energy_error(&before).abs() < 1e-3);
//! # Ok::<(), gravitile::error::Error>(())
//! ```
//!
//! | you want to | look at |
//! |---|---|
//! | have bodies | [`scene::Scene`] makes them, [`snapshot::read`] reads them, [`bodies::Bodies`] holds them |
//! | let time pass | [`sim::Simulation`] with its [`sim::Settings`]; [`integrate`] for the schemes |
//! | compute forces alone | [`forces::make`] and [`forces::ForceEngine`]; engines by name in [`forces::direct`] |
//! | choose a device | [`gpu::adapters`], [`gpu::AdapterRequest`], [`gpu::Gpu`] |
//! | find out which engine is the faster | [`measure`] |
//! | know whether a run is right | [`diagnostics::diagnose`] |
//! | keep a run on disk, and resume it | [`record`] |
//! | make pictures and films | [`film`], [`render`] |
//! | convert files and units | [`snapshot`], [`units::Units`] |
//! | break off long work | [`stop`] |
//! | handle what goes wrong | [`error::Error`] |
//!
//! Numbers on the host are f64; [`frame`] is the one way to a device's f32. `ARCHITECTURE.md` in the repository
//! describes how the rooms hang together.
//!
//! Units: G = 1 unless [`units::Units`] says otherwise. The host computes in f64, devices in f32.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod bodies;
pub mod diagnostics;
pub mod error;
#[cfg(not(target_arch = "wasm32"))]
pub mod film;
pub mod forces;
pub mod frame;
pub mod gpu;
pub mod integrate;
pub mod measure;
#[cfg(not(target_arch = "wasm32"))]
pub mod record;
pub mod render;
pub mod scene;
pub mod sim;
pub mod snapshot;
pub mod stop;
pub mod units;

mod math;

// Rooms that are no part of the library's interface and may change at any time. They are visible to the program
// and to tests and benches, which are crates of their own; what other programs need of them is exported by the
// rooms above.

// The program, for `main.rs` and the tests of the panel.
#[cfg(any(feature = "cli", feature = "panel"))]
#[doc(hidden)]
pub mod app;
// C's view of the forces: its interface is a header.
#[cfg(all(feature = "capi", not(target_arch = "wasm32")))]
#[doc(hidden)]
pub mod capi;
// What members of a group say to each other: simulations are handed devices and ranks.
#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
pub mod exchange;
// Files that are replaced whole, for tests.
#[doc(hidden)]
pub mod files;
// From requests to bodies: called by the program alone.
#[doc(hidden)]
pub mod input;
// What a driver says of a kernel, for the program and tests.
#[cfg(any(feature = "inspect", feature = "panel"))]
#[doc(hidden)]
pub mod inspect;
// A simulation that is watched, for the window and its tests.
#[doc(hidden)]
pub mod live;
// What can be asked for, for the program: simulations take [`sim::Settings`].
#[doc(hidden)]
pub mod settings;
// The race of kernels, called by the program and its window.
#[doc(hidden)]
pub mod tune;
// What the race has found; [`sim::Known`] is handed to simulations.
#[doc(hidden)]
pub mod tuned;
// Text that is fit for a line, for tests.
#[doc(hidden)]
pub mod messages;
