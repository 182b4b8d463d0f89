//! gravitile: a portable N-body engine on wgpu.
//!
//! Forces are direct sums over all pairs or come from a Barnes-Hut tree, in WGSL compute shaders on
//! any GPU or with SIMD on the CPU. Scenes and snapshots supply the bodies; films and snapshots
//! record them.
//!
//! ```
//! use gravitile::scene::Scene;
//! use gravitile::sim::{Settings, Simulation};
//!
//! let mut scene = Scene::builtin("plummer")?;
//! scene.set_n(100)?;
//! let mut sim = Simulation::new(scene.build()?, Settings::of(&scene)?)?;
//! let before = sim.diagnostics()?;
//! sim.step(10)?;
//! assert!(sim.diagnostics()?.energy_error(&before).abs() < 1e-3);
//! # Ok::<(), gravitile::error::Error>(())
//! ```
//!
//! | you want to | look at |
//! |---|---|
//! | get bodies | [`scene::Scene`] makes them, [`snapshot::read`] reads them, [`bodies::Bodies`] holds them |
//! | run a simulation | [`sim::Simulation`] with its [`sim::Settings`]; [`integrate`] for the schemes |
//! | compute forces alone | [`forces::accelerations`], [`forces::make`] and [`forces::ForceEngine`]; engines by name in [`forces::direct`] |
//! | choose a device | [`gpu::adapters`], [`gpu::AdapterRequest`], [`gpu::Gpu`] |
//! | know which engine and method `auto` takes | [`sim::choose()`] |
//! | measure kernels | [`measure`] |
//! | check that a run is right | [`diagnostics::diagnose`] |
//! | measure radii, profiles, motions | [`analysis`] |
//! | keep a run on disk and resume it | [`record`] |
//! | make pictures and films | [`film`], [`render`] |
//! | convert files and units | [`snapshot`], [`units::Units`] |
//! | interrupt long work | [`stop`] |
//! | handle errors | [`error::Error`] |
//!
//! The host computes in f64, devices in f32 unless another [`forces::Precision`] is chosen;
//! [`frame`] is the only conversion from f64 to f32. `ARCHITECTURE.md` in the repository describes
//! how the modules fit together.
//!
//! Units: G = 1 unless [`units::Units`] says otherwise.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod analysis;
pub mod bodies;
pub mod diagnostics;
pub mod error;
pub mod field;
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

/// Vectors of the interface: [`glam::DVec3`].
pub use glam;

// std has no clock in a browser.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use std::time as wall_clock;
#[cfg(target_arch = "wasm32")]
pub(crate) use web_time as wall_clock;

// The modules below are not part of the library's interface and may change at any time. They are
// public for the program, the C library, tests and benches, which are separate crates; the modules
// above re-export what other programs need of them.

// Communication between the ranks of a group; simulations are given devices and ranks. A page has
// no ranks.
#[doc(hidden)]
pub mod exchange;
// Files that are replaced as a whole; public for tests.
#[doc(hidden)]
pub mod files;
// Turns requests into bodies; used by the program only.
#[doc(hidden)]
pub mod input;
// What a driver reports about a kernel, for the program and tests.
#[doc(hidden)]
pub mod inspect;
// A simulation with a viewer, for the window and its tests.
#[doc(hidden)]
pub mod live;
// Everything a user can ask for, for the program; simulations take [`sim::Settings`].
#[doc(hidden)]
pub mod settings;
// The tuner, which races kernels against each other; called by the program and its window.
#[doc(hidden)]
pub mod tune;
// Free memory, to refuse what cannot fit; public for the Python package.
#[doc(hidden)]
pub mod memory;
// Stored results of tuning; simulations are given a [`sim::KnownResults`].
#[doc(hidden)]
pub mod tuned;
// Exact sums, for the program and the C library.
#[doc(hidden)]
pub mod math;
// Text made safe for one line of output; public for tests.
#[doc(hidden)]
pub mod messages;
