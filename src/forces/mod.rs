//! Forces: their input and output, and the engines that compute them.
//!
//! An evaluation has [`Sources`], [`Sinks`] and the outputs to compute ([`Outputs`]); the result is
//! [`Forces`]. A [`ForceEngine`] computes it and stores the sources from call to call, as a GRAPE
//! stores its j-particles: set all of them, or replace a few, then evaluate the forces on one sink
//! or a million. The shortest engine is an [`Evaluator`], a function of sources and sinks.
//!
//! Numbers are f64 in the caller's units; masses are gravitating masses G m. An engine that
//! computes in less narrows them itself and states its [`Precision`]. [`Placement`], [`Method`] and
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
//! use gravitile::forces::{Forces, ForceEngine, Identity, Sinks, Sources, Outputs, direct::CpuSingle};
//! use gravitile::glam::DVec3;
//!
//! let position = [DVec3::ZERO, DVec3::X];
//! let mut out = Forces::default();
//! let sources = Sources::new(&position, &[1.0, 2.0]);
//! let sinks = Sinks::new(&position, Identity::Offset(0));
//! CpuSingle::new().evaluate_from(&sources, &sinks, 0.0, &Outputs::POTENTIAL, &mut out)?;
//! assert!((out.acceleration[0].x - 2.0).abs() < 1e-6);
//! # Ok::<(), gravitile::error::Error>(())
//! ```

mod device;
mod device_field;
pub mod direct;
mod engine;
mod evaluator;
mod in_field;
mod kind;
pub mod last;
mod moving;
mod precision;
pub mod rebuilds;
mod registry;
mod request;
mod results;
mod shape;
mod spread;
mod test_bodies;
mod throughput;
pub mod tree;

pub use device::{
    DeviceForces, RecordedChunk, StepForces, evaluate, evaluate_blocking, record_within,
};
pub use device_field::DeviceField;
pub use engine::{DeviceEngine, Divides, EngineCapabilities, ForceEngine, Interfaces};
pub use evaluator::{Evaluator, WithSources};
pub use in_field::InField;
use kind::Placement::{Cpu, Gpu};
pub use kind::{EngineKind, Placement, engine_names};
pub(crate) use moving::SourceWatch;
pub use moving::{
    ArrivalList, Arrivals, Goal, Moving, MovingSources, SharedTable, SourceTable, ToJerk,
};
pub use precision::{Noise, Precision};
pub use rebuilds::Rebuilds;
pub use registry::{
    BindForces, DeviceEntry, DeviceTools, EngineEntry, Make, Tools, check_order, find, make,
    on_device, open, tiers,
};
pub use request::{
    Identity, NO_SOURCE, Order, Outputs, Sinks, Sources, Within, check_softening, check_update,
};
pub use results::{Forces, NeighbourLists};
pub use spread::RankEngine;
pub use test_bodies::TestBodies;
pub use throughput::{Budget, Throughput};

use std::pin::Pin;

use glam::DVec3;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use direct::gpu::{AllPairs, PairBuffers};
use direct::{CpuDouble, CpuSingle, GpuSingle, GpuTiers, Reference};
use registry::{boxed, made};
use tree::CpuTree;
use tree::gpu::{BYTES_PER_BODY, Field, GpuTree, TreeForces, TreeShape};

/// How forces are computed. A new method is a file or folder here, a variant and a name below, and
/// entries for its engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Method {
    /// Every pair by itself, as fast as the hardware allows.
    Direct,
    /// Every pair by itself, one after the other in f64: slow and right.
    Reference,
    /// Far bodies together as cells of an octree.
    Tree,
}

impl Method {
    /// Every method with its name and what it is, in plain words.
    pub const ALL: &[(Self, &'static str, &'static str)] = &[
        (Self::Direct, "direct", "Every pair by itself, as fast as the hardware allows"),
        (Self::Reference, "reference", "Every pair by itself in scalar f64: slow and right"),
        (Self::Tree, "tree", "Far bodies together as cells of an octree: for many bodies"),
    ];
}

/// Every engine; among those that differ only in precision the default comes first.
pub const ENGINES: &[EngineEntry] = &[
    // SIMD on all cores.
    entry(Cpu, Method::Direct, Precision::Single, PLAIN, |_| made(CpuSingle::new())),
    entry(Cpu, Method::Direct, Precision::Double, ANY, |_| made(CpuDouble::new())),
    entry(Cpu, Method::Reference, Precision::Double, ANY, |_| made(Reference::default())),
    // The all-pairs kernel for single evaluations.
    entry(Gpu, Method::Direct, Precision::Single, PLAIN, |tools| {
        Box::pin(async { boxed(GpuSingle::new(tools.device()?, tools.kernel)) })
    }),
    tier(Precision::DoubleSingle, |tools| open_tier(tools, Precision::DoubleSingle)),
    tier(Precision::Single, |tools| open_tier(tools, Precision::Single)),
    // On adapters whose shaders support f64.
    tier(Precision::Double, |tools| open_tier(tools, Precision::Double)),
    entry(Cpu, Method::Tree, Precision::Single, PLAIN, |tools| made(CpuTree::new(tools.tree))),
    entry(Gpu, Method::Tree, Precision::Single, PLAIN, |tools| {
        let shape = TreeShape::of(&tools.tree, tools.kernel.checked.into());
        Box::pin(async move { boxed(GpuTree::new(tools.device()?, shape)) })
    }),
];

/// Every method whose bodies can live on a device.
pub const ON_DEVICE: &[DeviceEntry] = &[
    DeviceEntry {
        method: Method::Direct,
        // If memory is short a single slice is used.
        bytes_per_body: 64,
        bind: |gpu, bodies, tools| {
            Box::pin(async {
                let pairs = PairBuffers::of_bodies(bodies, tools.softening as f32);
                let kernel = tools.kernel.for_masses(pairs.source_mass);
                let forces = AllPairs::new(gpu, kernel, pairs).await?;
                Ok(Box::new(forces) as Box<dyn DeviceForces>)
            })
        },
    },
    DeviceEntry {
        method: Method::Tree,
        bytes_per_body: BYTES_PER_BODY,
        bind: |gpu, bodies, tools| {
            let DeviceTools { kernel, softening, tree, walk, field } = tools.clone();
            let shape = TreeShape { walk, ..TreeShape::of(&tree, kernel.config.checks) };
            let field = Field {
                softening: softening as f32,
                guarded: kernel.guarded,
                potential: false,
                has_accelerations: false,
                is_closed: true,
                external: (!field.is_empty()).then_some(field),
            };
            Box::pin(async move {
                let forces = TreeForces::new(gpu, shape, bodies, field).await?;
                Ok(Box::new(forces) as Box<dyn DeviceForces>)
            })
        },
    },
];

/// Orders of engines without derivatives.
const PLAIN: (Order, Order) = (Order::Acceleration, Order::Acceleration);

/// Orders of engines with derivatives.
const ANY: (Order, Order) = (Order::Acceleration, Order::Snap);

const fn entry(
    placement: Placement,
    method: Method,
    precision: Precision,
    orders: (Order, Order),
    make: Make,
) -> EngineEntry {
    EngineEntry { placement, method, precision, orders, make }
}

/// The entry of [`GpuTiers`] in a tier, for forces with derivatives.
const fn tier(precision: Precision, make: Make) -> EngineEntry {
    entry(Placement::Gpu, Method::Direct, precision, (Order::Jerk, Order::Snap), make)
}

fn open_tier<'a>(
    tools: &'a Tools<'a>,
    precision: Precision,
) -> BoxFuture<'a, Result<Box<dyn ForceEngine>>> {
    Box::pin(async move {
        let mut engine = GpuTiers::open(tools.device()?, precision).await?;
        engine.add_devices(tools.other_devices);
        if let Some(shapes) = tools.shapes {
            engine.use_shapes(shapes);
        }
        boxed(engine)
    })
}

/// A boxed future on one thread that is ready once a device has done its work; at once if the host
/// computes.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Accelerations of bodies by all others, with the Plummer softening length `softening` (at
/// least 0) and G = 1: the all-pairs sum in f32 with f64 totals on all cores of the CPU
/// ([`CpuSingle`], rms error 3e-7). One vector per position, in mass / length^2.
///
/// # Errors
/// Slices of different lengths; values that are not finite; a negative softening; bodies too far
/// apart for f32.
pub fn accelerations(position: &[DVec3], mass: &[f64], softening: f64) -> Result<Vec<DVec3>> {
    let mut out = Forces::default();
    let sources = Sources::new(position, mass);
    let sinks = Sinks::new(position, Identity::Offset(0));
    let outputs = &Outputs::ACCELERATION;
    CpuSingle::new().evaluate_from(&sources, &sinks, softening, outputs, &mut out)?;
    Ok(out.acceleration)
}
