//! Forces: one question, one answer, and the engines that know it.
//!
//! The question is made of [`Sources`], [`Sinks`] and what is [`Want`]ed; the answer is [`Answers`]; who
//! computes it is a [`ForceEngine`], with which the sources stay from call to call, as a GRAPE keeps its
//! j-particles: set all of them, or replace a few, then ask for the forces on one sink or a million.
//!
//! Numbers are f64 in the caller's units, masses are gravitating masses G m. Whoever computes in less
//! narrows them itself and says so by its [`Precision`]. Three words are chosen apart: the [`Place`], the
//! [`Method`] and the precision; [`ENGINES`] lists which engine is meant by them.
//!
//! ```
//! use gravitile::forces::{Answers, ForceEngine, Identity, Sinks, Sources, Want, direct::CpuSingle};
//! use glam::DVec3;
//!
//! let position = [DVec3::ZERO, DVec3::X];
//! let mut out = Answers::default();
//! let sources = Sources::new(&position, &[1.0, 2.0]);
//! let sinks = Sinks::new(&position, Identity::Offset(0));
//! CpuSingle::new().evaluate_from(&sources, &sinks, 0.0, &Want::POTENTIAL, &mut out)?;
//! assert!((out.acceleration[0].x - 2.0).abs() < 1e-6);
//! # Ok::<(), gravitile::error::Error>(())
//! ```

mod answers;
mod device;
pub mod direct;
mod engine;
mod held;
mod kind;
mod methods;
mod on_device;
mod precision;
mod question;
mod registry;
mod test_bodies;
mod throughput;

pub use answers::{Answers, Lists, NO_SOURCE};
pub use device::{DeviceForces, Making, Piece, evaluate, evaluate_blocking, record_within};
use engine::check_plain;
pub use engine::{ForceEngine, check_update};
pub use kind::{EngineKind, Method, Place, engine_names};
pub use on_device::{BindForces, DeviceTools, ON_DEVICE, on_device};
pub use precision::{Noise, Precision};
pub use question::{Identity, Order, Sinks, Sources, Want, Within, check_softening};
pub use registry::{ENGINES, Entry, Make, Tools, find, make, open, tiers};
pub use test_bodies::TestBodies;
pub use throughput::{Budget, Throughput};
