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
//! Where to look: [`sim`] for a whole simulation, [`force`] for forces alone, [`scene`] and [`snapshot`]
//! for bodies, [`film`] and [`render`] for pictures, [`record`] for runs on disk, [`measure`] for whether
//! kernels are right. `ARCHITECTURE.md` in the repository tells how the rooms hang together.
//!
//! Units: G = 1 unless [`units::Units`] says otherwise. The host computes in f64, devices in f32.
#![deny(unsafe_op_in_unsafe_fn)]
// Without blocking functions, a browser build leaves some of their helpers without a caller.
#![cfg_attr(target_arch = "wasm32", allow(unused_imports, dead_code))]

#[cfg(feature = "cli")]
pub mod app;
pub mod bodies;
#[cfg(all(feature = "capi", not(target_arch = "wasm32")))]
pub mod capi;
pub mod diagnostics;
pub mod direct;
pub mod error;
pub mod files;
#[cfg(not(target_arch = "wasm32"))]
pub mod film;
pub mod force;
pub mod frame;
pub mod gpu;
#[cfg(all(feature = "inspect", not(target_arch = "wasm32")))]
pub mod inspect;
pub mod integrate;
#[cfg(not(target_arch = "wasm32"))]
pub mod live;
pub mod math;
pub mod measure;
#[cfg(not(target_arch = "wasm32"))]
pub mod record;
pub mod render;
pub mod scene;
pub mod sim;
pub mod snapshot;
pub mod stop;
#[cfg(not(target_arch = "wasm32"))]
pub mod tune;
pub mod tuned;
pub mod units;
pub mod words;
