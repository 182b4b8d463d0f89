//! Forces: what to ask for, what is returned, and the engines that compute it.
//!
//! A question consists of [`Sources`], [`Sinks`] and what to [`Want`]; the result is [`Answers`]. A
//! [`ForceEngine`] computes it and keeps the sources from call to call, as a GRAPE keeps its
//! j-particles: set all of them, or replace a few, then ask for the forces on one sink or a
//! million.
//!
//! Numbers are f64 in the caller's units; masses are gravitating masses G m. An engine that
//! computes in less narrows them itself and states its [`Precision`]. [`Place`], [`Method`] and
//! precision are chosen independently; [`ENGINES`] lists the engine for each combination.
//!
//! ```
//! use gravitile::forces;
//! use gravitile::glam::DVec3;
//!
//! let acceleration = forces::accelerations(&[DVec3::ZERO, DVec3::X], &[1.0, 2.0], 0.0)?;
//! assert!((acceleration[0].x - 2.0).abs() < 1e-6);
//! # Ok::<(), gravitile::error::Error>(())
//! ```
//!
//! Potentials, derivatives, neighbours, other sinks than the sources, or another engine:
//!
//! ```
//! use gravitile::forces::{Answers, ForceEngine, Identity, Sinks, Sources, Want, direct::CpuSingle};
//! use gravitile::glam::DVec3;
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
pub mod last;
mod methods;
mod moving;
mod on_device;
mod precision;
mod question;
pub mod rebuilds;
mod registry;
#[cfg(not(target_arch = "wasm32"))]
mod spread;
mod test_bodies;
mod throughput;
pub mod tree;

pub use answers::{Answers, Lists, NO_SOURCE};
pub use device::{
    DeviceForces, Making, Piece, SharedForces, evaluate, evaluate_blocking, record_within,
};
use engine::check_plain;
pub use engine::{ForceEngine, InParts, check_update};
pub use kind::{EngineKind, Place, engine_names};
pub(crate) use moving::Watch;
pub use moving::{
    ArrivalList, Arrivals, Goal, Moving, MovingSources, SharedTable, SourceTable, ToJerk,
};
pub use on_device::{BindForces, DeviceEntry, DeviceTools, on_device};
pub use precision::{Noise, Precision};
pub use question::{Identity, Order, Sinks, Sources, Want, Within, check_softening};
pub use rebuilds::Rebuilds;
pub use registry::{Entry, Make, Tools, check_order, find, make, open, tiers};
#[cfg(not(target_arch = "wasm32"))]
pub use spread::Spread;
pub use test_bodies::TestBodies;
pub use throughput::{Budget, Throughput};

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// How forces are computed. A new method is a file or folder here, a variant and a name below, and
/// entries for its engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Method {
    /// Every pair by itself, as fast as the place allows.
    Direct,
    /// Every pair by itself, one after the other in f64: slow and right.
    Reference,
    /// Far bodies together as cells of an octree.
    Tree,
}

impl Method {
    /// Every method with its name and what it is, in plain words.
    pub const ALL: &[(Self, &'static str, &'static str)] = &[
        (Self::Direct, "direct", "Every pair by itself, as fast as the place allows"),
        (Self::Reference, "reference", "Every pair by itself in scalar f64: slow and right"),
        (Self::Tree, "tree", "Far bodies together as cells of an octree: for many bodies"),
    ];
}

/// Every engine; among those that differ only in precision the default comes first.
pub const ENGINES: &[Entry] = &[
    direct::CPU_SINGLE,
    direct::CPU_DOUBLE,
    direct::REFERENCE,
    direct::GPU_SINGLE,
    direct::GPU_DOUBLE_SINGLE,
    direct::GPU_TIER_SINGLE,
    direct::GPU_DOUBLE,
    tree::CPU,
    tree::GPU,
];

/// Every method whose bodies can live on a device.
pub const ON_DEVICE: &[DeviceEntry] = &[direct::ON_DEVICE, tree::ON_DEVICE];

/// Accelerations of bodies by all others, with the Plummer softening length `softening` (at least 0) and G = 1: the
/// all-pairs sum in f32 with f64 totals on all cores of the CPU ([`direct::CpuSingle`], rms error 3e-7). One vector
/// per position, in mass / length^2.
///
/// # Errors
/// Slices of different lengths; values that are not finite; a negative softening; bodies too far apart for f32.
pub fn accelerations(position: &[DVec3], mass: &[f64], softening: f64) -> Result<Vec<DVec3>> {
    let mut out = Answers::default();
    let sources = Sources::new(position, mass);
    let sinks = Sinks::new(position, Identity::Offset(0));
    direct::CpuSingle::new().evaluate_from(
        &sources,
        &sinks,
        softening,
        &Want::ACCELERATION,
        &mut out,
    )?;
    Ok(out.acceleration)
}
